"""The values a producer takes and gives: ProducerRecord, RecordMetadata, and the checks of what a caller hands in.

Shown by tests/unit/producer/test_record.py.
"""

from collections.abc import Sequence
from typing import NamedTuple

Headers = Sequence[tuple[str, bytes | None]]

UNKNOWN_OFFSET = -1
"""The offset of a record that was taken without saying where: acks=0, or a repeat that the broker recognised."""

_RECORD_OVERHEAD_BYTES = 21
"""The most that lengths, attributes and deltas of one record take beside its contents."""
_BATCH_OVERHEAD_BYTES = 61


class ProducerRecord(NamedTuple):
    """What to send; `partition` None lets the producer choose, `timestamp_ms` None is the moment of send()."""

    topic: str
    value: bytes | None = None
    key: bytes | None = None
    partition: int | None = None
    headers: Headers = ()
    timestamp_ms: int | None = None


class RecordMetadata(NamedTuple):
    """Where a delivered record is."""

    topic: str
    partition: int
    offset: int
    timestamp_ms: int


def upper_bound_bytes(key: bytes | None, value: bytes | None, headers: Headers) -> int:
    """Return the most bytes that the record can take in a batch of its own, uncompressed."""
    size = _BATCH_OVERHEAD_BYTES + _RECORD_OVERHEAD_BYTES
    if key is not None:
        size += len(key)
    if value is not None:
        size += len(value)
    for name, header in headers:
        size += 4 * len(name) + 10 + (len(header) if header is not None else 0)
    return size


def check_record(record: ProducerRecord) -> None:
    """Refuse what no batch can carry.

    Raises: TypeError, ValueError: naming the argument.
    """
    for what, content in (("value", record.value), ("key", record.key)):
        if content is not None and not isinstance(content, bytes):
            raise TypeError(f"{what} must be bytes or None, not {type(content).__name__}")
    if not isinstance(record.topic, str) or not record.topic:
        raise TypeError(f"topic must be a str that is not empty, not {record.topic!r}")
    if record.partition is not None and (not isinstance(record.partition, int) or record.partition < 0):
        raise ValueError(f"partition must be a number from 0 on, not {record.partition!r}")
    if record.timestamp_ms is not None and (not isinstance(record.timestamp_ms, int) or record.timestamp_ms < 0):
        raise ValueError(f"timestamp_ms must be milliseconds since the epoch, not {record.timestamp_ms!r}")
    if record.headers:
        _check_headers(record.headers)


def _check_headers(headers: Headers) -> None:
    for entry in headers:
        if not isinstance(entry, tuple) or len(entry) != 2 or not isinstance(entry[0], str):
            raise TypeError(f"a header is a tuple (str, bytes or None), not {entry!r}")
        if entry[1] is not None and not isinstance(entry[1], bytes):
            raise TypeError(f"header {entry[0]!r} must be bytes or None, not {type(entry[1]).__name__}")
