"""ClassicMembership: a member of a group by JoinGroup, SyncGroup and Heartbeat; a member runs the assignor.

Owns the member's state: id, generation, what it has, and where it stands in a rebalance. Knows neither the application
(it reports numbered changes and waits until they are applied) nor commits. Shown by
tests/unit/consumer/test_classic_membership.py and tests/sim/groups.

Source: KIP-62 (heartbeats), KIP-345 (static members), KIP-394 (member id first), KIP-429 (cooperative), KIP-814.
Differs: the network loop joins by itself once the application polls; a JoinGroup waits for no poll. A static leader
that restarts joins twice where its former process left partitions without a member, or is not known to have left none
(`Joined.assign`).
"""

from collections.abc import Callable, Iterator
from random import Random

from kctl.client.broker_errors import ErrorCode
from kctl.client.clock import FOREVER_MS
from kctl.client.cluster import TopicPartition
from kctl.client.config import ConsumerConfig
from kctl.client.consumer.assignors import assignor_by_name
from kctl.client.consumer.events import ToApplication
from kctl.client.consumer.group_events import (
    AssignmentChanged,
    GroupFailed,
    GroupMetadata,
    GroupWaiting,
    MemberChanged,
    Subscribe,
)
from kctl.client.consumer.managers.classic_requests import (
    ARRIVES_WITHIN_MS,
    AT_ONCE,
    FIRST_VERSION_WITH_ID_FIRST,
    UNKNOWN,
    ClassicRequests,
    Joined,
)
from kctl.client.consumer.managers.classic_stages import HELD_BACK, WAIT_KINDS, Stage
from kctl.client.consumer.managers.heartbeat import Heartbeat, Liveness, Session
from kctl.client.consumer.managers.join_backoff import JoinBackoff
from kctl.client.consumer.managers.leaving import Leaving
from kctl.client.consumer.managers.membership import Loss, MemberIdentity
from kctl.client.consumer.managers.topic_choice import TopicChoice, partition_counts
from kctl.client.consumer.waiting import SESSION_OVER, WaitKind
from kctl.client.errors import BrokerError, KafkaError, RemoteProtocolError
from kctl.client.metadata import Metadata
from kctl.client.network.in_flight import Answer, Outgoing
from kctl.client.protocol.api.heartbeat import HeartbeatResponse
from kctl.client.protocol.api.join_group import JoinGroupRequest, JoinGroupResponse
from kctl.client.protocol.api.sync_group import SyncGroupResponse
from kctl.client.requests.coordinator import HELD, PROMPT, Coordinator
from kctl.client.requests.request import Poll
from kctl.client.requests.retry import MEMBERSHIP


class ClassicMembership:
    """One member, by the classic protocol; implements `Membership`."""

    def __init__(
        self,
        config: ConsumerConfig,
        coordinator: Coordinator,
        metadata: Metadata,
        chance: Random,
        report: Callable[[ToApplication], None],
    ) -> None:
        self._config = config
        self._coordinator = coordinator
        self._metadata = metadata
        self._report = report
        self._requests = ClassicRequests(config, coordinator.key)
        self._backoff = JoinBackoff(config, chance)
        self._session = Session(report)
        self._is_cooperative = all(
            assignor_by_name(name).supports_cooperative for name in config.partition_assignment_strategy
        )
        self._heartbeat = Heartbeat(config.heartbeat_interval_ms, config.retry_backoff_ms)
        self._liveness = Liveness(config.max_poll_interval_ms)
        self._choice: TopicChoice | None = None
        self._stage = Stage.ABSENT
        self._member_id = ""
        self._generation = -1
        self.loss = Loss("")
        self._incarnation = 0
        self._owned: tuple[TopicPartition, ...] = ()
        self._reported = self._applied = 0
        self._joined: Joined | None = None
        """The last JoinGroup's answer, for as long as its generation lasts."""
        self._held_since_ms = 0
        """When the last JoinGroup was sent."""
        self._attempt = 0
        """Numbers joins: an answer to an earlier one is of no interest."""
        self._reason = ""
        self._leaving: Leaving | None = None
        self._told = ""

    # --- what others ask --------------------------------------------------------------------------------------------

    @property
    def identity(self) -> MemberIdentity | None:
        return None if self._generation < 0 else self._identity()

    @property
    def incarnation(self) -> int:
        return self._incarnation

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
    def has_left(self) -> bool | None:
        return True if self._leaving is None else self._leaving.outcome

    # --- what the application does ----------------------------------------------------------------------------------

    def subscribe(self, event: Subscribe) -> None:
        self._choice = TopicChoice(event, self._metadata, exclude_internal=self._config.exclude_internal_topics)
        self._backoff.clear_fatal()
        self.rejoin("the subscription changed")

    def applied(self, number: int) -> None:
        self._applied = number

    def poll_began(self) -> None:
        self._liveness.poll_began()
        self._backoff.poll_began()
        if self._stage is Stage.ABSENT and self._choice is not None and self._backoff.fatal is None:
            self._join_anew("the application polls")

    def poll_ended(self, at_ms: int) -> None:
        self._liveness.poll_ended(at_ms)

    def rejoin(self, reason: str) -> None:
        if self._stage is Stage.STABLE:  # else a rebalance is under way, or begins with the next poll
            self._join_anew(reason)

    def fenced(self, identity: MemberIdentity, error: KafkaError) -> None:
        if identity == self.identity and isinstance(error, BrokerError):
            self._on_refused(error)

    def leave(self, deadline_at_ms: int) -> None:
        self._say_goodbye("the consumer is done", deadline_at_ms)
        self._end()

    def remain(self, deadline_at_ms: int) -> None:  # noqa: ARG002 (the classic protocol has no word for it)
        if self._leaving is not None and self._leaving.outcome is not None:
            self._leaving = None  # of an earlier subscription; how it ended says nothing about this one
        self._end()

    def _end(self) -> None:
        self._owned = ()
        self._choice = None
        self._member_id = ""
        self._lose(Loss("left the group"))
        self._stage = Stage.ABSENT

    # --- requests ---------------------------------------------------------------------------------------------------

    def poll(self, now_ms: int) -> Poll:
        fatal = self._backoff.advance(now_ms)
        if fatal is not None:
            self._report(GroupFailed(fatal))
        requests: list[Outgoing] = []
        deadline_at_ms = self._backoff.fatal_at_ms or FOREVER_MS
        if self._stage is Stage.STABLE:
            deadline_at_ms = min(deadline_at_ms, self._session.look(now_ms))
        for part in (self._poll_leaving, self._poll_joining, self._poll_heartbeat):
            polled = part(now_ms)
            requests += polled.requests
            deadline_at_ms = min(deadline_at_ms, polled.next_deadline_at_ms)
        self._tell_waiting()
        return Poll(requests, deadline_at_ms)

    def _poll_leaving(self, now_ms: int) -> Poll:
        """Go when the application is stuck; go on with a goodbye."""
        if self._stage is not Stage.ABSENT and now_ms >= self._liveness.expires_at_ms:
            self._give_up(now_ms)
        polled = Poll([]) if self._leaving is None else self._leaving.poll(now_ms)
        expires_at_ms = FOREVER_MS if self._stage is Stage.ABSENT else self._liveness.expires_at_ms
        return Poll(polled.requests, min(polled.next_deadline_at_ms, expires_at_ms))

    def _poll_joining(self, now_ms: int) -> Poll:
        """Take the step of a rebalance that can be taken now."""
        if self._stage is Stage.STABLE:
            self._look_for_changes()
        if self._stage is Stage.JOINING:
            return self._join(now_ms)
        if self._stage is Stage.ASSIGNING:
            return self._assign(now_ms)
        return Poll([])

    def _join(self, now_ms: int) -> Poll:
        if self._coordinator.refusal is not None:
            self._fail(self._coordinator.refusal)
            return Poll([])
        if self._applied < self._reported:
            return Poll([])
        if self._owned and not self._is_cooperative:
            self._change((), is_complete=False)  # eager: everything is released before the group shares anew
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
        self._stage = Stage.JOIN_SENT
        self._held_since_ms = now_ms
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
        """Whether the group is to tell us a member id first, which it does at once."""
        return not self._member_id and self._config.group_instance_id is None

    def _are_connected(self) -> bool:
        """Whether a JoinGroup can be sent; both connections are made side by side."""
        has_held = self._coordinator.ready(HELD)
        return (not self._is_new or self._coordinator.ready(PROMPT)) and has_held

    def _assign(self, now_ms: int) -> Poll:
        """Send the shares of all members, as soon as the metadata of their topics is there."""
        assert self._joined is not None
        counts = partition_counts(self._metadata, self._joined.topics)
        if counts is None or not self._coordinator.ready(HELD):
            return Poll([])
        return Poll([self._sync(self._joined.assign(counts), now_ms)])

    def _sync(self, shares: dict[str, bytes], now_ms: int) -> Outgoing:
        assert self._joined is not None
        self._stage = Stage.SYNC_SENT
        attempt = self._attempt
        request = self._requests.sync(self._member_id, self._generation, self._joined.protocol, shares)
        timeout_ms = self._config.request_timeout_ms
        return self._coordinator.outgoing(
            HELD, request, timeout_ms, lambda answer: self._on_synced(attempt, now_ms, answer)
        )

    def _poll_heartbeat(self, now_ms: int) -> Poll:
        """Give a sign of life; while a request is held back it is the coordinator's sign of life that we want."""
        if not self._member_id or (self._generation < 0 and self._stage not in HELD_BACK):
            return Poll([])  # the group only counts who has joined
        due_at_ms = self._heartbeat.due_at_ms()
        if due_at_ms > now_ms:
            return Poll([], due_at_ms)
        if not self._coordinator.ready(PROMPT):
            return Poll([])
        self._heartbeat.sent(now_ms)
        identity = self._identity()
        request = self._requests.heartbeat(identity)
        timeout_ms = self._requests.heartbeat_timeout_ms
        return Poll(
            [
                self._coordinator.outgoing(
                    PROMPT, request, timeout_ms, lambda answer: self._on_beat(identity, now_ms, answer)
                )
            ]
        )

    # --- answers ----------------------------------------------------------------------------------------------------

    def _on_joined(self, attempt: int, answer: Answer) -> None:
        if attempt != self._attempt:
            return
        response = answer.response
        if not isinstance(response, JoinGroupResponse):
            self._on_no_answer(answer)
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
        self._report(MemberChanged(self._metadata_of_member()))
        self._stage = Stage.ASSIGNING

    def _on_synced(self, attempt: int, sent_at_ms: int, answer: Answer) -> None:
        if attempt != self._attempt:
            return
        response = answer.response
        if not isinstance(response, SyncGroupResponse):
            self._on_no_answer(answer)
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
        self._stage = Stage.STABLE
        released = [tp for tp in self._owned if tp not in assigned]
        self._change(assigned)
        if released:
            self._join_anew("partitions were released")
        elif self._joined.keeps_assignment and self._joined.counts is None:
            self._join_anew("a static leader is back; its former process left no complete assignment")

    def _on_beat(self, identity: MemberIdentity, sent_at_ms: int, answer: Answer) -> None:
        response = answer.response
        self._heartbeat.ended(answer.received_at_ms, is_ok=response is not None)
        if not isinstance(response, HeartbeatResponse) or identity != self._identity():
            return
        error = self._coordinator.check(response.error_code, "Heartbeat")
        if response.error_code in (ErrorCode.NONE, ErrorCode.REBALANCE_IN_PROGRESS):
            self._session.confirmed(sent_at_ms + self._config.session_timeout_ms)
        if error is None:
            return
        if self._stage in HELD_BACK:
            self._look_for_lost_join(error, sent_at_ms)
        elif response.error_code == ErrorCode.REBALANCE_IN_PROGRESS:
            if self._stage is Stage.STABLE:
                self.rejoin("the group rebalances")
        elif isinstance(error, BrokerError) and not MEMBERSHIP.is_retried(error):
            self._on_refused(error)

    # --- what goes wrong --------------------------------------------------------------------------------------------

    def _look_for_lost_join(self, error: KafkaError, sent_at_ms: int) -> None:
        """Join anew where the group does not know us though our request has had all the time to arrive.

        It got lost with its connection, or its answer did and our session has ended since: no answer will come.
        """
        has_arrived = sent_at_ms >= self._held_since_ms + ARRIVES_WITHIN_MS
        if has_arrived and isinstance(error, BrokerError) and error.code == ErrorCode.UNKNOWN_MEMBER_ID:
            self._on_refused(error)
            self._coordinator.lost(error)

    def _on_no_answer(self, answer: Answer) -> None:
        """JoinGroup or SyncGroup ended with its connection."""
        assert answer.error is not None
        if MEMBERSHIP.is_retried(answer.error):
            self._join_later(answer.received_at_ms)
        else:
            self._fail(answer.error)

    def _on_join_error(self, error: KafkaError, now_ms: int) -> None:
        code = getattr(error, "code", None)
        if code in AT_ONCE:
            self._stage = Stage.JOINING
            self._backoff.asked_again(now_ms)
        elif MEMBERSHIP.is_retried(error):
            self._join_later(now_ms)
        elif isinstance(error, BrokerError):
            self._on_refused(error)
            if code in UNKNOWN:
                self._join_later(now_ms)

    def _join_later(self, now_ms: int) -> None:
        self._stage = Stage.JOINING
        self._backoff.failed(now_ms)

    def _on_refused(self, error: BrokerError) -> None:
        """The group does not know us, or not any more; a member that it has forgotten joins anew."""
        if error.code == ErrorCode.UNKNOWN_MEMBER_ID:
            self._member_id = ""
        self._lose(Loss(str(error), error))
        if error.code in UNKNOWN:
            self._join_anew(error.name)
        else:
            self._fail(error)

    def _fail(self, error: KafkaError) -> None:
        """Stop, and report it; the next poll joins again after a back-off, except for a fenced instance id."""
        self._lose(Loss(str(error), error))
        self._stage = Stage.ABSENT
        is_fatal = getattr(error, "code", None) == ErrorCode.FENCED_INSTANCE_ID
        self._backoff.refused(fatal=error if is_fatal else None)
        if is_fatal:
            self._member_id = ""
        self._report(GroupFailed(error))

    def _lose(self, loss: Loss) -> None:
        """Everything this member had may be somebody else's by now."""
        self.loss = loss
        self._attempt += 1
        self._generation = -1
        self._incarnation += 1
        self._joined = None
        self._requests.lost()
        if self._owned:
            self._change((), is_lost=True, is_complete=False)
        self._report(MemberChanged(self._metadata_of_member()))

    def _give_up(self, now_ms: int) -> None:
        """The application has not polled for max.poll.interval.ms: go, before the group has to wait for us."""
        reason = f"no poll for {self._config.max_poll_interval_ms} ms (max.poll.interval.ms)"
        if self._config.group_instance_id is None:
            self._say_goodbye(reason, now_ms + self._config.request_timeout_ms)
            self._member_id = ""
        self._lose(Loss(reason))
        self._stage = Stage.ABSENT

    # --- small steps ------------------------------------------------------------------------------------------------

    def _look_for_changes(self) -> None:
        """Join again when what the assignment was made of has changed."""
        assert self._choice is not None
        joined = self._joined
        if joined is None:
            return
        topics = self._choice.topics
        if topics is not None and topics != self._requests.joined_topics:
            self._join_anew("the topics that match the subscription changed")
        elif joined.counts is not None:
            counts = partition_counts(self._metadata, joined.topics)
            if counts is not None and counts != joined.counts:
                self._join_anew("the partitions of a topic changed")

    def _change(self, owned: tuple[TopicPartition, ...], *, is_lost: bool = False, is_complete: bool = True) -> None:
        self._owned = owned
        self._reported += 1
        self._report(AssignmentChanged(self._reported, owned, is_lost, is_complete))

    def _join_anew(self, reason: str) -> None:
        self._reason = reason
        self._stage = Stage.JOINING

    def _say_goodbye(self, reason: str, deadline_at_ms: int) -> None:
        """Tell the group, where it may count on us."""
        self._leaving = None
        if self._member_id:
            self._leaving = Leaving(
                self._coordinator,
                self._identity(),
                reason,
                deadline_at_ms=deadline_at_ms,
                request_timeout_ms=self._config.request_timeout_ms,
                retry_ms=self._config.retry_backoff_ms,
            )

    def _identity(self) -> MemberIdentity:
        return MemberIdentity(self._member_id, self._generation, self._config.group_instance_id, self._incarnation)

    def _metadata_of_member(self) -> GroupMetadata:
        instance_id = self._config.group_instance_id
        return GroupMetadata(self._coordinator.key, self._generation, self._member_id, instance_id)

    def _tell_waiting(self) -> None:
        reason = self._why_waiting()
        if reason != self._told:
            self._told = reason
            is_over = self._stage is Stage.STABLE and self._owned
            kind = WaitKind.COORDINATOR if is_over else WAIT_KINDS.get(self._stage, WaitKind.JOINING)
            self._report(GroupWaiting(reason, kind, self._coordinator.error))

    def _why_waiting(self) -> str:
        if self._choice is None:
            return ""
        if self._stage is Stage.STABLE and self._owned:
            return f"{SESSION_OVER}; {self._coordinator.waiting_for}" if self._session.is_over else ""
        if self._stage is Stage.STABLE:
            return "the group has no partition for this member"
        if self._stage is Stage.JOINING and self._coordinator.error is not None:
            return f"{self._coordinator.waiting_for}: {self._coordinator.error}"
        if self._stage is Stage.JOINING:
            return self._coordinator.waiting_for
        return f"joining group {self._coordinator.key}: {self._stage.value}"
