"""Answers that no Kafka broker gives: numbers out of range, and topics or brokers left out or named twice.

Works on every declared message by the names of its fields.
"""

from collections.abc import Iterator
from enum import Enum

from kctl.client.protocol.schema import Response, Struct

IMPOSSIBLE_PORT = 70_000
_OFFSETS = (
    "offset", "committed_offset", "base_offset", "high_watermark", "end_offset", "log_start_offset",
    "last_stable_offset",
)  # fmt: skip


class Distortion(Enum):
    """Wrong content of a response; the value is the word in a plan."""

    PARTITION = "partition"
    """Partitions have negative numbers."""
    OFFSET = "offset"
    """Offsets are below -1."""
    PORT = "port"
    """Brokers are at ports that no machine has."""
    HOST = "host"
    """Brokers are at addresses with a zone that this machine lacks."""
    NO_TOPICS = "no-topics"
    """Nothing is said about any topic."""
    NO_BROKERS = "no-brokers"
    """The list of brokers is empty."""
    TWICE = "twice"
    """Everything that is listed is listed twice."""
    THROTTLE = "throttle"
    """The throttle time is 24 days."""


def distort(response: Response, how: Distortion, version: int) -> None:
    """Change a response in place, if it has such fields in this version."""
    if how is Distortion.TWICE:
        for struct in list(_structs(response)):
            for field in type(struct).FIELDS:
                value = getattr(struct, field.name)
                if isinstance(value, list) and field.is_in(version):
                    setattr(struct, field.name, [*value, *value])
        return
    names, value = _CHANGES[how]
    for struct in list(_structs(response)):
        for field in type(struct).FIELDS:
            if field.name in names and field.is_in(version):
                setattr(struct, field.name, list(value) if isinstance(value, tuple) else value)


def _structs(struct: Struct) -> Iterator[Struct]:
    yield struct
    for field in type(struct).FIELDS:
        value = getattr(struct, field.name)
        for inner in value if isinstance(value, list) else [value]:
            if isinstance(inner, Struct):
                yield from _structs(inner)


_CHANGES: dict[Distortion, tuple[tuple[str, ...], object]] = {
    Distortion.PARTITION: (("partition_index",), -5),
    Distortion.OFFSET: (_OFFSETS, -7),
    Distortion.PORT: (("port",), IMPOSSIBLE_PORT),
    Distortion.HOST: (("host",), "fe80::1%nope"),
    Distortion.NO_TOPICS: (("topics", "responses"), ()),
    Distortion.NO_BROKERS: (("brokers", "coordinators"), ()),
    Distortion.THROTTLE: (("throttle_time_ms",), 2**31 - 1),
}
"""The fields that are changed, by name, and to what."""
