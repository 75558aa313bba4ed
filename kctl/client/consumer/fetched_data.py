"""FetchedData: what was fetched and not yet delivered, and the delivery itself.

Owned by the application thread, which decodes here, so that a slow decode never delays the network. Moves the
positions of the subscription as it delivers; partitions take turns, one chunk each. Whatever belongs to an earlier
epoch than the partition's present one is dropped. Shown by tests/unit/consumer/test_fetched_data.py.
"""

from collections import deque
from collections.abc import Callable

from kctl.client.broker_errors import ErrorCode
from kctl.client.cluster import TopicPartition
from kctl.client.consumer.chunk import FetchedChunk, offset_after
from kctl.client.consumer.events import Consumed, PartitionFailed, Truncated
from kctl.client.consumer.subscription import PartitionState, Subscription
from kctl.client.errors import BrokerError, CorruptBatchError, InvalidOffsetError, KafkaError, LogTruncationError
from kctl.client.events import ResetCause
from kctl.client.records import BatchReader, Record
from kctl.client.records.compression import DEFAULT_MAX_DECOMPRESSED_BYTES


class Delivery:
    """One chunk on its way to the application, some records at a time."""

    __slots__ = ("chunk", "reader")

    def __init__(self, chunk: FetchedChunk) -> None:
        self.chunk = chunk
        self.reader: BatchReader | None = None

    def take(self, limit: int) -> list[Record]:
        """Return up to `limit` records; [] when all are taken.

        Raises: CorruptBatchError: what comes next is damaged; what lay before it was returned earlier.
        """
        if self.reader is None:
            self.reader = self.chunk.reader()
        try:
            return self.reader.records(limit)
        except CorruptBatchError as error:
            if error.base_offset is not None:
                error.resume_offset = offset_after(self.chunk.data, error.base_offset)
            raise

    @property
    def is_done(self) -> bool:
        return self.reader is not None and self.reader.exhausted


class FetchedData:
    """The queues of all partitions, and the turn-taking between them."""

    def __init__(
        self,
        subscription: Subscription,
        release: Callable[[Consumed], None],
        max_decompressed_bytes: int = DEFAULT_MAX_DECOMPRESSED_BYTES,
    ) -> None:
        self._subscription = subscription
        self._max_decompressed_bytes = max_decompressed_bytes
        self._release = release
        self._queues: dict[TopicPartition, deque[Delivery | PartitionFailed]] = {}
        """In the order of turns."""

    def add_chunk(self, chunk: FetchedChunk) -> None:
        if self._subscription.current(chunk.topic_partition, chunk.epoch) is not None:
            self._queues.setdefault(chunk.topic_partition, deque()).append(
                Delivery(chunk._replace(max_decompressed_bytes=self._max_decompressed_bytes))
            )

    def add_failure(self, failure: PartitionFailed) -> None:
        if self._subscription.current(failure.topic_partition, failure.epoch) is not None:
            self._queues.setdefault(failure.topic_partition, deque()).append(failure)

    def truncated(self, event: Truncated) -> None:
        """Drop what was fetched of a log that was cut; whether the position is lost depends on what was delivered.

        Source: KIP-320. With a reset policy the position goes back to the first offset that may hold something else;
        where the leader cannot tell that offset, the policy decides.
        """
        tp = event.topic_partition
        state = self._subscription.current(tp, event.epoch)
        if state is None or state.position is None:
            return
        self.drop(tp)
        is_known = event.end_offset >= 0
        if is_known and state.position <= event.end_offset:
            self._subscription.refetch(tp)
        elif not self._subscription.has_reset_policy:
            failure = PartitionFailed(tp, state.epoch, state.position, _truncation(tp, state.position, event))
            self._queues[tp] = deque([failure])
        elif is_known:
            self._subscription.rewind(tp, event.end_offset, event.leader_epoch)
        else:
            self._subscription.lose(tp, ResetCause.TRUNCATED)

    def give_back(self, topic_partition: TopicPartition, epoch: int) -> None:
        """Drop what is unread of a paused partition, which is fetched again from the position on when it goes on."""
        state = self._subscription.current(topic_partition, epoch)
        if state is not None and state.paused:
            self.drop(topic_partition)
            self._subscription.refetch(topic_partition)

    def drop(self, topic_partition: TopicPartition) -> None:
        """Forget what is there of a partition: its position was moved, or it is not assigned any more."""
        self._queues.pop(topic_partition, None)

    def has(self, topic_partition: TopicPartition) -> bool:
        return topic_partition in self._queues

    # --- delivery ---------------------------------------------------------------------------------------------------

    def take_records(self, limit: int) -> list[Record]:
        """Return up to `limit` records and move the positions past them.

        Raises: the error of a partition whose turn it is, when no record was taken before it.
        """
        taken: list[Record] = []
        while len(taken) < limit:
            tp = self._next()
            if tp is None:
                break
            item = self._queues[tp][0]
            state = self._subscription.state(tp)
            try:
                if isinstance(item, PartitionFailed):
                    raise item.error
                records = item.take(limit - len(taken))
            except KafkaError as error:
                if taken:  # deliver what there is; the next call meets the error again and raises it
                    break
                self._on_error(tp, state, error)
                continue
            if records:
                taken = taken + records if taken else records
                state.position = records[-1].offset + 1
                state.leader_epoch = records[-1].leader_epoch
                state.damage = None
            if item.is_done:
                self._finish(tp, state, item.chunk)
        return taken

    def take_chunk(self) -> FetchedChunk | None:
        """Return the next chunk undecoded and move the position past the whole of it.

        Raises: the error of a partition whose turn it is.
        """
        while (tp := self._next()) is not None:
            item = self._queues[tp][0]
            state = self._subscription.state(tp)
            if isinstance(item, PartitionFailed):
                self._on_error(tp, state, item.error)
                continue
            assert state.position is not None
            chunk = item.chunk._replace(fetch_offset=max(item.chunk.fetch_offset, state.position))
            self._finish(tp, state, chunk)
            return chunk
        return None

    def _next(self) -> TopicPartition | None:
        """Return whose turn it is among the partitions that are not paused."""
        for tp in self._queues:
            if not self._subscription.state(tp).paused:
                return tp
        return None

    def _finish(self, tp: TopicPartition, state: PartitionState, chunk: FetchedChunk) -> None:
        """Note that a chunk is delivered, make room for the next, and let the other partitions have their turn."""
        state.position = chunk.next_offset
        state.leader_epoch = chunk.leader_epoch
        state.damage = None
        self._release(Consumed(tp, chunk.epoch, len(chunk.data)))
        queue = self._queues.pop(tp)
        queue.popleft()
        if queue:
            self._queues[tp] = queue

    # --- what goes wrong --------------------------------------------------------------------------------------------

    def _on_error(self, tp: TopicPartition, state: PartitionState, error: KafkaError) -> None:
        """Apply the reset policy where it is about that, else raise; the next poll tries the same position again."""
        self.drop(tp)
        is_out_of_range = isinstance(error, BrokerError) and error.code == ErrorCode.OFFSET_OUT_OF_RANGE
        if is_out_of_range and self._subscription.has_reset_policy:
            self._subscription.lose(tp, ResetCause.OUT_OF_RANGE)
            return
        if isinstance(error, CorruptBatchError) and error.base_offset is not None and error.resume_offset is not None:
            state.damage = (error.base_offset, error.resume_offset)
        self._subscription.refetch(tp)
        if is_out_of_range:
            text = f"{tp} has no offset {state.position}, and auto.offset.reset=none; seek to an offset that it has"
            raise InvalidOffsetError(text, partitions=(tp,)) from error
        raise error


def _truncation(tp: TopicPartition, position: int, event: Truncated) -> LogTruncationError:
    if event.end_offset >= 0:
        since = f"the leader's log differs from offset {event.end_offset} on"
    else:
        since = "the leader cannot tell from which offset on its log differs"
    return LogTruncationError(
        f"{tp} was read up to offset {position} of a log that was cut: {since}, and auto.offset.reset=none; seek first",
        topic=tp.topic,
        partition=tp.partition,
        offset=position,
        divergent_offset=event.end_offset if event.end_offset >= 0 else None,
        divergent_epoch=event.leader_epoch,
    )
