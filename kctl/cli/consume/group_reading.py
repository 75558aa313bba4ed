"""GroupReading: reading as a group member. Records are written and flushed before their offsets are committed."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from kctl.cli.consume.bounds import Bounds, BoundsLookup
from kctl.cli.consume.partitions import partitions_of
from kctl.cli.consume.reading import Limits, Reading
from kctl.cli.consume.waiting_words import WaitingWords, waiting_words
from kctl.cli.exit_codes import ExitCode
from kctl.cli.failures import CommandError
from kctl.cli.formats.output import RecordOutput
from kctl.cli.options import Common
from kctl.client.broker_errors import ErrorCode
from kctl.client.clock import FOREVER_MS, Timer
from kctl.client.cluster import TopicPartition
from kctl.client.config import ConsumerConfig
from kctl.client.consumer import Consumer, FetchedChunk, RebalanceListener, WaitKind
from kctl.client.consumer import Offsets as Committed
from kctl.client.errors import ApiTimeout, BrokerError, InvalidOffsetError, KafkaError, LogTruncationError
from kctl.grammar.offsets import END, START, OffsetSpec, Range, range_of
from kctl.grammar.topics import TopicWords

COMMIT_EVERY_MS = 1000


class Held(NamedTuple):
    """A paused partition of the group, whose bounds are being looked up.

    Attributes:
        committed: committed offset; None if there is none or it is unknown.
        is_uncommitted: whether the group has no committed offset.
        has_own_start: whether the start offset is looked up too.
    """

    committed: int | None
    is_uncommitted: bool
    has_own_start: bool


class GroupReading(Reading, RebalanceListener):
    """A `Reading` of the partitions that the group assigns."""

    def __init__(
        self, common: Common, config: ConsumerConfig, consumer: Consumer, output: RecordOutput, limits: Limits
    ) -> None:
        super().__init__(common, config, consumer, output, limits)
        self.commit_error: KafkaError | None = None
        """Error of the latest commit; None after success."""
        self._specs: Sequence[OffsetSpec] = ()
        self._exit_at_end = False
        self._starts_itself = False
        self._is_assigned = False
        self._is_start_noted = False
        self._held: dict[TopicPartition, Held] = {}
        """Partitions paused until their bounds are known."""
        self._snapshots: dict[TopicPartition, int | None] = {}
        """End of each partition that was ever assigned; stays when the partition returns."""
        self._written_to: dict[TopicPartition, int] = {}
        """Next offsets of unflushed output."""
        self._uncommitted: dict[TopicPartition, int] = {}
        """Flushed offsets that no commit has sent yet."""
        self._unbegun: set[TopicPartition] = set()
        """Partitions that may have no commit, and whose first position is unknown."""
        self._latest_commits: dict[TopicPartition, int] = {}
        """Offset of the last commit of each assigned partition, whatever its result."""
        self._confirmed: dict[TopicPartition, int] = {}
        """Last offset that a response has confirmed."""
        self._commit_timer = Timer(self._clock, COMMIT_EVERY_MS)
        self._polled_at_ms = self._clock.now_ms()
        self._unreleased: BrokerError | None = None
        """Error that another member has this group.instance.id, perhaps this one before it was killed."""
        self._unreleased_timer = Timer(self._clock, FOREVER_MS)

    def join(
        self, topics: TopicWords, specs: Sequence[OffsetSpec], *, exit_at_end: bool, starts_itself: bool = True
    ) -> None:
        """Subscribe to the topics.

        Args:
            specs: their ends apply to every partition, their starts to partitions without a committed offset.
            exit_at_end: end each partition at its end offset at the first assignment.
            starts_itself: start partitions without a committed offset by `specs`, not by auto.offset.reset.
        Raises:
            BrokerError: a topic does not exist or is not authorized.
            ApiTimeout: no broker or coordinator responded in time.
        """
        self._specs = specs
        self._exit_at_end = exit_at_end
        self._starts_itself = starts_itself
        limit_s = self.start_timeout_s
        partitions = [TopicPartition(name, 0) for name in topics.names if partitions_of(self._consumer, name, limit_s)]
        self._consumer.committed(partitions[:1] or [TopicPartition("any", 0)], limit_s)  # no coordinator, or no right?
        self._consumer.subscribe(topics.as_pattern() if topics.patterns else topics.names, self)

    @property
    def _is_at_every_end(self) -> bool:
        return self._is_assigned and super()._is_at_every_end

    @property
    def _has_goal(self) -> bool:
        return self._exit_at_end or super()._has_goal

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
        """Return whether to retry. A killed KIP-848 member keeps its instance ID until its session times out."""
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
        hint = "give each process its own group.instance.id"
        if error.code == ErrorCode.UNRELEASED_INSTANCE_ID:
            hint = (
                "give each process its own group.instance.id. After a kill, wait until the session of the killed "
                "member times out"
            )
        return CommandError(ExitCode.AUTHENTICATION, f"another process uses group.instance.id={instance_id}", hint)

    # --- what the group decides -------------------------------------------------------------------------------------

    def on_partitions_assigned(self, topic_partitions: Sequence[TopicPartition]) -> None:
        # With KIP-848 a new member is assigned nothing first, and its partitions later: no end is reached by that.
        self._unreleased = None
        self._is_assigned = bool(self._consumer.assignment) or self._config.group_protocol == "classic"
        committed = self._committed(topic_partitions)
        self._unbegun |= {tp for tp in topic_partitions if committed.get(tp) is None}
        self._targets.expected |= {tp: offset for tp, offset in committed.items() if offset is not None}
        ranges = {tp: range_of(self._specs, tp.partition) for tp in topic_partitions}
        self._note_unused_start(committed)
        assigned = self._consumer.assignment
        have_ends = bool(assigned) and all(range_of(self._specs, tp.partition).end for tp in assigned)
        self._targets.is_bounded = self._exit_at_end or have_ends
        self._look_up_bounds(ranges, committed)

    def _note_unused_start(self, committed: Mapping[TopicPartition, int | None]) -> None:
        """Note once that the committed offsets, not -o, set the start."""
        starts = [spec for spec in self._specs if spec.start is not None]
        used = [tp for tp, offset in committed.items() if offset is not None]
        if self._is_start_noted or not any(spec.is_about(tp.partition) for spec in starts for tp in used):
            return
        self._is_start_noted = True
        group = self._config.group_id
        self.note(
            f"-o does not set the start, because group {group} has committed offsets. To change them, use kctl "
            f"groups reset-offsets {group}"
        )

    def _look_up_bounds(
        self, ranges: Mapping[TopicPartition, Range], committed: Mapping[TopicPartition, int | None]
    ) -> None:
        """Limit partitions whose bounds are known. Pause the others until their bounds are looked up."""
        wanted: dict[TopicPartition, Range] = {}
        without_start: set[TopicPartition] = set()
        for tp, each in ranges.items():
            is_uncommitted = tp in committed and committed[tp] is None
            has_own_start = is_uncommitted and (self._starts_itself or each.start not in (START, END))
            is_end_missing = tp not in self._snapshots and (self._exit_at_end or each.end is not None)
            if has_own_start or is_end_missing:
                wanted[tp] = each
                self._held[tp] = Held(committed.get(tp), is_uncommitted=is_uncommitted, has_own_start=has_own_start)
                if not is_uncommitted:
                    without_start.add(tp)
            else:
                self._limit(tp, committed.get(tp), self._snapshots.get(tp))
        if wanted:
            self._hold(wanted, without_start)

    def _hold(self, wanted: Mapping[TopicPartition, Range], without_start: set[TopicPartition]) -> None:
        self._consumer.pause(wanted)
        for tp in wanted:
            if self._held[tp].has_own_start:
                self._consumer.seek(tp, 0)  # any position until `_begin`: without one, poll raises an error
        lookup = BoundsLookup(
            self._consumer,
            wanted,
            self.note,
            exit_at_end=self._exit_at_end,
            without_start=without_start,
            finds_open=self._exit_at_end and self._config.isolation_level == "read_committed",
        )
        self._targets.add_lookup(lookup)

    def _begin(self, bounds: Mapping[TopicPartition, Bounds]) -> None:
        """Resume partitions whose bounds were looked up, at their start or committed offset."""
        for tp, each in bounds.items():
            held = self._held.pop(tp)
            if held.has_own_start:
                self._consumer.seek(tp, each.start)
                self._targets.expected[tp] = each.start
                self._begun(tp, each.start)
            end = self._snapshots.setdefault(tp, each.end)
            self._consumer.resume([tp])
            self._limit(tp, each.start if held.is_uncommitted else held.committed, end)

    def _limit(self, tp: TopicPartition, start: int | None, end: int | None) -> None:
        if end is None:
            return
        if start is not None and start >= end:
            self._consumer.pause([tp])
        else:
            self._targets.ends[tp] = end

    def _committed(self, topic_partitions: Sequence[TopicPartition]) -> dict[TopicPartition, int | None]:
        """Return the committed offsets, or an empty dict if the coordinator does not respond in time."""
        try:
            committed = self._consumer.committed(topic_partitions)
        except ApiTimeout:
            return {}
        return {tp: None if each is None else each.offset for tp, each in committed.items()}

    def on_partitions_revoked(self, topic_partitions: Sequence[TopicPartition]) -> None:
        try:
            self._flush()
        finally:  # what was flushed before is committed even if the reader has left
            self._commit_last()
            self._forget(topic_partitions)

    def on_partitions_lost(self, topic_partitions: Sequence[TopicPartition]) -> None:
        self._forget(topic_partitions)
        away_ms = self._clock.now_ms() - self._polled_at_ms
        limit_ms = self._config.max_poll_interval_ms
        if away_ms >= limit_ms:
            raise CommandError(
                ExitCode.UNAVAILABLE,
                f"kctl left the group: the time between polls was {away_ms / 1000:g}s, longer than "
                f"max.poll.interval.ms ({limit_ms / 1000:g}s)",
                "raise -X max.poll.interval.ms, or lower -X max.partition.fetch.bytes if the reader of stdout is slow. "
                "The next run reads uncommitted records again",
            )

    def _forget(self, topic_partitions: Sequence[TopicPartition]) -> None:
        self._is_assigned = False
        for tp in topic_partitions:
            for offsets in (self._written_to, self._uncommitted, self._latest_commits, self._confirmed):
                offsets.pop(tp, None)
            self._unbegun.discard(tp)
            self._held.pop(tp, None)
        self._targets.forget(topic_partitions)

    # --- where partitions begin -------------------------------------------------------------------------------------

    def _begun(self, tp: TopicPartition, offset: int) -> None:
        """Mark the start offset of a partition for the next commit, so that the next member starts there."""
        self._unbegun.discard(tp)
        self._uncommitted[tp] = offset

    def _moved(self, tp: TopicPartition, offset: int) -> None:
        self._written_to.pop(tp, None)
        self._begun(tp, offset)

    def _follow_empty_positions(self) -> None:
        reasons = self._consumer.waiting_for() if self._unbegun else {}
        for tp in [tp for tp in self._unbegun if tp in reasons and reasons[tp].kind is WaitKind.AT_END]:
            self._begun(tp, self._consumer.position(tp))
        super()._follow_empty_positions()

    def _continue_after(self, error: InvalidOffsetError) -> None:
        """Start at -o if the group has no committed offset, otherwise as in the base class."""
        if isinstance(error, LogTruncationError) or error.__cause__ is not None:
            super()._continue_after(error)
            return
        partitions = [TopicPartition(*each) for each in error.partitions]
        self._look_up_bounds({tp: range_of(self._specs, tp.partition) for tp in partitions}, dict.fromkeys(partitions))

    # --- what was written -------------------------------------------------------------------------------------------

    def _write(self, chunk: FetchedChunk) -> None:
        if chunk.topic_partition in self._unbegun:
            self._begun(chunk.topic_partition, chunk.fetch_offset)
        try:
            super()._write(chunk)
        except BaseException:
            self._written_to.clear()  # some of it may never have left: the next member gets it again
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
        """Start a commit of the flushed records; close() waits for it."""
        self._commit_timer = Timer(self._clock, COMMIT_EVERY_MS)
        if self._uncommitted:
            offsets, self._uncommitted = self._uncommitted, {}
            self._latest_commits |= offsets
            self._consumer.commit_async(offsets, self._on_commit)

    def _commit_last(self) -> None:
        """Commit all unconfirmed offsets, since no later commit will do so."""
        latest = self._latest_commits
        self._uncommitted = {tp: at for tp, at in latest.items() if self._confirmed.get(tp) != at} | self._uncommitted
        self._commit()

    def _on_commit(self, offsets: Committed, error: KafkaError | None) -> None:
        """Commit failed offsets again, unless a newer commit is pending or the partition was lost.

        A partition that was assigned again starts at the group's offset, which an old commit could move back.
        """
        self.commit_error = error
        if error is None:
            self._confirmed |= {tp: each.offset for tp, each in offsets.items() if tp in self._latest_commits}
        else:
            latest = self._latest_commits
            again = {tp: each.offset for tp, each in offsets.items() if latest.get(tp) == each.offset}
            self._uncommitted = {**again, **self._uncommitted}

    def report_reader_gone(self) -> None:
        """Note that records may be unread in the pipe although their offsets are committed."""
        if self.written and (self._latest_commits or self._uncommitted):
            self.note(
                "the reader of stdout exited, and may not have read the last committed records. To commit exactly N "
                "records, use -n N"
            )

    def _reached_end(self, tp: TopicPartition) -> None:
        if self._targets.ends.pop(tp, None) is not None:
            self._consumer.pause([tp])

    def _words(self) -> WaitingWords:
        if self._unreleased is not None:
            text = f"another member uses group.instance.id={self._config.group_instance_id} until its session times out"
            return WaitingWords(text, True, self._unreleased)
        group = self._consumer.waiting_for_group()
        return waiting_words(self._reasons(), group, self._writer.filtered, self._clock.now_ms())
