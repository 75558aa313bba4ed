"""Record, and BatchInfo, which all records of a batch share. Neither keeps the fetched bytes in memory."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, final

from kctl.client.errors import CorruptBatchError
from kctl.client.records._hot.native_types import i64, mypyc_attr
from kctl.client.records._hot.varint import FieldError, size_field

Header = tuple[str, bytes | None]
"""Name and value of a header. Names may repeat. Null and empty values differ."""

CREATE_TIME: Final = "create_time"
LOG_APPEND_TIME: Final = "log_append_time"
NO_TIMESTAMP_TYPE: Final = "none"
"""Timestamp type of version 0 messages, whose timestamp is -1."""


@final
@mypyc_attr(acyclic=True)
class BatchInfo:
    """Contents of a batch header; in versions 0 and 1, of a message or wrapper message.

    Attributes: as in Kafka's record format. `max_timestamp_ms` is the log append time if `timestamp_type` is
        LOG_APPEND_TIME.
    """

    __slots__ = (
        "base_offset",
        "base_sequence",
        "base_timestamp_ms",
        "compression",
        "is_control",
        "is_transactional",
        "last_offset",
        "leader_epoch",
        "magic",
        "max_timestamp_ms",
        "partition",
        "producer_epoch",
        "producer_id",
        "record_count",
        "timestamp_type",
        "topic",
    )

    def __init__(
        self,
        topic: str,
        partition: int,
        magic: int,
        base_offset: i64,
        last_offset: i64,
        record_count: int,
        base_timestamp_ms: i64,
        max_timestamp_ms: i64,
        timestamp_type: str = CREATE_TIME,
        compression: str = "none",
        leader_epoch: int = -1,
        producer_id: i64 = -1,
        producer_epoch: int = -1,
        base_sequence: int = -1,
        is_transactional: bool = False,
        is_control: bool = False,
    ) -> None:
        self.topic = topic
        self.partition = partition
        self.magic = magic
        self.base_offset = base_offset
        self.last_offset = last_offset
        self.record_count = record_count
        self.base_timestamp_ms = base_timestamp_ms
        self.max_timestamp_ms = max_timestamp_ms
        self.timestamp_type = timestamp_type
        self.compression = compression
        self.leader_epoch = leader_epoch
        self.producer_id = producer_id
        self.producer_epoch = producer_epoch
        self.base_sequence = base_sequence
        self.is_transactional = is_transactional
        self.is_control = is_control

    def __eq__(self, other: object) -> bool:
        return isinstance(other, BatchInfo) and self._fields() == other._fields()

    def __hash__(self) -> int:
        return hash((self.topic, self.partition, self.base_offset))

    def __reduce__(self) -> tuple[Any, ...]:
        return BatchInfo, self._fields()

    def _fields(self) -> tuple[Any, ...]:
        return (
            self.topic,
            self.partition,
            self.magic,
            self.base_offset,
            self.last_offset,
            self.record_count,
            self.base_timestamp_ms,
            self.max_timestamp_ms,
            self.timestamp_type,
            self.compression,
            self.leader_epoch,
            self.producer_id,
            self.producer_epoch,
            self.base_sequence,
            self.is_transactional,
            self.is_control,
        )

    def damaged(self, cause: str, position: str) -> CorruptBatchError:
        """Return the error for a damaged record. Args: position: text with the byte and the buffer."""
        return CorruptBatchError(
            f"{self.topic}-{self.partition}, batch at offset {self.base_offset}, {position}: {cause}",
            topic=self.topic,
            partition=self.partition,
            base_offset=self.base_offset,
        )


MOST_HEADERS: Final[i64] = 100_000
"""Maximum number of headers of a record.

In a batch, a header may have less than two bytes, but in memory it has `HEADER_BYTES`.
"""
HEADER_BYTES: Final[i64] = 200
"""Memory overhead of a header: a tuple, a string, bytes, and references."""


@final
@mypyc_attr(acyclic=True)
class Record:
    """A record of a topic.

    Attributes: `offset`, `timestamp_ms`, `key`, `value`, `headers` (decoded on first access), and `batch`, which
        provides
    `topic`, `partition`, `leader_epoch`, and `timestamp_type`. Null is None and differs from empty. Equality ignores
    `batch`. `Record.of` creates records for tests.
    """

    __slots__ = ("_headers", "batch", "key", "offset", "timestamp_ms", "value")

    def __init__(
        self,
        batch: BatchInfo,
        offset: i64,
        timestamp_ms: i64,
        key: bytes | None,
        value: bytes | None,
        raw_headers: bytes | tuple[Header, ...],
    ) -> None:
        """Args: raw_headers: encoded headers of the batch, or decoded headers."""
        self.batch = batch
        self.offset = offset
        self.timestamp_ms = timestamp_ms
        self.key = key
        self.value = value
        self._headers: bytes | tuple[Header, ...] = raw_headers

    @staticmethod
    def of(
        topic: str,
        partition: int,
        offset: i64,
        *,
        key: bytes | None = None,
        value: bytes | None = None,
        headers: Sequence[Header] = (),
        timestamp_ms: i64 = -1,
        timestamp_type: str = CREATE_TIME,
        leader_epoch: int = -1,
    ) -> Record:
        """Create a record as a consumer would return it."""
        batch = BatchInfo(
            topic, partition, 2, offset, offset, 1, timestamp_ms, timestamp_ms, timestamp_type, "none", leader_epoch
        )
        return Record(batch, offset, timestamp_ms, key, value, tuple(headers))

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, Record)
            and self.offset == other.offset
            and self.timestamp_ms == other.timestamp_ms
            and self.key == other.key
            and self.value == other.value
            and self.batch.topic == other.batch.topic
            and self.batch.partition == other.batch.partition
            and self.batch.leader_epoch == other.batch.leader_epoch
            and self.batch.timestamp_type == other.batch.timestamp_type
            and self._has_equal_headers(other)
        )

    def _has_equal_headers(self, other: Record) -> bool:
        mine, others = self._headers, other._headers
        if isinstance(mine, bytes) and isinstance(others, bytes):
            return mine == others or self.headers == other.headers
        return self.headers == other.headers

    def __hash__(self) -> int:
        return hash((self.batch.topic, self.batch.partition, self.offset))

    def __reduce__(self) -> tuple[Any, ...]:
        """Support pickle and copy; the records of one batch still share it."""
        return Record, (self.batch, self.offset, self.timestamp_ms, self.key, self.value, self._headers)

    @property
    def topic(self) -> str:
        return self.batch.topic

    @property
    def partition(self) -> int:
        return self.batch.partition

    @property
    def leader_epoch(self) -> int:
        """Epoch of the leader that wrote the batch; -1 if unknown (KIP-320)."""
        return self.batch.leader_epoch

    @property
    def timestamp_type(self) -> str:
        """`create_time`, `log_append_time`, or `none` for messages without timestamps."""
        return self.batch.timestamp_type

    @property
    def headers(self) -> tuple[Header, ...]:
        """Headers in order, including duplicates and nulls.

        Raises: CorruptBatchError: the bytes of the headers are damaged.
        Differs: names that are not UTF-8 keep their bytes (surrogateescape); Java replaces them.
        """
        headers = self._headers
        if isinstance(headers, bytes):
            try:
                headers = parse_headers(headers)
            except (IndexError, FieldError) as error:
                raise self.batch.damaged(f"headers: {error}", f"record at offset {self.offset}") from None
            self._headers = headers
        return headers

    def __repr__(self) -> str:
        return f"Record({self.topic}-{self.partition}@{self.offset}, key={self.key!r}, value={self.value!r})"


def parse_headers(raw: bytes) -> tuple[Header, ...]:
    """Decode headers. Raises: IndexError, FieldError: the bytes are damaged."""
    if not raw:
        return ()
    limit: i64 = len(raw)
    count, pos = size_field(raw, 0, limit)
    if count > MOST_HEADERS:
        raise FieldError(f"{count} headers are more than {MOST_HEADERS}")
    headers: list[Header] = []
    while count > 0:
        size, pos = size_field(raw, pos, limit)
        if size < 0:
            raise FieldError("a header without a name")
        name = raw[pos : pos + size].decode("utf-8", "surrogateescape")
        pos += size
        size, pos = size_field(raw, pos, limit)
        if size < 0:
            headers.append((name, None))
        else:
            headers.append((name, raw[pos : pos + size]))
            pos += size
        count -= 1
    if count < 0 or pos != limit:
        raise FieldError(f"{count} more headers in {limit - pos} more bytes")
    return tuple(headers)
