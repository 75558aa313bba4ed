"""ConsumerMembership: a member of a group by ConsumerGroupHeartbeat alone (KIP-848); the broker shares partitions out.

Owns the member's state: epoch, what it has, and what the group wants it to have. One change at a time is reported to
the application; what it takes away stays in the heartbeats until it is applied, and the next heartbeat says so at
once. Knows neither the application nor commits. Shown by tests/unit/consumer/test_membership_consumer.py and, with the
sandbox's coordinator, by tests/sim/groups.

Source: KIP-848, KIP-1082 (member id made by the client), Java's ConsumerMembershipManager.
Differs: a pattern is always the broker's to match; a missing group means the same as an unknown member; a topic that
was deleted and made anew is another one, though it has the same name, which is all that Java's compares.
"""

from collections.abc import Callable, Iterator
from enum import Enum
from random import Random

from kctl.client.broker_errors import ErrorCode, broker_error
from kctl.client.clock import FOREVER_MS
from kctl.client.cluster import TopicPartition
from kctl.client.cluster_client import ClusterClient
from kctl.client.config import ConsumerConfig
from kctl.client.consumer.group_events import (
    AssignmentChanged,
    GroupFailed,
    GroupMetadata,
    GroupToApplication,
    GroupWaiting,
    MemberChanged,
    Subscribe,
)
from kctl.client.consumer.managers.consumer_goodbye import ConsumerGoodbye
from kctl.client.consumer.managers.heartbeat import Liveness, Session
from kctl.client.consumer.managers.heartbeat_contents import (
    FIRST_VERSION_WITH_PATTERNS,
    JOINS,
    HeartbeatContents,
    Slots,
    Told,
)
from kctl.client.consumer.managers.join_backoff import JoinBackoff
from kctl.client.consumer.managers.membership import Loss, MemberIdentity
from kctl.client.consumer.managers.topic_ids import TopicIds
from kctl.client.consumer.waiting import SESSION_OVER, WaitKind
from kctl.client.errors import KafkaError, LocalProtocolError, UnsupportedVersionError
from kctl.client.network.in_flight import Answer, Outgoing
from kctl.client.protocol.api.consumer_group_heartbeat import (
    Assignment,
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
)
from kctl.client.protocol.primitives import uuid_text
from kctl.client.requests.coordinator import PROMPT, Coordinator
from kctl.client.requests.request import Poll
from kctl.client.requests.retry import ELSEWHERE, MEMBERSHIP
from kctl.client.seams import Entropy

UNKNOWN = frozenset({ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.FENCED_MEMBER_EPOCH, ErrorCode.GROUP_ID_NOT_FOUND})
"""Codes that mean that the group has given this member's partitions away."""
SESSION_INTERVALS = 9
"""Heartbeat intervals of a session with the brokers' defaults (45 s, 5 s); brokers do not report it to members."""
LEAST_INTERVAL_MS = 10
"""However often the broker wants heartbeats, not more often."""


class Stage(Enum):
    """Where a member stands."""

    ABSENT = "not in the group: no subscription, or the application does not poll"
    JOINING = "sends its first heartbeat, as soon as a loss is applied"
    MEMBER = "the coordinator knows it"


class ConsumerMembership:
    """One member, by the consumer protocol; implements `Membership`.

    Args: entropy: makes the member id, which stays the same as long as this lives.
    """

    def __init__(
        self,
        config: ConsumerConfig,
        coordinator: Coordinator,
        client: ClusterClient,
        chance: Random,
        entropy: Entropy,
        report: Callable[[GroupToApplication], None],
    ) -> None:
        self._config = config
        self._coordinator = coordinator
        self._report = report
        self._member_id = uuid_text(entropy.token_bytes(16))
        self._contents = HeartbeatContents(config, coordinator.key, self._member_id)
        self._names = TopicIds(config, client, chance)
        self._backoff = JoinBackoff(config, chance)
        self._lease = Session(report)
        self._liveness = Liveness(config.max_poll_interval_ms)
        self._choice: Subscribe | None = None
        self._stage = Stage.ABSENT
        self._epoch = JOINS
        self.loss = Loss("")
        self._incarnation = 0
        self._target: Slots | None = None
        """What the group wants it to have; None before it said so."""
        self._is_unacknowledged = False
        """The target has to be answered, even if it asks for no change: one before it may never have come this far."""
        self._owned: Slots = {}
        """What the application has applied."""
        self._offered: Slots | None = None
        """What was reported last; None before the first assignment."""
        self._reported = self._applied = 0
        self._session = 0
        """Numbers memberships: an answer to an earlier one is of no interest."""
        self._in_flight: Told | None = None
        """What the heartbeat tells that is under way."""
        self._due_at_ms = self._sent_at_ms = 0
        self._has_complained = False
        self._may_be_member = False
        """Whether only a commit said that the group does not know this member: a broker that is not the coordinator any
        more may have answered it, so leaving is still reported to the one that is."""
        self._goodbye: ConsumerGoodbye | None = None
        self._told_waiting = ""

    # --- what others ask --------------------------------------------------------------------------------------------

    @property
    def identity(self) -> MemberIdentity | None:
        if self._stage is not Stage.MEMBER:
            return None
        return MemberIdentity(self._member_id, self._epoch, self._config.group_instance_id, self._incarnation)

    @property
    def incarnation(self) -> int:
        return self._incarnation

    @property
    def topics(self) -> Iterator[str]:
        return iter(() if self._choice is None else self._choice.topics)

    @property
    def wants_all_topics(self) -> bool:
        return False

    @property
    def has_left(self) -> bool | None:
        return True if self._goodbye is None else self._goodbye.outcome

    # --- what the application does ----------------------------------------------------------------------------------

    def subscribe(self, event: Subscribe) -> None:
        self._choice = event
        self._backoff.clear_fatal()
        self._due_at_ms = 0

    def applied(self, number: int) -> None:
        if number != self._reported:
            return  # it was overtaken by a loss, or is of a subscription before
        self._applied = number
        if self._offered is not None and self._owned != self._offered:
            self._owned = self._offered
            self._due_at_ms = 0

    def poll_began(self) -> None:
        self._liveness.poll_began()
        self._has_complained = False
        self._backoff.poll_began()
        if self._stage is Stage.ABSENT and self._choice is not None and self._backoff.fatal is None:
            self._join()

    def poll_ended(self, at_ms: int) -> None:
        self._liveness.poll_ended(at_ms)

    def rejoin(self, reason: str) -> None:  # noqa: ARG002 (the protocol has no place for it)
        """Ask at once what the group has decided; when to rebalance is the broker's decision alone."""
        self._due_at_ms = 0

    def fenced(self, identity: MemberIdentity, error: KafkaError) -> None:
        """Lose what a member has that the group does not know; one whose epoch is old asks at once for the new one."""
        code = getattr(error, "code", None)
        if identity.incarnation != self._incarnation or self._stage is not Stage.MEMBER:
            return
        if code in UNKNOWN:
            self._lose(Loss(str(error), error))
            self._join()
            self._may_be_member = True
        elif code == ErrorCode.FENCED_INSTANCE_ID:
            self._fail(error)
        else:
            self._due_at_ms = 0

    def leave(self, deadline_at_ms: int) -> None:
        self._say_goodbye(deadline_at_ms, keeps_place=False)
        self._end()

    def remain(self, deadline_at_ms: int) -> None:
        if self._goodbye is not None and self._goodbye.outcome is not None:
            self._goodbye = None  # of an earlier subscription; how it ended says nothing about this one
        if self._config.group_instance_id is not None:
            self._say_goodbye(deadline_at_ms, keeps_place=True)
        self._end()

    def _end(self) -> None:
        self._forget_membership()
        self._choice = None
        self._offered = None
        self._applied = self._reported  # the application has released everything

    # --- requests ---------------------------------------------------------------------------------------------------

    def poll(self, now_ms: int) -> Poll:
        if self._stage is not Stage.ABSENT:
            if now_ms >= self._liveness.expires_at_ms:
                self._give_up(now_ms)
            elif self._coordinator.refusal is not None:
                self._fail(self._coordinator.refusal)
        self._reconcile()
        fatal = self._backoff.advance(now_ms)
        if fatal is not None:
            self._report(GroupFailed(fatal))
        requests: list[Outgoing] = []
        deadline_at_ms = self._backoff.fatal_at_ms or FOREVER_MS
        if self._stage is not Stage.ABSENT:
            deadline_at_ms = min(self._liveness.expires_at_ms, self._lease.look(now_ms))
        for part in (self._names.poll, self._poll_goodbye, self._poll_heartbeat):
            polled = part(now_ms)
            requests += polled.requests
            deadline_at_ms = min(deadline_at_ms, polled.next_deadline_at_ms)
        self._tell_waiting()
        return Poll(requests, deadline_at_ms)

    def _poll_goodbye(self, now_ms: int) -> Poll:
        return Poll([]) if self._goodbye is None else self._goodbye.poll(now_ms)

    def _poll_heartbeat(self, now_ms: int) -> Poll:
        if self._stage is Stage.ABSENT or self._in_flight is not None:
            return Poll([])
        if self._stage is Stage.JOINING and self._applied < self._reported:
            return Poll([])  # what was lost is still in use
        due_at_ms = max(self._due_at_ms, self._backoff.retry_at_ms)
        if due_at_ms > now_ms:
            return Poll([], due_at_ms)
        if not self._coordinator.ready(PROMPT):
            return Poll([])
        try:
            request, told = self._next_heartbeat()
        except (LocalProtocolError, UnsupportedVersionError) as error:
            self._fail(error)
            return Poll([])
        session = self._session
        self._in_flight = told
        self._sent_at_ms = now_ms
        timeout_ms = self._config.request_timeout_ms
        return Poll(
            [
                self._coordinator.outgoing(
                    PROMPT, request, timeout_ms, lambda answer: self._on_answer(session, told, answer)
                )
            ]
        )

    def _next_heartbeat(self) -> tuple[ConsumerGroupHeartbeatRequest, Told]:
        assert self._choice is not None
        if self._choice.pattern is not None and not self._coordinator.speaks(
            PROMPT, ConsumerGroupHeartbeatRequest, FIRST_VERSION_WITH_PATTERNS
        ):
            text = "the coordinator cannot match patterns: ConsumerGroupHeartbeat version 1 is needed (Kafka 4.0)"
            raise UnsupportedVersionError(text, api=ConsumerGroupHeartbeatRequest.NAME)
        return self._contents.next(self._epoch, self._choice, self._held)

    # --- answers ----------------------------------------------------------------------------------------------------

    def _on_answer(self, session: int, told: Told, answer: Answer) -> None:
        if session != self._session:
            return
        self._in_flight = None
        response = answer.response
        if isinstance(response, ConsumerGroupHeartbeatResponse):
            if self._coordinator.check(response.error_code, "ConsumerGroupHeartbeat") is None:
                self._on_heard(told, response)
            else:
                self._on_refused(response, answer.received_at_ms)
        elif answer.error is not None and MEMBERSHIP.is_retried(answer.error):
            self._retry(answer.received_at_ms)
        else:
            assert answer.error is not None
            self._fail(answer.error)

    def _on_heard(self, told: Told, response: ConsumerGroupHeartbeatResponse) -> None:
        self._contents.confirm(told)
        self._backoff.accepted()
        is_new = self._stage is Stage.JOINING or self._epoch != response.member_epoch
        self._stage = Stage.MEMBER
        self._epoch = response.member_epoch
        if is_new:
            self._report(MemberChanged(self._group_metadata()))
        if response.assignment is not None:
            self._target = slots_of(response.assignment)
            self._is_unacknowledged = True
            self._names.want([*self._target, *(self._offered or ())])
        assert self._choice is not None
        interval_ms = max(response.heartbeat_interval_ms, LEAST_INTERVAL_MS)
        self._lease.confirmed(self._sent_at_ms + SESSION_INTERVALS * interval_ms)
        has_news = self._contents.has_news(self._choice, self._held)
        self._due_at_ms = 0 if has_news else self._sent_at_ms + interval_ms

    def _on_refused(self, response: ConsumerGroupHeartbeatResponse, now_ms: int) -> None:
        code = response.error_code
        error = broker_error(code, f"ConsumerGroupHeartbeat of group {self._coordinator.key}", response.error_message)
        if code in UNKNOWN and self._stage is Stage.MEMBER:
            self._lose(Loss(str(error), error))
            self._join()
        elif code in UNKNOWN or MEMBERSHIP.is_retried(error):
            self._retry(now_ms, at_once=code in ELSEWHERE)
        elif code == ErrorCode.TOPIC_AUTHORIZATION_FAILED:
            self._complain(error)
            self._retry(now_ms)
        else:
            self._fail(error)

    # --- what goes wrong --------------------------------------------------------------------------------------------

    def _retry(self, now_ms: int, *, at_once: bool = False) -> None:
        """Say everything again, since what was said may not have been heard; another coordinator is asked at once.

        Or it was heard, and the target has changed by it: the answer to the whole story tells the target anew.
        """
        self._contents.forget()
        self._target = None
        self._due_at_ms = 0
        self._backoff.failed(now_ms)
        if at_once:
            self._backoff.retry_at_ms = 0

    def _complain(self, error: KafkaError) -> None:
        """Let the application know, once in each of its polls, and go on."""
        if not self._has_complained:
            self._has_complained = True
            self._report(GroupFailed(error))

    def _fail(self, error: KafkaError) -> None:
        """Stop, and report it; the next poll joins again after a back-off, except for a fenced instance id."""
        self._lose(Loss(str(error), error))
        is_fatal = getattr(error, "code", None) == ErrorCode.FENCED_INSTANCE_ID
        self._backoff.refused(fatal=error if is_fatal else None)
        self._report(GroupFailed(error))

    def _give_up(self, now_ms: int) -> None:
        """The application has not polled for max.poll.interval.ms: go, before the group has to wait for us."""
        keeps_place = self._config.group_instance_id is not None
        self._say_goodbye(now_ms + self._config.request_timeout_ms, keeps_place=keeps_place)
        self._lose(Loss(f"no poll for {self._config.max_poll_interval_ms} ms (max.poll.interval.ms)"))

    def _lose(self, loss: Loss) -> None:
        """Everything this member had may be somebody else's by now; it is out of the group."""
        self.loss = loss
        had = self._offered
        self._forget_membership()
        self._report(MemberChanged(self._group_metadata()))
        if had:
            self._offer({}, is_lost=True)
        self._offered = None

    # --- small steps ------------------------------------------------------------------------------------------------

    @property
    def _held(self) -> Slots:
        """What heartbeats tell: all that the application reads or is about to read, for it cannot be stopped short."""
        return self._owned if self._applied == self._reported else united(self._owned, self._offered or {})

    def _join(self) -> None:
        self._stage = Stage.JOINING
        self._due_at_ms = 0
        self._goodbye = None  # were it sent again now, it would end the new membership

    def _forget_membership(self) -> None:
        self._may_be_member = False
        if self._stage is not Stage.ABSENT:
            self._incarnation += 1
        self._stage = Stage.ABSENT
        self._session += 1
        self._in_flight = None
        self._epoch = JOINS
        self._target = None
        self._owned = {}
        self._contents.forget()
        self._names.want(())

    def _say_goodbye(self, deadline_at_ms: int, *, keeps_place: bool) -> None:
        """Tell the group, where it may count on us; the partitions of a static member may wait for its return."""
        if self._stage is Stage.MEMBER or self._in_flight is not None or self._may_be_member:
            self._goodbye = ConsumerGoodbye(
                self._coordinator,
                self._contents.goodbye(keeps_place=keeps_place),
                deadline_at_ms=deadline_at_ms,
                request_timeout_ms=self._config.request_timeout_ms,
                retry_ms=self._config.retry_backoff_ms,
            )

    def _reconcile(self) -> None:
        """Report what the group wants, as far as the names of topics are known, when nothing waits to be applied.

        Nor while a heartbeat tells what the member has: what it leaves out of the target counts as given up with it.
        """
        is_telling = self._in_flight is not None and self._in_flight.owned is not None
        if self._target is None or self._applied < self._reported or is_telling:
            return
        names = self._names.known()
        wanted = {topic_id: numbers for topic_id, numbers in self._target.items() if topic_id in names}
        if self._offered is None or wanted != self._offered:
            self._offer(wanted)
        elif self._is_unacknowledged and not self._names.missing:
            self._is_unacknowledged = False
            self._contents.forget_owned()
            self._due_at_ms = 0

    def _offer(self, wanted: Slots, *, is_lost: bool = False) -> None:
        """Report the partitions by name, which is all that the application knows of, and which topics they are of.

        What goes may be of a topic that was made anew; where the metadata knows, the application is told by the new id.
        """
        names = self._names.known()
        gone = [topic_id for topic_id in self._offered or () if topic_id not in wanted]
        owned = [TopicPartition(names[topic_id], number) for topic_id, numbers in wanted.items() for number in numbers]
        topic_ids = self._names.successors(gone) | {names[topic_id]: topic_id for topic_id in wanted}
        self._offered = wanted
        self._reported += 1
        self._report(
            AssignmentChanged(
                self._reported, tuple(sorted(owned)), is_lost, is_complete=not is_lost, topic_ids=topic_ids
            )
        )

    def _group_metadata(self) -> GroupMetadata:
        generation = self._epoch if self._stage is Stage.MEMBER else -1
        return GroupMetadata(self._coordinator.key, generation, self._member_id, self._config.group_instance_id)

    def _tell_waiting(self) -> None:
        reason = self._why_waiting()
        if reason != self._told_waiting:
            self._told_waiting = reason
            self._report(GroupWaiting(reason, self._wait_kind(), self._coordinator.error))

    def _wait_kind(self) -> WaitKind:
        if self._stage is Stage.ABSENT:
            return WaitKind.OUTSIDE
        if self._stage is Stage.JOINING:
            return WaitKind.COORDINATOR if self._in_flight is None else WaitKind.JOINING
        if self._offered and self._lease.is_over:
            return WaitKind.COORDINATOR
        return WaitKind.METADATA if self._names.missing else WaitKind.NO_SHARE

    def _why_waiting(self) -> str:
        group = f"group {self._coordinator.key}"
        if self._choice is None:
            return ""
        if self._stage is Stage.ABSENT:
            return f"not in {group} until the next poll"
        if self._stage is Stage.JOINING:
            if self._in_flight is not None:
                return f"joining {group}"
            error = self._coordinator.error
            return self._coordinator.waiting_for + ("" if error is None else f": {error}")
        if self._offered and self._lease.is_over:
            return f"{SESSION_OVER}; {self._coordinator.waiting_for}"
        if self._names.missing:
            return f"waiting for the names of {self._names.missing} assigned topics"
        return "" if self._offered else f"{group} has no partition for this member yet"


def slots_of(assignment: Assignment) -> Slots:
    """Return the partitions of an answer, in order."""
    return {
        each.topic_id: tuple(sorted(each.partitions))
        for each in sorted(assignment.topic_partitions, key=lambda each: each.topic_id)
        if each.partitions
    }


def united(some: Slots, others: Slots) -> Slots:
    """Return the partitions of both."""
    return {
        topic_id: tuple(sorted({*some.get(topic_id, ()), *others.get(topic_id, ())}))
        for topic_id in sorted(some.keys() | others.keys())
    }
