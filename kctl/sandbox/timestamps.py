"""Offsets by timestamp, for ListOffsets."""

from collections.abc import Iterator

from kctl.sandbox.log import PartitionLog
from kctl.sandbox.record_walk import walk

_NONE = (-1, -1)


def _stamped(log: PartitionLog, at_least_ms: int | None) -> Iterator[tuple[int, int]]:
    for header, data in log.batches:
        if at_least_ms is not None and header.max_timestamp_ms < at_least_ms:
            continue
        for offset_delta, timestamp in walk(header, data):
            offset = header.base_offset + offset_delta
            if offset >= log.start_offset:
                yield offset, header.max_timestamp_ms if header.is_log_append_time else timestamp


def first_at_or_after(log: PartitionLog, timestamp_ms: int) -> tuple[int, int]:
    """Return offset and timestamp of the first record at or after `timestamp_ms`, or -1 and -1."""
    return next((found for found in _stamped(log, timestamp_ms) if found[1] >= timestamp_ms), _NONE)


def greatest(log: PartitionLog) -> tuple[int, int]:
    """Return offset and timestamp of the first record with the greatest timestamp, or -1 and -1."""
    return max(_stamped(log, None), key=lambda found: found[1], default=_NONE)
