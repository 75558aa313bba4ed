"""ConsumerMembership: group member by ConsumerGroupHeartbeat. The broker assigns the partitions.

Source: KIP-848, KIP-1082 (client-generated member id), Java's ConsumerMembershipManager. Unlike Java, the broker always
matches patterns, a missing group is handled like an unknown member, and recreated topics are distinguished by id and
not by name.
"""

from collections.abc import Callable, Iterator
from functools import partial
from random import Random

from kctl.client.broker_errors import ErrorCode, broker_error
from kctl.client.cluster_client import ClusterClient
from kctl.client.config import ConsumerConfig
from kctl.client.consumer.group.events import GroupFailed, GroupToApplication, Subscribe
from kctl.client.consumer.group.heartbeat_contents import FIRST_VERSION_WITH_PATTERNS, JOINS, Changes, HeartbeatContents
from kctl.client.consumer.group.leave import GroupLeave
from kctl.client.consumer.group.membership import Loss, MemberIdentity, Membership, WaitingFor, absent_topics
from kctl.client.consumer.group.reconciliation import Reconciliation
from kctl.client.consumer.group.states import CONSUMER, MemberEvent, MemberState
from kctl.client.consumer.group.topic_ids import TopicIds
from kctl.client.consumer.waiting import SESSION_OVER, WaitKind
from kctl.client.errors import KafkaError, LocalProtocolError, UnsupportedVersionError
from kctl.client.network.in_flight import Answer
from kctl.client.protocol.api.consumer_groups import ConsumerGroupHeartbeatRequest, ConsumerGroupHeartbeatResponse
from kctl.client.protocol.primitives import uuid_text
from kctl.client.requests.coordinator import PROMPT, Coordinator
from kctl.client.requests.request import Poll
from kctl.client.requests.retry import ELSEWHERE, MEMBERSHIP
from kctl.client.runtime import Entropy

UNKNOWN = frozenset({ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.FENCED_MEMBER_EPOCH, ErrorCode.GROUP_ID_NOT_FOUND})
"""Codes of a group that has given this member's partitions to other members."""
SESSION_INTERVALS = 9
"""Number of heartbeat intervals in a session with the brokers' defaults (45s, 5s). Members do not learn the session."""
LEAST_INTERVAL_MS = 100
"""Lower limit of the heartbeat interval, which the broker chooses."""


class ConsumerMembership(Membership):
    """A group member by the consumer protocol (KIP-848).

    Args:
        entropy: source of the permanent member id.
    """

    TRANSITIONS = CONSUMER

    def __init__(
        self,
        config: ConsumerConfig,
        coordinator: Coordinator,
        client: ClusterClient,
        rng: Random,
        entropy: Entropy,
        report: Callable[[GroupToApplication], None],
    ) -> None:
        super().__init__(config, coordinator, rng, report)
        self._place.member_id = uuid_text(entropy.token_bytes(16))
        self._contents = HeartbeatContents(config, coordinator.key, self._place.member_id)
        self._metadata = client.metadata
        self._names = TopicIds(config, client, rng)
        self._assignment = Reconciliation(self._names, self._reports)
        self._subscription: Subscribe | None = None
        self._heartbeats = 0
        """Number of the current membership; responses of earlier memberships are ignored."""
        self._in_flight: Changes | None = None
        """Contents of the heartbeat in flight."""
        self._due_at_ms = self._sent_at_ms = 0
        self._has_complained = False
        self._may_be_member = False
        """Whether only a commit reported that the group does not know this member.

        That response may be from a former coordinator, so the member still sends a leave.
        """

    @property
    def topics(self) -> Iterator[str]:
        return iter(() if self._subscription is None else self._subscription.topics)

    @property
    def wants_all_topics(self) -> bool:
        return False

    @property
    def _is_subscribed(self) -> bool:
        return self._subscription is not None

    # --- what the application does ----------------------------------------------------------------------------------

    def subscribe(self, event: Subscribe) -> None:
        self._subscription = event
        self._backoff.clear_fatal()
        self._due_at_ms = 0

    def applied(self, number: int) -> None:
        if self._assignment.applied(number):
            self._due_at_ms = 0

    def poll_began(self) -> None:
        self._has_complained = False
        super().poll_began()

    def rejoin(self, reason: str) -> None:  # noqa: ARG002 (the protocol has no place for it)
        """Send a heartbeat immediately. Only the broker decides about rebalances."""
        self._due_at_ms = 0

    def fenced(self, identity: MemberIdentity, error: KafkaError) -> None:
        code = getattr(error, "code", None)
        if identity.incarnation != self._place.incarnation or self._place.state is not MemberState.STABLE:
            return
        if code in UNKNOWN:
            self._lose(Loss(str(error), error))
            self._join(str(error))
            self._may_be_member = True
        elif code == ErrorCode.FENCED_INSTANCE_ID:
            self._fail(error)
        else:
            self._due_at_ms = 0

    # --- requests ---------------------------------------------------------------------------------------------------

    def _advance(self) -> None:
        """Reconcile the assignment, except while a heartbeat with owned partitions is in flight.

        When the response arrives, partitions that this heartbeat omits count as revoked.
        """
        if self._place.state is not MemberState.ABSENT and self._coordinator.refusal is not None:
            self._fail(self._coordinator.refusal)
        is_reporting = self._in_flight is not None and self._in_flight.owned is not None
        if not is_reporting and self._assignment.advance():
            self._contents.forget_owned()
            self._due_at_ms = 0

    def _polls(self) -> tuple[Callable[[int], Poll], ...]:
        return (self._names.poll, self._poll_heartbeat)

    def _poll_heartbeat(self, now_ms: int) -> Poll:
        if self._place.state is MemberState.ABSENT or self._in_flight is not None:
            return Poll([])
        if self._place.state is MemberState.JOINING and not self._reports.is_applied:
            return Poll([])  # lost partitions are still in use
        due_at_ms = max(self._due_at_ms, self._backoff.retry_at_ms)
        if due_at_ms > now_ms:
            return Poll([], due_at_ms)
        if not self._coordinator.ready(PROMPT):
            return Poll([])
        try:
            request, changes = self._next_heartbeat()
        except (LocalProtocolError, UnsupportedVersionError) as error:
            self._fail(error)
            return Poll([])
        if self._place.state is MemberState.JOINING:
            self._place.move(MemberEvent.SEND_JOIN)
        number = self._heartbeats
        self._in_flight = changes
        self._sent_at_ms = now_ms
        timeout_ms = self._config.request_timeout_ms
        on_done = partial(self._on_answer, number, changes)
        return Poll([self._coordinator.outgoing(PROMPT, request, timeout_ms, on_done)])

    def _next_heartbeat(self) -> tuple[ConsumerGroupHeartbeatRequest, Changes]:
        assert self._subscription is not None
        if self._subscription.pattern is not None and not self._coordinator.speaks(
            PROMPT, ConsumerGroupHeartbeatRequest, FIRST_VERSION_WITH_PATTERNS
        ):
            text = "cannot subscribe by pattern: the coordinator lacks ConsumerGroupHeartbeat version 1 (Kafka 4.0)"
            raise UnsupportedVersionError(text, api=ConsumerGroupHeartbeatRequest.NAME)
        return self._contents.next(max(self._place.generation, JOINS), self._subscription, self._assignment.held)

    # --- responses --------------------------------------------------------------------------------------------------

    def _on_answer(self, number: int, changes: Changes, answer: Answer) -> None:
        if number != self._heartbeats:
            return
        self._in_flight = None
        response = answer.response
        if isinstance(response, ConsumerGroupHeartbeatResponse):
            if self._coordinator.check(response.error_code, self._action) is None:
                self._on_accepted(changes, response)
            else:
                self._on_refused(response, answer.received_at_ms)
        elif answer.error is not None and MEMBERSHIP.is_retried(answer.error):
            self._retry(answer.received_at_ms, answer.error)
        else:
            assert answer.error is not None
            self._fail(answer.error)

    def _on_accepted(self, changes: Changes, response: ConsumerGroupHeartbeatResponse) -> None:
        self._contents.confirm(changes)
        self._backoff.accepted()
        is_new = self._place.state is not MemberState.STABLE or self._place.generation != response.member_epoch
        self._place.move(MemberEvent.ACCEPTED)
        self._place.generation = response.member_epoch
        if is_new:
            self._place.report()
        if response.assignment is not None:
            self._assignment.receive(response.assignment)
        assert self._subscription is not None
        interval_ms = max(response.heartbeat_interval_ms, LEAST_INTERVAL_MS)
        self._session.confirmed(self._sent_at_ms + SESSION_INTERVALS * interval_ms)
        has_changes = self._contents.has_changes(self._subscription, self._assignment.held)
        self._due_at_ms = 0 if has_changes else self._sent_at_ms + interval_ms

    def _on_refused(self, response: ConsumerGroupHeartbeatResponse, now_ms: int) -> None:
        code = response.error_code
        error = broker_error(code, self._action, response.error_message)
        if code in UNKNOWN and self._place.state is MemberState.STABLE:
            self._lose(Loss(str(error), error))
            self._join(str(error))
        elif code in UNKNOWN or MEMBERSHIP.is_retried(error):
            self._retry(now_ms, error, at_once=code in ELSEWHERE)
        elif code == ErrorCode.TOPIC_AUTHORIZATION_FAILED:
            if not self._has_complained:  # once in each poll of the application
                self._has_complained = True
                self._report(GroupFailed(error))
            self._retry(now_ms, error)
        else:
            self._fail(error)

    def _retry(self, now_ms: int, error: KafkaError, *, at_once: bool = False) -> None:
        """Include everything in the next heartbeat, because the last one, or its response, may be lost."""
        if self._place.state is MemberState.JOIN_SENT:
            self._place.move(MemberEvent.JOIN)
        self._contents.forget()
        self._assignment.forget_target()
        self._due_at_ms = 0
        self._backoff.failed(now_ms, error)
        if at_once:
            self._backoff.retry_at_ms = 0

    # --- the end of a membership ------------------------------------------------------------------------------------

    def _lose(self, loss: Loss) -> None:
        self.loss, self._backoff.last_error = loss, loss.error
        self._stop()
        self._place.report()
        self._assignment.lose()

    def _join(self, reason: str) -> None:
        super()._join(reason)
        self._due_at_ms = 0
        self._leave = None  # sent now, it would end the new membership

    def _stop(self) -> None:
        self._may_be_member = False
        if self._place.state is not MemberState.ABSENT:
            self._place.incarnation += 1
        self._place.move(MemberEvent.STOP)
        self._heartbeats += 1
        self._in_flight = None
        self._place.generation = -1
        self._contents.forget()

    def _start_leave(self, reason: str, deadline_at_ms: int, *, keeps_place: bool) -> None:  # noqa: ARG002 (as rejoin)
        if self._place.state is MemberState.STABLE or self._in_flight is not None or self._may_be_member:
            request = self._contents.leave(keeps_place=keeps_place)
            self._leave = GroupLeave(
                self._config, self._coordinator, lambda: request, deadline_at_ms, request.member_id
            )

    def _end(self) -> None:
        self._stop()
        self._subscription = None
        self._assignment.clear()

    @property
    def _action(self) -> str:
        """Action of the last heartbeat, for errors."""
        if self._place.state is MemberState.JOIN_SENT:
            return f"join group {self._coordinator.key}"
        return f"stay in group {self._coordinator.key}"

    def _wait_reason(self) -> WaitingFor:
        group = f"group {self._coordinator.key}"
        if self._subscription is None:
            return "", WaitKind.OUTSIDE, None
        if self._place.state is MemberState.ABSENT:
            return f"the consumer joins {group} at its next poll", WaitKind.OUTSIDE, None
        if self._place.state is MemberState.JOINING:
            return self._waiting_for_coordinator()
        if self._place.state is MemberState.JOIN_SENT:
            return f"joining {group}", WaitKind.JOINING, None
        if self._assignment.reported and self._session.is_over:
            return f"{SESSION_OVER}; {self._coordinator.waiting_for}", WaitKind.COORDINATOR, None
        if self._names.missing:
            return f"waiting for the names of {self._names.missing} assigned topics", WaitKind.METADATA, None
        if self._assignment.reported:
            return "", WaitKind.NO_SHARE, None
        absent, error = absent_topics(self._subscription.topics, self._metadata)
        return f"{group} has no partition for this member yet{absent}", WaitKind.NO_SHARE, error
