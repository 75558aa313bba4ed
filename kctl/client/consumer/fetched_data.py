"""FetchedData: fetched data that poll has not returned yet, decoded on the application thread.

Partitions alternate, with one chunk each. A position moves only past records that `PollResult.given` counts, so an
interrupted poll is repeated, and an early exit from a loop loses no records.
"""

from collections import OrderedDict, deque
from collections.abc import Callable, Iterator
from typing import NamedTuple

from kctl.client.broker_errors import ErrorCode
from kctl.client.clock import Timer
from kctl.client.cluster import NO_EPOCH, TopicPartition
from kctl.client.consumer.chunk import FetchedChunk, offset_after
from kctl.client.consumer.events import Consumed, PartitionFailed, Truncated
from kctl.client.consumer.subscription import Subscription
from kctl.client.errors import BrokerError, CorruptBatchError, InvalidOffsetError, KafkaError, LogTruncationError
from kctl.client.events import ResetCause
from kctl.client.records import BatchReader, Record
from kctl.client.records.compression import DEFAULT_MAX_DECOMPRESSED_BYTES
from kctl.client.records.reader import OUTPUT_BYTES


class Delivery:
    """A chunk whose records several polls may return.

    Attributes:
        decoded: decoded records that the next polls return.
        decompressed_bytes: bytes that the last `fill` decompressed.
    """

    __slots__ = ("_next_offset", "_reader", "chunk", "decoded", "decompressed_bytes", "is_decoded")

    def __init__(self, chunk: FetchedChunk) -> None:
        self.chunk = chunk
        self.decoded: list[Record] = []
        self.is_decoded = False
        self.decompressed_bytes = 0
        self._next_offset = chunk.fetch_offset
        self._reader: BatchReader | None = None

    @property
    def epoch(self) -> int:
        return self.chunk.epoch

    def fill(self, limit: int) -> None:
        """Decode up to `limit` records into `decoded`, or fewer if the batches are large.

        Raises: CorruptBatchError: the next records are damaged, and `decoded` is empty.
        """
        self.decompressed_bytes = 0
        while len(self.decoded) < limit and not self.is_decoded:
            try:
                self._decode(limit - len(self.decoded))
            except CorruptBatchError as error:
                if self.decoded:  # return them first; the next call finds the damage again
                    return
                if error.base_offset is not None:
                    error.resume_offset = offset_after(self.chunk.data, error.base_offset)
                raise
            if self.decoded:
                return

    def _decode(self, limit: int) -> None:
        reader, self._reader = self._reader, None
        if reader is None:
            reader = self.chunk._replace(fetch_offset=self._next_offset).reader()
        before_bytes = reader.decompressed_bytes
        records = reader.records(limit)
        self.decompressed_bytes += reader.decompressed_bytes - before_bytes
        if records:
            self._next_offset = records[-1].offset + 1
            self.decoded = self.decoded + records if self.decoded else records
        self.is_decoded = reader.exhausted
        self._reader = reader


class Run(NamedTuple):
    """Records of one poll that come from one chunk.

    Attributes:
        start, end: indexes of the records in the result of the poll.
        next_offset, leader_epoch: position after the records.
        is_last: whether the chunk has no further records.
        rest: decoded records that the poll does not return.
    """

    delivery: Delivery
    start: int
    end: int
    first_offset: int
    next_offset: int
    leader_epoch: int
    is_last: bool
    rest: list[Record]


class PollResult:
    """Result of a poll.

    Attributes:
        records: returned list, which the caller of poll() may change.
        chunk: undecoded chunk, for poll_chunk().
        count: number of records, or 1 for a chunk.
        given: number of records that the application has got.
        is_one_by_one: whether a loop over the consumer returns the records.
    """

    __slots__ = ("chunk", "count", "given", "is_one_by_one", "records", "runs")

    def __init__(self, records: list[Record], runs: list[Run], chunk: FetchedChunk | None = None) -> None:
        self.records = records
        self.runs = runs
        self.chunk = chunk
        self.count = len(records) if chunk is None else 1
        self.given = 0
        self.is_one_by_one = False


class FetchedData:
    def __init__(
        self,
        subscription: Subscription,
        release: Callable[[Consumed], None],
        max_decompressed_bytes: int = DEFAULT_MAX_DECOMPRESSED_BYTES,
    ) -> None:
        self._subscription = subscription
        self._max_decompressed_bytes = max_decompressed_bytes
        self._release = release
        self._queues: OrderedDict[TopicPartition, deque[Delivery | PartitionFailed]] = OrderedDict()
        """Unreturned data by partition, in the order of delivery."""
        self.result: PollResult | None = None
        """Result of the last poll; None after the positions have moved past it."""
        self.bytes_fetched = 0
        self._records_settled = 0
        self._in_hand: dict[TopicPartition, int] = {}
        """Offsets of the first of the last returned records, by partition. The application may still process these
        records.
        """

    def add_chunk(self, chunk: FetchedChunk) -> None:
        if self._subscription.current(chunk.topic_partition, chunk.epoch) is not None:
            queue = self._queues.setdefault(chunk.topic_partition, deque())
            last = queue[-1] if queue else None
            if isinstance(last, Delivery) and last.epoch == chunk.epoch and last.chunk.next_offset >= chunk.next_offset:
                return  # a duplicate after an interrupt
            self.bytes_fetched += chunk.size_bytes
            queue.append(Delivery(chunk._replace(max_decompressed_bytes=self._max_decompressed_bytes)))

    def add_failure(self, failure: PartitionFailed) -> None:
        if self._subscription.current(failure.topic_partition, failure.epoch) is not None:
            queue = self._queues.setdefault(failure.topic_partition, deque())
            if not queue or queue[-1] is not failure:
                queue.append(failure)

    def truncated(self, event: Truncated) -> None:
        """Handle a truncated log: fetch again, reset the position, or queue an error if there is no reset policy.

        Source: KIP-320. With a reset policy, the position returns to the first differing offset if known.
        """
        tp = event.topic_partition
        state = self._subscription.current(tp, event.epoch)
        if state is None or state.position is None:
            return
        error = _truncation(tp, state.position, event)
        state.setback = error
        is_known = event.end_offset >= 0
        if is_known and state.position <= event.end_offset:
            self._subscription.refetch(tp)
        elif not self._subscription.has_reset_policy:
            failure = PartitionFailed(tp, state.epoch, state.position, error)
            self._queues[tp] = deque([failure])
        elif is_known:
            self._subscription.rewind(tp, event.end_offset, event.leader_epoch)
        else:
            self._subscription.lose(tp, ResetCause.RECREATED if event.is_recreated else ResetCause.TRUNCATED)
        if self._subscription.current(tp, event.epoch) is None:
            self.drop(tp)

    def give_back(self, topic_partition: TopicPartition, epoch: int) -> None:
        """Drop the unread records of a paused partition; after `resume`, they are fetched again."""
        state = self._subscription.current(topic_partition, epoch)
        if state is not None and state.paused:
            self._subscription.refetch(topic_partition)
            self.drop(topic_partition)

    def drop(self, topic_partition: TopicPartition) -> None:
        self._queues.pop(topic_partition, None)

    def has(self, topic_partition: TopicPartition) -> bool:
        return bool(self._queues.get(topic_partition))

    # --- delivery ---------------------------------------------------------------------------------------------------

    def pop_records(self, limit: int, timer: Timer) -> PollResult | None:
        """Return up to `limit` records, or None; positions move after the application has got the records.

        After OUTPUT_BYTES of decompressed batches, the result is shorter. Data without records is skipped until the
        timer expires.

        Raises: the error of a partition, if no records precede it.
        """
        while True:
            records: list[Record] = []
            runs: list[Run] = []
            failed: tuple[TopicPartition, KafkaError] | None = None
            decompressed_bytes = 0
            for tp, item in self._turns():
                try:
                    if isinstance(item, PartitionFailed):
                        raise item.error
                    run, some = _run(item, len(records), limit)
                except KafkaError as error:  # after records, the next poll finds the error again
                    failed = (tp, error)
                    break
                runs.append(run)
                records = records + some if records else some
                decompressed_bytes += item.decompressed_bytes
                timer.update()
                is_enough = len(records) >= limit or (bool(records) and decompressed_bytes >= OUTPUT_BYTES)
                if not run.is_last or is_enough or (timer.is_expired and not records):
                    break
            if runs:
                self.result = result = PollResult(records, runs)
                if records:
                    return result
                self.settle()  # control batches and aborted records are not returned
                if timer.is_expired:
                    return None
            elif failed is None:
                return None
            else:
                self._on_error(*failed)

    def pop_chunk(self) -> PollResult | None:
        """Return the next chunk undecoded, or None; the position moves after the application has got the chunk.

        Raises: the error of a partition, if no chunk precedes it.
        """
        while (turn := next(self._turns(), None)) is not None:
            tp, item = turn
            if isinstance(item, PartitionFailed):
                self._on_error(tp, item.error)
                continue
            position = self._subscription.state(tp).position
            assert position is not None
            chunk = item.chunk._replace(fetch_offset=max(item.chunk.fetch_offset, position))
            run = Run(item, 0, 1, chunk.fetch_offset, chunk.next_offset, chunk.leader_epoch, is_last=True, rest=[])
            self.result = result = PollResult([], [run], chunk)
            return result
        return None

    def settle(self) -> None:
        """Move the positions past the records that the application has got; the next poll returns the others."""
        result = self.result
        if result is None:
            return
        self._in_hand = _in_hand(result)
        for run in result.runs:
            if run.end <= result.given:
                self._settle_run(run)
            elif run.start < result.given:
                last = result.records[result.given - 1]
                rest = result.records[result.given : run.end] + run.rest
                self._settle_run(
                    run._replace(next_offset=last.offset + 1, leader_epoch=last.leader_epoch, is_last=False, rest=rest)
                )
        settled = self._records_settled + result.given * (result.chunk is None)
        self._records_settled, self.result = settled, None

    def retake(self, result: PollResult, count: int, *, is_processed: bool = False) -> PollResult | None:
        """Return a result that can still be returned, or None.

        If a call has read the positions since, a new result has up to `count` records, which are still the next ones.
        Args: is_processed: the application has the records, even if their partition was paused since.
        """
        if self.result is result:
            return result
        self.settle()
        run = next(each for each in result.runs if each.end > result.given)
        delivery, tp = run.delivery, run.delivery.chunk.topic_partition
        state, queue, decoded = self._subscription.current(tp, delivery.epoch), self._queues.get(tp), delivery.decoded
        if state is None or (state.paused and not is_processed) or not queue or queue[0] is not delivery:
            return None
        if not decoded or decoded[0] is not result.records[result.given]:
            return None
        rest, records = _run(delivery, 0, min(run.end - result.given, count))
        self.result = retaken = PollResult(records, [rest])
        retaken.is_one_by_one = result.is_one_by_one
        return retaken

    @property
    def records_given(self) -> int:
        """Number of returned records, except in chunks; any thread."""
        result = self.result
        return self._records_settled + (0 if result is None or result.chunk is not None else result.given)

    def _settle_run(self, run: Run) -> None:
        """Move the position of one partition; at the end of a chunk, release it and let other partitions go first."""
        delivery, chunk = run.delivery, run.delivery.chunk
        tp = chunk.topic_partition
        state = self._subscription.current(tp, chunk.epoch)
        if state is None:
            return
        if run.start == run.end and not state.is_uncommitted:
            state.uncommitted_from = run.next_offset
        if run.next_offset != state.position:
            state.setback = None
        state.position, state.leader_epoch, state.damage = run.next_offset, run.leader_epoch, None
        delivery.decoded = run.rest
        if run.is_last:
            self._release(Consumed(tp, chunk.epoch, chunk.next_offset))
            self._end_turn(tp, delivery)

    def _end_turn(self, tp: TopicPartition, used_up: Delivery) -> None:
        queue = self._queues.get(tp)
        if queue and queue[0] is used_up:
            queue.popleft()
        if queue:
            self._queues.move_to_end(tp)
        else:
            self.drop(tp)

    def processed(self) -> None:
        self.settle()
        self._in_hand = {}

    def step_back(self) -> None:
        """Move the positions back to the first of the last returned records, which count as not processed."""
        self.settle()
        for tp, offset in self._in_hand.items():
            if tp in self._subscription:
                state = self._subscription.state(tp)
                if state.position is not None and state.position > offset:
                    state.position, state.leader_epoch = offset, NO_EPOCH
        self._in_hand = {}

    def _turns(self) -> Iterator[tuple[TopicPartition, Delivery | PartitionFailed]]:
        """Yield the first item of each partition that is not paused, then the second item of each, and so on."""
        depth, deepest = 0, 1
        while depth < deepest:
            for tp, queue in self._queues.items():
                while queue and self._subscription.current(tp, queue[0].epoch) is None:
                    queue.popleft()
                if depth < len(queue) and not self._subscription.state(tp).paused:
                    deepest = max(deepest, len(queue))
                    yield tp, queue[depth]
            depth += 1

    # --- what goes wrong --------------------------------------------------------------------------------------------

    def _on_error(self, tp: TopicPartition, error: KafkaError) -> None:
        """Apply the reset policy to an offset out of range; raise other errors, which the next poll retries."""
        state = self._subscription.state(tp)
        is_out_of_range = isinstance(error, BrokerError) and error.code == ErrorCode.OFFSET_OUT_OF_RANGE
        if is_out_of_range:
            state.setback = error
        if is_out_of_range and self._subscription.has_reset_policy:
            self._subscription.lose(tp, ResetCause.OUT_OF_RANGE)
            self.drop(tp)
            return
        if isinstance(error, CorruptBatchError) and error.base_offset is not None and error.resume_offset is not None:
            state.damage = (error.base_offset, error.resume_offset)
        self._retry(tp)
        for other in self._failed_by(error):
            self._retry(other)
        if is_out_of_range:
            text = f"{tp} has no offset {state.position}: call seek() with a valid offset or set auto.offset.reset"
            raise InvalidOffsetError(text, partitions=(tp,)) from error
        raise error

    def _failed_by(self, error: KafkaError) -> list[TopicPartition]:
        """Return the partitions whose next item is this error, which may concern a whole topic or group."""
        return [
            tp
            for tp, queue in self._queues.items()
            if queue
            and isinstance(first := queue[0], PartitionFailed)
            and first.error is error
            and self._subscription.current(tp, first.epoch) is not None
        ]

    def _retry(self, tp: TopicPartition) -> None:
        self._subscription.refetch(tp, is_after_error=True)
        self.drop(tp)


def _run(delivery: Delivery, start: int, limit: int) -> tuple[Run, list[Record]]:
    chunk = delivery.chunk
    delivery.fill(limit - start)
    decoded, room = delivery.decoded, limit - start
    some, rest = (decoded, []) if len(decoded) <= room else (decoded[:room], decoded[room:])
    end = start + len(some)
    if delivery.is_decoded and not rest:
        first_offset = some[0].offset if some else chunk.next_offset
        return Run(delivery, start, end, first_offset, chunk.next_offset, chunk.leader_epoch, True, rest), some
    last = some[-1]
    return Run(delivery, start, end, some[0].offset, last.offset + 1, last.leader_epoch, False, rest), some


def _in_hand(result: PollResult) -> dict[TopicPartition, int]:
    if not result.given:
        return {}
    if result.is_one_by_one:
        record = result.records[result.given - 1]
        return {TopicPartition(record.topic, record.partition): record.offset}
    in_hand: dict[TopicPartition, int] = {}
    for run in result.runs:
        if run.end > run.start:
            in_hand.setdefault(run.delivery.chunk.topic_partition, run.first_offset)
    return in_hand


def _truncation(tp: TopicPartition, position: int, event: Truncated) -> LogTruncationError:
    if event.is_recreated:
        cause = "the topic was deleted and recreated"
    elif event.end_offset >= 0:
        cause = f"the log was truncated, and the leader has other records from offset {event.end_offset}"
    else:
        cause = "the log was truncated, and the leader does not report the last common offset"
    return LogTruncationError(
        f"cannot continue reading {tp} at offset {position}: {cause}. Call seek() or set auto.offset.reset",
        topic=tp.topic,
        partition=tp.partition,
        offset=position,
        divergent_offset=event.end_offset if event.end_offset >= 0 else None,
        divergent_epoch=event.leader_epoch,
    )
