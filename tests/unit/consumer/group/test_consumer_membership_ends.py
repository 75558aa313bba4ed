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
from kctl.client.protocol.api.consumer_group_heartbeat import (
    ConsumerGroupHeartbeatRequest,
)
from tests.unit.consumer.fakes import T0, T1, T2, fail
from tests.unit.consumer.group.heartbeat_bench import INTERVAL_MS, MEMBER_ID, TOPICS, Bench, owned, said, shared

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
    assert bench.changes()[-1] == shared(3, T0, T1)


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
def test_refusal_of_the_group_is_reported_and_the_next_poll_retries(code: ErrorCode) -> None:
    bench = Bench()
    bench.start()
    bench.answer(bench.beat(), error_code=int(code), error_message="because")
    [error] = bench.failures()
    assert "because" in str(error)
    assert bench.polled() == []
    assert bench.deadline_at_ms == FOREVER_MS
    bench.member.poll_began()
    assert bench.polled() == []
    assert bench.deadline_at_ms == 100, "retry.backoff.ms"
    bench.now_ms = 100
    assert said(bench.beat()).member_epoch == 0


def test_refused_joins_back_off_further_until_one_is_accepted() -> None:
    bench = Bench(retry_backoff_max_ms=1000)
    bench.start()
    joins = []
    for bench.now_ms in range(10_000):
        for request in bench.polled():
            joins.append(bench.now_ms)
            bench.refuse(request, ErrorCode.UNSUPPORTED_ASSIGNOR)
            bench.member.poll_began()
    assert 9 <= len(joins) <= 16
    bench.now_ms = 20_000
    bench.hear(bench.beat(), [0])
    bench.now_ms = 30_000
    bench.refuse(bench.beat(), ErrorCode.UNKNOWN_MEMBER_ID)
    bench.member.applied(bench.changes()[-1].number)
    bench.refuse(bench.beat(), ErrorCode.UNSUPPORTED_ASSIGNOR)
    bench.member.poll_began()
    assert bench.polled() == []
    assert bench.deadline_at_ms <= 30_120


def test_a_fenced_instance_stays_out() -> None:
    bench = Bench(group_instance_id="i")
    bench.joined(0)
    bench.now_ms = INTERVAL_MS
    bench.refuse(bench.beat(), ErrorCode.FENCED_INSTANCE_ID)
    bench.member.poll_began()
    assert bench.polled() == []
    assert len(bench.failures()) == 1
    bench.now_ms += 100
    assert bench.polled() == []
    assert len(bench.failures()) == 2
    bench.member.subscribe(TOPICS)
    bench.member.poll_began()
    bench.member.applied(2)
    bench.now_ms += 100
    assert said(bench.beat()).member_epoch == 0


def test_subscribe_after_fenced_instance_leaves_no_deadline_in_the_past() -> None:
    bench = Bench(group_instance_id="i")
    bench.joined(0)
    bench.now_ms = INTERVAL_MS
    bench.refuse(bench.beat(), ErrorCode.FENCED_INSTANCE_ID)
    assert bench.polled() == []
    bench.member.poll_began()
    bench.member.subscribe(TOPICS)
    bench.now_ms += 1000
    assert bench.deadline_at_ms > bench.now_ms


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


def test_a_commit_that_the_group_refuses_to_know_loses_the_partitions_at_once() -> None:
    bench = Bench()
    bench.joined(0)
    identity = bench.member.identity
    assert identity is not None
    bench.now_ms = 10
    bench.member.fenced(identity._replace(incarnation=7), ConnectionLost("another life"))
    assert bench.polled() == []
    bench.member.fenced(identity, broker_error(ErrorCode.STALE_MEMBER_EPOCH, "OffsetCommit"))
    beat = bench.beat()
    assert said(beat).member_epoch == 1
    assert bench.changes() == []
    bench.hear(beat)
    bench.member.fenced(identity, broker_error(ErrorCode.UNKNOWN_MEMBER_ID, "OffsetCommit"))
    [lost] = bench.changes()
    assert (lost.owned, lost.is_lost) == ((), True)
    bench.member.applied(lost.number)
    assert said(bench.beat()).member_epoch == 0


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
    assert bench.reports[-1] == GroupWaiting("not in group g until the next poll", WaitKind.OUTSIDE)
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


def test_who_was_refused_has_not_left() -> None:
    bench = Bench()
    bench.joined(0)
    bench.member.leave(1000)
    bench.refuse(bench.beat(), ErrorCode.GROUP_AUTHORIZATION_FAILED)
    assert bench.has_left() is False


def test_who_is_unknown_has_left_when_the_coordinator_is_still_the_one_and_says_so_again() -> None:
    bench = Bench()
    bench.joined(0)
    bench.member.leave(1000)
    bench.refuse(bench.beat(), ErrorCode.UNKNOWN_MEMBER_ID)
    assert bench.coordinator.is_recheck_pending, "it may have stood still and be no coordinator any more"
    bench.now_ms = 100
    assert bench.polled() == [], "nobody has said yet who coordinates"
    assert bench.has_left() is None
    bench.coordinator.is_recheck_pending = False
    bench.refuse(bench.beat(), ErrorCode.UNKNOWN_MEMBER_ID)
    assert bench.has_left() is True
    assert not bench.coordinator.is_recheck_pending


def test_who_is_unknown_to_one_coordinator_says_goodbye_to_the_next() -> None:
    bench = Bench()
    bench.joined(0)
    bench.member.leave(1000)
    bench.refuse(bench.beat(), ErrorCode.UNKNOWN_MEMBER_ID)
    bench.coordinator.is_recheck_pending = False
    bench.now_ms = 100
    request = bench.beat()
    assert said(request).member_epoch == -1
    bench.hear(request, epoch=-1)
    assert bench.has_left() is True


def test_member_that_only_a_commit_called_unknown_still_reports_that_it_leaves() -> None:
    """A broker that woke up and coordinates no more may have answered the commit: the group still has the member."""
    bench = Bench()
    bench.joined(0)
    identity = bench.member.identity
    assert identity is not None
    bench.member.fenced(identity, broker_error(ErrorCode.UNKNOWN_MEMBER_ID, "OffsetCommit"))
    bench.member.leave(1000)
    request = bench.beat()
    assert said(request).member_epoch == -1
    assert bench.has_left() is None
    bench.hear(request, epoch=-1)
    assert bench.has_left() is True


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
    assert bench.changes()[-1] == shared(3, T0, T2)
    bench.member.applied(2)
    assert bench.polled() == []
    bench.member.applied(3)
    assert owned(bench.beat()) == [0, 2]
