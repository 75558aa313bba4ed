"""Membership: common part of a group member in the classic and the consumer protocol (KIP-848).

To prevent duplicate reads, owned partitions stay in joins and heartbeats until `applied` confirms the
`AssignmentChanged` that removes them. The network loop calls `applied` after all earlier commits have ended.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator
from random import Random
from typing import ClassVar, NamedTuple

from kctl.client.broker_errors import ErrorCode
from kctl.client.clock import FOREVER_MS
from kctl.client.cluster import TopicPartition
from kctl.client.config import ConsumerConfig
from kctl.client.consumer.group.events import (
    NO_IDS,
    AssignmentChanged,
    GroupFailed,
    GroupMetadata,
    GroupToApplication,
    GroupWaiting,
    IdsByName,
    MemberChanged,
    Subscribe,
)
from kctl.client.consumer.group.leave import GroupLeave
from kctl.client.consumer.group.states import MemberEvent, MemberState, Transitions, after
from kctl.client.consumer.group.timers import JoinBackoff, Liveness, Session
from kctl.client.consumer.waiting import WaitKind
from kctl.client.errors import KafkaError
from kctl.client.metadata import Metadata
from kctl.client.network.in_flight import Outgoing
from kctl.client.requests.coordinator import Coordinator
from kctl.client.requests.request import Poll
from kctl.client.wording import MOST_NAMED, listed

WaitingFor = tuple[str, WaitKind, KafkaError | None]
"""Reason of a wait, its kind, and its error."""


class MemberIdentity(NamedTuple):
    """Identity in a commit, which the coordinator checks.

    Attributes:
        generation: member epoch with KIP-848.
        incarnation: number that grows when the member loses all partitions. A commit ends with its incarnation.
    """

    member_id: str = ""
    generation: int = -1
    group_instance_id: str | None = None
    incarnation: int = 0


class Loss(NamedTuple):
    reason: str
    error: KafkaError | None = None


class MemberPlace:
    def __init__(
        self, transitions: Transitions, group_id: str, instance_id: str | None, report: Callable[[MemberChanged], None]
    ) -> None:
        self.state = MemberState.ABSENT
        self.member_id = ""
        self.generation = -1
        self.incarnation = 0
        self._transitions = transitions
        self._group_id = group_id
        self._instance_id = instance_id
        self._report = report

    @property
    def identity(self) -> MemberIdentity:
        return MemberIdentity(self.member_id, self.generation, self._instance_id, self.incarnation)

    def move(self, event: MemberEvent) -> None:
        self.state = after(self._transitions, self.state, event)

    def report(self) -> None:
        self._report(MemberChanged(GroupMetadata(self._group_id, self.generation, self.member_id, self._instance_id)))


def absent_topics(topics: Iterable[str], metadata: Metadata) -> tuple[str, KafkaError | None]:
    found = [(topic, metadata.cluster.topics.get(topic)) for topic in topics]
    errors = {topic: info.error for topic, info in found if info is not None and info.error is not None}
    unknown = [topic for topic, error in errors.items() if error.code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION]
    parts = [f"topics not found: {listed(unknown)}"] if unknown else []
    parts += [str(error) for topic, error in errors.items() if topic not in unknown][:MOST_NAMED]
    return "".join(f"; {part}" for part in parts), next(iter(errors.values()), None)


class AssignmentReports:
    """Sender of numbered assignment changes.

    Attributes:
        is_applied: whether the application has applied the last change.
    """

    def __init__(self, report: Callable[[GroupToApplication], None]) -> None:
        self.is_applied = True
        self._report = report
        self._number = 0
        self._owned: tuple[TopicPartition, ...] = ()
        self._former: tuple[TopicPartition, ...] = ()

    @property
    def held(self) -> frozenset[TopicPartition]:
        return frozenset(self._owned if self.is_applied else (*self._owned, *self._former))

    def send(
        self,
        owned: tuple[TopicPartition, ...],
        *,
        is_lost: bool = False,
        is_complete: bool = True,
        topic_ids: IdsByName = NO_IDS,
    ) -> None:
        """Report a new assignment. `is_lost` means that all held partitions are lost, and overtakes pending changes."""
        lost = tuple(sorted(self.held)) if is_lost else ()
        self._number += 1
        self.is_applied = False
        self._former = () if is_lost else self._owned
        self._owned = owned
        self._report(AssignmentChanged(self._number, owned, lost, is_complete, topic_ids=topic_ids))

    @property
    def released(self) -> frozenset[TopicPartition]:
        """Partitions that the unapplied change removes."""
        return self.held.difference(self._owned)

    def applied(self, number: int) -> bool:
        self.is_applied = self.is_applied or number == self._number
        return number == self._number

    def clear(self) -> None:
        """Forget all partitions, which the application has released."""
        self.is_applied = True
        self._owned = self._former = ()


class Membership(ABC):
    """A group member.

    Attributes:
        loss: reason of the last loss of membership.
        awaited_commit: function that returns what a commit waits for that holds up the next step, and its error.
    """

    TRANSITIONS: ClassVar[Transitions]

    def __init__(
        self,
        config: ConsumerConfig,
        coordinator: Coordinator,
        rng: Random,
        report: Callable[[GroupToApplication], None],
    ) -> None:
        self.loss = Loss("")
        self.awaited_commit: Callable[[], tuple[str, KafkaError | None] | None] = lambda: None
        self._place = MemberPlace(self.TRANSITIONS, coordinator.key, config.group_instance_id, report)
        self._config = config
        self._coordinator = coordinator
        self._report = report
        self._reports = AssignmentReports(report)
        self._backoff = JoinBackoff(config, rng)
        self._session = Session(report)
        self._liveness = Liveness(config.max_poll_interval_ms)
        self._leave: GroupLeave | None = None
        self._waiting: WaitingFor = "", WaitKind.OUTSIDE, None
        self._failed_step: tuple[str, KafkaError] | None = None
        """Last failed step of joining, as the reason of its wait, and its error."""

    # --- what the network loop asks ---------------------------------------------------------------------------------

    @property
    def identity(self) -> MemberIdentity | None:
        return None if self._place.generation < 0 else self._place.identity

    @property
    def is_joining(self) -> bool:
        """Whether the response to a join, which brings the next generation, is pending."""
        return False

    @property
    def held(self) -> frozenset[TopicPartition]:
        """Assigned partitions, and removed partitions that the application may still use."""
        return self._reports.held

    @property
    def released(self) -> frozenset[TopicPartition]:
        """Removed partitions that the application may still use."""
        return self._reports.released

    @property
    def incarnation(self) -> int:
        return self._place.incarnation

    @property
    @abstractmethod
    def topics(self) -> Iterator[str]:
        """Topics whose metadata the member needs, in addition to the topics of assigned partitions."""

    @property
    @abstractmethod
    def wants_all_topics(self) -> bool:
        """Whether the member needs the names of all topics, to match a pattern."""

    @property
    def has_left(self) -> bool | None:
        """Whether the group confirmed `leave` or `remain`. None in progress."""
        return True if self._leave is None else self._leave.outcome

    def poll(self, now_ms: int) -> Poll:
        if self._place.state is not MemberState.ABSENT and now_ms >= self._liveness.expires_at_ms:
            self._stop_without_polls(now_ms)
        self._advance()
        fatal = self._backoff.advance(now_ms)
        if fatal is not None:
            self._report(GroupFailed(fatal))
        requests: list[Outgoing] = []
        deadline_at_ms = self._backoff.fatal_at_ms or FOREVER_MS
        if self._place.state is not MemberState.ABSENT:
            deadline_at_ms = min(deadline_at_ms, self._liveness.expires_at_ms, self._session.look(now_ms))
        for poll in (self._poll_leave, *self._polls()):
            polled = poll(now_ms)
            requests += polled.requests
            deadline_at_ms = min(deadline_at_ms, polled.next_deadline_at_ms)
        self._report_waiting()
        return Poll(requests, deadline_at_ms)

    # --- what the application does ----------------------------------------------------------------------------------

    @abstractmethod
    def subscribe(self, event: Subscribe) -> None:
        """Join the group with this subscription, or replace the previous subscription."""

    @abstractmethod
    def applied(self, number: int) -> None:
        """Record that the application has applied a change, and that earlier commits have ended."""

    @abstractmethod
    def rejoin(self, reason: str) -> None:
        """Request a rebalance."""

    @abstractmethod
    def fenced(self, identity: MemberIdentity, error: KafkaError) -> None:
        """Handle a rejected commit, whose member identity the group does not know."""

    def poll_began(self) -> None:
        self._liveness.poll_began()
        self._backoff.poll_began()
        if self._place.state is MemberState.ABSENT and self._is_subscribed and self._backoff.fatal is None:
            self._join("the application called poll()")

    def poll_ended(self, at_ms: int) -> None:
        """Start to count max.poll.interval.ms."""
        self._liveness.poll_ended(at_ms)

    def leave(self, deadline_at_ms: int) -> None:
        """Leave the group, with retries until the deadline; see `has_left`."""
        self._drop_ended_leave()
        self._start_leave("the consumer was closed or unsubscribed", deadline_at_ms, keeps_place=False)
        self._end()

    def remain(self, deadline_at_ms: int) -> None:
        """End the membership, but keep the place of a static member in the group; see `has_left`."""
        self._drop_ended_leave()
        if self._config.group_instance_id is not None:
            self._start_leave("", deadline_at_ms, keeps_place=True)
        self._end()

    # --- what differs by protocol -----------------------------------------------------------------------------------

    @property
    @abstractmethod
    def _is_subscribed(self) -> bool: ...

    @abstractmethod
    def _advance(self) -> None:
        """Do work that needs no response, at the start of each network poll."""

    @abstractmethod
    def _polls(self) -> tuple[Callable[[int], Poll], ...]:
        """Return the poll functions of the member's requests."""

    @abstractmethod
    def _start_leave(self, reason: str, deadline_at_ms: int, *, keeps_place: bool) -> None:
        """Leave if the group knows the member.

        Args:
            keeps_place: whether a static member keeps its place.
        """

    @abstractmethod
    def _lose(self, loss: Loss) -> None:
        """Stop, because other members may have all partitions of this member."""

    @abstractmethod
    def _end(self) -> None:
        """Forget subscription and membership. The application has released all partitions."""

    @abstractmethod
    def _wait_reason(self) -> WaitingFor:
        """Return why the group assigns no partitions, or an empty reason."""

    # --- shared steps -----------------------------------------------------------------------------------------------

    def _join(self, reason: str) -> None:  # noqa: ARG002 (the consumer protocol has no place for it)
        self._place.move(MemberEvent.JOIN)

    def _fail(self, error: KafkaError) -> None:
        """Stop and report the error. The next poll joins again, unless the instance id is fenced."""
        self._lose(Loss(str(error), error))
        is_fatal = getattr(error, "code", None) == ErrorCode.FENCED_INSTANCE_ID
        self._backoff.refused(fatal=error if is_fatal else None)
        self._report(GroupFailed(error))

    def _stop_without_polls(self, now_ms: int) -> None:
        reason = (
            f"the application did not call poll() for {self._config.max_poll_interval_ms} ms (max.poll.interval.ms)"
        )
        keeps_place = self._config.group_instance_id is not None
        self._start_leave(reason, now_ms + self._config.request_timeout_ms, keeps_place=keeps_place)
        self._lose(Loss(reason))

    def _drop_ended_leave(self) -> None:
        if self._leave is not None and self._leave.outcome is not None:
            self._leave = None  # result of an earlier subscription

    def _poll_leave(self, now_ms: int) -> Poll:
        return Poll([]) if self._leave is None else self._leave.poll(now_ms)

    def _report_waiting(self) -> None:
        reason, kind, cause = self._wait_reason()
        if self._is_subscribed and (commit := self.awaited_commit()) is not None:
            reason, kind, cause = commit[0], WaitKind.COORDINATOR, commit[1]
        waiting = reason, kind, self._kept_cause(reason, kind, cause or self._coordinator.error)
        if waiting != self._waiting:
            self._waiting = waiting
            self._report(GroupWaiting(*waiting))

    def _kept_cause(self, reason: str, kind: WaitKind, cause: KafkaError | None) -> KafkaError | None:
        """Return the error of a wait. If a step of joining is repeated, return the error of its last attempt.

        Without an error of the step or of the coordinator, return the error of the last attempt to join.
        """
        before, before_kind, _ = self._waiting
        if kind is WaitKind.COORDINATOR and before_kind is WaitKind.JOINING and cause is not None:
            self._failed_step = before, cause
        elif kind not in (WaitKind.COORDINATOR, WaitKind.JOINING):
            self._failed_step = None
        elif cause is None and self._failed_step is not None and self._failed_step[0] == reason:
            return self._failed_step[1]
        if kind in (WaitKind.COORDINATOR, WaitKind.JOINING):
            cause = cause or self._backoff.last_error
        return cause if reason else None

    def _waiting_for_coordinator(self) -> WaitingFor:
        error = self._coordinator.known_error
        text = self._coordinator.waiting_for + ("" if error is None else f": {error}")
        return text, WaitKind.COORDINATOR, error
