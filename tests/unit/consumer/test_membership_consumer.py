"""ConsumerMembership against a scripted coordinator, in virtual time."""

import re
from collections.abc import Sequence
from typing import cast

import pytest

from kctl.client.broker_errors import ErrorCode, broker_error
from kctl.client.clock import FOREVER_MS
from kctl.client.cluster import TopicPartition
from kctl.client.consumer.group_events import (
    AssignmentChanged,
    GroupFailed,
    GroupMetadata,
    GroupToApplication,
    GroupWaiting,
    MemberChanged,
    Subscribe,
)
from kctl.client.consumer.managers.coordinator import PROMPT, Coordinator
from kctl.client.consumer.managers.membership import MemberIdentity
from kctl.client.consumer.managers.membership_consumer import ConsumerMembership
from kctl.client.consumer.managers.requests import Outgoing
from kctl.client.errors import AuthenticationError, ConnectionLost, KafkaError, UnsupportedVersionError
from kctl.client.network.in_flight import OnDone
from kctl.client.protocol.api.consumer_group_heartbeat import (
    Assignment,
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
    TopicPartitions,
)
from kctl.client.protocol.api.metadata import MetadataRequest, MetadataResponse, MetadataResponseTopic
from kctl.client.protocol.schema import Request
from tests.unit.consumer.fakes import T0, T1, T2, TOPIC_ID, FakeClient, Ones, answer, chance, config, fail, topic

INTERVAL_MS = 5000
MEMBER_ID = "AQEBAQEBAQEBAQEBAQEBAQ"
OTHER_ID = TOPIC_ID[::-1]
TOPICS = Subscribe(("t",))


class ScriptedCoordinator:
    """A coordinator that is there, unless the test says otherwise."""

    group_id = "g"
    waiting_for = "waiting for the coordinator of group g"

    def __init__(self) -> None:
        self.is_ready = True
        self.version = 1
        self.error: KafkaError | None = None
        self.refusal: KafkaError | None = None

    def ready(self, connection: int) -> bool:
        assert connection == PROMPT
        return self.is_ready

    def speaks(self, connection: int, kind: type[Request], at_least: int) -> bool:
        return self.version >= at_least

    def outgoing(self, connection: int, request: Request, timeout_ms: int, on_done: OnDone) -> Outgoing:
        return Outgoing(connection, request, timeout_ms, on_done)

    def check(self, code: int, what: str) -> KafkaError | None:
        return broker_error(code, what) if code else None


class Bench:
    """One membership and everything around it; time is what the test says."""

    def __init__(self, **properties: object) -> None:
        given = {"group_id": "g", "group_protocol": "consumer", "max_poll_interval_ms": 60_000, **properties}
        self.client = FakeClient(topic("t", [1, 1, 1]))
        self.coordinator = ScriptedCoordinator()
        self.reports: list[GroupToApplication] = []
        self.member = ConsumerMembership(
            config(**given),
            cast(Coordinator, self.coordinator),
            self.client.as_client(),
            chance(),
            Ones(),
            self.reports.append,
        )
        self.now_ms = 0
        self.epoch = 0

    def start(self, subscription: Subscribe = TOPICS) -> None:
        """Subscribe and poll, as the application does."""
        self.member.subscribe(subscription)
        self.member.poll_began()

    def joined(self, *partitions: int) -> None:
        """Be a member in epoch 1 that has applied this assignment and said so."""
        self.start()
        self.hear(self.beat(), partitions)
        self.apply()
        self.hear(self.beat())
        self.reports.clear()

    def polled(self) -> list[Outgoing]:
        return self.member.poll(self.now_ms).requests

    def beat(self) -> Outgoing:
        """The one heartbeat that is due now."""
        [request] = self.polled()
        assert isinstance(request.request, ConsumerGroupHeartbeatRequest)
        assert request.node_id == PROMPT
        return request

    def hear(self, request: Outgoing, partitions: Sequence[int] | None = None, epoch: int | None = None) -> None:
        """Answer a heartbeat, with an assignment in topic t or without one."""
        if partitions is not None:
            self.epoch += 1
        topics = [TopicPartitions(topic_id=TOPIC_ID, partitions=list(partitions))] if partitions else []
        self.answer(
            request,
            member_epoch=self.epoch if epoch is None else epoch,
            assignment=None if partitions is None else Assignment(topic_partitions=topics),
        )

    def answer(self, request: Outgoing, **fields: object) -> None:
        defaults = {"member_id": MEMBER_ID, "heartbeat_interval_ms": INTERVAL_MS}
        response = ConsumerGroupHeartbeatResponse(**{**defaults, **fields})  # type: ignore[arg-type]  # a test's fields
        answer(request, response, self.now_ms)

    def refuse(self, request: Outgoing, code: ErrorCode) -> None:
        self.answer(request, error_code=int(code))

    def apply(self) -> None:
        """The application applies the last change that was reported."""
        self.polled()
        self.member.applied(self.changes()[-1].number)

    def changes(self) -> list[AssignmentChanged]:
        return [each for each in self.reports if isinstance(each, AssignmentChanged)]

    def failures(self) -> list[KafkaError]:
        return [each.error for each in self.reports if isinstance(each, GroupFailed)]

    def has_left(self) -> bool | None:
        return self.member.has_left

    @property
    def deadline_at_ms(self) -> int:
        return self.member.poll(self.now_ms).next_deadline_at_ms


def said(request: Outgoing) -> ConsumerGroupHeartbeatRequest:
    assert isinstance(request.request, ConsumerGroupHeartbeatRequest)
    return request.request


def owned(request: Outgoing) -> list[int] | None:
    """The partitions of topic t that a heartbeat tells; None when it tells nothing of them."""
    topics = said(request).topic_partitions
    return None if topics is None else [number for each in topics for number in each.partitions]


# --- joining --------------------------------------------------------------------------------------------------------


def test_it_joins_when_the_application_polls() -> None:
    bench = Bench()
    bench.member.subscribe(TOPICS)
    assert bench.polled() == []
    bench.member.poll_began()
    request = bench.beat()
    assert said(request).member_epoch == 0
    assert said(request).member_id == MEMBER_ID
    assert said(request).subscribed_topic_names == ["t"]
    assert said(request).rebalance_timeout_ms == 60_000
    assert owned(request) == []
    assert bench.member.identity is None
    assert list(bench.member.topics) == ["t"]


def test_the_assignment_is_reported_and_acknowledged_at_once_when_applied() -> None:
    bench = Bench()
    bench.start()
    bench.hear(bench.beat(), [0, 2])
    assert bench.polled() == []
    assert MemberChanged(GroupMetadata("g", 1, MEMBER_ID)) in bench.reports
    assert bench.changes() == [AssignmentChanged(1, (T0, T2))]
    assert bench.member.identity == MemberIdentity(MEMBER_ID, 1, None, 0)
    bench.member.applied(1)
    request = bench.beat()
    assert (said(request).member_epoch, owned(request)) == (1, [0, 2])
    assert said(request).subscribed_topic_names is None


def test_an_empty_first_assignment_is_reported_too() -> None:
    bench = Bench()
    bench.start()
    bench.hear(bench.beat(), [])
    bench.polled()
    assert bench.changes() == [AssignmentChanged(1, ())]
    assert bench.reports[-1] == GroupWaiting("group g has no partition for this member yet")


def test_heartbeats_come_in_the_brokers_interval_from_sending_to_sending() -> None:
    bench = Bench()
    bench.joined(0)
    assert bench.deadline_at_ms == INTERVAL_MS
    bench.now_ms = INTERVAL_MS - 1
    assert bench.polled() == []
    bench.now_ms = INTERVAL_MS
    request = bench.beat()
    assert said(request) == ConsumerGroupHeartbeatRequest(group_id="g", member_id=MEMBER_ID, member_epoch=1)
    bench.now_ms += 300
    bench.hear(request)
    assert bench.deadline_at_ms == 2 * INTERVAL_MS


def test_one_heartbeat_at_a_time() -> None:
    bench = Bench()
    bench.joined(0)
    bench.now_ms = INTERVAL_MS
    bench.beat()
    bench.now_ms += 2 * INTERVAL_MS
    assert bench.polled() == []


def test_a_broker_that_wants_no_interval_does_not_make_a_storm() -> None:
    bench = Bench()
    bench.start()
    bench.answer(bench.beat(), member_epoch=1, heartbeat_interval_ms=0)
    assert bench.polled() == []
    assert bench.deadline_at_ms == 10


# --- reconciliation -------------------------------------------------------------------------------------------------


def test_what_is_taken_away_stays_in_the_heartbeats_until_it_is_applied() -> None:
    bench = Bench()
    bench.joined(0, 1)
    bench.now_ms = INTERVAL_MS
    bench.hear(bench.beat(), [0])
    assert bench.polled() == []
    assert bench.changes() == [AssignmentChanged(2, (T0,))]
    bench.now_ms = 2 * INTERVAL_MS
    request = bench.beat()
    assert owned(request) is None
    fail(request, ConnectionLost("gone"), bench.now_ms)
    bench.now_ms += 100
    request = bench.beat()
    assert owned(request) == [0, 1]
    bench.member.applied(2)
    bench.hear(request)
    assert owned(bench.beat()) == [0]


def test_what_was_reported_is_told_as_owned_although_it_is_not_applied_yet() -> None:
    """Else the group takes it for given up, hands it on, and the application takes it nevertheless."""
    bench = Bench()
    bench.joined(0)
    bench.now_ms = INTERVAL_MS
    bench.hear(bench.beat(), [1, 2])
    bench.polled()
    bench.now_ms += INTERVAL_MS
    fail(bench.beat(), ConnectionLost("gone"), bench.now_ms)
    bench.now_ms += 100
    request = bench.beat()
    assert owned(request) == [0, 1, 2]
    bench.hear(request)
    bench.member.applied(2)
    assert owned(bench.beat()) == [1, 2]


def test_a_newer_target_waits_until_the_change_before_is_applied() -> None:
    bench = Bench()
    bench.joined(0, 1)
    bench.now_ms = INTERVAL_MS
    bench.hear(bench.beat(), [0])
    bench.polled()
    bench.now_ms = 2 * INTERVAL_MS
    bench.hear(bench.beat(), [2])
    bench.polled()
    assert [change.number for change in bench.changes()] == [2]
    bench.member.applied(2)
    bench.polled()
    assert bench.changes()[-1] == AssignmentChanged(3, (T2,))


def test_the_same_assignment_again_is_no_change_but_is_acknowledged() -> None:
    bench = Bench()
    bench.joined(0, 1)
    bench.now_ms = INTERVAL_MS
    bench.hear(bench.beat(), [1, 0])
    request = bench.beat()
    assert owned(request) == [0, 1]
    assert said(request).subscribed_topic_names is None
    bench.hear(request)
    assert bench.polled() == []
    assert bench.changes() == []


def test_what_was_given_and_taken_before_it_was_reported_is_acknowledged() -> None:
    """The coordinator waits for that word, and others for the partition."""
    bench = Bench()
    bench.start()
    bench.hear(bench.beat(), [])
    bench.polled()
    bench.now_ms = INTERVAL_MS
    bench.hear(bench.beat(), [0])
    bench.now_ms += INTERVAL_MS
    bench.hear(bench.beat(), [])
    bench.polled()
    bench.member.applied(1)
    assert owned(bench.beat()) == []
    assert [change.owned for change in bench.changes()] == [()]


def test_topics_that_are_known_by_id_alone_are_asked_for() -> None:
    bench = Bench()
    bench.start(Subscribe((), re.compile("t|u")))
    request = bench.beat()
    assert (said(request).subscribed_topic_names, said(request).subscribed_topic_regex) == ([], "t|u")
    assigned = [TopicPartitions(topic_id=each, partitions=[0]) for each in (OTHER_ID, TOPIC_ID)]
    bench.answer(request, member_epoch=1, assignment=Assignment(topic_partitions=assigned))
    [metadata] = bench.polled()
    assert isinstance(metadata.request, MetadataRequest)
    assert bench.changes() == [AssignmentChanged(1, (T0,))]
    assert GroupWaiting("waiting for the names of 1 assigned topics") in bench.reports
    bench.member.applied(1)
    request = bench.beat()
    assert owned(request) == [0]
    answer(metadata, MetadataResponse(topics=[MetadataResponseTopic(topic_id=OTHER_ID, name="u")]))
    bench.hear(request)
    bench.polled()
    assert bench.changes()[-1] == AssignmentChanged(2, (T0, TopicPartition("u", 0)))


def given_an_unknown_topic(bench: Bench) -> Outgoing:
    """t-0 goes, partition 0 of a topic without a name comes; return the heartbeat that tells that t-0 is gone."""
    bench.joined(0)
    bench.now_ms = INTERVAL_MS
    assigned = [TopicPartitions(topic_id=OTHER_ID, partitions=[0])]
    bench.answer(bench.beat(), member_epoch=2, assignment=Assignment(topic_partitions=assigned))
    [metadata] = bench.polled()
    bench.member.applied(2)
    telling = bench.beat()
    assert owned(telling) == []
    answer(metadata, MetadataResponse(topics=[MetadataResponseTopic(topic_id=OTHER_ID, name="u")]))
    return telling


def test_an_assignment_is_not_acknowledged_before_its_topics_have_names() -> None:
    bench = Bench()
    bench.start(Subscribe((), re.compile("u")))
    assigned = [TopicPartitions(topic_id=OTHER_ID, partitions=[0])]
    bench.answer(bench.beat(), member_epoch=1, assignment=Assignment(topic_partitions=assigned))
    [metadata] = bench.polled()
    bench.member.applied(1)
    assert bench.polled() == []
    answer(metadata, MetadataResponse(topics=[MetadataResponseTopic(topic_id=OTHER_ID, name="u")]))
    bench.apply()
    assert owned(bench.beat()) == [0]


def test_what_a_heartbeat_leaves_out_is_not_taken_before_its_answer() -> None:
    bench = Bench()
    telling = given_an_unknown_topic(bench)
    bench.polled()
    assert [change.owned for change in bench.changes()] == [()]
    bench.hear(telling)
    bench.polled()
    assert [change.owned for change in bench.changes()] == [(), (TopicPartition("u", 0),)]


def test_a_target_counts_no_more_when_a_heartbeat_was_not_answered() -> None:
    bench = Bench()
    fail(given_an_unknown_topic(bench), ConnectionLost("gone"), bench.now_ms)
    bench.now_ms += 100
    bench.hear(bench.beat(), [])
    bench.polled()
    assert [change.owned for change in bench.changes()] == [()]


def test_a_changed_subscription_is_told_at_once() -> None:
    bench = Bench()
    bench.joined(0)
    bench.member.subscribe(Subscribe(("t", "u")))
    request = bench.beat()
    assert (said(request).member_epoch, said(request).subscribed_topic_names) == (1, ["t", "u"])
    assert said(request).rebalance_timeout_ms == -1


def test_a_subscription_that_changes_while_a_heartbeat_is_under_way_is_told_right_after() -> None:
    bench = Bench()
    bench.start()
    request = bench.beat()
    bench.member.subscribe(Subscribe(("u",)))
    bench.hear(request, [0])
    assert said(bench.beat()).subscribed_topic_names == ["u"]


# --- failures -------------------------------------------------------------------------------------------------------


def test_after_a_failure_everything_is_said_again_in_the_same_epoch() -> None:
    bench = Bench()
    bench.joined(0)
    bench.now_ms = INTERVAL_MS
    fail(bench.beat(), ConnectionLost("gone"), bench.now_ms)
    assert bench.deadline_at_ms == INTERVAL_MS + 100
    bench.now_ms += 100
    request = bench.beat()
    assert (said(request).member_epoch, owned(request), said(request).subscribed_topic_names) == (1, [0], ["t"])
    assert bench.changes() == []


def test_a_wrong_coordinator_is_no_reason_to_wait() -> None:
    bench = Bench()
    bench.joined(0)
    bench.now_ms = INTERVAL_MS
    bench.refuse(bench.beat(), ErrorCode.NOT_COORDINATOR)
    bench.coordinator.is_ready = False
    assert bench.polled() == []
    bench.coordinator.is_ready = True
    assert owned(bench.beat()) == [0]


def test_a_coordinator_that_loads_is_asked_again_after_a_back_off() -> None:
    bench = Bench()
    bench.start()
    bench.refuse(bench.beat(), ErrorCode.COORDINATOR_LOAD_IN_PROGRESS)
    assert bench.deadline_at_ms == 100
    bench.now_ms = 100
    assert said(bench.beat()).member_epoch == 0


@pytest.mark.parametrize(
    "code", [ErrorCode.FENCED_MEMBER_EPOCH, ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.GROUP_ID_NOT_FOUND]
)
def test_a_fenced_member_loses_everything_and_joins_again_once_that_is_applied(code: ErrorCode) -> None:
    bench = Bench()
    bench.joined(0, 1)
    bench.now_ms = INTERVAL_MS
    bench.refuse(bench.beat(), code)
    assert bench.member.identity is None
    assert bench.member.incarnation == 1
    assert MemberChanged(GroupMetadata("g", -1, MEMBER_ID)) in bench.reports
    assert bench.changes() == [AssignmentChanged(2, (), is_lost=True, is_complete=False)]
    assert bench.polled() == []
    bench.member.applied(2)
    request = bench.beat()
    assert (said(request).member_epoch, said(request).member_id, owned(request)) == (0, MEMBER_ID, [])
    bench.hear(request, [0, 1])
    bench.polled()
    assert bench.changes()[-1] == AssignmentChanged(3, (T0, T1))


def test_a_change_that_was_overtaken_by_a_loss_counts_no_more() -> None:
    bench = Bench()
    bench.joined(0, 1)
    bench.now_ms = INTERVAL_MS
    bench.hear(bench.beat(), [0])
    bench.polled()
    bench.now_ms += INTERVAL_MS
    bench.refuse(bench.beat(), ErrorCode.FENCED_MEMBER_EPOCH)
    bench.member.applied(2)
    assert bench.polled() == []
    bench.member.applied(3)
    assert owned(bench.beat()) == []


def test_a_member_that_is_unknown_while_it_joins_does_not_hurry() -> None:
    bench = Bench()
    bench.start()
    bench.refuse(bench.beat(), ErrorCode.UNKNOWN_MEMBER_ID)
    assert bench.polled() == []
    assert bench.deadline_at_ms == 100
    assert bench.changes() == []


@pytest.mark.parametrize(
    "code",
    [
        ErrorCode.GROUP_AUTHORIZATION_FAILED,
        ErrorCode.UNSUPPORTED_ASSIGNOR,
        ErrorCode.INVALID_REGULAR_EXPRESSION,
        ErrorCode.UNRELEASED_INSTANCE_ID,
        ErrorCode.GROUP_MAX_SIZE_REACHED,
    ],
)
def test_what_the_group_refuses_is_told_and_the_next_poll_tries_again(code: ErrorCode) -> None:
    bench = Bench()
    bench.start()
    bench.answer(bench.beat(), error_code=int(code), error_message="because")
    [error] = bench.failures()
    assert "because" in str(error)
    assert bench.polled() == []
    assert bench.deadline_at_ms == FOREVER_MS
    bench.member.poll_began()
    assert said(bench.beat()).member_epoch == 0


def test_a_fenced_instance_stays_out() -> None:
    bench = Bench(group_instance_id="i")
    bench.joined(0)
    bench.now_ms = INTERVAL_MS
    bench.refuse(bench.beat(), ErrorCode.FENCED_INSTANCE_ID)
    bench.member.poll_began()
    assert len(bench.failures()) == 2
    assert bench.polled() == []
    bench.member.subscribe(TOPICS)
    bench.member.poll_began()
    bench.member.applied(2)
    assert said(bench.beat()).member_epoch == 0


def test_a_topic_that_may_not_be_read_is_told_once_a_poll_and_the_member_stays() -> None:
    bench = Bench()
    bench.joined(0)
    for number in range(3):
        bench.now_ms = INTERVAL_MS + 100 * number
        bench.refuse(bench.beat(), ErrorCode.TOPIC_AUTHORIZATION_FAILED)
    assert len(bench.failures()) == 1
    assert bench.member.identity is not None
    bench.member.poll_began()
    bench.now_ms += 100
    bench.refuse(bench.beat(), ErrorCode.TOPIC_AUTHORIZATION_FAILED)
    assert len(bench.failures()) == 2


def test_errors_that_no_other_attempt_cures_are_told() -> None:
    bench = Bench()
    bench.start()
    fail(bench.beat(), UnsupportedVersionError("no such api"))
    assert [str(error) for error in bench.failures()] == ["no such api"]
    bench.reports.clear()
    bench.member.poll_began()
    bench.coordinator.refusal = AuthenticationError("who are you")
    assert bench.polled() == []
    assert [str(error) for error in bench.failures()] == ["who are you"]


def test_a_coordinator_that_cannot_match_patterns_is_told() -> None:
    bench = Bench()
    bench.coordinator.version = 0
    bench.start(Subscribe((), re.compile("t.*")))
    assert bench.polled() == []
    [error] = bench.failures()
    assert isinstance(error, UnsupportedVersionError)


def test_a_refused_commit_asks_the_coordinator_at_once() -> None:
    bench = Bench()
    bench.joined(0)
    identity = bench.member.identity
    assert identity is not None
    bench.now_ms = 10
    bench.member.fenced(identity._replace(incarnation=7), ConnectionLost("another life"))
    assert bench.polled() == []
    bench.member.fenced(identity, broker_error(ErrorCode.UNKNOWN_MEMBER_ID, "OffsetCommit"))
    assert said(bench.beat()).member_epoch == 1


# --- silence and leaving --------------------------------------------------------------------------------------------


def test_a_member_whose_application_is_stuck_goes_and_comes_back_with_the_next_poll() -> None:
    bench = Bench(max_poll_interval_ms=7000)
    bench.joined(0)
    bench.member.poll_ended(1000)
    bench.now_ms = INTERVAL_MS
    bench.hear(bench.beat())
    assert bench.deadline_at_ms == 8000
    bench.now_ms = 8000
    request = bench.beat()
    assert said(request) == ConsumerGroupHeartbeatRequest(group_id="g", member_id=MEMBER_ID, member_epoch=-1)
    assert bench.changes() == [AssignmentChanged(2, (), is_lost=True, is_complete=False)]
    assert bench.reports[-1] == GroupWaiting("not in group g until the next poll")
    bench.hear(request, epoch=-1)
    assert bench.polled() == []
    bench.member.poll_began()
    bench.member.applied(2)
    assert said(bench.beat()).member_epoch == 0


def test_time_inside_of_poll_does_not_count() -> None:
    bench = Bench(max_poll_interval_ms=7000)
    bench.joined(0)
    bench.member.poll_ended(0)
    bench.member.poll_began()
    bench.now_ms = 20_000
    assert said(bench.beat()).member_epoch == 1


def test_leaving_is_tried_until_it_is_heard() -> None:
    bench = Bench()
    bench.joined(0)
    bench.member.leave(1000)
    assert bench.has_left() is None
    assert bench.member.identity is None
    request = bench.beat()
    assert said(request).member_epoch == -1
    assert request.timeout_ms == 1000
    fail(request, ConnectionLost("gone"), 0)
    bench.now_ms = 100
    request = bench.beat()
    assert request.timeout_ms == 900
    bench.hear(request, epoch=-1)
    assert bench.has_left() is True
    assert bench.changes() == []


def test_leaving_ends_at_its_deadline() -> None:
    bench = Bench()
    bench.joined(0)
    bench.coordinator.is_ready = False
    bench.member.leave(1000)
    assert bench.deadline_at_ms == 1000
    bench.now_ms = 1000
    assert bench.polled() == []
    assert bench.has_left() is False


def test_who_is_unknown_has_left_and_who_was_refused_has_not() -> None:
    for code, outcome in ((ErrorCode.UNKNOWN_MEMBER_ID, True), (ErrorCode.GROUP_AUTHORIZATION_FAILED, False)):
        bench = Bench()
        bench.joined(0)
        bench.member.leave(1000)
        bench.refuse(bench.beat(), code)
        assert bench.has_left() is outcome


def test_a_static_member_that_remains_says_that_it_will_be_back() -> None:
    bench = Bench(group_instance_id="i")
    bench.joined(0)
    bench.member.remain(1000)
    request = bench.beat()
    assert (said(request).member_epoch, said(request).instance_id) == (-2, "i")
    assert bench.has_left() is None
    bench.hear(request, epoch=-2)
    assert bench.has_left() is True


def test_a_static_member_may_leave_for_good() -> None:
    bench = Bench(group_instance_id="i")
    bench.joined(0)
    bench.member.leave(1000)
    assert said(bench.beat()).member_epoch == -1


def test_who_never_joined_has_nothing_to_say() -> None:
    bench = Bench()
    bench.member.subscribe(TOPICS)
    bench.member.leave(1000)
    assert bench.polled() == []
    assert bench.has_left() is True


def test_who_leaves_while_joining_says_goodbye_after_it() -> None:
    bench = Bench()
    bench.start()
    joining = bench.beat()
    bench.member.leave(1000)
    assert said(bench.beat()).member_epoch == -1
    bench.hear(joining, [0])
    assert bench.member.identity is None
    assert bench.changes() == []


def test_who_remains_says_nothing() -> None:
    bench = Bench()
    bench.joined(0)
    bench.member.remain(1000)
    bench.now_ms = 10 * INTERVAL_MS
    assert bench.polled() == []
    assert bench.member.identity is None


def test_who_left_may_come_back_and_does_not_say_goodbye_again() -> None:
    bench = Bench()
    bench.joined(0)
    bench.member.leave(1000)
    fail(bench.beat(), ConnectionLost("gone"), 0)
    bench.now_ms = 100
    bench.start(Subscribe(("u",)))
    request = bench.beat()
    assert (said(request).member_epoch, said(request).subscribed_topic_names) == (0, ["u"])


def test_a_change_that_was_not_applied_before_leaving_holds_up_nothing_later() -> None:
    bench = Bench()
    bench.joined(0)
    bench.now_ms = INTERVAL_MS
    bench.hear(bench.beat(), [1])
    bench.polled()
    bench.member.leave(INTERVAL_MS + 1000)
    bench.hear(bench.beat(), epoch=-1)
    bench.start()
    bench.hear(bench.beat(), [0, 2])
    bench.polled()
    assert bench.changes()[-1] == AssignmentChanged(3, (T0, T2))
    bench.member.applied(2)
    assert bench.polled() == []
    bench.member.applied(3)
    assert owned(bench.beat()) == [0, 2]
