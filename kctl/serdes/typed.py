"""Typed producers and consumers: records with keys of type K and values of type V.

A record that cannot be decoded raises an error with its position and bytes, or goes to a handler such as DeadLetters.
"""

from collections.abc import Callable, Iterator, Sequence
from datetime import datetime
from types import TracebackType
from typing import Any, Generic, Self, TypeVar

from kctl.client import Consumer, ConsumerRecord, Producer, RecordMetadata, SendFuture, TopicPartition
from kctl.client.consumer.consumer import Timeout
from kctl.client.producer.future import Callback
from kctl.client.producer.record import GivenHeaders
from kctl.serdes.errors import RecordDecodeError, SerdesError, is_of_data
from kctl.serdes.formats import Serde
from kctl.serdes.wire import Header

K = TypeVar("K")
V = TypeVar("V")
C = TypeVar("C", Consumer, Producer)
OnError = Callable[[ConsumerRecord, RecordDecodeError], object]
"""Handler of records that cannot be decoded. If it raises, the consumer retries the record. Otherwise it continues."""


class TypedRecord(Generic[K, V]):
    """Record with decoded key and value.

    Attributes:
        record: the original record, with its bytes and headers.
    """

    __slots__ = ("key", "record", "value")

    def __init__(self, key: K | None, value: V | None, record: ConsumerRecord) -> None:
        self.key = key
        self.value = value
        self.record = record

    @property
    def topic(self) -> str:
        """Topic of the record."""
        return self.record.topic

    @property
    def partition(self) -> int:
        """Partition of the record."""
        return self.record.partition

    @property
    def offset(self) -> int:
        """Offset of the record."""
        return self.record.offset

    @property
    def timestamp_ms(self) -> int:
        """Timestamp in ms since the epoch."""
        return self.record.timestamp_ms

    def __repr__(self) -> str:
        place = f"{self.topic}-{self.partition} offset {self.offset}"
        return f"TypedRecord({place}, key={self.key!r}, value={self.value!r})"


def at_record(error: SerdesError, side: str, data: bytes, record: ConsumerRecord) -> RecordDecodeError:
    text = f"cannot decode the {side} of {record.topic}-{record.partition} at offset {record.offset}: {error}"
    return RecordDecodeError(
        text, topic=record.topic, partition=record.partition, offset=record.offset, side=side, raw=data
    )


def letter_headers(record: ConsumerRecord, error: Exception) -> list[Header]:
    """Return the headers of a dead letter: the headers of the record, its position, and the error."""
    reasons = {
        "topic": record.topic,
        "partition": str(record.partition),
        "offset": str(record.offset),
        "exception.class.name": f"{type(error).__module__}.{type(error).__qualname__}",
        "exception.message": str(error),
    }
    added = [(f"__connect.errors.{name}", text.encode(errors="replace")) for name, text in reasons.items()]
    return [*record.headers, *added]


class _Typed(Generic[C]):
    """Client with formats. Leaving the `with` block closes the client."""

    client: C

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.client.__exit__(kind, error, traceback)


class TypedConsumer(_Typed[Consumer], Generic[K, V]):
    """Consumer that decodes records.

    Use `client` to subscribe, commit, seek, and pause. Leaving the `with` block closes the consumer.
    Args:
        client: the consumer.
        key, value: the formats. Null keys and values are None.
        on_error: handler of records that cannot be decoded. None raises the error.
    """

    def __init__(self, client: Consumer, key: Serde[K], value: Serde[V], *, on_error: OnError | None = None) -> None:
        self.client = client
        self._key = key
        self._value = value
        self._on_error = on_error

    def poll(self, timeout: Timeout = None) -> list[TypedRecord[K, V]]:
        """Return the next decoded records, as `Consumer.poll` does.

        If a record cannot be decoded, the records before it are returned first. The next poll raises the error and
        stays at the record. Seek to skip it.
        Raises:
            RecordDecodeError: a record cannot be decoded, and there is no handler.
            KafkaError: the registry does not respond, or as `Consumer.poll`.
        """
        records = self.client.poll(timeout)
        found: list[TypedRecord[K, V]] = []
        passed = handled_first = 0
        try:
            for record in records:
                typed = self._decoded(record)
                passed += 1
                if typed is not None:
                    found.append(typed)
                elif not found:
                    handled_first = passed
        except Exception:
            self._return_to(records[passed:])
            if not found:
                raise
        except BaseException:  # Ctrl-C: no record was returned
            self._return_to(records[handled_first:])
            raise
        return found

    def __iter__(self) -> Iterator[TypedRecord[K, V]]:
        """Yield decoded records without end, as the loop over a `Consumer` does. Raises: as `poll`."""
        for record in self.client:
            try:
                typed = self._decoded(record)
            except BaseException:
                self._return_to([record])
                raise
            if typed is not None:
                yield typed

    def _decoded(self, record: ConsumerRecord) -> TypedRecord[K, V] | None:
        try:
            key = self._read("key", self._key, record.key, record)
            return TypedRecord(key, self._read("value", self._value, record.value, record), record)
        except RecordDecodeError as error:
            if self._on_error is None:
                raise
            self._on_error(record, error)
            return None

    @staticmethod
    def _read(side: str, serde: Serde[Any], data: bytes | None, record: ConsumerRecord) -> Any:
        if data is None:
            return None
        try:
            return serde.deserialize(data, record.topic, record.headers)
        except SerdesError as error:
            if not is_of_data(error):
                raise
            raise at_record(error, side, data, record) from error

    def _return_to(self, records: Sequence[ConsumerRecord]) -> None:
        first: dict[TopicPartition, int] = {}
        for record in records:
            first.setdefault(TopicPartition(record.topic, record.partition), record.offset)
        assigned = set(self.client.assignment)
        for tp, offset in first.items():
            if tp in assigned:
                self.client.seek(tp, offset)


class TypedProducer(_Typed[Producer], Generic[K, V]):
    """Producer that encodes records.

    Use `client` to flush and for transactions. Leaving the `with` block closes the producer.
    Args:
        client: the producer.
        key, value: the formats. None is sent as null.
    """

    def __init__(self, client: Producer, key: Serde[K], value: Serde[V]) -> None:
        self.client = client
        self._key = key
        self._value = value

    def send(
        self,
        topic: str,
        value: V | None = None,
        key: K | None = None,
        partition: int | None = None,
        headers: GivenHeaders | None = (),
        timestamp_ms: int | datetime | None = None,
        callback: Callback | None = None,
    ) -> SendFuture:
        """Send a record and return its future, as `Producer.send` does.

        Raises:
            EncodeError: key or value does not fit its format.
            KafkaError: the registry failed a request, or as `Producer.send`.
        """
        value_bytes = None if value is None else self._value.serialize(value, topic)
        key_bytes = None if key is None else self._key.serialize(key, topic)
        return self.client.send(topic, value_bytes, key_bytes, partition, headers, timestamp_ms, callback)


class DeadLetters:
    """Handler that sends records to a dead letter topic, with the reason and their position in headers.

    Use it for `on_error` of a typed consumer, or call `send` for records that your code rejects. Key, value, and
    headers are unchanged. The added headers have the names of Kafka Connect.
    Args:
        producer: sends the records, and is not closed.
        topic: the dead letter topic.
    """

    def __init__(self, producer: Producer, topic: str) -> None:
        self._producer = producer
        self._topic = topic

    def __call__(self, record: ConsumerRecord, error: Exception) -> RecordMetadata:
        """Send a record and wait for its acknowledgment, before its offset is committed."""
        return self.send(record, error).result()

    def send(self, record: ConsumerRecord, error: Exception) -> SendFuture:
        """Send a record and return its future. Wait for the result before you commit the record's offset."""
        return self._producer.send(self._topic, record.value, record.key, headers=letter_headers(record, error))
