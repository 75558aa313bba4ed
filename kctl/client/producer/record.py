"""The values a producer takes and gives: ProducerRecord, RecordMetadata, and the checks of what a caller hands in."""

from collections.abc import Sequence
from typing import NamedTuple

from kctl.client.records import TIMESTAMP_END_MS
from kctl.client.records import UNKNOWN_OFFSET as UNKNOWN_OFFSET
from kctl.client.records import RecordMetadata as RecordMetadata

Headers = Sequence[tuple[str, bytes | None]]

MEMORY_OVERHEAD_BYTES = 61 + 21
"""What buffer.memory counts for a record beside its contents: a batch's header, and the most that lengths, attributes
and deltas of one record take. So it is also the most that a record can take in a batch of its own."""
ENCODED_OVERHEAD_BYTES = 9
"""What lengths, attributes and deltas of a record usually take: the estimate by which a batch counts as full."""
UNENCODED_BYTES = MEMORY_OVERHEAD_BYTES - ENCODED_OVERHEAD_BYTES
"""What a record's memory is more than its place in a batch."""


class ProducerRecord(NamedTuple):
    """What to send; `partition` None lets the producer choose, `timestamp_ms` None is the moment of send()."""

    topic: str
    value: bytes | None = None
    key: bytes | None = None
    partition: int | None = None
    headers: Headers | None = ()
    timestamp_ms: int | None = None


def checked_size_bytes(
    topic: str,
    value: bytes | None,
    key: bytes | None,
    partition: int | None,
    headers: Headers,
    timestamp_ms: int | None,
) -> int:
    """Return the most bytes that the record can take in a batch of its own, uncompressed.

    Raises: TypeError, ValueError: naming the argument that no record can have.
    """
    size_bytes = MEMORY_OVERHEAD_BYTES
    if value is not None:
        if not isinstance(value, bytes):
            raise TypeError(f"value must be bytes or None, not {type(value).__name__}")
        size_bytes += len(value)
    if key is not None:
        if not isinstance(key, bytes):
            raise TypeError(f"key must be bytes or None, not {type(key).__name__}")
        size_bytes += len(key)
    check_topic(topic)
    if partition is not None:
        check_partition(partition)
    if timestamp_ms is not None:
        check_timestamp(timestamp_ms)
    return size_bytes + checked_headers_bytes(headers) if headers else size_bytes


def check_topic(topic: str) -> None:
    """Raise TypeError or ValueError for what cannot be a topic's name."""
    if not isinstance(topic, str) or not topic:
        raise TypeError(f"topic must be a str that is not empty, not {topic!r}")
    if not topic.isascii():
        _check_encodable(topic, "topic", "strict")


def check_partition(partition: int) -> None:
    """Raise ValueError for what cannot be a partition's number."""
    if not isinstance(partition, int) or partition < 0:
        raise ValueError(f"partition must be a number of at least 0, not {partition!r}")


def check_timestamp(timestamp_ms: int) -> None:
    """Raise ValueError for what cannot be a record's time."""
    if not isinstance(timestamp_ms, int) or not 0 <= timestamp_ms < TIMESTAMP_END_MS:
        raise ValueError(f"timestamp_ms must be milliseconds since the epoch, not {timestamp_ms!r}")


def checked_headers_bytes(headers: Headers) -> int:
    """Return the most bytes that the headers can take.

    Raises: TypeError, ValueError: naming the header that no record can have.
    """
    size_bytes = 0
    for entry in headers:
        if not isinstance(entry, tuple) or len(entry) != 2 or not isinstance(entry[0], str):
            raise TypeError(f"a header is a tuple (str, bytes or None), not {entry!r}")
        name, value = entry
        if not name.isascii():
            _check_encodable(name, "header name", "surrogateescape")  # as read from a record, it always can
        if value is not None and not isinstance(value, bytes):
            raise TypeError(f"header {name!r} must be bytes or None, not {type(value).__name__}")
        size_bytes += 4 * len(name) + 10 + len(value or b"")
    return size_bytes


def _check_encodable(text: str, what: str, errors: str) -> None:
    """Raise ValueError for text that cannot be bytes."""
    try:
        text.encode("utf-8", errors)
    except UnicodeEncodeError as error:
        raise ValueError(f"{what} {text!r} is not text: {error.reason}") from None
