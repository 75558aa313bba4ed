"""Subscription: assigned partitions and the application's position in each, on the application thread.

A KeyboardInterrupt is safe: each decision is made without calls in between, and `changes` are removed one by one.
"""

from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from enum import Enum

from kctl.client.cluster import NO_EPOCH, NO_TOPIC_ID, TopicPartition
from kctl.client.consumer.chunk import MAX_OFFSET
from kctl.client.consumer.events import Forget, Pause, PositionMoved, ResolvePosition, StartFetch, ToNetwork
from kctl.client.consumer.group.events import NO_IDS, IdsByName
from kctl.client.consumer.waiting import WaitKind, WaitReason
from kctl.client.errors import IllegalStateError, KafkaError
from kctl.client.events import ResetCause
from kctl.client.requests.group_offsets import OffsetAndMetadata

PAUSED = WaitReason(WaitKind.PAUSED, "paused")
DELIVERABLE = WaitReason(WaitKind.DELIVERABLE, "the next poll returns the fetched records")
NOT_STARTED = WaitReason(WaitKind.NOT_STARTED, "the next poll starts the fetch")
UNPLACED = WaitReason(WaitKind.POSITION, "waiting for the position")
AWAITING_ANSWER = WaitReason(WaitKind.ANSWER, "waiting for the response from the leader")


class Stage(Enum):
    UNPOSITIONED = "the partition has no position yet"
    RESOLVING = "waiting for the starting offset"
    POSITIONED = "the position is known, but no fetch has started"
    FETCHING = "the network thread fetches from the position"


_UNDER_WAY = (Stage.RESOLVING, Stage.FETCHING)
"""Stages in which the network thread needs no further event."""


class PartitionState:
    __slots__ = (
        "damage", "end_offset", "epoch", "fetch_end", "is_after_error", "leader_epoch", "lost_by", "lost_offset",
        "may_be_committed", "paused", "position", "replaced_position", "reset_timestamp_ms", "setback", "stage",
        "stored", "topic_id", "uncommitted_from", "waiting"
    )  # fmt: skip

    def __init__(self, epoch: int, topic_id: bytes) -> None:
        self.epoch = epoch
        self.topic_id = topic_id
        """Id of the assigned topic; NO_TOPIC_ID for any topic with the assigned name."""
        self.position: int | None = None
        self.replaced_position: int | None = None
        """Position before a reset whose offset is not known yet; None after a return to the committed offset."""
        self.leader_epoch = NO_EPOCH
        """Leader epoch of the record before the position, if known."""
        self.uncommitted_from: int | None = None
        """First position, or the offset committed since. Without a committed offset, the partition resumes there."""
        self.fetch_end = MAX_OFFSET
        """Offset at which fetching ends; MAX_OFFSET unless `seek` sets an end."""
        self.lost_offset: int | None = None
        """Invalid position that is being replaced."""
        self.lost_by = ResetCause.OUT_OF_RANGE
        self.setback: KafkaError | None = None
        """Last error that changed the position, until a fetch from the new position succeeds."""
        self.damage: tuple[int, int] | None = None
        """Base offset of the damaged batch whose error was raised, and of the next batch."""
        self.is_after_error = False
        """Whether the last attempt from this position raised an error."""
        self.reset_timestamp_ms: int | None = None
        """Timestamp of an explicit seek; None if the reset policy applies."""
        self.may_be_committed = True
        """Whether the position may be queried as a committed offset; false after a reset, or without a committed
        offset.
        """
        self.paused = False
        self.stored: OffsetAndMetadata | None = None
        """Offset to commit, with enable.auto.offset.store=false."""
        self.stage = Stage.UNPOSITIONED
        self.waiting: WaitReason | None = None
        self.end_offset: int | None = None
        """Last known end offset that is visible with isolation.level."""

    @property
    def is_uncommitted(self) -> bool:
        """Whether returned records are not committed."""
        reached = self.replaced_position if self.position is None else self.position
        return reached is not None and self.uncommitted_from is not None and reached > self.uncommitted_from

    def place(self, offset: int) -> None:
        """Set the position, and keep the first offset of returned records that are not committed."""
        kept = self.uncommitted_from if self.is_uncommitted else None
        self.uncommitted_from = offset if kept is None else min(offset, kept)
        self.position = offset

    def why_waiting(self, *, is_fetched: bool) -> WaitReason:
        """Return why no records arrive.

        Args: is_fetched: whether fetched records are ready to be returned.
        """
        if self.paused:
            return PAUSED
        if is_fetched:
            return DELIVERABLE
        if self.setback is not None and (self.waiting is None or self.waiting.cause is None):
            return WaitReason(WaitKind.REFUSED, str(self.setback), cause=self.setback)
        if self.stage in (Stage.UNPOSITIONED, Stage.POSITIONED):
            return NOT_STARTED
        return self.waiting or (UNPLACED if self.stage is Stage.RESOLVING else AWAITING_ANSWER)


class Subscription:
    """Assigned partitions in the order of assignment.

    Attributes:
        has_reset_policy: auto.offset.reset is not `none`.
        has_group: committed offsets may exist.
        removals: number of partitions that were unassigned while returned records were not committed.
        settled_removals: number of these whose records the next transaction block does not have.
    """

    def __init__(self, *, has_reset_policy: bool = True, has_group: bool = False) -> None:
        self.has_reset_policy = has_reset_policy
        self.has_group = has_group
        self.removals = 0
        self.settled_removals = 0
        self._partitions: dict[TopicPartition, PartitionState] = {}
        self._unsettled: dict[TopicPartition, None] = {}
        """Partitions for which `changes` may need a new event."""
        self._changes: deque[ToNetwork] = deque()
        self._last_epoch = 0

    # --- queries ----------------------------------------------------------------------------------------------------

    def __iter__(self) -> Iterator[TopicPartition]:
        return iter(self._partitions)

    def __contains__(self, topic_partition: TopicPartition) -> bool:
        return topic_partition in self._partitions

    @property
    def assignment(self) -> list[TopicPartition]:
        return list(self._partitions)

    @property
    def states(self) -> list[PartitionState]:
        """States of all partitions; any thread."""
        return list(self._partitions.copy().values())  # copied atomically: another thread may assign

    @property
    def has_any(self) -> bool:
        return bool(self._partitions)

    @property
    def paused(self) -> list[TopicPartition]:
        return [tp for tp, state in self._partitions.items() if state.paused]

    def state(self, topic_partition: TopicPartition) -> PartitionState:
        """Return the state of a partition. Raises: IllegalStateError: the partition is not assigned."""
        state = self._partitions.get(topic_partition)
        if state is None:
            raise IllegalStateError(f"{topic_partition} is not assigned to the consumer")
        return state

    def current(self, topic_partition: TopicPartition, epoch: int) -> PartitionState | None:
        """Return the state if `epoch` is its current epoch; otherwise return None, because the event is out of date."""
        state = self._partitions.get(topic_partition)
        return state if state is not None and state.epoch == epoch else None

    # --- decisions of the application -------------------------------------------------------------------------------

    def assign(
        self,
        topic_partitions: Iterable[TopicPartition],
        topic_ids: IdsByName = NO_IDS,
        *,
        is_rebalance: bool = False,
    ) -> list[TopicPartition]:
        """Set the assignment and return the removed partitions; others keep their position and pause.

        Args: topic_ids: required topic ids by name; a changed id removes the old partition.
        """
        wanted = {tp: topic_ids.get(tp.topic, NO_TOPIC_ID) for tp in topic_partitions}
        before = self._partitions
        dropped = [tp for tp, state in before.items() if wanted.get(tp) != state.topic_id]
        kept = {tp: state for tp, state in before.items() if wanted.get(tp) == state.topic_id}
        partitions = {tp: kept.get(tp) or PartitionState(self._next_epoch(), wanted[tp]) for tp in wanted}
        unsettled = {tp: None for tp, state in partitions.items() if state.stage not in _UNDER_WAY}
        self._count_removals([before[tp] for tp in dropped], is_rebalance=is_rebalance)
        self._changes.extend([Forget(tp) for tp in dropped])
        self._partitions, self._unsettled = partitions, unsettled
        return dropped

    def remove(self, topic_partition: TopicPartition) -> bool:
        state = self._partitions.get(topic_partition)
        if state is None:
            return False
        self._count_removals([state])
        del self._partitions[topic_partition]
        self._unsettled.pop(topic_partition, None)
        self._changes.append(Forget(topic_partition))
        return True

    def _count_removals(self, states: Iterable[PartitionState], *, is_rebalance: bool = False) -> None:
        count = sum(state.is_uncommitted for state in states)
        self.removals += count
        if not is_rebalance:  # the application has decided it
            self.settled_removals += count

    def committed(self, offsets: Mapping[TopicPartition, OffsetAndMetadata]) -> None:
        for tp, each in offsets.items():
            if tp in self._partitions:
                self._partitions[tp].uncommitted_from = each.offset

    def seek(
        self,
        topic_partition: TopicPartition,
        offset: int,
        leader_epoch: int = NO_EPOCH,
        *,
        end_offset: int = MAX_OFFSET,
    ) -> None:
        """Set the position and the end of fetching; fetched data becomes out of date.

        An offset inside a damaged batch whose error was raised, except its first, skips the batch.
        """
        state, epoch = self.state(topic_partition), self._next_epoch()
        damage, state.damage = state.damage, None
        state.is_after_error = False
        if damage is not None and damage[0] < offset < damage[1]:
            offset = damage[1]
        state.epoch = epoch
        state.waiting = None
        state.place(offset)
        state.fetch_end = end_offset
        state.leader_epoch = leader_epoch
        state.lost_offset = None
        state.stage = Stage.POSITIONED
        self._unsettled[topic_partition] = None

    def reset(self, topic_partition: TopicPartition, timestamp_ms: int) -> None:
        self._reset(topic_partition, timestamp_ms, None, ResetCause.OUT_OF_RANGE)

    def reset_to_committed(self, topic_partition: TopicPartition) -> None:
        self._reset(topic_partition, None, None, ResetCause.OUT_OF_RANGE, may_be_committed=True)

    def _reset(
        self,
        topic_partition: TopicPartition,
        timestamp_ms: int | None,
        lost_offset: int | None,
        lost_by: ResetCause,
        *,
        may_be_committed: bool = False,
    ) -> None:
        state, epoch = self.state(topic_partition), self._next_epoch()
        state.epoch = epoch
        state.waiting = None
        if may_be_committed:
            state.replaced_position = None
        elif state.position is not None:
            state.replaced_position = state.position
        state.position = None
        state.fetch_end = MAX_OFFSET
        state.leader_epoch = NO_EPOCH
        state.lost_offset, state.lost_by = lost_offset, lost_by
        state.damage = None
        state.is_after_error = False
        state.reset_timestamp_ms = timestamp_ms
        state.may_be_committed = may_be_committed
        state.stage = Stage.UNPOSITIONED
        self._unsettled[topic_partition] = None

    def lose(self, topic_partition: TopicPartition, cause: ResetCause) -> None:
        self._reset(topic_partition, None, self.state(topic_partition).position, cause)

    def rewind(self, topic_partition: TopicPartition, offset: int, leader_epoch: int) -> None:
        state = self.state(topic_partition)
        before = state.position
        self.seek(topic_partition, offset, leader_epoch, end_offset=state.fetch_end)
        if before is not None:
            self._changes.append(PositionMoved(topic_partition, before, offset, ResetCause.TRUNCATED))

    def refetch(self, topic_partition: TopicPartition, *, is_after_error: bool = False) -> None:
        """Fetch from the position again, after a backoff if the application got an error."""
        state, epoch = self.state(topic_partition), self._next_epoch()
        state.is_after_error = is_after_error
        state.epoch = epoch
        state.waiting = None
        state.stage = Stage.UNPOSITIONED if state.position is None else Stage.POSITIONED
        self._unsettled[topic_partition] = None

    def set_paused(self, topic_partition: TopicPartition, paused: bool) -> None:
        state = self.state(topic_partition)
        if state.paused != paused:
            if state.stage is Stage.FETCHING:
                self._changes.append(Pause(topic_partition, paused))
            state.paused = paused

    # --- events of the network loop ---------------------------------------------------------------------------------

    def resolved(self, topic_partition: TopicPartition, epoch: int, offset: int, leader_epoch: int = NO_EPOCH) -> None:
        """Set a position that was found, unless a later decision replaced the query."""
        state = self.current(topic_partition, epoch)
        if state is not None and state.stage is Stage.RESOLVING:
            if state.lost_offset is not None:
                self._changes.append(PositionMoved(topic_partition, state.lost_offset, offset, state.lost_by))
                state.lost_offset = None
            state.place(offset)
            state.leader_epoch = leader_epoch
            state.stage = Stage.POSITIONED
            self._unsettled[topic_partition] = None

    def nothing_committed(self, topic_partition: TopicPartition, epoch: int) -> None:
        state = self.current(topic_partition, epoch)
        if state is not None and state.uncommitted_from is not None:
            self.resolved(topic_partition, epoch, state.uncommitted_from)
        elif state is not None:
            state.may_be_committed = False
            state.stage = Stage.UNPOSITIONED
            self._unsettled[topic_partition] = None

    # --- towards the network ----------------------------------------------------------------------------------------

    @property
    def has_changes(self) -> bool:
        return bool(self._changes or self._unsettled)

    def changes(self, reset_policy_timestamp_ms: int | None) -> deque[ToNetwork]:
        """Return the events for the network thread; the caller removes those that it has posted.

        The caller waits until it wants data, so that assign() followed by seek() queries no offset. Without a seek or a
        policy (`reset_policy_timestamp_ms` is None for `none`), partitions stay `unpositioned`.
        """
        for tp in list(self._unsettled):
            state = self._partitions[tp]
            if state.stage is Stage.POSITIONED:
                self._start(tp, state)
            elif state.stage is Stage.UNPOSITIONED:
                self._resolve(tp, state, reset_policy_timestamp_ms)
        return self._changes

    @property
    def pending_changes(self) -> deque[ToNetwork]:
        return self._changes

    def resolve_others(self, topic_partition: TopicPartition, reset_policy_timestamp_ms: int | None) -> None:
        """Query the unknown positions of all other partitions, if this position is unknown as well; start no fetch."""
        if self.state(topic_partition).stage is Stage.UNPOSITIONED:
            for tp in list(self._unsettled):
                state = self._partitions[tp]
                if state.stage is Stage.UNPOSITIONED and tp != topic_partition:
                    self._resolve(tp, state, reset_policy_timestamp_ms)

    @property
    def uncommitted_without_position(self) -> list[TopicPartition]:
        return [tp for tp, state in self._partitions.items() if state.position is None and state.is_uncommitted]

    @property
    def unpositioned(self) -> list[TopicPartition]:
        return [tp for tp in self._unsettled if self._partitions[tp].stage is Stage.UNPOSITIONED]

    def _start(self, topic_partition: TopicPartition, state: PartitionState) -> None:
        assert state.position is not None
        position, leader_epoch = state.position, state.leader_epoch
        start = StartFetch(
            topic_partition,
            state.epoch,
            position,
            leader_epoch,
            state.topic_id,
            state.fetch_end,
            is_after_error=state.is_after_error,
        )
        state.is_after_error = False
        self._changes.extend([start, Pause(topic_partition, True)] if state.paused else [start])
        state.stage = Stage.FETCHING
        del self._unsettled[topic_partition]

    def _resolve(self, topic_partition: TopicPartition, state: PartitionState, policy_timestamp_ms: int | None) -> None:
        timestamp_ms = policy_timestamp_ms if state.reset_timestamp_ms is None else state.reset_timestamp_ms
        is_committed_first = self.has_group and state.may_be_committed
        if is_committed_first and state.uncommitted_from is not None:
            timestamp_ms = None  # without a committed offset, the partition resumes
        if timestamp_ms is not None or is_committed_first:
            self._changes.append(ResolvePosition(topic_partition, state.epoch, timestamp_ms, is_committed_first))
            state.stage = Stage.RESOLVING
            del self._unsettled[topic_partition]

    def _next_epoch(self) -> int:
        self._last_epoch += 1
        return self._last_epoch
