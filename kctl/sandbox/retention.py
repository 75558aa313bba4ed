"""Retention: the segments to delete by retention.ms and retention.bytes."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kctl.sandbox.log import PartitionLog


def is_limited(log: "PartitionLog") -> bool:
    return log.settings.retention_ms >= 0 or log.settings.retention_bytes >= 0


def kept_from(log: "PartitionLog", wall_ms: int, high_watermark: int) -> int:
    """Return the first offset to keep, which is the start of a segment or the end of the log."""
    settings, segments = log.settings, [one for one in log.segments if one.size_bytes]
    left_bytes = sum(one.size_bytes for one in segments)
    kept = log.start_offset
    for number, segment in enumerate(segments):
        is_last = number + 1 == len(segments)
        behind = log.end_offset if is_last else segments[number + 1].base_offset
        is_old = 0 <= settings.retention_ms < wall_ms - segment.greatest_timestamp_ms
        left_bytes -= segment.size_bytes
        is_too_much = 0 <= settings.retention_bytes <= left_bytes
        if behind > high_watermark or not (is_old or is_too_much):
            break
        kept = behind
    return kept


def next_due_ms(log: "PartitionLog", wall_ms: int) -> int | None:
    """Return the time until the oldest segment expires, in ms. Return None if it never expires or the log is empty."""
    first = next((one for one in log.segments if one.size_bytes), None)
    if first is None or log.settings.retention_ms < 0:
        return None
    return max(0, first.greatest_timestamp_ms + log.settings.retention_ms + 1 - wall_ms)
