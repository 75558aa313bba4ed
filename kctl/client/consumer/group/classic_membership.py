"""ClassicMembership: group member by JoinGroup, SyncGroup, and Heartbeat. A member runs the assignor.

Source: KIP-62 (heartbeats), KIP-345 (static members), KIP-394 (member id first), KIP-429 (cooperative), KIP-814.

Unlike Java, the network loop sends JoinGroup without waiting for a poll. A restarted static leader joins twice unless
its former process left a complete assignment (`Joined.assign`).
"""

from collections.abc import Callable, Iterator
from functools import partial
from random import Random

from kctl.client.broker_errors import ErrorCode
from kctl.client.cluster import TopicPartition
from kctl.client.config import ConsumerConfig
from kctl.client.consumer.group.classic_generation import (
    ARRIVES_WITHIN_MS,
    FORGOTTEN,
    UNKNOWN,
    ClassicRequests,
    TopicChoice,
)
from kctl.client.consumer.group.classic_rebalance import Rebalance
from kctl.client.consumer.group.events import GroupToApplication, Subscribe
from kctl.client.consumer.group.leave import GroupLeave
from kctl.client.consumer.group.membership import Loss, MemberIdentity, Membership, WaitingFor, absent_topics
from kctl.client.consumer.group.states import CLASSIC, MemberEvent, MemberState
from kctl.client.consumer.group.timers import Heartbeat
from kctl.client.consumer.waiting import SESSION_OVER, WaitKind
from kctl.client.errors import BrokerError, KafkaError
from kctl.client.metadata import Metadata
from kctl.client.network.in_flight import Answer
from kctl.client.protocol.api.group_membership import HeartbeatResponse, LeaveGroupRequest
from kctl.client.requests.coordinator import PROMPT, Coordinator
from kctl.client.requests.leave_group import FIRST_VERSION_WITH_MEMBERS, leave_group
from kctl.client.requests.request import Poll
from kctl.client.requests.retry import MEMBERSHIP

HELD_BACK = (MemberState.JOIN_SENT, MemberState.SYNC_SENT)
"""States in which the coordinator holds a request of this member."""


class ClassicMembership(Membership):
    TRANSITIONS = CLASSIC

    def __init__(
        self,
        config: ConsumerConfig,
        coordinator: Coordinator,
        metadata: Metadata,
        rng: Random,
        report: Callable[[GroupToApplication], None],
    ) -> None:
        super().__init__(config, coordinator, rng, report)
        self._metadata = metadata
        self._requests = ClassicRequests(config, coordinator.key)
        self._heartbeat = Heartbeat(config.heartbeat_interval_ms, config.retry_backoff_ms)
        self._is_cooperative = all(assignor.supports_cooperative for assignor in self._requests.assignors.values())
        self._choice: TopicChoice | None = None
        self._owned: tuple[TopicPartition, ...] = ()
        self._rebalance = Rebalance(
            config,
            coordinator,
            metadata,
            self._place,
            self._backoff,
            self._requests,
            self._heartbeat,
            foreign=lambda assigned: [] if self._choice is None else self._choice.foreign(assigned),
            on_assigned=self._on_assigned,
            on_refused=self._on_refused,
            on_failed=self._fail,
        )

    @property
    def topics(self) -> Iterator[str]:
        if self._choice is not None:
            yield from self._choice.topics or ()
            yield from self._rebalance.topics

    @property
    def is_joining(self) -> bool:
        return self._rebalance.is_under_way

    @property
    def wants_all_topics(self) -> bool:
        return self._choice is not None and self._choice.subscription.pattern is not None

    @property
    def _is_subscribed(self) -> bool:
        return self._choice is not None

    # --- what the application does ----------------------------------------------------------------------------------

    def subscribe(self, event: Subscribe) -> None:
        self._choice = TopicChoice(event, self._metadata, exclude_internal=self._config.exclude_internal_topics)
        self._backoff.clear_fatal()
        self.rejoin("the subscription changed")

    def applied(self, number: int) -> None:
        self._reports.applied(number)

    def rejoin(self, reason: str) -> None:
        if self._place.state is MemberState.STABLE:  # otherwise a rebalance is in progress or follows the next poll
            self._join(reason)

    def fenced(self, identity: MemberIdentity, error: KafkaError) -> None:
        if identity == self.identity and isinstance(error, BrokerError):
            self._on_refused(error)

    # --- requests ---------------------------------------------------------------------------------------------------

    def _advance(self) -> None:
        if self._place.state is MemberState.STABLE:
            assert self._choice is not None
            reason = self._rebalance.outdated(self._choice.topics)
            if reason:
                self._join(reason)

    def _polls(self) -> tuple[Callable[[int], Poll], ...]:
        return (self._poll_join, self._rebalance.poll_sync, self._poll_heartbeat)

    def _poll_join(self, now_ms: int) -> Poll:
        if self._place.state is not MemberState.JOINING:
            return Poll([])
        if self._coordinator.refusal is not None:
            self._fail(self._coordinator.refusal)
            return Poll([])
        if not self._reports.is_applied:
            return Poll([])
        if self._owned and not self._is_cooperative:
            self._change((), is_complete=False)  # eager: release everything before the group assigns again
            return Poll([])
        if self._backoff.retry_at_ms > now_ms:
            return Poll([], self._backoff.retry_at_ms)
        assert self._choice is not None
        topics = self._choice.topics
        return Poll([]) if topics is None else self._rebalance.poll_join(now_ms, topics, self._owned)

    def _poll_heartbeat(self, now_ms: int) -> Poll:
        """Send a heartbeat if it is due. Heartbeats during a held request detect a silent coordinator."""
        if not self._place.member_id or (self._place.generation < 0 and self._place.state not in HELD_BACK):
            return Poll([])  # the group only tracks members that have joined
        due_at_ms = self._heartbeat.due_at_ms()
        if due_at_ms > now_ms:
            return Poll([], due_at_ms)
        if not self._coordinator.ready(PROMPT):
            return Poll([])
        self._heartbeat.sent(now_ms)
        identity = self._place.identity
        request = self._requests.heartbeat(identity)
        timeout_ms = self._requests.heartbeat_timeout_ms
        on_done = partial(self._on_beat, identity, now_ms)
        return Poll([self._coordinator.outgoing(PROMPT, request, timeout_ms, on_done)])

    # --- responses --------------------------------------------------------------------------------------------------

    def _on_assigned(self, assigned: tuple[TopicPartition, ...], sent_at_ms: int) -> None:
        self._session.confirmed(sent_at_ms + self._config.session_timeout_ms)
        released = [tp for tp in self._owned if tp not in assigned]
        self._change(assigned)
        if released:
            self._join("partitions were released")
        elif self._rebalance.is_incomplete:
            self._join("a static leader has rejoined, and its earlier assignment is incomplete")

    def _on_beat(self, identity: MemberIdentity, sent_at_ms: int, answer: Answer) -> None:
        response = answer.response
        self._heartbeat.ended(answer.received_at_ms, is_ok=response is not None)
        if not isinstance(response, HeartbeatResponse) or identity != self._place.identity:
            return
        error = self._coordinator.check(response.error_code, f"stay in group {self._coordinator.key}")
        if response.error_code in (ErrorCode.NONE, ErrorCode.REBALANCE_IN_PROGRESS):
            self._session.confirmed(sent_at_ms + self._config.session_timeout_ms)
        if error is None:
            return
        if self._place.state in HELD_BACK:
            self._look_for_lost_join(error, sent_at_ms)
        elif response.error_code == ErrorCode.REBALANCE_IN_PROGRESS:
            self.rejoin("the group is rebalancing")
        elif response.error_code == ErrorCode.ILLEGAL_GENERATION and self.is_joining:
            pass  # the response to JoinGroup was lost; the next one has the generation
        elif isinstance(error, BrokerError) and not MEMBERSHIP.is_retried(error):
            self._on_refused(error)

    # --- what goes wrong --------------------------------------------------------------------------------------------

    def _look_for_lost_join(self, error: KafkaError, sent_at_ms: int) -> None:
        """Join again if the group does not know the member although JoinGroup must have arrived."""
        has_arrived = sent_at_ms >= self._rebalance.join_sent_at_ms + ARRIVES_WITHIN_MS
        if has_arrived and isinstance(error, BrokerError) and error.code == ErrorCode.UNKNOWN_MEMBER_ID:
            self._on_refused(error)
            self._coordinator.lost(error)

    def _on_refused(self, error: BrokerError) -> None:
        if error.code not in UNKNOWN:
            self._fail(error)
            return
        self._lose(Loss(str(error), error))
        self._join(error.name)

    def _lose(self, loss: Loss) -> None:
        self.loss, self._backoff.last_error = loss, loss.error
        if getattr(loss.error, "code", None) in FORGOTTEN:
            self._place.member_id = ""
        self._place.generation = -1
        self._place.incarnation += 1
        self._rebalance.lost()
        if self._reports.held:
            self._change((), is_lost=True, is_complete=False)
        self._place.report()
        self._place.move(MemberEvent.STOP)

    # --- small steps ------------------------------------------------------------------------------------------------

    def _join(self, reason: str) -> None:
        self._rebalance.reason = reason
        super()._join(reason)

    def _change(self, owned: tuple[TopicPartition, ...], *, is_lost: bool = False, is_complete: bool = True) -> None:
        self._owned = owned
        self._reports.send(owned, is_lost=is_lost, is_complete=is_complete)

    def _start_leave(self, reason: str, deadline_at_ms: int, *, keeps_place: bool) -> None:
        if keeps_place:
            return  # the classic protocol has no such request
        if self._place.member_id:
            coordinator, member = self._coordinator, self._place.identity

            def request() -> LeaveGroupRequest:
                takes_members = coordinator.speaks(PROMPT, LeaveGroupRequest, FIRST_VERSION_WITH_MEMBERS)
                return leave_group(coordinator.key, [member], reason, takes_members=takes_members)

            self._leave = GroupLeave(self._config, coordinator, request, deadline_at_ms, self._place.member_id)
        self._place.member_id = ""

    def _end(self) -> None:
        self._owned = ()
        self._reports.clear()
        self._choice = None
        self._place.member_id = ""
        self._lose(Loss("left the group"))

    def _wait_reason(self) -> WaitingFor:
        if self._choice is None:
            return "", WaitKind.OUTSIDE, None
        if self._place.state is MemberState.STABLE and self._owned:
            is_over = self._session.is_over
            return f"{SESSION_OVER}; {self._coordinator.waiting_for}" if is_over else "", WaitKind.COORDINATOR, None
        if self._place.state is MemberState.STABLE:
            return self._no_share(self._choice)
        if self._place.state is not MemberState.ABSENT and self._rebalance.mismatch:
            return f"rejoining group {self._coordinator.key}: {self._rebalance.mismatch}", WaitKind.JOINING, None
        if self._place.state is MemberState.JOINING:
            return self._waiting_for_coordinator()
        kind = WaitKind.OUTSIDE if self._place.state is MemberState.ABSENT else WaitKind.JOINING
        return f"joining group {self._coordinator.key}: {self._place.state.value}", kind, None

    def _no_share(self, choice: TopicChoice) -> WaitingFor:
        text, pattern = "the group has no partition for this member", choice.subscription.pattern
        if pattern is not None:
            if not choice.topics:
                text = f"the group has no partition for this member, because no topic matches {pattern.pattern}"
            return text, WaitKind.NO_SHARE, None
        absent, error = absent_topics(choice.topics or (), self._metadata)
        return f"{text}{absent}", WaitKind.NO_SHARE, error
