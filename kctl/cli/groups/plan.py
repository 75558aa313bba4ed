"""New offsets for `kctl groups reset-offsets`, with notes. Brokers are only queried."""

from collections.abc import Callable, Mapping
from typing import NamedTuple

from kctl.cli import click
from kctl.cli.exit_codes import ExitCode
from kctl.cli.failures import CommandError
from kctl.client.admin import EARLIEST, LATEST, Admin
from kctl.client.cluster import TopicPartition
from kctl.grammar.durations import parse_duration_ms
from kctl.grammar.offset_grammar import parse_offset
from kctl.grammar.offsets import AtTime

Offsets = Mapping[TopicPartition, int]


class OffsetChange(NamedTuple):
    """Committed and planned offset of one partition.

    Attributes:
        old: committed offset, or None.
        note: anomaly, or empty.
    """

    partition: TopicPartition
    old: int | None
    new: int
    note: str = ""


class PartitionOffsets(NamedTuple):
    """Committed offset, start and end offset of a partition."""

    partition: TopicPartition
    committed: int | None
    start: int
    end: int


Aim = Callable[[PartitionOffsets], tuple[int, str]]
"""Function that returns the new offset of a partition, and a note."""


def instant_ms(text: str, wall_ms: int) -> int:
    """Return the time of `--to-datetime` in ms. Raises: click.BadParameter: `text` is not a time."""
    try:
        start = parse_offset(f"@{text.removeprefix('@')}", wall_ms).start
    except ValueError as e:
        raise click.BadParameter(str(e), param_hint="'--to-datetime'") from None
    if not isinstance(start, AtTime):
        raise click.BadParameter(f"{text!r} is not a time: use --to-latest", param_hint="'--to-datetime'")
    return start.at_ms


def ago_ms(text: str, wall_ms: int) -> int:
    """Return the time of `--by-duration` in ms. Raises: click.BadParameter: `text` is not a duration."""
    try:
        return max(0, wall_ms - parse_duration_ms(text.removeprefix("-")))
    except ValueError as e:
        raise click.BadParameter(str(e), param_hint="'--by-duration'") from None


def find_places(admin: Admin, committed: Mapping[TopicPartition, int | None]) -> list[PartitionOffsets]:
    """Return committed, start and end offset of each partition. Raises: KafkaError: an offset is unavailable."""
    ends = admin.list_offsets(dict.fromkeys(committed, LATEST))
    ends.raise_first()
    starts = admin.list_offsets(dict.fromkeys(committed, EARLIEST))
    starts.raise_first()
    return [PartitionOffsets(tp, old, starts[tp].offset, ends[tp].offset) for tp, old in sorted(committed.items())]


def aim_at_times(admin: Admin, partitions: list[TopicPartition], at_ms: int) -> Aim:
    """Return an aim: a function that returns the new offset of a partition, and a note.

    The new offset is the first with a timestamp of `at_ms` or later. Raises: KafkaError: a lookup failed.
    """
    found = admin.list_offsets(dict.fromkeys(partitions, at_ms))
    found.raise_first()

    def aim(place: PartitionOffsets) -> tuple[int, str]:
        offset = found[place.partition].offset
        return (offset, "") if offset >= 0 else (place.end, "no record at or after this time: using the end offset")

    return aim


def aim_of(flag: str, value: object, file_offsets: Offsets) -> Aim:
    """Return the aim of an option that needs no request."""
    if flag == "--to-earliest":
        return lambda place: (place.start, "")
    if flag == "--to-latest":
        return lambda place: (place.end, "")
    if flag == "--to-current":
        return _current
    if flag == "--shift-by":
        assert isinstance(value, int)
        return lambda place: (_committed(place) + value, "")
    if flag == "--to-offset":
        assert isinstance(value, int)
        return lambda _place: (value, "")
    return lambda place: (file_offsets[place.partition], "")


def _current(place: PartitionOffsets) -> tuple[int, str]:
    if place.committed is None:
        return place.end, "no committed offset: using the end offset"
    return place.committed, ""


def _committed(place: PartitionOffsets) -> int:
    if place.committed is None:
        raise CommandError(
            ExitCode.UNKNOWN_RESOURCE,
            f"{place.partition}: no committed offset to shift",
            "choose partitions with --topic, or use another target for this partition",
        )
    return place.committed


def plan(places: list[PartitionOffsets], aim: Aim) -> list[OffsetChange]:
    """Return the changes. Offsets outside the log are moved to its start or end, with a note."""
    changes = []
    for place in places:
        wanted, note = aim(place)
        new = min(max(place.start, wanted), place.end)
        if new != wanted:
            has = f"{place.start} to {place.end}" if place.start < place.end else f"empty at {place.end}"
            note = f"{wanted} is outside the log ({has})"
        changes.append(OffsetChange(place.partition, place.committed, new, note))
    return changes
