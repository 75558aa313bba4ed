"""RangeReader: the records of one offset range as Arrow batches, read ahead in the client's network thread.

Owns when a range is done and when nothing has come for too long. A range ends when the position reaches its end, so
that compaction, aborted transactions and their markers cannot keep it from ending. Memory is bounded: what is fetched
ahead, one chunk that is being decoded, and one batch. Knows nothing of Spark.
Shown by tests/sim/pipeline and, with real brokers, tests/pipeline/test_source_read.py and test_source_faults.py.
"""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Final

from kctl.client.broker_errors import ErrorCode
from kctl.client.clock import Timer
from kctl.client.config import ConsumerConfig
from kctl.client.consumer import Consumer, FetchedChunk, WaitKind
from kctl.client.errors import ApiTimeout, BrokerError, InvalidOffsetError, KafkaError
from kctl.client.network.system import system_runtime
from kctl.client.protocol.primitives import parse_uuid
from kctl.client.runtime import Runtime
from kctl.pipeline.isolation import ReadingProperties
from kctl.pipeline.ranges import OffsetRange, Properties

if TYPE_CHECKING:
    import pyarrow as pa

    from kctl.client.records import Columns
    from kctl.pipeline.client_pool import ClientPool

PREFETCH_BYTES: Final = 16 << 20
"""Fetched and not yet decoded, at most, beside one answer that is just arriving."""
FETCH_BYTES: Final = 8 << 20
"""max.partition.fetch.bytes where nothing else is asked for. A task reads one partition: with fewer and larger answers
its two threads hinder each other less (a third less CPU a record than with Kafka's 1 MiB)."""
RECREATED_AFTER_MS: Final = 5_000
"""How long metadata may name another topic before the topic counts as recreated: one broker's may be out of date."""
LOOKS_BEFORE_SKIPPING: Final = 2
"""How often in a row, RECREATED_AFTER_MS apart, a topic has to be gone before its range is skipped."""
_NO_TOPIC: Final = (ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, ErrorCode.UNKNOWN_TOPIC_ID)
_OURS: Final = {"auto.offset.reset": "none", "allow.auto.create.topics": "false"}
_NOT_FOR_READING: Final = ("group.id", "group.instance.id", "enable.auto.commit", "auto.commit.interval.ms")


def read_range(
    properties: ReadingProperties,
    offset_range: OffsetRange,
    columns: Sequence[str] | None = None,
    *,
    fail_on_data_loss: bool = True,
    pool: "ClientPool[Consumer] | None" = None,
    runtime: Runtime | None = None,
) -> "Iterator[pa.RecordBatch]":
    """Yield the records of the range, in order, in batches of up to 16,384 rows or about 4 MiB.

    Args:
        properties: Kafka properties; default.api.timeout.ms is how long nothing may come, from the start or from the
            last data on, request.timeout.ms and socket.connection.setup.timeout.ms as everywhere.
        columns: names as in `record_columns.TYPES`, in the order wanted; None: all but headers.
        fail_on_data_loss: offsets of the range that are gone are an error; otherwise reading continues with what is
            there, and the range ends where the topic was deleted or recreated.
        pool: that has consumers of earlier ranges, and gets this one's; None: a consumer for this range alone.
    Raises:
        ApiTimeout: no record for too long: what was waited for, and where the time went.
        InvalidOffsetError: offsets of the range are gone, or the topic was deleted and recreated.
        CorruptBatchError: after the records before it.
        ConfigError, TransportError, BrokerError: as Consumer.poll_chunk().
    """
    reader = RangeReader(
        properties, offset_range, columns, fail_on_data_loss=fail_on_data_loss, pool=pool, runtime=runtime
    )
    try:
        yield from reader
    except GeneratorExit:  # the caller has enough, as with `limit`
        reader.release()
        raise
    except BaseException:
        reader.close()
        raise
    reader.release()


class RangeReader:
    """Reads one range once; see `read_range`.

    Attributes:
        records: how many records were given out; gaps make them fewer than the range has offsets.
        position: the offset after what was given out; the range's end when all of it was.
    """

    def __init__(
        self,
        properties: ReadingProperties,
        offset_range: OffsetRange,
        columns: Sequence[str] | None = None,
        *,
        fail_on_data_loss: bool = True,
        pool: "ClientPool[Consumer] | None" = None,
        runtime: Runtime | None = None,
    ) -> None:
        from kctl.pipeline.record_columns import DEFAULT_COLUMNS, RecordColumns

        runtime = runtime or system_runtime()
        self._clock = runtime.clock
        self._range = offset_range
        self._tp = offset_range.topic_partition
        self._fails = fail_on_data_loss
        self._columns = RecordColumns(*self._tp, DEFAULT_COLUMNS if columns is None else tuple(columns))
        config = reading_config(properties)
        self._api_timeout_ms = config.default_api_timeout_ms
        self.records = 0
        self.position = offset_range.start_offset
        self._looks_without_topic = 0
        self._properties = properties
        self._pool = pool

        def make() -> Consumer:
            return Consumer(config, runtime, prefetch_bytes=PREFETCH_BYTES)

        self._consumer = make() if pool is None else pool.acquire(properties, make)

    def close(self) -> None:
        """Close the connections; waits for nothing."""
        self._consumer.close(0)

    def release(self) -> None:
        """Leave the consumer to the next range of the pool, or close it where there is none."""
        if self._pool is None:
            self.close()
        else:
            self._consumer.assign([])
            self._pool.release(self._properties, self._consumer)

    def __iter__(self) -> "Iterator[pa.RecordBatch]":
        """Yield the batches; a batch holds records of one or more fetches."""
        from kctl.pipeline.record_columns import ROWS_PER_BATCH

        filling = self._columns.begin()
        for chunk in self._chunks():
            reader = chunk.reader(self._range.end_offset)
            while not reader.exhausted:
                try:
                    reader.columns(filling, ROWS_PER_BATCH - filling.count)
                except KafkaError:
                    if filling.count:
                        yield self._batch(filling)
                    raise
                self.position = reader.next_offset
                if filling.is_full() or filling.count >= ROWS_PER_BATCH:
                    yield self._batch(filling)
                    filling = self._columns.begin()
            self.position = min(chunk.next_offset, self._range.end_offset)
        if filling.count:
            yield self._batch(filling)

    def _batch(self, filled: "Columns") -> "pa.RecordBatch":
        self.records += filled.count
        return self._columns.batch(filled)

    def _chunks(self) -> Iterator[FetchedChunk]:
        """Yield what is fetched until the position has reached the end."""
        if self._range.size <= 0:
            return
        end, position = self._range.end_offset, self._range.start_offset
        self._consumer.assign([self._tp], topic_ids=self._topic_ids())
        self._consumer.seek(self._tp, position, end_offset=end)
        timer = Timer(self._clock, self._api_timeout_ms)
        self._find_topic(timer)
        while position < end:
            timer.update()
            try:
                chunk = self._consumer.poll_chunk(timer.sub(RECREATED_AFTER_MS).remaining_ms / 1000)
            except InvalidOffsetError:
                position = self._after_loss(position, timer)
                continue
            if chunk is None:
                if self._is_topic_lost(timer):
                    return
                if timer.not_expired:
                    continue
                if not self._fails and self._is_at_end():
                    return
                raise self._timeout(timer, position)
            self._looks_without_topic = 0
            position = chunk.next_offset
            yield chunk
            timer = Timer(self._clock, self._api_timeout_ms)

    def _topic_ids(self) -> dict[str, bytes]:
        return {self._tp.topic: parse_uuid(self._range.topic_id)} if self._range.topic_id else {}

    def _find_topic(self, timer: Timer) -> None:
        """Ask a broker for the topic; where loss is allowed, the polls that follow find out whether it is gone."""
        try:
            self._consumer.partitions_for(self._tp.topic, timer.remaining_ms / 1000)
        except BrokerError as error:
            if self._fails or error.code not in _NO_TOPIC:
                raise

    def _is_topic_lost(self, timer: Timer) -> bool:
        """Whether the topic is gone for good, after a silent poll; raise if another has its name, and loss is an error.

        One broker's metadata may be out of date: a range is skipped only after more than one look, or at the timeout.
        """
        reason = self._consumer.waiting_for()[self._tp]
        is_recreated = reason.kind is WaitKind.RECREATED
        if is_recreated and self._fails:
            raise InvalidOffsetError(f"{self._range}: {reason.text}", partitions=(self._tp,))
        is_deleted = isinstance(reason.cause, BrokerError) and reason.cause.code in _NO_TOPIC
        self._looks_without_topic = self._looks_without_topic + 1 if is_recreated or is_deleted else 0
        is_sure = self._looks_without_topic >= LOOKS_BEFORE_SKIPPING or not timer.not_expired
        return not self._fails and self._looks_without_topic > 0 and is_sure

    def _after_loss(self, position: int, timer: Timer) -> int:
        """Continue at the first offset that is there; raise the error at hand where loss is one."""
        timer.update()
        first = self._consumer.beginning_offsets([self._tp], timer.remaining_ms / 1000)[self._tp]
        if self._fails:
            text = f"{self._tp}: offset {position} of {self._range} is gone, the first is {first}"
            raise InvalidOffsetError(
                f"{text}; failOnDataLoss=false continues with the remaining records", partitions=(self._tp,)
            )
        if first <= position:
            return self._range.end_offset
        self._consumer.seek(self._tp, first, end_offset=self._range.end_offset)
        return first

    def _is_at_end(self) -> bool:
        return self._consumer.waiting_for()[self._tp].kind is WaitKind.AT_END

    def _timeout(self, timer: Timer, position: int) -> ApiTimeout:
        timer.update()
        reason = self._consumer.waiting_for()[self._tp]
        return ApiTimeout(
            f"waiting for offset {position} of {self._range}: {reason.text or 'no reason reported'}",
            timeout_ms=timer.timeout_ms,
            elapsed_ms=timer.elapsed_ms,
            cause=reason.cause,
        )


def reading_config(properties: Properties) -> ConsumerConfig:
    """Return the config of a consumer that reads ranges: no group, nothing created, and larger answers."""
    wanted = {name: value for name, value in properties.items() if name not in _NOT_FOR_READING}
    return ConsumerConfig.parse({"max.partition.fetch.bytes": FETCH_BYTES, **wanted, **_OURS})
