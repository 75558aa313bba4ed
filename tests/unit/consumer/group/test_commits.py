"""CommitManager: one after the other, again while it helps, never in the name of somebody who is gone."""

from collections.abc import Iterable
from typing import cast

import pytest

from kctl.client.broker_errors import ErrorCode
from kctl.client.cluster import NO_TOPIC_ID, TopicPartition
from kctl.client.consumer.events import CallDone
from kctl.client.consumer.group.commits import CommitManager
from kctl.client.consumer.group.events import CommitAsync, CommitDone, CommitSync
from kctl.client.consumer.group.membership import MemberIdentity, Membership
from kctl.client.errors import (
    ApiTimeout,
    CloseTimeout,
    CommitFailedError,
    ConnectionLost,
    KafkaError,
    RemoteProtocolError,
)
from kctl.client.network.in_flight import Outgoing
from kctl.client.protocol.api.committed_offsets import (
    OffsetCommitRequest,
    OffsetCommitResponse,
    OffsetCommitResponsePartition,
    OffsetCommitResponseTopic,
)
from kctl.client.requests.coordinator import PROMPT, Coordinator
from kctl.client.requests.group_offsets import OffsetAndMetadata
from kctl.client.requests.leaders import Leaders
from tests.unit.consumer.coordination import ReadyCoordinator
from tests.unit.consumer.fakes import T0, T1, TOPIC_ID, Reports, answer, config, fail, rng

OFFSETS = {T0: OffsetAndMetadata(5), T1: OffsetAndMetadata(7, "word", 3)}


class Member:
    def __init__(self) -> None:
        self.identity: MemberIdentity | None = MemberIdentity("m", 4, None, 1)
        self.incarnation = 1
        self.is_joining = False
        self.held = frozenset({T0, T1})
        self.fenced_with: list[KafkaError] = []

    def fenced(self, identity: MemberIdentity, error: KafkaError) -> None:
        assert identity == self.identity
        self.fenced_with.append(error)


class Named:
    """Stands for the leaders and the fetches: the ids of the present topics, and of those that were read."""

    def __init__(self) -> None:
        self.present: dict[str, bytes] = {}
        self.read: dict[str, bytes] = {}
        self.refreshes = 0

    def is_the_one(self, topic: str, topic_id: bytes) -> bool:
        return topic_id in (NO_TOPIC_ID, self.present.get(topic, topic_id))

    def refresh(self) -> None:
        self.refreshes += 1

    def ids_of(self, topic_partitions: Iterable[TopicPartition]) -> dict[str, bytes]:
        return {tp.topic: self.read[tp.topic] for tp in topic_partitions if tp.topic in self.read}


class Scenario:
    def __init__(self, **properties: object) -> None:
        self.named = Named()
        self.coordinator, self.member, self.reports = ReadyCoordinator(), Member(), Reports()
        self.commits = CommitManager(
            config(group_id="g", **properties),
            cast(Coordinator, self.coordinator),
            cast(Membership, self.member),
            cast(Leaders, self.named),
            self.named.ids_of,
            rng(),
            self.reports.append,
        )

    def sync(self, call_id: int = 1, deadline_at_ms: int = 10_000, *, as_member: bool = True) -> None:
        self.commits.commit(CommitSync(call_id, OFFSETS, deadline_at_ms, as_member))

    def start(self, commit_id: int = 1, *, may_retry: bool = False) -> None:
        self.commits.commit(CommitAsync(commit_id, OFFSETS, 10_000, 10_000, True, may_retry))

    def sent(self, now_ms: int = 0) -> Outgoing:
        [request] = self.commits.poll(now_ms).requests
        return request


def response(*codes: int) -> OffsetCommitResponse:
    partitions = [OffsetCommitResponsePartition(partition_index=i, error_code=code) for i, code in enumerate(codes)]
    return OffsetCommitResponse(topics=[OffsetCommitResponseTopic(name="t", partitions=partitions)])


def test_a_commit_says_who_and_what() -> None:
    scenario = Scenario()
    scenario.sync(deadline_at_ms=700)
    sent = scenario.sent()
    assert (sent.node_id, sent.timeout_ms, sent.max_version) == (PROMPT, 700, 9)
    assert isinstance(sent.request, OffsetCommitRequest)
    assert (sent.request.group_id, sent.request.member_id, sent.request.generation_id_or_member_epoch) == ("g", "m", 4)
    [topic] = sent.request.topics
    assert [(p.partition_index, p.committed_offset, p.committed_metadata) for p in topic.partitions] == [
        (0, 5, ""), (1, 7, "word"),
    ]  # fmt: skip
    answer(sent, response(0, 0))
    assert scenario.reports == [CallDone(1, None, None)]
    assert scenario.commits.is_idle


def test_one_at_a_time_and_in_order() -> None:
    scenario = Scenario()
    scenario.start(1)
    scenario.sync(2)
    first = scenario.sent()
    assert scenario.commits.poll(1).requests == []
    answer(first, response(0, 0))
    answer(scenario.sent(), response(0, 0))
    assert scenario.reports == [CommitDone(1, None), CallDone(2, None, None)]


def test_confirmed_offset_is_not_committed_again() -> None:
    scenario = Scenario()
    scenario.sync()
    answer(scenario.sent(), response(0, ErrorCode.COORDINATOR_LOAD_IN_PROGRESS), at_ms=50)
    assert scenario.commits.poll(100).requests == []
    again = scenario.sent(150).request
    assert isinstance(again, OffsetCommitRequest)
    assert [p.partition_index for topic in again.topics for p in topic.partitions] == [1]


@pytest.mark.parametrize(("codes", "what"), [((0,), "does not contain t-1"), ((), "does not contain t-0")])
def test_response_that_leaves_out_partition_is_malformed(codes: tuple[int, ...], what: str) -> None:
    scenario = Scenario()
    scenario.sync()
    answer(scenario.sent(), response(*codes))
    [done] = scenario.reports
    assert isinstance(done, CallDone)
    assert isinstance(done.error, RemoteProtocolError)
    assert str(done.error) == f"the OffsetCommit response from host1:9092 (id 1) {what}"


def test_response_with_partition_twice_is_malformed() -> None:
    scenario = Scenario()
    scenario.sync()
    twice = response(0, 0)
    twice.topics += response(0).topics
    answer(scenario.sent(), twice)
    [done] = scenario.reports
    assert isinstance(done, CallDone)
    assert str(done.error) == "the OffsetCommit response from host1:9092 (id 1) contains t-0 twice"


def test_only_a_blocking_commit_is_tried_again() -> None:
    for may_retry in (False, True):
        scenario = Scenario()
        scenario.start(may_retry=may_retry)
        fail(scenario.sent(), ConnectionLost("gone"))
        assert scenario.commits.is_idle is not may_retry
        assert len(scenario.reports) == (0 if may_retry else 1)


@pytest.mark.parametrize("code", [ErrorCode.ILLEGAL_GENERATION, ErrorCode.UNKNOWN_MEMBER_ID])
def test_a_fenced_commit_fails_and_tells_the_membership(code: ErrorCode) -> None:
    scenario = Scenario()
    scenario.sync()
    answer(scenario.sent(), response(code, code))
    [done] = scenario.reports
    assert isinstance(done, CallDone)
    assert isinstance(done.error, CommitFailedError)
    assert code.name in str(done.error)
    assert len(scenario.member.fenced_with) == 1


def test_a_new_generation_of_the_same_member_commits_again() -> None:
    scenario = Scenario()
    scenario.sync()
    sent = scenario.sent()
    scenario.member.identity = MemberIdentity("m", 5, None, 1)
    answer(sent, response(ErrorCode.ILLEGAL_GENERATION, ErrorCode.ILLEGAL_GENERATION))
    again = scenario.sent(1000).request
    assert isinstance(again, OffsetCommitRequest)
    assert again.generation_id_or_member_epoch == 5


def test_no_commit_outlives_its_incarnation() -> None:
    scenario = Scenario()
    scenario.sync()
    scenario.member.identity = MemberIdentity("m2", 5, None, 2)
    assert scenario.commits.poll(0).requests == []
    [done] = scenario.reports
    assert isinstance(done, CallDone)
    assert isinstance(done.error, CommitFailedError)


def test_without_a_subscription_nobody_has_to_be_a_member() -> None:
    scenario = Scenario()
    scenario.member.identity = None
    scenario.sync(as_member=False)
    request = scenario.sent().request
    assert isinstance(request, OffsetCommitRequest)
    assert (request.member_id, request.generation_id_or_member_epoch) == ("", -1)


def test_an_unknown_topic_ends_after_three_looks() -> None:
    scenario = Scenario()
    scenario.sync(deadline_at_ms=60_000)
    for look in range(3):
        assert scenario.reports == []
        answer(scenario.sent(look * 1000), response(0, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION), at_ms=look * 1000)
    assert len(scenario.reports) == 1


def test_actions_wait_for_the_commits_before_them() -> None:
    scenario = Scenario()
    done: list[str] = []
    scenario.commits.before_release((), lambda: done.append("at once"), 0)
    scenario.start()
    scenario.commits.before_release((), lambda: done.append("after"), 0)
    sent = scenario.sent()
    assert done == ["at once"]
    answer(sent, response(0, 0))
    assert done == ["at once", "after"]


def committed_by(sent: Outgoing) -> dict[int, int]:
    assert isinstance(sent.request, OffsetCommitRequest)
    return {each.partition_index: each.committed_offset for topic in sent.request.topics for each in topic.partitions}


def of_t1(code: int) -> OffsetCommitResponse:
    partition = OffsetCommitResponsePartition(partition_index=1, error_code=code)
    return OffsetCommitResponse(topics=[OffsetCommitResponseTopic(name="t", partitions=[partition])])


def test_failed_commit_is_retried_before_a_later_step() -> None:
    scenario = Scenario()
    done: list[str] = []
    scenario.start()
    answer(scenario.sent(), response(0, ErrorCode.NOT_COORDINATOR))
    [failed] = scenario.reports.take()
    assert isinstance(failed, CommitDone)
    assert scenario.commits.poll(20_000).requests == []
    scenario.commits.before_release({T1}, lambda: done.append("step"), 20_000)
    sent = scenario.sent(20_000)
    assert committed_by(sent) == {1: 7}
    answer(sent, of_t1(ErrorCode.NOT_COORDINATOR), at_ms=20_000)
    assert done == []
    answer(scenario.sent(21_000), of_t1(ErrorCode.NONE))
    assert (done, scenario.reports) == (["step"], [CommitDone(1, None)])


def test_failed_commit_of_other_partitions_is_not_retried_before_a_release() -> None:
    scenario = Scenario()
    done: list[str] = []
    scenario.start()
    answer(scenario.sent(), response(0, ErrorCode.NOT_COORDINATOR))
    scenario.commits.before_release({T0}, lambda: done.append("step"), 20_000)
    assert done == ["step"]
    scenario.commits.insist(30_000)
    assert committed_by(scenario.sent(30_000)) == {1: 7}


@pytest.mark.parametrize("is_in_flight", [False, True])
def test_release_waits_for_commits_for_half_of_max_poll_interval_at_most(is_in_flight: bool) -> None:
    scenario = Scenario(max_poll_interval_ms=8000)
    done: list[str] = []
    scenario.start(may_retry=True)
    if is_in_flight:
        assert scenario.sent().timeout_ms == 10_000
    else:
        scenario.coordinator.is_ready = False
    scenario.commits.before_release({T0}, lambda: done.append("step"), 1000)
    assert scenario.commits.poll(4999).next_deadline_at_ms == 5000
    assert (done, scenario.commits.holds_up) == ([], True)
    scenario.commits.poll(5000)
    assert (done, scenario.commits.holds_up) == (["step"], False)
    [ended] = scenario.reports
    assert isinstance(ended, CommitDone)
    assert isinstance(ended.error, ApiTimeout)
    assert ended.error.timeout_ms == 5000


def test_commit_that_a_release_ends_is_retried_at_the_close_for_kept_partitions_only() -> None:
    scenario = Scenario(max_poll_interval_ms=8000)
    scenario.start(may_retry=True)
    fail(scenario.sent(), ConnectionLost("gone"))
    scenario.commits.before_release({T0}, lambda: None, 0)
    scenario.commits.poll(4000)
    scenario.commits.forget(T0)
    assert scenario.commits.is_idle
    scenario.commits.insist(5000)
    assert committed_by(scenario.sent(5000)) == {1: 7}


@pytest.mark.parametrize("code", [ErrorCode.NONE, ErrorCode.OFFSET_METADATA_TOO_LARGE])
@pytest.mark.parametrize("is_queued", [False, True])
def test_failed_commit_is_not_retried_after_a_later_commit_of_its_partition(is_queued: bool, code: ErrorCode) -> None:
    scenario = Scenario()
    scenario.start()
    sent = scenario.sent()
    later = CommitAsync(2, {T1: OffsetAndMetadata(9)}, 10_000, 10_000, True, False)
    if is_queued:
        scenario.commits.commit(later)
    fail(sent, ConnectionLost("gone"))
    if not is_queued:
        scenario.commits.commit(later)
    sent = scenario.sent()
    assert committed_by(sent) == {1: 9}
    answer(sent, of_t1(code))
    scenario.commits.insist(1)
    assert committed_by(scenario.sent(1)) == {0: 5}


def test_failed_commit_of_a_lost_membership_is_not_retried() -> None:
    scenario = Scenario()
    scenario.start()
    fail(scenario.sent(), ConnectionLost("gone"))
    scenario.member.identity = MemberIdentity("m2", 5, None, 2)
    scenario.commits.insist(1)
    assert scenario.commits.poll(1).requests == []
    assert scenario.commits.is_idle


def test_failed_commit_leaves_out_partitions_that_the_member_no_longer_holds() -> None:
    scenario = Scenario()
    scenario.start()
    fail(scenario.sent(), ConnectionLost("gone"))
    scenario.member.held = frozenset({T1})
    scenario.commits.insist(1)
    assert committed_by(scenario.sent(1)) == {1: 7}


def test_failed_commit_that_no_retry_can_repair_is_not_retried() -> None:
    scenario = Scenario()
    scenario.start()
    answer(scenario.sent(), response(0, ErrorCode.GROUP_AUTHORIZATION_FAILED))
    scenario.commits.insist(1)
    assert scenario.commits.is_idle


def test_expired_abandoned_and_aborted_commits() -> None:
    scenario = Scenario()
    scenario.coordinator.is_ready = False
    scenario.start(1)
    scenario.sync(2)
    assert scenario.commits.poll(5).next_deadline_at_ms == 10_000
    scenario.commits.abandon(2)
    scenario.commits.poll(10_000)
    [done] = scenario.reports
    assert isinstance(done, CommitDone)
    assert isinstance(done.error, ApiTimeout)
    assert done.error.timeout_ms == 10_000
    scenario.start(3)
    scenario.commits.abort(CloseTimeout("committing offsets", timeout_ms=1, elapsed_ms=1))
    assert scenario.commits.is_idle
    assert len(scenario.reports) == 2


def test_topics_that_the_group_gave_by_id_are_committed_by_id() -> None:
    scenario = Scenario()
    scenario.commits.commit(CommitSync(1, OFFSETS, 10_000, True, {"t": TOPIC_ID, "u": TOPIC_ID[::-1]}))
    sent = scenario.sent()
    assert isinstance(sent.request, OffsetCommitRequest)
    assert (sent.max_version, [topic.topic_id for topic in sent.request.topics]) == (None, [TOPIC_ID])
    codes = (ErrorCode.NONE, ErrorCode.UNKNOWN_TOPIC_ID)
    partitions = [OffsetCommitResponsePartition(partition_index=i, error_code=code) for i, code in enumerate(codes)]
    there_is_none = OffsetCommitResponse(topics=[OffsetCommitResponseTopic(topic_id=TOPIC_ID, partitions=partitions)])
    for attempt in range(3):
        answer(sent, there_is_none)
        if attempt < 2:
            sent = scenario.sent(now_ms=1000)
            [topic] = sent.request.topics  # type: ignore[attr-defined]  # an OffsetCommit, as before
            assert [partition.partition_index for partition in topic.partitions] == [1], "the other is committed"
    [done] = scenario.reports
    assert isinstance(done, CallDone)
    assert "t-1" in str(done.error)


@pytest.mark.parametrize("why", ["one is not known", "an old coordinator"])
def test_without_all_ids_topics_are_committed_by_name(why: str) -> None:
    scenario = Scenario()
    scenario.coordinator.newest = 9 if why == "an old coordinator" else 10
    topic_ids = {"t": TOPIC_ID} if why == "an old coordinator" else {"u": TOPIC_ID}
    scenario.commits.commit(CommitSync(1, OFFSETS, 10_000, True, topic_ids))
    sent = scenario.sent()
    assert isinstance(sent.request, OffsetCommitRequest)
    assert (sent.max_version, [topic.name for topic in sent.request.topics]) == (9, ["t"])


@pytest.mark.parametrize("as_member", [True, False])
def test_topics_that_the_group_gives_by_name_are_committed_by_the_id_that_was_read(as_member: bool) -> None:
    scenario = Scenario()
    scenario.named.read, scenario.named.present = {"t": TOPIC_ID}, {"t": TOPIC_ID[::-1]}
    scenario.sync(as_member=as_member)
    sent = scenario.sent()
    assert isinstance(sent.request, OffsetCommitRequest)
    assert [topic.topic_id for topic in sent.request.topics] == [TOPIC_ID], "the coordinator refuses it"
    there_is_none = [OffsetCommitResponsePartition(partition_index=i, error_code=100) for i in range(2)]
    answer(sent, OffsetCommitResponse(topics=[OffsetCommitResponseTopic(topic_id=TOPIC_ID, partitions=there_is_none)]))
    assert scenario.named.refreshes == 1


def test_nothing_is_committed_by_the_name_of_a_topic_that_was_recreated() -> None:
    """Also where the topic is recreated between two attempts."""
    scenario = Scenario()
    scenario.coordinator.newest = 9
    scenario.named.read = {"t": TOPIC_ID}
    scenario.sync()
    answer(scenario.sent(), response(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION))
    assert scenario.named.refreshes == 1
    scenario.named.present = {"t": TOPIC_ID[::-1]}
    assert scenario.commits.poll(5000).requests == []
    [done] = scenario.reports
    assert isinstance(done, CallDone)
    assert "UNKNOWN_TOPIC_ID" in str(done.error)


def test_a_close_without_time_commits_nothing_by_the_name_of_a_recreated_topic() -> None:
    scenario = Scenario()
    scenario.coordinator.newest = 9
    scenario.named.read, scenario.named.present = {"t": TOPIC_ID}, {"t": TOPIC_ID[::-1]}
    scenario.sync()
    assert scenario.commits.unsent(0) == []
    scenario.named.present = {"t": TOPIC_ID}
    scenario.sync(call_id=2)
    assert len(scenario.commits.unsent(0)) == 1


def test_a_close_without_time_commits_no_partition_that_the_next_generation_gave_to_others() -> None:
    scenario = Scenario()
    scenario.sync()
    scenario.member.is_joining = True
    answer(scenario.sent(), response(ErrorCode.ILLEGAL_GENERATION, ErrorCode.ILLEGAL_GENERATION))
    scenario.member.identity, scenario.member.is_joining = MemberIdentity("m", 5, None, 1), False
    scenario.member.held = frozenset({T1})
    [sent] = scenario.commits.unsent(0)
    assert isinstance(sent.request, OffsetCommitRequest)
    assert [p.partition_index for topic in sent.request.topics for p in topic.partitions] == [1]


@pytest.mark.parametrize("code", [ErrorCode.ILLEGAL_GENERATION, ErrorCode.REBALANCE_IN_PROGRESS])
@pytest.mark.parametrize("is_blocking", [True, False])
def test_a_commit_refused_during_a_join_waits_for_the_next_generation(code: ErrorCode, is_blocking: bool) -> None:
    scenario = Scenario()
    (scenario.sync if is_blocking else scenario.start)()
    scenario.member.is_joining = True
    answer(scenario.sent(), response(code, code))
    assert scenario.commits.poll(5000).requests == [], "the response to JoinGroup is under way"
    scenario.member.identity, scenario.member.is_joining = MemberIdentity("m", 5, None, 1), False
    again = scenario.sent(5000)
    assert isinstance(again.request, OffsetCommitRequest)
    assert again.request.generation_id_or_member_epoch == 5
    answer(again, response(0, 0))
    [done] = scenario.reports
    assert isinstance(done, CallDone | CommitDone)
    assert done.error is None
    assert scenario.member.fenced_with == []


def test_partitions_that_the_next_generation_gave_to_others_are_not_committed() -> None:
    scenario = Scenario()
    scenario.sync()
    scenario.member.is_joining = True
    answer(scenario.sent(), response(ErrorCode.ILLEGAL_GENERATION, ErrorCode.ILLEGAL_GENERATION))
    scenario.member.identity, scenario.member.is_joining = MemberIdentity("m", 5, None, 1), False
    scenario.member.held = frozenset({T1})
    again = scenario.sent(5000)
    assert isinstance(again.request, OffsetCommitRequest)
    assert [p.partition_index for topic in again.request.topics for p in topic.partitions] == [1]
    answer(again, OffsetCommitResponse(topics=[OffsetCommitResponseTopic(name="t", partitions=[
        OffsetCommitResponsePartition(partition_index=1)])]))  # fmt: skip
    [done] = scenario.reports
    assert isinstance(done, CallDone)
    assert isinstance(done.error, CommitFailedError)
    assert "ILLEGAL_GENERATION" in str(done.error)


def test_a_commit_that_waits_for_a_join_ends_with_the_membership() -> None:
    scenario = Scenario()
    scenario.sync()
    scenario.member.is_joining = True
    answer(scenario.sent(), response(ErrorCode.ILLEGAL_GENERATION, ErrorCode.ILLEGAL_GENERATION))
    scenario.member.identity = None
    assert scenario.commits.poll(5000).requests == []
    [done] = scenario.reports
    assert isinstance(done, CallDone)
    assert isinstance(done.error, CommitFailedError)


def test_a_stale_epoch_commits_again_when_the_member_has_the_next_one() -> None:
    scenario = Scenario()
    scenario.sync()
    answer(scenario.sent(), response(ErrorCode.STALE_MEMBER_EPOCH, ErrorCode.STALE_MEMBER_EPOCH))
    assert len(scenario.member.fenced_with) == 1, "the membership requests its epoch"
    scenario.member.identity = MemberIdentity("m", 5, None, 1)
    again = scenario.sent(5000)
    assert isinstance(again.request, OffsetCommitRequest)
    assert again.request.generation_id_or_member_epoch == 5
    answer(again, response(0, 0))
    assert scenario.reports == [CallDone(1, None, None)]
