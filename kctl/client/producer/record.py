"""The values a producer takes and gives: ProducerRecord, RecordMetadata, and the checks of what a caller hands in."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any, NamedTuple

from kctl.client.arguments import INT32, INT64, LONGEST_STRING_BYTES, check, instant_ms, shown, wrong_type
from kctl.client.clock import Clock
from kctl.client.records import LAST_TIMESTAMP_MS, Header
from kctl.client.records import UNKNOWN_OFFSET as UNKNOWN_OFFSET
from kctl.client.records import RecordMetadata as RecordMetadata

Content = bytes | bytearray | memoryview | None
"""A key, a value or the value of a header; only bytes are not copied."""
Headers = Sequence[Header]
GivenHeaders = Sequence[tuple[str, Content] | list[Any]]
"""Pairs of name and value."""

MEMORY_OVERHEAD_BYTES = 61 + 21
"""What buffer.memory counts for a record beside its contents: a batch's header, and the most that lengths, attributes
and deltas of one record take. So it is also the most that a record can take in a batch of its own."""
ENCODED_OVERHEAD_BYTES = 9
"""What lengths, attributes and deltas of a record usually take: the estimate by which a batch counts as full."""
UNENCODED_BYTES = MEMORY_OVERHEAD_BYTES - ENCODED_OVERHEAD_BYTES
"""What a record's memory is more than its place in a batch."""


MOST_PARTITION = INT32[1]


class ProducerRecord(NamedTuple):
    """What to send; `partition` None lets the producer choose, `timestamp_ms` None is the moment of send()."""

    topic: str
    value: bytes | None = None
    key: bytes | None = None
    partition: int | None = None
    headers: Headers | None = ()
    timestamp_ms: int | None = None


def checked_record(
    topic: str,
    value: Content,
    key: Content,
    partition: int | None,
    headers: GivenHeaders | None,
    timestamp_ms: int | datetime | None,
) -> tuple[bytes | None, bytes | None, Headers, int | None, int]:
    """Return value, key, headers and time as they are sent, and the most bytes that the record can take in a batch.

    Raises: TypeError, ValueError: with the argument that is wrong.
    """
    plain_value, plain_key = plain_content(value, "value"), plain_content(key, "key")
    plain = plain_headers(headers) if headers else ()
    at_ms = None if timestamp_ms is None else checked_timestamp_ms(timestamp_ms)
    return plain_value, plain_key, plain, at_ms, checked_size_bytes(topic, plain_value, plain_key, partition, plain)


def plain_content(given: Content, what: str) -> bytes | None:
    """Return a key or value as bytes. Raises: TypeError."""
    if given is None or isinstance(given, bytes):
        return given
    if isinstance(given, bytearray | memoryview):
        return bytes(given)
    raise TypeError(f"{what} must be bytes or None, not {type(given).__name__}")


def plain_headers(headers: GivenHeaders | None) -> Headers:
    """Return a copy of headers, as tuples of name and bytes.

    Raises: TypeError, ValueError: with the header that is wrong.
    """
    if headers is None:
        return ()
    if not isinstance(headers, Iterable) or isinstance(headers, str | bytes | bytearray | memoryview | Mapping):
        raise TypeError(f"headers must be a list of pairs (str, bytes or None), not {shown('headers', headers)}")
    return tuple(_plain_header(entry) for entry in headers)


def _plain_header(entry: object) -> Header:
    if not isinstance(entry, tuple | list) or len(entry) != 2 or not isinstance(entry[0], str):
        raise TypeError(f"a header is a pair (str, bytes or None), not {entry!r}")
    name, value = entry
    return name, plain_content(value, f"header {name!r}")


def checked_size_bytes(
    topic: str, value: bytes | None, key: bytes | None, partition: int | None, headers: Headers
) -> int:
    """Return the most bytes that the record can take in a batch of its own, uncompressed.

    Raises: TypeError, ValueError: with the argument that is wrong.
    """
    size_bytes = MEMORY_OVERHEAD_BYTES + len(value or b"") + len(key or b"")
    check_topic(topic)
    if partition is not None:
        check_partition(partition)
    return size_bytes + checked_headers_bytes(headers) if headers else size_bytes


def check_topic(topic: str) -> None:
    """Raise TypeError or ValueError for what cannot be a topic's name."""
    if not isinstance(topic, str):
        raise wrong_type("topic", topic, "a string")
    if not topic:
        raise ValueError("topic must be a string that is not empty")
    if not topic.isascii() or len(topic) > LONGEST_STRING_BYTES:
        check("topic", topic, str)


def check_partition(partition: int) -> None:
    """Raise TypeError or ValueError unless it is the number of a partition."""
    if not isinstance(partition, int) or isinstance(partition, bool):
        raise wrong_type("partition", partition, "an integer")
    if not 0 <= partition <= MOST_PARTITION:
        raise ValueError(f"partition must be a number of at least 0 with 31 bits, not {partition!r}")


def checked_timestamp_ms(given: int | datetime) -> int:
    """Return the time of a record in ms since the epoch. Raises: TypeError, ValueError: no record can have it."""
    timestamp_ms = instant_ms("timestamp_ms", given)
    if not INT64[0] <= timestamp_ms <= INT64[1]:
        raise ValueError(f"timestamp_ms must be milliseconds since the epoch, not {given!r}")
    return timestamp_ms


def now_timestamp_ms(clock: Clock) -> int:
    """Return the time of a record that has none of its own. Raises: ValueError: the clock shows a time before 1970."""
    timestamp_ms = clock.wall_ms()
    if not 0 <= timestamp_ms <= LAST_TIMESTAMP_MS:
        raise ValueError(f"the clock of this machine shows {timestamp_ms} ms since 1970, which no record can have")
    return timestamp_ms


def checked_headers_bytes(headers: Headers) -> int:
    """Return the most bytes that the headers can take. Raises: ValueError: a name is not text."""
    size_bytes = 0
    for name, value in headers:
        if not name.isascii():
            _check_encodable(name)
        size_bytes += 4 * len(name) + 10 + len(value or b"")
    return size_bytes


def _check_encodable(name: str) -> None:
    """Raise ValueError for a name of a header that cannot be bytes; as read from a record, it always can."""
    try:
        name.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError as error:
        raise ValueError(f"header name {name!r} is not text: {error.reason}") from None
