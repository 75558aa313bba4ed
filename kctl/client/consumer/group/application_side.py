"""GroupSide: listener, commits, and assignment changes, on the application thread.

Changes are applied only in polls.
"""

from collections import deque
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from kctl.client.clock import FOREVER_MS, Clock, Timer
from kctl.client.cluster import TopicPartition
from kctl.client.config import ConsumerConfig
from kctl.client.consumer.fetched_data import FetchedData
from kctl.client.consumer.group.commit_callbacks import CommitCallbacks, OnCommit
from kctl.client.consumer.group.events import (
    NO_IDS,
    AssignmentChanged,
    ChangeApplied,
    CommitAsync,
    CommitDone,
    CommitSync,
    GroupFailed,
    GroupMetadata,
    GroupWaiting,
    IdsByName,
    MemberChanged,
    Offsets,
    PollBegan,
    PollEnded,
    Rejoin,
    SessionConfirmed,
    Subscribe,
    Unsubscribe,
)
from kctl.client.consumer.mailbox import ConsumerMailbox
from kctl.client.consumer.subscription import Subscription
from kctl.client.consumer.waiting import WaitReason
from kctl.client.errors import KafkaError
from kctl.client.requests.group_offsets import OffsetAndMetadata


class RebalanceListener:
    """Callbacks for assignment changes. Subclass it and override the methods you need.

    Methods run on the application thread, in poll or close, which raises their exceptions after the change was applied.
    Source: Java's ConsumerRebalanceListener, KIP-429.
    """

    def on_partitions_revoked(self, topic_partitions: Sequence[TopicPartition]) -> None:
        """Handle partitions that will be revoked. Their offsets can still be committed."""

    def on_partitions_assigned(self, topic_partitions: Sequence[TopicPartition]) -> None:
        """Handle the end of a rebalance with these new partitions. To set a position, call seek here."""

    def on_partitions_lost(self, topic_partitions: Sequence[TopicPartition]) -> None:
        """Handle partitions that other members may already read. They cannot be committed. Calls
        `on_partitions_revoked`.
        """
        self.on_partitions_revoked(topic_partitions)


class ListenerContinues(BaseException):
    """Raised in a poll by a listener that still runs. The next poll repeats the call with the same list.

    Attributes:
        cause: exception that ended the poll.
    """

    def __init__(self, cause: BaseException) -> None:
        super().__init__()
        self.cause = cause


ListenerMethod = Callable[[Sequence[TopicPartition]], None]


class AssignmentUpdate(NamedTuple):
    change: AssignmentChanged
    steps: deque[Callable[[], object]]
    errors: list[BaseException]


class GroupSide:
    """Group part of a consumer with a group.id.

    Attributes:
        subscribed: current subscription, or None.
        metadata: member id and generation. Kept after a loss, so that the group rejects commits of earlier records.
        topic_ids: ids of assigned topics, if the group assigns by id.
        waiting: reason of a missing assignment, or None.
    """

    def __init__(
        self,
        config: ConsumerConfig,
        group_id: str,
        clock: Clock,
        mailbox: ConsumerMailbox,
        subscription: Subscription,
        data: FetchedData,
    ) -> None:
        self.subscribed: Subscribe | None = None
        self.metadata = GroupMetadata(group_id, group_instance_id=config.group_instance_id)
        self.waiting: WaitReason | None = None
        self._config = config
        self._clock = clock
        self._mailbox = mailbox
        self._subscription = subscription
        self._data = data
        self._listener = RebalanceListener()
        self._term = 0
        self._has_share = False
        """True after the first rebalance of the subscription, even without partitions."""
        self.topic_ids = NO_IDS
        self.rebalances = 0
        """Number of finished rebalances."""
        self._changes: deque[AssignmentChanged] = deque()
        self._update: AssignmentUpdate | None = None
        """First change, while it is applied; None after everything was released."""
        self._told: set[TopicPartition] = set()
        """Removed partitions with which the listener was called, until they are dropped."""
        self._continuing: tuple[ListenerMethod, list[TopicPartition]] | None = None
        """Call of the listener for removed partitions that continues after its poll."""
        self._failure: KafkaError | None = None
        self.callbacks = CommitCallbacks()
        self._is_polling = False
        """Whether a poll is in progress, except while it calls the listener."""
        self._session_until_ms = 0
        """End of the session: from then on no records are returned until the group confirms the membership."""
        self._auto_commit_id: int | None = None
        """Id of the automatic commit in flight."""
        self._auto_commit_at_ms = clock.now_ms() + config.auto_commit_interval_ms if self.commits_itself else FOREVER_MS

    @property
    def commits_itself(self) -> bool:
        return self._config.enable_auto_commit

    @property
    def is_member(self) -> bool:
        return self._has_share and not self._changes

    @property
    def may_deliver(self) -> bool:
        return self.subscribed is None or self._clock.now_ms() < self._session_until_ms

    # --- subscription -----------------------------------------------------------------------------------------------

    def subscribe(self, wanted: Subscribe, listener: RebalanceListener | None) -> None:
        if self.subscribed is None:
            self._term += 1
            self._has_share = False
        self._listener = listener or RebalanceListener()
        wanted = wanted._replace(term=self._term)
        self._mailbox.post(wanted)
        self.subscribed = wanted
        self._mailbox.leaves_when_dropped = self._config.group_instance_id is None
        if self._is_polling:
            self.poll_began()

    def unsubscribe(self) -> None:
        if self.subscribed is None:
            return
        error = self.release_all()
        if self.subscribed is not None:  # otherwise the listener has unsubscribed
            self._leave()
        if error is not None:
            raise error

    def _leave(self) -> None:
        self._mailbox.post_all([PollEnded(self._clock.start_ms()), Unsubscribe()])
        self.subscribed = None
        self.metadata = self.metadata._replace(generation=-1, member_id="")
        self._mailbox.leaves_when_dropped = False
        self._failure = None

    def release_all(self) -> BaseException | None:
        """Commit and drop all partitions. Call the listener, except for partitions of earlier calls.

        Returns: the exception of the listener.
        """
        self._data.settle()
        self._mailbox.drain()
        held = self._subscription.assignment
        self.callbacks.keep_failures(frozenset(held))
        if self.commits_itself:
            self._commit_positions(held)
        errors: list[BaseException] = []
        self._finish_call(errors)
        untold = [tp for tp in held if tp not in self._told]
        if untold and self.subscribed is not None:
            is_lost = any(change.is_lost for change in self._changes)
            listener = self._listener
            self._tell(listener.on_partitions_lost if is_lost else listener.on_partitions_revoked, untold, errors)
        self._drop_all_but(())
        self._skip_changes()
        self._update = None
        return errors[0] if errors else None

    def rejoin(self, reason: str) -> None:
        self._mailbox.post(Rejoin(reason))

    # --- inside poll ------------------------------------------------------------------------------------------------

    def poll_began(self) -> None:
        """Report the start of a poll. Without partitions, report it immediately, because the group may wait."""
        self._is_polling = True
        if self.subscribed is None:
            return
        if self._subscription.assignment:
            self._mailbox.post_until_wait(PollBegan())
        else:
            self._mailbox.post(PollBegan())

    def poll_ended(self) -> None:
        self._is_polling = False
        if self.subscribed is not None:
            self._mailbox.post_until_wait(PollEnded(self._clock.start_ms()))

    def advance(self) -> None:
        """Do the work of a poll: assignment changes, callbacks, due automatic commits.

        Raises: the error with which the group rejects this member, and exceptions of the listener and of callbacks.
        """
        if self._failure is not None:
            error, self._failure = self._failure, None
            raise error
        while self._changes:
            self._apply(self._changes[0])
        self.callbacks.run()
        now_ms = self._clock.now_ms()
        if now_ms >= self._auto_commit_at_ms:
            self._auto_commit_at_ms = now_ms + self._config.auto_commit_interval_ms
            if self._auto_commit_id is None:
                self._auto_commit_id = self._commit_positions(self._subscription.assignment)

    @property
    def next_deadline_at_ms(self) -> int:
        """Time at which `advance` has work even without an event."""
        return self._auto_commit_at_ms

    def _apply(self, change: AssignmentChanged) -> None:
        update = self._update
        if update is None or update.change is not change:
            update = self._update = self._update_for(change)
        while update.steps:
            update.steps[0]()
            if self._update is not update:  # the listener has unsubscribed
                break
            update.steps.popleft()
        self.poll_began()
        if self._changes and self._changes[0] is change:
            self._changes.popleft()
            self.rebalances += change.is_complete
        for error in update.errors:
            raise error

    def _update_for(self, change: AssignmentChanged) -> AssignmentUpdate:
        held = [tp for tp in self._subscription if tp not in self._told]  # not of a change that a loss replaced
        lost = [tp for tp in held if change.is_lost or self._is_of_another_topic(tp, change)]
        revoked = [tp for tp in held if tp not in change.owned and tp not in lost]
        added = [tp for tp in change.owned if tp not in self._subscription or tp in lost]
        update = AssignmentUpdate(change, deque(), [])
        listener, errors, steps = self._listener, update.errors, update.steps
        steps.append(self.poll_ended)  # the listener's time counts for max.poll.interval.ms
        steps.append(lambda: self._finish_call(errors))
        if lost:
            steps.append(lambda: self._tell(listener.on_partitions_lost, lost, errors))
        if revoked:
            if self.commits_itself:
                steps.append(lambda: self._commit_positions(revoked))
            steps.append(lambda: self._tell(listener.on_partitions_revoked, revoked, errors))
        steps.append(lambda: self._drop_all_but(change.owned, change.topic_ids, is_rebalance=True))
        steps.append(lambda: self._set_has_share(change.is_complete))
        if change.is_complete:
            steps.append(lambda: _call(listener.on_partitions_assigned, added, errors))
        steps.append(lambda: self._mailbox.post(ChangeApplied(change.number)))
        return update

    def _tell(self, method: ListenerMethod, partitions: list[TopicPartition], errors: list[BaseException]) -> None:
        """Call the listener for removed partitions. The listener may end the subscription or close the consumer."""
        try:
            self._continuing = None
            self._told.update(partitions)
            _call(method, partitions, errors)
        except ListenerContinues:
            self._continuing = method, partitions
            raise
        except BaseException:  # Ctrl-C came before the listener's call: the next close calls it
            self._told.difference_update(partitions)
            raise

    def _finish_call(self, errors: list[BaseException]) -> None:
        """Wait for the end of a call that continued after its poll. If it was canceled, repeat it."""
        if self._continuing is not None:
            self._tell(*self._continuing, errors)

    def _set_has_share(self, has_share: bool) -> None:
        self._has_share = has_share

    def _is_of_another_topic(self, tp: TopicPartition, change: AssignmentChanged) -> bool:
        topic_id = self.topic_ids.get(tp.topic)
        return change.topic_ids.get(tp.topic, topic_id) != topic_id

    def _drop_all_but(
        self, owned: Sequence[TopicPartition], topic_ids: IdsByName = NO_IDS, *, is_rebalance: bool = False
    ) -> None:
        self.topic_ids = topic_ids
        for tp in self._subscription.assign(owned, topic_ids, is_rebalance=is_rebalance):
            self._data.drop(tp)
        self._told.clear()

    # --- commits ----------------------------------------------------------------------------------------------------

    def positions(self, topic_partitions: Sequence[TopicPartition] | None = None) -> Offsets:
        self._data.settle()
        asked = self._subscription.assignment if topic_partitions is None else topic_partitions
        states = {tp: self._subscription.state(tp) for tp in asked}
        return {
            tp: OffsetAndMetadata(state.position, leader_epoch=state.leader_epoch)
            for tp, state in states.items()
            if state.position is not None
        }

    def store(self, offsets: Offsets) -> None:
        """Store offsets, either all of them or none.

        Raises: IllegalStateError: a partition is not assigned.
        """
        states = {tp: self._subscription.state(tp) for tp in offsets}
        for tp, state in states.items():
            state.stored = offsets[tp]

    def to_commit(self, topic_partitions: Sequence[TopicPartition] | None = None) -> Offsets:
        """Return the offsets for a commit without arguments: positions, or stored offsets with
        enable.auto.offset.store=false.
        """
        if self._config.enable_auto_offset_store:
            return self.positions(topic_partitions)
        asked = self._subscription.assignment if topic_partitions is None else topic_partitions
        stored = {tp: self._subscription.state(tp).stored for tp in asked}
        return {tp: offset for tp, offset in stored.items() if offset is not None}

    def _replace_stored(self, offsets: Offsets) -> None:
        """Replace stored offsets by committed ones, so that a later automatic commit does not go back."""
        for tp in offsets:
            if tp in self._subscription and self._subscription.state(tp).stored is not None:
                self._subscription.state(tp).stored = offsets[tp]

    def commit_sync(self, offsets: Offsets, timer: Timer) -> None:
        self._replace_stored(offsets)
        as_member = self.subscribed is not None
        topic_ids = self.topic_ids
        self._mailbox.query(
            lambda call_id: CommitSync(call_id, dict(offsets), timer.deadline_at_ms, as_member, topic_ids), timer
        )
        self._subscription.committed(offsets)
        self.callbacks.forget_failures(offsets)
        self.callbacks.run()

    def commit_async(self, offsets: Offsets, on_done: OnCommit | None, *, may_retry: bool = False) -> int:
        self._replace_stored(offsets)
        timeout_ms = self._config.default_api_timeout_ms
        deadline_at_ms = self._clock.start_ms() + timeout_ms
        as_member = self.subscribed is not None
        commit_id, taken = self.callbacks.next_id(), dict(offsets)
        self._mailbox.post(
            CommitAsync(
                commit_id,
                taken,
                timeout_ms,
                deadline_at_ms,
                as_member,
                may_retry,
                self.topic_ids,
                has_callback=on_done is not None,
            )
        )
        self.callbacks.sent(commit_id, offsets, on_done)
        return commit_id

    def _commit_positions(self, topic_partitions: Sequence[TopicPartition]) -> int | None:
        offsets = self.to_commit(topic_partitions)
        return self.commit_async(offsets, None, may_retry=True) if offsets else None

    # --- events of the network loop ---------------------------------------------------------------------------------

    @property
    def handlers(self) -> dict[type, Callable[[Any], None]]:
        return {
            AssignmentChanged: self._on_change,
            GroupFailed: self._on_failed,
            GroupWaiting: self._on_waiting,
            MemberChanged: self._on_member,
            SessionConfirmed: self._on_session,
            CommitDone: self._on_commit_done,
        }

    def _on_failed(self, event: GroupFailed) -> None:
        self._failure = event.error if self.subscribed is not None else None

    def _on_waiting(self, event: GroupWaiting) -> None:
        reason = WaitReason(event.kind, event.reason, None, event.cause, event.at_ms)
        self.waiting = reason.after(self.waiting) if event.reason else None

    def _on_member(self, event: MemberChanged) -> None:
        if self.subscribed is not None and event.metadata.generation >= 0:
            self.metadata = event.metadata

    def _on_session(self, event: SessionConfirmed) -> None:
        self._session_until_ms = event.until_ms

    def _on_commit_done(self, event: CommitDone) -> None:
        if event.commit_id == self._auto_commit_id:
            self._auto_commit_id = None
        self.callbacks.on_commit_done(event)

    def _on_change(self, change: AssignmentChanged) -> None:
        """Keep the change for the next poll, or confirm it if its subscription has ended.

        A loss replaces pending changes, because other members may already read those partitions.
        """
        if self.subscribed is None or change.term != self._term:
            self._mailbox.post_quietly(ChangeApplied(change.number))
            return
        if self._changes and self._changes[-1] is change:
            return  # a duplicate after an interrupt
        if change.is_lost:
            self._skip_changes()
        self._changes.append(change)

    def _skip_changes(self) -> None:
        for change in self._changes:
            self._mailbox.post_quietly(ChangeApplied(change.number))
        self._changes.clear()


def _call(method: ListenerMethod, partitions: list[TopicPartition], errors: list[BaseException]) -> None:
    """Call a method of the listener. Collect its exception, even a KeyboardInterrupt, to complete the change."""
    try:
        method(partitions)
    except ListenerContinues:
        raise
    except BaseException as error:  # noqa: BLE001 - raised when the change is applied
        errors.append(error)
