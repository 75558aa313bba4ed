"""GroupReading: one member's share of the topics to stdout; what is committed has been written and flushed before.

Owns which offsets have left this process, and when they are committed. Shown by tests/cli/test_consume_group.py.
"""

from collections.abc import Sequence

from kctl.cli.formats.output import RecordOutput
from kctl.cli.options import Common
from kctl.cli.reading import Reading
from kctl.client.clock import Timer
from kctl.client.cluster import TopicPartition
from kctl.client.config import ConsumerConfig
from kctl.client.consumer.chunk import FetchedChunk
from kctl.client.consumer.consumer import Consumer
from kctl.client.consumer.group_events import Offsets as Committed
from kctl.client.consumer.rebalance_listener import RebalanceListener
from kctl.client.consumer.waiting import WaitReason
from kctl.client.errors import KafkaError

COMMIT_EVERY_MS = 1000


class GroupReading(Reading, RebalanceListener):
    """A `Reading` of whatever the group gives this member."""

    def __init__(
        self, common: Common, config: ConsumerConfig, consumer: Consumer, output: RecordOutput, limit: int
    ) -> None:
        super().__init__(common, config, consumer, output, limit)
        self.commit_error: KafkaError | None = None
        """Why the latest commit failed; None when it did not."""
        self._exit_at_end = False
        self._is_assigned = False
        self._written_to: dict[TopicPartition, int] = {}
        """What was handed to the output since the last flush."""
        self._uncommitted: dict[TopicPartition, int] = {}
        """What has left this process and is not committed yet."""
        self._commit_timer = Timer(common.environment.clock, COMMIT_EVERY_MS)

    def join(self, topics: Sequence[str], *, exit_at_end: bool) -> None:
        """Subscribe; with -e the end of each partition is that of the moment in which it was assigned.

        Raises: BrokerError: no such topic, or not allowed. ApiTimeout: no broker or no coordinator within the limit.
        """
        self._exit_at_end = exit_at_end
        partitions = [TopicPartition(topic, 0) for topic in topics if self._consumer.partitions_for(topic)]
        self._consumer.committed(partitions[:1])  # whether there is a coordinator, and it lets us in
        self._consumer.subscribe(topics, self)

    @property
    def _is_done(self) -> bool:
        is_at_end = self._exit_at_end and self._is_assigned and self._ends == {}
        return self.written >= self._limit or is_at_end

    # --- what the group decides -------------------------------------------------------------------------------------

    def on_partitions_assigned(self, topic_partitions: Sequence[TopicPartition]) -> None:
        self._is_assigned = True
        if self._exit_at_end:
            ends = self._consumer.end_offsets(topic_partitions)
            unread = {tp: end for tp, end in ends.items() if self._consumer.position(tp) < end}
            self._ends = {**(self._ends or {}), **unread}
            self._consumer.pause(tp for tp in topic_partitions if tp not in unread)

    def on_partitions_revoked(self, topic_partitions: Sequence[TopicPartition]) -> None:
        try:
            self._flush()
        finally:  # what was flushed before is committed even if the reader has left
            self._commit()
            self._forget(topic_partitions)

    def on_partitions_lost(self, topic_partitions: Sequence[TopicPartition]) -> None:
        self._forget(topic_partitions)

    def _forget(self, topic_partitions: Sequence[TopicPartition]) -> None:
        self._is_assigned = False
        for tp in topic_partitions:
            self._written_to.pop(tp, None)
            self._uncommitted.pop(tp, None)
            (self._ends or {}).pop(tp, None)

    # --- what was written -------------------------------------------------------------------------------------------

    def _write(self, chunk: FetchedChunk) -> None:
        try:
            super()._write(chunk)
        except BaseException:
            self._written_to.clear()  # some of it may never have left: whoever reads next gets it again
            raise

    def _wrote(self, tp: TopicPartition, next_offset: int) -> None:
        self._written_to[tp] = next_offset
        self._commit_timer.update()
        if self._commit_timer.is_expired:
            self._flush()

    def _flush(self) -> None:
        written_to, self._written_to = self._written_to, {}
        super()._flush()
        self._uncommitted |= written_to
        self._commit_timer.update()
        if self._commit_timer.is_expired:
            self._commit()

    def _commit(self) -> None:
        """Commit what has left this process; close() waits for it."""
        self._commit_timer = Timer(self._common.environment.clock, COMMIT_EVERY_MS)
        if self._uncommitted:
            offsets, self._uncommitted = self._uncommitted, {}
            self._consumer.commit_async(offsets, self._on_commit)

    def _on_commit(self, offsets: Committed, error: KafkaError | None) -> None:
        """Try what failed again with the next commit, unless something newer or somebody else has it by then."""
        self.commit_error = error
        if error is not None:
            assigned = self._consumer.assignment
            again = {tp: each.offset for tp, each in offsets.items() if tp in assigned}
            self._uncommitted = {**again, **self._uncommitted}

    def _reached_end(self, tp: TopicPartition) -> None:
        if self._ends is not None and self._ends.pop(tp, None) is not None:
            self._consumer.pause([tp])

    def _waits(self) -> list[tuple[TopicPartition | None, WaitReason]]:
        why = self._consumer.waiting_for_group()
        return super()._waits() if why is None else [(None, why)]
