"""ClassicMembership: a member of a group by JoinGroup, SyncGroup and Heartbeat; a member runs the assignor.

Owns where the member stands in a rebalance and what its requests and their responses lead to; what a generation
consists of is in classic_generation.py.
Shown by tests/unit/consumer/group/test_classic_membership.py and tests/sim/groups.

Source: KIP-62 (heartbeats), KIP-345 (static members), KIP-394 (member id first), KIP-429 (cooperative), KIP-814.
Differs: the network loop joins by itself once the application polls; a JoinGroup waits for no poll. A static leader
that restarts joins twice where its former process left partitions without a member, or is not known to have left none
(`Joined.assign`).
"""

from collections.abc import Callable, Iterator
from random import Random

from kctl.client.broker_errors import ErrorCode
from kctl.client.cluster import TopicPartition
from kctl.client.config import ConsumerConfig
from kctl.client.consumer.assignors import assignor_by_name
from kctl.client.consumer.group.classic_generation import (
    ARRIVES_WITHIN_MS,
    FIRST_VERSION_WITH_ID_FIRST,
    FORGOTTEN,
    JOIN_AGAIN,
    UNKNOWN,
    ClassicRequests,
    Joined,
    TopicChoice,
    partition_counts,
)
from kctl.client.consumer.group.events import GroupToApplication, Subscribe
from kctl.client.consumer.group.leave import GroupLeave
from kctl.client.consumer.group.membership import Loss, MemberIdentity, Membership
from kctl.client.consumer.group.states import CLASSIC, MemberEvent, MemberState
from kctl.client.consumer.group.timers import Heartbeat
from kctl.client.consumer.waiting import SESSION_OVER, WaitKind
from kctl.client.errors import BrokerError, KafkaError, RemoteProtocolError
from kctl.client.metadata import Metadata
from kctl.client.network.in_flight import Answer
from kctl.client.protocol.api.heartbeat import HeartbeatResponse
from kctl.client.protocol.api.join_group import JoinGroupRequest, JoinGroupResponse
from kctl.client.protocol.api.leave_group import LeaveGroupRequest
from kctl.client.protocol.api.sync_group import SyncGroupResponse
from kctl.client.requests.coordinator import HELD, PROMPT, Coordinator
from kctl.client.requests.leave_group import FIRST_VERSION_WITH_MEMBERS, leave_group
from kctl.client.requests.request import Poll
from kctl.client.requests.retry import MEMBERSHIP

HELD_BACK = (MemberState.JOIN_SENT, MemberState.SYNC_SENT)
"""States in which the coordinator holds a request of this member, and the response to that one counts."""


class ClassicMembership(Membership):
    """One member, by the classic protocol."""

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
        self._is_cooperative = all(
            assignor_by_name(name).supports_cooperative for name in config.partition_assignment_strategy
        )
        self._choice: TopicChoice | None = None
        self._owned: tuple[TopicPartition, ...] = ()
        self._joined: Joined | None = None
        """The last JoinGroup's response, for as long as its generation lasts."""
        self._join_sent_at_ms = 0
        self._attempt = 0
        """Numbers joins: a response to an earlier one is ignored."""
        self._reason = ""

    @property
    def topics(self) -> Iterator[str]:
        if self._choice is not None:
            yield from self._choice.topics or ()
            if self._joined is not None:
                yield from self._joined.topics

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
        if self._state is MemberState.STABLE:  # else a rebalance is in progress, or begins with the next poll
            self._join(reason)

    def fenced(self, identity: MemberIdentity, error: KafkaError) -> None:
        if identity == self.identity and isinstance(error, BrokerError):
            self._on_refused(error)

    # --- requests ---------------------------------------------------------------------------------------------------

    def _advance(self) -> None:
        """Join again when what the assignment was made of has changed."""
        joined = self._joined
        if self._state is not MemberState.STABLE or joined is None:
            return
        assert self._choice is not None
        topics = self._choice.topics
        if topics is not None and topics != self._requests.joined_topics:
            self._join("the topics that match the subscription changed")
        elif joined.counts is not None:
            counts = partition_counts(self._metadata, joined.topics)
            if counts is not None and counts != joined.counts:
                self._join("the partitions of a topic changed")

    def _polls(self) -> tuple[Callable[[int], Poll], ...]:
        return (self._poll_join, self._poll_sync, self._poll_heartbeat)

    def _poll_join(self, now_ms: int) -> Poll:
        if self._state is not MemberState.JOINING:
            return Poll([])
        if self._coordinator.refusal is not None:
            self._fail(self._coordinator.refusal)
            return Poll([])
        if not self._reports.is_applied:
            return Poll([])
        if self._owned and not self._is_cooperative:
            self._change((), is_complete=False)  # eager: everything is released before the group assigns again
            return Poll([])
        if self._backoff.retry_at_ms > now_ms:
            return Poll([], self._backoff.retry_at_ms)
        assert self._choice is not None
        topics = self._choice.topics
        if topics is None or not self._are_connected():
            return Poll([])
        connection, timeout_ms = HELD, self._requests.join_timeout_ms
        if self._is_new and self._coordinator.speaks(PROMPT, JoinGroupRequest, FIRST_VERSION_WITH_ID_FIRST):
            connection, timeout_ms = PROMPT, self._requests.id_timeout_ms(self._backoff.failures)
        self._move(MemberEvent.SEND_JOIN)
        self._join_sent_at_ms = now_ms
        self._attempt += 1
        attempt = self._attempt
        request = self._requests.join(self._member_id, self._generation, topics, self._owned, self._reason)
        return Poll(
            [
                self._coordinator.outgoing(
                    connection, request, timeout_ms, lambda answer: self._on_joined(attempt, answer)
                )
            ]
        )

    @property
    def _is_new(self) -> bool:
        """Whether the group responds with a member id first, which it does at once."""
        return not self._member_id and self._config.group_instance_id is None

    def _are_connected(self) -> bool:
        """Whether a JoinGroup can be sent; both connections are made side by side."""
        has_held = self._coordinator.ready(HELD)
        return (not self._is_new or self._coordinator.ready(PROMPT)) and has_held

    def _poll_sync(self, now_ms: int) -> Poll:
        """Send the assignments of all members, as soon as the metadata of their topics is known."""
        if self._state is not MemberState.ASSIGNING:
            return Poll([])
        assert self._joined is not None
        counts = partition_counts(self._metadata, self._joined.topics)
        if counts is None or not self._coordinator.ready(HELD):
            return Poll([])
        self._move(MemberEvent.SEND_SYNC)
        attempt = self._attempt
        assignments = self._joined.assign(counts)
        request = self._requests.sync(self._member_id, self._generation, self._joined.protocol, assignments)
        timeout_ms = self._config.request_timeout_ms
        return Poll(
            [
                self._coordinator.outgoing(
                    HELD, request, timeout_ms, lambda answer: self._on_synced(attempt, now_ms, answer)
                )
            ]
        )

    def _poll_heartbeat(self, now_ms: int) -> Poll:
        """Send heartbeats; while a request is held back, their responses show that the coordinator is alive."""
        if not self._member_id or (self._generation < 0 and self._state not in HELD_BACK):
            return Poll([])  # the group only counts who has joined
        due_at_ms = self._heartbeat.due_at_ms()
        if due_at_ms > now_ms:
            return Poll([], due_at_ms)
        if not self._coordinator.ready(PROMPT):
            return Poll([])
        self._heartbeat.sent(now_ms)
        identity = self._current_identity()
        request = self._requests.heartbeat(identity)
        timeout_ms = self._requests.heartbeat_timeout_ms
        return Poll(
            [
                self._coordinator.outgoing(
                    PROMPT, request, timeout_ms, lambda answer: self._on_beat(identity, now_ms, answer)
                )
            ]
        )

    # --- responses --------------------------------------------------------------------------------------------------

    def _on_joined(self, attempt: int, answer: Answer) -> None:
        if attempt != self._attempt:
            return
        response = answer.response
        if not isinstance(response, JoinGroupResponse):
            self._on_no_response(answer)
            return
        error = self._coordinator.check(response.error_code, "JoinGroup")
        if error is not None:
            if response.error_code == ErrorCode.MEMBER_ID_REQUIRED:
                self._member_id = response.member_id
            self._on_join_error(error, answer.received_at_ms)
            return
        self._member_id = response.member_id
        self._generation = response.generation_id
        self._heartbeat.restart(answer.received_at_ms)
        try:
            self._joined = Joined.from_response(response)
        except RemoteProtocolError as malformed:
            self._fail(malformed)
            return
        self._report_member()
        self._move(MemberEvent.JOINED)

    def _on_synced(self, attempt: int, sent_at_ms: int, answer: Answer) -> None:
        if attempt != self._attempt:
            return
        response = answer.response
        if not isinstance(response, SyncGroupResponse):
            self._on_no_response(answer)
            return
        error = self._coordinator.check(response.error_code, "SyncGroup")
        if error is not None:
            self._on_join_error(error, answer.received_at_ms)
            return
        assert self._joined is not None
        try:
            assigned = self._joined.assigned(response.assignment)
        except RemoteProtocolError as malformed:
            self._fail(malformed)
            return
        self._backoff.accepted()
        self._session.confirmed(sent_at_ms + self._config.session_timeout_ms)
        self._heartbeat.restart(answer.received_at_ms)
        self._requests.got(assigned, self._generation)
        self._move(MemberEvent.ACCEPTED)
        released = [tp for tp in self._owned if tp not in assigned]
        self._change(assigned)
        if released:
            self._join("partitions were released")
        elif self._joined.keeps_assignment and self._joined.counts is None:
            self._join("a static leader is back; its former process left no complete assignment")

    def _on_beat(self, identity: MemberIdentity, sent_at_ms: int, answer: Answer) -> None:
        response = answer.response
        self._heartbeat.ended(answer.received_at_ms, is_ok=response is not None)
        if not isinstance(response, HeartbeatResponse) or identity != self._current_identity():
            return
        error = self._coordinator.check(response.error_code, "Heartbeat")
        if response.error_code in (ErrorCode.NONE, ErrorCode.REBALANCE_IN_PROGRESS):
            self._session.confirmed(sent_at_ms + self._config.session_timeout_ms)
        if error is None:
            return
        if self._state in HELD_BACK:
            self._look_for_lost_join(error, sent_at_ms)
        elif response.error_code == ErrorCode.REBALANCE_IN_PROGRESS:
            self.rejoin("the group rebalances")
        elif isinstance(error, BrokerError) and not MEMBERSHIP.is_retried(error):
            self._on_refused(error)

    # --- what goes wrong --------------------------------------------------------------------------------------------

    def _look_for_lost_join(self, error: KafkaError, sent_at_ms: int) -> None:
        """Join again where the group does not know the member though its request has had all the time to arrive.

        It got lost with its connection, or its response did and the session has ended since: no response will come.
        """
        has_arrived = sent_at_ms >= self._join_sent_at_ms + ARRIVES_WITHIN_MS
        if has_arrived and isinstance(error, BrokerError) and error.code == ErrorCode.UNKNOWN_MEMBER_ID:
            self._on_refused(error)
            self._coordinator.lost(error)

    def _on_no_response(self, answer: Answer) -> None:
        """JoinGroup or SyncGroup ended with its connection."""
        assert answer.error is not None
        if MEMBERSHIP.is_retried(answer.error):
            self._join_later(answer.received_at_ms)
        else:
            self._fail(answer.error)

    def _on_join_error(self, error: KafkaError, now_ms: int) -> None:
        code = getattr(error, "code", None)
        if code in JOIN_AGAIN:
            self._move(MemberEvent.JOIN)
            self._backoff.asked_again(now_ms)
        elif MEMBERSHIP.is_retried(error):
            self._join_later(now_ms)
        elif isinstance(error, BrokerError):
            self._on_refused(error)
            if code in UNKNOWN:
                self._join_later(now_ms)

    def _join_later(self, now_ms: int) -> None:
        self._move(MemberEvent.JOIN)
        self._backoff.failed(now_ms)

    def _on_refused(self, error: BrokerError) -> None:
        """The group does not know this member, or not any more; a member that it has forgotten joins again."""
        if error.code not in UNKNOWN:
            self._fail(error)
            return
        self._lose(Loss(str(error), error))
        self._join(error.name)

    def _lose(self, loss: Loss) -> None:
        self.loss = loss
        if getattr(loss.error, "code", None) in FORGOTTEN:
            self._member_id = ""
        self._attempt += 1
        self._generation = -1
        self.incarnation += 1
        self._joined = None
        self._requests.lost()
        if self._owned:
            self._change((), is_lost=True, is_complete=False)
        self._report_member()
        self._move(MemberEvent.STOP)

    # --- small steps ------------------------------------------------------------------------------------------------

    def _join(self, reason: str) -> None:
        self._reason = reason
        super()._join(reason)

    def _change(self, owned: tuple[TopicPartition, ...], *, is_lost: bool = False, is_complete: bool = True) -> None:
        self._owned = owned
        self._reports.send(owned, is_lost=is_lost, is_complete=is_complete)

    def _start_leave(self, reason: str, deadline_at_ms: int, *, keeps_place: bool) -> None:
        if keeps_place:
            return  # the classic protocol has no request for that
        self._leave = None
        if self._member_id:
            coordinator, member = self._coordinator, self._current_identity()

            def request() -> LeaveGroupRequest:
                takes_members = coordinator.speaks(PROMPT, LeaveGroupRequest, FIRST_VERSION_WITH_MEMBERS)
                return leave_group(coordinator.key, [member], reason, takes_members=takes_members)

            self._leave = GroupLeave(self._config, coordinator, request, deadline_at_ms)
        self._member_id = ""

    def _end(self) -> None:
        self._owned = ()
        self._choice = None
        self._member_id = ""
        self._lose(Loss("left the group"))

    def _current_identity(self) -> MemberIdentity:
        return MemberIdentity(self._member_id, self._generation, self._config.group_instance_id, self.incarnation)

    def _wait_reason(self) -> tuple[str, WaitKind]:
        if self._choice is None:
            return "", WaitKind.OUTSIDE
        if self._state is MemberState.STABLE and self._owned:
            is_over = self._session.is_over
            return f"{SESSION_OVER}; {self._coordinator.waiting_for}" if is_over else "", WaitKind.COORDINATOR
        if self._state is MemberState.STABLE:
            return "the group has no partition for this member", WaitKind.NO_SHARE
        if self._state is MemberState.JOINING:
            return self._waiting_for_coordinator(), WaitKind.COORDINATOR
        kind = WaitKind.OUTSIDE if self._state is MemberState.ABSENT else WaitKind.JOINING
        return f"joining group {self._coordinator.key}: {self._state.value}", kind
