from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any, NamedTuple

from kctl.client.arguments import INT32, INT64, LONGEST_STRING_BYTES, check, instant_ms, shown, wrong_type
from kctl.client.clock import Clock
from kctl.client.records import LAST_TIMESTAMP_MS, Header
from kctl.client.records import UNKNOWN_OFFSET as UNKNOWN_OFFSET
from kctl.client.records import RecordMetadata as RecordMetadata

Content = bytes | bytearray | memoryview | None
"""Key, value or header value; everything but bytes is copied."""
Headers = Sequence[Header]
GivenHeaders = Sequence[tuple[str, Content] | list[Any]]
"""Pairs of name and value."""

MEMORY_OVERHEAD_BYTES = 61 + 21
"""Bytes that buffer.memory counts for a record in addition to its contents.

They are a batch header, and the maximum for lengths, attributes, and deltas. With its contents, a record alone in a
batch has at most this size.
"""
ENCODED_OVERHEAD_BYTES = 9
"""Usual size of a record's lengths, attributes, and deltas, to estimate when a batch is full."""
UNENCODED_BYTES = MEMORY_OVERHEAD_BYTES - ENCODED_OVERHEAD_BYTES
"""Difference between the memory of a record and its estimated size in a batch."""


MOST_PARTITION = INT32[1]


class ProducerRecord(NamedTuple):
    """A record to send.

    Attributes:
        partition: partition number; None lets the producer choose.
        timestamp_ms: milliseconds since the epoch; None is the time of send().
    """

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
    """Return checked value, key, headers, and timestamp, and the maximum size of a batch with only this record.

    Raises: TypeError, ValueError: an argument is invalid.
    """
    plain_value, plain_key = plain_content(value, "value"), plain_content(key, "key")
    plain = plain_headers(headers) if headers else ()
    at_ms = None if timestamp_ms is None else checked_timestamp_ms(timestamp_ms)
    return plain_value, plain_key, plain, at_ms, checked_size_bytes(topic, plain_value, plain_key, partition, plain)


def plain_content(given: Content, what: str) -> bytes | None:
    if given is None or isinstance(given, bytes):
        return given
    if isinstance(given, bytearray | memoryview):
        return bytes(given)
    raise TypeError(f"{what} must be bytes or None, not {type(given).__name__}")


def plain_headers(headers: GivenHeaders | None) -> Headers:
    """Return headers as tuples of name and bytes. Raises: TypeError, ValueError: a header is invalid."""
    if headers is None:
        return ()
    if not isinstance(headers, Iterable) or isinstance(headers, str | bytes | bytearray | memoryview | Mapping):
        raise TypeError(f"headers must be a list of pairs (str, bytes or None), not {shown('headers', headers)}")
    return tuple(_plain_header(entry) for entry in headers)


def _plain_header(entry: object) -> Header:
    if not isinstance(entry, tuple | list) or len(entry) != 2 or not isinstance(entry[0], str):
        raise TypeError(f"headers must be pairs (str, bytes or None), not {entry!r}")
    name, value = entry
    return name, plain_content(value, f"header {name!r}")


def checked_size_bytes(
    topic: str, value: bytes | None, key: bytes | None, partition: int | None, headers: Headers
) -> int:
    """Return the maximum size of an uncompressed batch with only this record.

    Raises: TypeError, ValueError: an argument is invalid.
    """
    size_bytes = MEMORY_OVERHEAD_BYTES + len(value or b"") + len(key or b"")
    check_topic(topic)
    if partition is not None:
        check_partition(partition)
    return size_bytes + checked_headers_bytes(headers) if headers else size_bytes


def check_topic(topic: str) -> None:
    if not isinstance(topic, str):
        raise wrong_type("topic", topic, "a string")
    if not topic:
        raise ValueError("topic must be a non-empty string")
    if not topic.isascii() or len(topic) > LONGEST_STRING_BYTES:
        check("topic", topic, str)


def check_partition(partition: int) -> None:
    if not isinstance(partition, int) or isinstance(partition, bool):
        raise wrong_type("partition", partition, "an integer")
    if not 0 <= partition <= MOST_PARTITION:
        raise ValueError(f"partition must be from 0 to {MOST_PARTITION}, not {partition!r}")


def checked_timestamp_ms(given: int | datetime) -> int:
    """Return milliseconds since the epoch. Raises: TypeError, ValueError: the time is invalid or out of range."""
    timestamp_ms = instant_ms("timestamp_ms", given)
    if not INT64[0] <= timestamp_ms <= INT64[1]:
        raise ValueError(f"timestamp_ms must be milliseconds since the epoch, not {given!r}")
    return timestamp_ms


def now_timestamp_ms(clock: Clock) -> int:
    """Return the wall time in ms. Raises: ValueError: the clock is before 1970."""
    timestamp_ms = clock.wall_ms()
    if not 0 <= timestamp_ms <= LAST_TIMESTAMP_MS:
        raise ValueError(
            f"the clock of this machine is out of range for record timestamps: {timestamp_ms} ms since 1970"
        )
    return timestamp_ms


def checked_headers_bytes(headers: Headers) -> int:
    """Return the maximum encoded size of headers. Raises: ValueError: a name cannot be encoded."""
    size_bytes = 0
    for name, value in headers:
        if not name.isascii():
            _check_encodable(name)
        size_bytes += 4 * len(name) + 10 + len(value or b"")
    return size_bytes


def _check_encodable(name: str) -> None:
    try:
        name.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError as error:
        raise ValueError(f"invalid header name {name!r}: {error.reason}") from None
