"""RangeReader: the records of one offset range as Arrow batches, prefetched by the client's network thread.

A range is done when the position reaches its end, so compaction, aborted transactions and markers cannot block it.
Memory is limited to the prefetched data, one chunk that is decoded, and one batch.
"""

from collections.abc import Generator, Iterator, Sequence
from contextlib import closing
from typing import TYPE_CHECKING, Final

from kctl.client.broker_errors import ErrorCode
from kctl.client.clock import Timer
from kctl.client.consumer import FetchedChunk, WaitKind
from kctl.client.errors import ApiTimeout, BrokerError, InvalidOffsetError, KafkaError
from kctl.client.network.system import system_runtime
from kctl.client.runtime import Runtime
from kctl.pipeline.isolation import ReadingProperties
from kctl.pipeline.range_fetch import RangeFetch
from kctl.pipeline.ranges import OffsetRange

if TYPE_CHECKING:
    import pyarrow as pa

    from kctl.client.consumer import Consumer
    from kctl.client.records import Columns
    from kctl.pipeline.client_pool import ClientPool

RECREATED_AFTER_MS: Final = 5_000
"""Time in ms without data before a new topic ID in the metadata counts, because metadata may be stale."""
LOOKS_BEFORE_SKIPPING: Final = 2
"""Number of consecutive checks, RECREATED_AFTER_MS apart, that must miss the topic before its range is skipped."""
_NO_TOPIC: Final = (ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, ErrorCode.UNKNOWN_TOPIC_ID)


def read_range(
    properties: ReadingProperties,
    offset_range: OffsetRange,
    columns: Sequence[str] | None = None,
    *,
    fail_on_data_loss: bool = True,
    is_exact: bool = False,
    pool: "ClientPool[Consumer] | None" = None,
    runtime: Runtime | None = None,
) -> "Generator[pa.RecordBatch]":
    """Yield the records of the range, in order, in batches of up to 16,384 rows or about 4 MiB.

    Args:
        properties: Kafka properties. default.api.timeout.ms limits the time without data.
        columns: names of `record_columns.TYPES`, in output order. None yields all columns except headers.
        fail_on_data_loss: raise an error for missing offsets. If False, continue with the remaining records, and stop
            if the topic was deleted or recreated.
        is_exact: use timestamps in milliseconds, because some do not fit into microseconds.
        pool: pool that lends the consumer. None creates a new consumer.

    Raises:
        ApiTimeout: no data arrived in time. The message has the reason.
        InvalidOffsetError: offsets of the range are missing, or the topic was deleted and recreated.
        CorruptBatchError: a batch is corrupt. Raised after the records before the batch.
        ConfigError, TransportError, BrokerError: as Consumer.poll_chunk().
    """
    one = read_ranges(
        properties,
        [offset_range],
        columns,
        fail_on_data_loss=fail_on_data_loss,
        is_exact=is_exact,
        pool=pool,
        runtime=runtime,
    )
    with closing(one):
        for _, batches in one:
            yield from batches


def read_ranges(
    properties: ReadingProperties,
    ranges: Sequence[OffsetRange],
    columns: Sequence[str] | None = None,
    *,
    fail_on_data_loss: bool = True,
    is_exact: bool = False,
    pool: "ClientPool[Consumer] | None" = None,
    runtime: Runtime | None = None,
) -> "Generator[tuple[OffsetRange, Iterator[pa.RecordBatch]]]":
    """Yield each range with an iterator of its batches, as from `read_range`.

    The ranges belong to different partitions, and are fetched together. Advancing to the next range drops the remaining
    batches of the previous one. An error in a batch iterator ends the iteration over the ranges.
    """
    fetch = RangeFetch(properties, ranges, pool=pool, runtime=runtime or system_runtime())
    try:
        for each in ranges:
            reader = RangeReader(
                properties,
                each,
                columns,
                fail_on_data_loss=fail_on_data_loss,
                is_exact=is_exact,
                fetch=fetch,
                runtime=runtime,
            )
            yield each, _batches(reader)
            fetch.end(each.topic_partition, is_read=reader.position >= each.end_offset)
    except GeneratorExit:  # the caller stopped early, as with `limit`
        fetch.release()
        raise
    except BaseException:
        fetch.close()
        raise
    fetch.release()


def _batches(reader: "RangeReader") -> "Iterator[pa.RecordBatch]":
    try:
        yield from reader
    except GeneratorExit:
        raise
    except BaseException:
        reader.close()
        raise


class RangeReader:
    """Reader of one range, for one iteration; see `read_range`.

    Attributes:
        records: number of records returned.
        position: offset after the last returned record, or the end of the range after all records.
    """

    def __init__(
        self,
        properties: ReadingProperties,
        offset_range: OffsetRange,
        columns: Sequence[str] | None = None,
        *,
        fail_on_data_loss: bool = True,
        is_exact: bool = False,
        fetch: RangeFetch | None = None,
        runtime: Runtime | None = None,
    ) -> None:
        from kctl.pipeline.record_columns import DEFAULT_COLUMNS, RecordColumns

        runtime = runtime or system_runtime()
        self._clock = runtime.clock
        self._range = offset_range
        self._tp = offset_range.topic_partition
        self._fails = fail_on_data_loss
        names = DEFAULT_COLUMNS if columns is None else tuple(columns)
        self._columns = RecordColumns(*self._tp, names, is_exact=is_exact)
        self._fetch = fetch or RangeFetch(properties, [offset_range], pool=None, runtime=runtime)
        self._api_timeout_ms = self._fetch.api_timeout_ms
        self.records = 0
        self.position = offset_range.start_offset
        self._looks_without_topic = 0

    def close(self) -> None:
        self._fetch.close()

    def __iter__(self) -> "Iterator[pa.RecordBatch]":
        """Yield the batches, each with records of one or more fetches."""
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
        if self._range.size <= 0:
            return
        end, position = self._range.end_offset, self._range.start_offset
        self._fetch.begin(self._tp)
        timer = Timer(self._clock, self._api_timeout_ms)
        is_lost = self._tp.topic in self._fetch.lost_topics  # only prefetched chunks remain
        if not is_lost:
            self._find_topic(timer)
        while position < end:
            timer.update()
            try:
                chunk = self._fetch.next_chunk(self._tp, timer.sub(0 if is_lost else RECREATED_AFTER_MS))
            except InvalidOffsetError:
                position = self._after_loss(position, timer)
                continue
            if chunk is None:
                if is_lost or self._is_topic_lost(timer):
                    self._fetch.lost_topics.add(self._tp.topic)
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

    def _find_topic(self, timer: Timer) -> None:
        """Request the topic's metadata. If data loss is allowed, ignore a missing topic; the polls detect it later."""
        try:
            self._fetch.find_topic(self._tp.topic, timer)
        except BrokerError as error:
            if self._fails or error.code not in _NO_TOPIC:
                raise

    def _is_topic_lost(self, timer: Timer) -> bool:
        """Return whether the topic no longer exists, after a poll without data.

        Metadata may be stale, so repeated checks must agree, or the timeout must have passed. Returns False if data
        loss is an error, and raises InvalidOffsetError if the topic was then recreated.
        """
        reason = self._fetch.waiting_for(self._tp)
        is_recreated = reason.kind is WaitKind.RECREATED
        if is_recreated and self._fails:
            raise InvalidOffsetError(f"{self._range}: {reason.text}", partitions=(self._tp,))
        is_deleted = isinstance(reason.cause, BrokerError) and reason.cause.code in _NO_TOPIC
        self._looks_without_topic = self._looks_without_topic + 1 if is_recreated or is_deleted else 0
        is_sure = self._looks_without_topic >= LOOKS_BEFORE_SKIPPING or not timer.not_expired
        return not self._fails and self._looks_without_topic > 0 and is_sure

    def _after_loss(self, position: int, timer: Timer) -> int:
        """Seek to the first remaining offset and return it, or return the range's end if no later offset remains.

        Raises: InvalidOffsetError: data loss is an error.
        """
        timer.update()
        first = self._fetch.first_offset(self._tp, timer)
        if self._fails:
            text = f"cannot read offset {position} of {self._range}: it was deleted, and the first offset is {first}"
            raise InvalidOffsetError(
                f"{text}. To read the remaining records, set failOnDataLoss=false", partitions=(self._tp,)
            )
        if first <= position:
            return self._range.end_offset
        self._fetch.seek(self._tp, first)
        return first

    def _is_at_end(self) -> bool:
        return self._fetch.waiting_for(self._tp).kind is WaitKind.AT_END

    def _timeout(self, timer: Timer, position: int) -> ApiTimeout:
        timer.update()
        reason = self._fetch.waiting_for(self._tp)
        return ApiTimeout(
            f"waiting for offset {position} of {self._range}: {reason.text or 'cause unknown'}",
            timeout_ms=timer.timeout_ms,
            elapsed_ms=timer.elapsed_ms,
            cause=reason.cause,
        )
