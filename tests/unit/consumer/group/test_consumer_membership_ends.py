"""A KIP-848 member whose heartbeats fail, that is stuck, and that leaves."""

import re

import pytest

from kctl.client.broker_errors import ErrorCode, broker_error
from kctl.client.clock import FOREVER_MS
from kctl.client.consumer.group.events import (
    AssignmentChanged,
    GroupMetadata,
    GroupWaiting,
    MemberChanged,
    Subscribe,
)
from kctl.client.consumer.waiting import WaitKind
from kctl.client.errors import AuthenticationError, ConnectionLost, UnsupportedVersionError
from kctl.client.protocol.api.consumer_groups import (
    ConsumerGroupHeartbeatRequest,
)
from tests.unit.consumer.fakes import T0, T1, T2, fail
from tests.unit.consumer.group.heartbeat_scenario import INTERVAL_MS, MEMBER_ID, TOPICS, Scenario, owned, said, shared

# --- failures -------------------------------------------------------------------------------------------------------


def test_after_a_failure_everything_is_said_again_in_the_same_epoch() -> None:
    scenario = Scenario()
    scenario.joined(0)
    scenario.now_ms = INTERVAL_MS
    fail(scenario.beat(), ConnectionLost("gone"), scenario.now_ms)
    assert scenario.deadline_at_ms == INTERVAL_MS + 100
    scenario.now_ms += 100
    request = scenario.beat()
    assert (said(request).member_epoch, owned(request), said(request).subscribed_topic_names) == (1, [0], ["t"])
    assert scenario.changes() == []


def test_a_wrong_coordinator_is_no_reason_to_wait() -> None:
    scenario = Scenario()
    scenario.joined(0)
    scenario.now_ms = INTERVAL_MS
    scenario.refuse(scenario.beat(), ErrorCode.NOT_COORDINATOR)
    scenario.coordinator.is_ready = False
    assert scenario.polled() == []
    scenario.coordinator.is_ready = True
    assert owned(scenario.beat()) == [0]


def test_a_coordinator_that_loads_is_asked_again_after_a_back_off() -> None:
    scenario = Scenario()
    scenario.start()
    scenario.refuse(scenario.beat(), ErrorCode.COORDINATOR_LOAD_IN_PROGRESS)
    assert scenario.deadline_at_ms == 100
    scenario.now_ms = 100
    assert said(scenario.beat()).member_epoch == 0


@pytest.mark.parametrize(
    "code", [ErrorCode.FENCED_MEMBER_EPOCH, ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.GROUP_ID_NOT_FOUND]
)
def test_a_fenced_member_loses_everything_and_joins_again_once_that_is_applied(code: ErrorCode) -> None:
    scenario = Scenario()
    scenario.joined(0, 1)
    scenario.now_ms = INTERVAL_MS
    scenario.refuse(scenario.beat(), code)
    assert scenario.member.identity is None
    assert scenario.member.incarnation == 1
    assert MemberChanged(GroupMetadata("g", -1, MEMBER_ID)) in scenario.reports
    assert scenario.changes() == [AssignmentChanged(2, (), lost=(T0, T1), is_complete=False)]
    assert scenario.polled() == []
    scenario.member.applied(2)
    request = scenario.beat()
    assert (said(request).member_epoch, said(request).member_id, owned(request)) == (0, MEMBER_ID, [])
    scenario.hear(request, [0, 1])
    scenario.polled()
    assert scenario.changes()[-1] == shared(3, T0, T1)


def test_a_change_that_was_overtaken_by_a_loss_counts_no_more() -> None:
    scenario = Scenario()
    scenario.joined(0, 1)
    scenario.now_ms = INTERVAL_MS
    scenario.hear(scenario.beat(), [0])
    scenario.polled()
    scenario.now_ms += INTERVAL_MS
    scenario.refuse(scenario.beat(), ErrorCode.FENCED_MEMBER_EPOCH)
    scenario.member.applied(2)
    assert scenario.polled() == []
    scenario.member.applied(3)
    assert owned(scenario.beat()) == []


def test_a_member_that_is_unknown_while_it_joins_does_not_hurry() -> None:
    scenario = Scenario()
    scenario.start()
    scenario.refuse(scenario.beat(), ErrorCode.UNKNOWN_MEMBER_ID)
    assert scenario.polled() == []
    assert scenario.deadline_at_ms == 100
    assert scenario.changes() == []


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
def test_refusal_of_the_group_is_reported_and_the_next_poll_retries(code: ErrorCode) -> None:
    scenario = Scenario()
    scenario.start()
    scenario.answer(scenario.beat(), error_code=int(code), error_message="because")
    [error] = scenario.failures()
    assert "because" in str(error)
    assert scenario.polled() == []
    assert scenario.deadline_at_ms == FOREVER_MS
    scenario.member.poll_began()
    assert scenario.polled() == []
    assert scenario.deadline_at_ms == 100, "retry.backoff.ms"
    scenario.now_ms = 100
    assert said(scenario.beat()).member_epoch == 0


def test_refused_joins_back_off_further_until_one_is_accepted() -> None:
    scenario = Scenario(retry_backoff_max_ms=1000)
    scenario.start()
    joins = []
    for scenario.now_ms in range(10_000):
        for request in scenario.polled():
            joins.append(scenario.now_ms)
            scenario.refuse(request, ErrorCode.UNSUPPORTED_ASSIGNOR)
            scenario.member.poll_began()
    assert 9 <= len(joins) <= 16
    scenario.now_ms = 20_000
    scenario.hear(scenario.beat(), [0])
    scenario.now_ms = 30_000
    scenario.refuse(scenario.beat(), ErrorCode.UNKNOWN_MEMBER_ID)
    scenario.member.applied(scenario.changes()[-1].number)
    scenario.refuse(scenario.beat(), ErrorCode.UNSUPPORTED_ASSIGNOR)
    scenario.member.poll_began()
    assert scenario.polled() == []
    assert scenario.deadline_at_ms <= 30_120


def test_a_fenced_instance_stays_out() -> None:
    scenario = Scenario(group_instance_id="i")
    scenario.joined(0)
    scenario.now_ms = INTERVAL_MS
    scenario.refuse(scenario.beat(), ErrorCode.FENCED_INSTANCE_ID)
    scenario.member.poll_began()
    assert scenario.polled() == []
    assert len(scenario.failures()) == 1
    scenario.now_ms += 100
    assert scenario.polled() == []
    assert len(scenario.failures()) == 2
    scenario.member.subscribe(TOPICS)
    scenario.member.poll_began()
    scenario.member.applied(2)
    scenario.now_ms += 100
    assert said(scenario.beat()).member_epoch == 0


def test_subscribe_after_fenced_instance_leaves_no_deadline_in_the_past() -> None:
    scenario = Scenario(group_instance_id="i")
    scenario.joined(0)
    scenario.now_ms = INTERVAL_MS
    scenario.refuse(scenario.beat(), ErrorCode.FENCED_INSTANCE_ID)
    assert scenario.polled() == []
    scenario.member.poll_began()
    scenario.member.subscribe(TOPICS)
    scenario.now_ms += 1000
    assert scenario.deadline_at_ms > scenario.now_ms


def test_a_topic_that_may_not_be_read_is_told_once_a_poll_and_the_member_stays() -> None:
    scenario = Scenario()
    scenario.joined(0)
    for number in range(3):
        scenario.now_ms = INTERVAL_MS + 100 * number
        scenario.refuse(scenario.beat(), ErrorCode.TOPIC_AUTHORIZATION_FAILED)
    assert len(scenario.failures()) == 1
    assert scenario.member.identity is not None
    scenario.member.poll_began()
    scenario.now_ms += 100
    scenario.refuse(scenario.beat(), ErrorCode.TOPIC_AUTHORIZATION_FAILED)
    assert len(scenario.failures()) == 2


def test_errors_that_no_other_attempt_cures_are_told() -> None:
    scenario = Scenario()
    scenario.start()
    fail(scenario.beat(), UnsupportedVersionError("no such api"))
    assert [str(error) for error in scenario.failures()] == ["no such api"]
    scenario.reports.clear()
    scenario.member.poll_began()
    scenario.coordinator.refusal = AuthenticationError("who are you")
    assert scenario.polled() == []
    assert [str(error) for error in scenario.failures()] == ["who are you"]


def test_a_coordinator_that_cannot_match_patterns_is_told() -> None:
    scenario = Scenario()
    scenario.coordinator.version = 0
    scenario.start(Subscribe((), re.compile("t.*")))
    assert scenario.polled() == []
    [error] = scenario.failures()
    assert isinstance(error, UnsupportedVersionError)


def test_a_commit_that_the_group_refuses_to_know_loses_the_partitions_at_once() -> None:
    scenario = Scenario()
    scenario.joined(0)
    identity = scenario.member.identity
    assert identity is not None
    scenario.now_ms = 10
    scenario.member.fenced(identity._replace(incarnation=7), ConnectionLost("another life"))
    assert scenario.polled() == []
    scenario.member.fenced(identity, broker_error(ErrorCode.STALE_MEMBER_EPOCH, "OffsetCommit"))
    beat = scenario.beat()
    assert said(beat).member_epoch == 1
    assert scenario.changes() == []
    scenario.hear(beat)
    scenario.member.fenced(identity, broker_error(ErrorCode.UNKNOWN_MEMBER_ID, "OffsetCommit"))
    [lost] = scenario.changes()
    assert (lost.owned, lost.is_lost) == ((), True)
    scenario.member.applied(lost.number)
    assert said(scenario.beat()).member_epoch == 0


def test_loss_during_a_revocation_of_everything_is_reported() -> None:
    scenario = Scenario()
    scenario.joined(0)
    scenario.now_ms = INTERVAL_MS
    scenario.hear(scenario.beat(), [])
    scenario.polled()
    assert scenario.changes() == [AssignmentChanged(2, ())]
    scenario.now_ms = 2 * INTERVAL_MS
    scenario.refuse(scenario.beat(), ErrorCode.UNKNOWN_MEMBER_ID)
    assert scenario.changes()[1:] == [AssignmentChanged(3, (), lost=(T0,), is_complete=False)]


def test_loss_after_a_new_subscription_does_not_report_partitions_of_the_last_one() -> None:
    scenario = Scenario()
    scenario.joined(0)
    scenario.member.leave(1000)
    scenario.hear(scenario.beat(), epoch=-1)
    scenario.start()
    scenario.now_ms = INTERVAL_MS
    scenario.hear(scenario.beat(), epoch=2)
    scenario.now_ms = 2 * INTERVAL_MS
    scenario.refuse(scenario.beat(), ErrorCode.UNKNOWN_MEMBER_ID)
    assert scenario.changes() == []


# --- silence and leaving --------------------------------------------------------------------------------------------


def test_a_member_whose_application_is_stuck_goes_and_comes_back_with_the_next_poll() -> None:
    scenario = Scenario(max_poll_interval_ms=7000)
    scenario.joined(0)
    scenario.member.poll_ended(1000)
    scenario.now_ms = INTERVAL_MS
    scenario.hear(scenario.beat())
    assert scenario.deadline_at_ms == 8000
    scenario.now_ms = 8000
    request = scenario.beat()
    assert said(request) == ConsumerGroupHeartbeatRequest(group_id="g", member_id=MEMBER_ID, member_epoch=-1)
    assert scenario.changes() == [AssignmentChanged(2, (), lost=(T0,), is_complete=False)]
    assert scenario.reports[-1] == GroupWaiting("the consumer is not in group g until the next poll", WaitKind.OUTSIDE)
    scenario.hear(request, epoch=-1)
    assert scenario.polled() == []
    scenario.member.poll_began()
    scenario.member.applied(2)
    assert said(scenario.beat()).member_epoch == 0


def test_time_inside_of_poll_does_not_count() -> None:
    scenario = Scenario(max_poll_interval_ms=7000)
    scenario.joined(0)
    scenario.member.poll_ended(0)
    scenario.member.poll_began()
    scenario.now_ms = 20_000
    assert said(scenario.beat()).member_epoch == 1


def test_leaving_is_tried_until_it_is_heard() -> None:
    scenario = Scenario()
    scenario.joined(0)
    scenario.member.leave(1000)
    assert scenario.has_left() is None
    assert scenario.member.identity is None
    request = scenario.beat()
    assert said(request).member_epoch == -1
    assert request.timeout_ms == 1000
    fail(request, ConnectionLost("gone"), 0)
    scenario.now_ms = 100
    request = scenario.beat()
    assert request.timeout_ms == 900
    scenario.hear(request, epoch=-1)
    assert scenario.has_left() is True
    assert scenario.changes() == []


def test_leaving_ends_at_its_deadline() -> None:
    scenario = Scenario()
    scenario.joined(0)
    scenario.coordinator.is_ready = False
    scenario.member.leave(1000)
    assert scenario.deadline_at_ms == 1000
    scenario.now_ms = 1000
    assert scenario.polled() == []
    assert scenario.has_left() is False


def test_who_was_refused_has_not_left() -> None:
    scenario = Scenario()
    scenario.joined(0)
    scenario.member.leave(1000)
    scenario.refuse(scenario.beat(), ErrorCode.GROUP_AUTHORIZATION_FAILED)
    assert scenario.has_left() is False


def test_who_is_unknown_has_left_when_the_coordinator_is_still_the_one_and_says_so_again() -> None:
    scenario = Scenario()
    scenario.joined(0)
    scenario.member.leave(1000)
    scenario.refuse(scenario.beat(), ErrorCode.UNKNOWN_MEMBER_ID)
    assert scenario.coordinator.is_recheck_pending, "it may have stood still and be no coordinator any more"
    scenario.now_ms = 100
    assert scenario.polled() == [], "nobody has said yet who coordinates"
    assert scenario.has_left() is None
    scenario.coordinator.is_recheck_pending = False
    scenario.refuse(scenario.beat(), ErrorCode.UNKNOWN_MEMBER_ID)
    assert scenario.has_left() is True
    assert not scenario.coordinator.is_recheck_pending


def test_who_is_unknown_to_one_coordinator_says_goodbye_to_the_next() -> None:
    scenario = Scenario()
    scenario.joined(0)
    scenario.member.leave(1000)
    scenario.refuse(scenario.beat(), ErrorCode.UNKNOWN_MEMBER_ID)
    scenario.coordinator.is_recheck_pending = False
    scenario.now_ms = 100
    request = scenario.beat()
    assert said(request).member_epoch == -1
    scenario.hear(request, epoch=-1)
    assert scenario.has_left() is True


def test_member_that_only_a_commit_called_unknown_still_reports_that_it_leaves() -> None:
    """A broker that woke up and coordinates no more may have answered the commit: the group still has the member."""
    scenario = Scenario()
    scenario.joined(0)
    identity = scenario.member.identity
    assert identity is not None
    scenario.member.fenced(identity, broker_error(ErrorCode.UNKNOWN_MEMBER_ID, "OffsetCommit"))
    scenario.member.leave(1000)
    request = scenario.beat()
    assert said(request).member_epoch == -1
    assert scenario.has_left() is None
    scenario.hear(request, epoch=-1)
    assert scenario.has_left() is True


def test_a_static_member_that_remains_says_that_it_will_be_back() -> None:
    scenario = Scenario(group_instance_id="i")
    scenario.joined(0)
    scenario.member.remain(1000)
    request = scenario.beat()
    assert (said(request).member_epoch, said(request).instance_id) == (-2, "i")
    assert scenario.has_left() is None
    scenario.hear(request, epoch=-2)
    assert scenario.has_left() is True


def test_a_static_member_may_leave_for_good() -> None:
    scenario = Scenario(group_instance_id="i")
    scenario.joined(0)
    scenario.member.leave(1000)
    assert said(scenario.beat()).member_epoch == -1


def test_who_never_joined_has_nothing_to_say() -> None:
    scenario = Scenario()
    scenario.member.subscribe(TOPICS)
    scenario.member.leave(1000)
    assert scenario.polled() == []
    assert scenario.has_left() is True


def test_who_leaves_while_joining_says_goodbye_after_it() -> None:
    scenario = Scenario()
    scenario.start()
    joining = scenario.beat()
    scenario.member.leave(1000)
    assert said(scenario.beat()).member_epoch == -1
    scenario.hear(joining, [0])
    assert scenario.member.identity is None
    assert scenario.changes() == []


def test_who_remains_says_nothing() -> None:
    scenario = Scenario()
    scenario.joined(0)
    scenario.member.remain(1000)
    scenario.now_ms = 10 * INTERVAL_MS
    assert scenario.polled() == []
    assert scenario.member.identity is None


def test_who_left_may_come_back_and_does_not_say_goodbye_again() -> None:
    scenario = Scenario()
    scenario.joined(0)
    scenario.member.leave(1000)
    fail(scenario.beat(), ConnectionLost("gone"), 0)
    scenario.now_ms = 100
    scenario.start(Subscribe(("u",)))
    request = scenario.beat()
    assert (said(request).member_epoch, said(request).subscribed_topic_names) == (0, ["u"])


def test_a_change_that_was_not_applied_before_leaving_holds_up_nothing_later() -> None:
    scenario = Scenario()
    scenario.joined(0)
    scenario.now_ms = INTERVAL_MS
    scenario.hear(scenario.beat(), [1])
    scenario.polled()
    scenario.member.leave(INTERVAL_MS + 1000)
    scenario.hear(scenario.beat(), epoch=-1)
    scenario.start()
    scenario.hear(scenario.beat(), [0, 2])
    scenario.polled()
    assert scenario.changes()[-1] == shared(3, T0, T2)
    scenario.member.applied(2)
    assert scenario.polled() == []
    scenario.member.applied(3)
    assert owned(scenario.beat()) == [0, 2]
