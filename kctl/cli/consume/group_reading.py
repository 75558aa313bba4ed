"""GroupReading: one member's share of the topics to stdout; what is committed has been written and flushed before.

Owns which offsets have left this process, and when they are committed.
Shown by tests/unit/cli/test_group_reading.py and tests/cli/test_consume_group.py.
"""

from collections.abc import Mapping, Sequence

from kctl.cli.consume.bounds import find_bounds
from kctl.cli.consume.reading import Limits, Reading
from kctl.cli.consume.waiting_words import WaitingWords, waiting_words
from kctl.cli.exit_codes import ExitCode
from kctl.cli.failures import CommandError
from kctl.cli.formats.output import RecordOutput
from kctl.cli.options import Common
from kctl.cli.words.offsets import END, START, OffsetSpec, Range, range_of
from kctl.cli.words.topics import TopicWords
from kctl.client.broker_errors import ErrorCode
from kctl.client.clock import FOREVER_MS, Timer
from kctl.client.cluster import TopicPartition
from kctl.client.config import ConsumerConfig
from kctl.client.consumer.chunk import FetchedChunk
from kctl.client.consumer.consumer import Consumer
from kctl.client.consumer.group_events import Offsets as Committed
from kctl.client.consumer.rebalance_listener import RebalanceListener
from kctl.client.errors import ApiTimeout, BrokerError, KafkaError

COMMIT_EVERY_MS = 1000


class GroupReading(Reading, RebalanceListener):
    """A `Reading` of whatever the group gives this member."""

    def __init__(
        self, common: Common, config: ConsumerConfig, consumer: Consumer, output: RecordOutput, limits: Limits
    ) -> None:
        super().__init__(common, config, consumer, output, limits)
        self.commit_error: KafkaError | None = None
        """Why the latest commit failed; None when it did not."""
        self._specs: Sequence[OffsetSpec] = ()
        self._exit_at_end = False
        self._is_assigned = False
        self._snapshots: dict[TopicPartition, int | None] = {}
        """The end of each partition that was ever ours; it stays the same when the partition comes back."""
        self._written_to: dict[TopicPartition, int] = {}
        """What was handed to the output since the last flush."""
        self._uncommitted: dict[TopicPartition, int] = {}
        """What has left this process and is not committed yet."""
        self._latest_commits: dict[TopicPartition, int] = {}
        """The last offset that was given to a commit since the partition is ours, however that went."""
        self._commit_timer = Timer(self._clock, COMMIT_EVERY_MS)
        self._polled_at_ms = self._clock.now_ms()
        self._unreleased: BrokerError | None = None
        """Another member has our group.instance.id, which may be this one before it was killed."""
        self._unreleased_timer = Timer(self._clock, FOREVER_MS)

    def join(self, topics: TopicWords, specs: Sequence[OffsetSpec], *, exit_at_end: bool) -> None:
        """Subscribe.

        Args:
            specs: their ends hold for every partition, their starts where the group has no commit.
            exit_at_end: the end of each partition is that of the moment in which it was first assigned.
        Raises: BrokerError: no such topic, or not allowed. ApiTimeout: no broker or no coordinator within the limit.
        """
        self._specs = specs
        self._exit_at_end = exit_at_end
        partitions = [TopicPartition(topic, 0) for topic in topics.names if self._consumer.partitions_for(topic)]
        self._consumer.committed(partitions[:1] or [TopicPartition("any", 0)])  # is there a coordinator; are we let in
        self._consumer.subscribe(topics.as_pattern() if topics.patterns else topics.names, self)

    @property
    def _is_at_every_end(self) -> bool:
        return self._is_assigned and super()._is_at_every_end

    def _poll(self, timeout_s: float) -> FetchedChunk | None:
        try:
            return super()._poll(timeout_s)
        except BrokerError as error:
            if self._may_be_released(error):
                return None
            raise self._in_words(error) from error
        finally:
            self._polled_at_ms = self._clock.now_ms()

    def _may_be_released(self, error: BrokerError) -> bool:
        """Return whether to try again: a KIP-848 member that was killed keeps its id until its session times out."""
        if error.code != ErrorCode.UNRELEASED_INSTANCE_ID:
            return False
        if self._unreleased is None:
            self._unreleased_timer = Timer(self._clock, self._config.default_api_timeout_ms)
        self._unreleased = error
        self._unreleased_timer.update()
        return self._unreleased_timer.not_expired

    def _in_words(self, error: BrokerError) -> Exception:
        instance_id = self._config.group_instance_id
        is_taken = error.code in (ErrorCode.FENCED_INSTANCE_ID, ErrorCode.UNRELEASED_INSTANCE_ID)
        if not is_taken or instance_id is None:
            return error
        hint = "give each process a group.instance.id of its own"
        if error.code == ErrorCode.UNRELEASED_INSTANCE_ID:
            hint += "; a member that was killed keeps it until the session timeout of the group has passed"
        return CommandError(ExitCode.AUTHENTICATION, f"another process uses group.instance.id={instance_id}", hint)

    # --- what the group decides -------------------------------------------------------------------------------------

    def on_partitions_assigned(self, topic_partitions: Sequence[TopicPartition]) -> None:
        # KIP-848 tells a new member that it has nothing before it says what it has: no end is reached by that
        self._unreleased = None
        self._is_assigned = bool(self._consumer.assignment) or self._config.group_protocol == "classic"
        committed = self._committed(topic_partitions)
        self._expected |= {tp: offset for tp, offset in committed.items() if offset is not None}
        wanted = {tp: range_of(self._specs, tp.partition) for tp in topic_partitions}
        self._seek_where_nothing_is_committed(wanted, committed)
        has_ends = {tp: each for tp, each in wanted.items() if self._exit_at_end or each.end is not None}
        new = {tp: each for tp, each in has_ends.items() if tp not in self._snapshots}
        found = find_bounds(self._consumer, new, self.note, exit_at_end=self._exit_at_end, needs_starts=False)
        self._snapshots |= {tp: each.end for tp, each in found.items()}
        ends = {tp: end for tp in has_ends if (end := self._snapshots[tp]) is not None}
        unread = {tp: end for tp, end in ends.items() if self._consumer.position(tp) < end}
        self._ends |= unread
        assigned = self._consumer.assignment
        have_ends = bool(assigned) and all(range_of(self._specs, tp.partition).end for tp in assigned)
        self._is_bounded = self._exit_at_end or have_ends
        self._consumer.pause(tp for tp in ends if tp not in unread)

    def _committed(self, topic_partitions: Sequence[TopicPartition]) -> dict[TopicPartition, int | None]:
        """Return what the group has committed; nothing where its coordinator does not say so in time."""
        try:
            committed = self._consumer.committed(topic_partitions)
        except ApiTimeout:
            return {}
        return {tp: None if each is None else each.offset for tp, each in committed.items()}

    def _seek_where_nothing_is_committed(
        self, wanted: Mapping[TopicPartition, Range], committed: Mapping[TopicPartition, int | None]
    ) -> None:
        """Go to starts that auto.offset.reset has no word for."""
        ranges = {
            tp: Range(each.start)
            for tp, each in wanted.items()
            if each.start not in (START, END) and tp in committed and committed[tp] is None
        }
        if ranges:
            for tp, each in find_bounds(self._consumer, ranges, self.note).items():
                self._consumer.seek(tp, each.start)
                self._expected[tp] = each.start

    def on_partitions_revoked(self, topic_partitions: Sequence[TopicPartition]) -> None:
        try:
            self._flush()
        finally:  # what was flushed before is committed even if the reader has left
            self._commit()
            self._forget(topic_partitions)

    def on_partitions_lost(self, topic_partitions: Sequence[TopicPartition]) -> None:
        self._forget(topic_partitions)
        away_ms = self._clock.now_ms() - self._polled_at_ms
        limit_ms = self._config.max_poll_interval_ms
        if away_ms >= limit_ms:
            raise CommandError(
                ExitCode.NOT_ABLE_YET,
                f"left group: {away_ms / 1000:g} s between polls (limit {limit_ms / 1000:g} s)",
                "whoever reads the output was too slow: raise -X max.poll.interval.ms, or let less be written at once "
                "with -X max.partition.fetch.bytes; what was not committed is read again",
            )

    def _forget(self, topic_partitions: Sequence[TopicPartition]) -> None:
        self._is_assigned = False
        for tp in topic_partitions:
            for offsets in (self._written_to, self._uncommitted, self._latest_commits):
                offsets.pop(tp, None)
            for offsets in (self._ends, self._expected, self._high_watermarks):
                offsets.pop(tp, None)

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
        self._commit_timer = Timer(self._clock, COMMIT_EVERY_MS)
        if self._uncommitted:
            offsets, self._uncommitted = self._uncommitted, {}
            self._latest_commits |= offsets
            self._consumer.commit_async(offsets, self._on_commit)

    def _on_commit(self, offsets: Committed, error: KafkaError | None) -> None:
        """Try what failed again with the next commit, unless a newer one is on its way or somebody else had it since.

        A partition that was lost and came back goes on where the group had it committed, which may be further: what an
        earlier commit says of it would take the group back.
        """
        self.commit_error = error
        if error is not None:
            latest = self._latest_commits
            again = {tp: each.offset for tp, each in offsets.items() if latest.get(tp) == each.offset}
            self._uncommitted = {**again, **self._uncommitted}

    def _reached_end(self, tp: TopicPartition) -> None:
        if self._ends.pop(tp, None) is not None:
            self._consumer.pause([tp])

    def _words(self) -> WaitingWords:
        if self._unreleased is not None:
            text = f"group.instance.id={self._config.group_instance_id} is in use until the session of its member ends"
            return WaitingWords(text, True, self._unreleased)
        group = self._consumer.waiting_for_group()
        return waiting_words(self._consumer.waiting_for(), group, self._filtered)
