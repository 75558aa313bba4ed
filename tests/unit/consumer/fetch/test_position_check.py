"""Leader epochs: what a fetch says of them, what an answer says, and the question to a new leader (KIP-320)."""

import pytest

from kctl.client.broker_errors import ErrorCode
from kctl.client.cluster import PartitionInfo, TopicInfo, TopicPartition
from kctl.client.consumer.events import Fetched, PartitionFailed, StartFetch, Truncated
from kctl.client.errors import ConnectionLost, ConnectionRefused, RemoteProtocolError
from kctl.client.network.in_flight import Outgoing
from kctl.client.protocol.api.partition_offsets import (
    EpochEndOffset,
    OffsetForLeaderEpochRequest,
    OffsetForLeaderEpochResponse,
    OffsetForLeaderTopicResult,
)
from tests.unit.consumer.fakes import T0, T1, TOPIC_ID, FakeClient, answer, batch, fail, topic
from tests.unit.consumer.fetch.test_manager import Scenario, asked, brings, data, error, message


def led_by(node_id: int, leader_epoch: int, count: int = 1) -> TopicInfo:
    infos = {i: PartitionInfo("t", i, node_id, leader_epoch=leader_epoch) for i in range(count)}
    return TopicInfo("t", TOPIC_ID, False, None, infos)


def after_election(*partitions: TopicPartition) -> Scenario:
    """A scenario that has read three records of epoch 7 of each partition, before node 2 became leader with epoch 8."""
    partitions = partitions or (T0,)
    scenario = Scenario(FakeClient(led_by(1, 7, len(partitions))), *partitions)
    answer(scenario.request(), brings(*(data(tp.partition, batch(0, 3)) for tp in partitions)))
    scenario.client.know(led_by(2, 8, len(partitions)))
    scenario.reports.take()
    return scenario


def epochs(request: Outgoing) -> list[tuple[int, int, int]]:
    """What a fetch says: partition, epoch of the leader, epoch of what was read last."""
    return [
        (each.partition, each.current_leader_epoch, each.last_fetched_epoch)
        for named in message(request).topics
        for each in named.partitions
    ]


def questions(request: Outgoing) -> list[tuple[int, int, int]]:
    """What is asked: partition, epoch of the leader, epoch whose end is looked for."""
    asked_for = request.request
    assert isinstance(asked_for, OffsetForLeaderEpochRequest)
    assert asked_for.replica_id == -1
    return [(p.partition, p.current_leader_epoch, p.leader_epoch) for t in asked_for.topics for p in t.partitions]


def ends(*ends: EpochEndOffset) -> OffsetForLeaderEpochResponse:
    return OffsetForLeaderEpochResponse(topics=[OffsetForLeaderTopicResult(topic="t", partitions=list(ends))])


def end(index: int, leader_epoch: int, end_offset: int) -> EpochEndOffset:
    return EpochEndOffset(partition=index, leader_epoch=leader_epoch, end_offset=end_offset)


def test_a_fetch_says_in_which_epoch_the_record_before_it_was_written() -> None:
    scenario = Scenario(FakeClient(led_by(1, 9)), T0)
    request = scenario.request()
    assert epochs(request) == [(0, 9, -1)]
    answer(request, brings(data(0, batch(0, 3))))
    assert epochs(scenario.request()) == [(0, 9, 7)], "that of the batch, not that of the leader"


def test_an_old_broker_is_not_told_an_epoch_that_it_cannot_read() -> None:
    scenario = Scenario(FakeClient(led_by(1, 7)), T0)
    scenario.client.network.fetch_version = 11
    answer(scenario.request(), brings(data(0, batch(0, 3))))
    assert epochs(scenario.request()) == [(0, 7, -1)]


def test_a_new_leader_is_asked_before_it_is_read() -> None:
    scenario = after_election(T0, T1)
    request = scenario.request()
    assert (request.node_id, questions(request)) == (2, [(0, 8, 7), (1, 8, 7)])
    assert "requesting the end of leader epoch 7 from the new leader host2:9092 (id 2)" in scenario.waiting()
    assert scenario.requests() == [], "nothing is fetched meanwhile"
    answer(request, ends(end(0, 7, 3), end(1, 7, 50)))
    request = scenario.request()
    assert (request.node_id, epochs(request)) == (2, [(0, 8, 7), (1, 8, 7)])


def test_the_same_leader_is_not_asked_again_and_nobody_about_what_was_not_read() -> None:
    scenario = Scenario(FakeClient(led_by(1, 7)), T0)
    answer(scenario.request(), brings(data(0, batch(0, 3))))
    scenario.client.know(led_by(1, 7))
    request = scenario.request()
    assert asked(request) == [("t", 0, 3)]
    scenario = Scenario(FakeClient(led_by(1, 7)), T0)
    answer(scenario.request(), brings(data(0, b"", end=0)))
    scenario.client.know(led_by(2, 8))
    assert scenario.request().node_id == 2


def test_a_log_that_ends_earlier_is_cut() -> None:
    scenario = after_election()
    answer(scenario.request(), ends(end(0, 7, 2)))
    assert scenario.reports.take()[-1] == Truncated(T0, 1, 3, 2, 7)
    assert scenario.requests(10_000) == []


def test_a_leader_that_cannot_tell_is_told_of_as_well() -> None:
    scenario = after_election()
    answer(scenario.request(), ends(end(0, -1, -1)))
    assert scenario.reports.take()[-1] == Truncated(T0, 1, 3, -1, -1)


def test_a_position_with_an_epoch_is_checked_before_the_first_fetch() -> None:
    scenario = Scenario(FakeClient(led_by(1, 7)))
    scenario.manager.start(StartFetch(T0, 1, 40, 6))
    request = scenario.request()
    assert questions(request) == [(0, 7, 6)]
    answer(request, ends(end(0, 6, 40)))
    request = scenario.request()
    assert (asked(request), epochs(request)) == ([("t", 0, 40)], [(0, 7, 6)])


def test_a_broker_that_cannot_be_asked_is_read_without_it() -> None:
    scenario = after_election()
    scenario.client.network.epoch_version = 2
    poll = scenario.manager.poll(5)
    assert (poll.requests, poll.next_deadline_at_ms) == ([], 5)
    assert asked(scenario.request(5)) == [("t", 0, 3)]


@pytest.mark.parametrize(
    "code",
    [
        ErrorCode.FENCED_LEADER_EPOCH,
        ErrorCode.UNKNOWN_LEADER_EPOCH,
        ErrorCode.NOT_LEADER_OR_FOLLOWER,
        ErrorCode.OFFSET_NOT_AVAILABLE,
    ],
)
def test_a_leader_in_transition_is_asked_again(code: ErrorCode) -> None:
    scenario = after_election()
    refused = EpochEndOffset(partition=0, error_code=code)
    answer(scenario.request(), ends(refused), at_ms=5)
    assert scenario.client.is_refresh_wanted
    assert scenario.requests(104) == []
    assert questions(scenario.request(105)) == [(0, 8, 7)]


def test_no_response_and_no_right_to_ask() -> None:
    scenario = after_election()
    fail(scenario.request(), ConnectionLost("reset"), at_ms=5)
    refused = EpochEndOffset(partition=0, error_code=ErrorCode.TOPIC_AUTHORIZATION_FAILED)
    answer(scenario.request(105), ends(refused), at_ms=105)
    assert isinstance(scenario.reports.take()[-1], PartitionFailed)


@pytest.mark.parametrize(
    ("found", "what"), [([], "does not contain t-0"), ([end(0, 7, 50), end(0, 7, 2)], "contains t-0 twice")]
)
def test_response_without_the_partition_or_with_two_of_it_is_malformed(found: list[EpochEndOffset], what: str) -> None:
    scenario = after_election()
    answer(scenario.request(), ends(*found))
    failed = scenario.reports.take()[-1]
    assert isinstance(failed, PartitionFailed)
    assert isinstance(failed.error, RemoteProtocolError)
    assert str(failed.error) == f"the OffsetForLeaderEpoch response from host2:9092 (id 2) {what}"


def test_a_new_leader_that_cannot_be_reached_is_waited_for() -> None:
    scenario = after_election()
    scenario.client.network.down[2] = ConnectionRefused("refused")
    assert scenario.requests() == []
    assert scenario.waiting() == ["leader host2:9092 (id 2) cannot be reached: refused"]


def test_an_answer_about_an_older_decision_is_dropped() -> None:
    scenario = after_election()
    request = scenario.request()
    scenario.manager.start(StartFetch(T0, 2, 0))
    answer(request, ends(end(0, 7, 2)))
    assert not any(isinstance(each, Truncated) for each in scenario.reports.take())
    assert asked(scenario.request()) == [("t", 0, 0)]


def test_a_fetch_that_is_answered_with_the_end_of_its_epoch_found_a_cut_log() -> None:
    scenario = Scenario(FakeClient(led_by(1, 7)), T0)
    answer(scenario.request(), brings(data(0, batch(0, 3))))
    scenario.reports.take()
    part = data(0, b"")
    part.diverging_epoch.epoch, part.diverging_epoch.end_offset = 6, 1
    answer(scenario.request(), brings(part))
    assert scenario.reports.take() == [Truncated(T0, 1, 3, 1, 6)]


def test_out_of_range_is_asked_again_without_an_epoch_that_the_broker_may_not_know() -> None:
    scenario = Scenario(FakeClient(led_by(1, 7)), T0)
    answer(scenario.request(), brings(data(0, batch(0, 3))))
    scenario.reports.take()
    answer(scenario.request(), brings(error(0, ErrorCode.OFFSET_OUT_OF_RANGE)))
    assert scenario.reports.take() == []
    request = scenario.request()
    assert epochs(request) == [(0, 7, -1)]
    answer(request, brings(error(0, ErrorCode.OFFSET_OUT_OF_RANGE)))
    assert isinstance(scenario.reports.take()[0], PartitionFailed)


def test_data_that_comes_tells_the_chunk_its_epoch() -> None:
    scenario = Scenario(FakeClient(topic("t", [1])), T0)
    answer(scenario.request(), brings(data(0, batch(0, 3))))
    [fetched] = scenario.reports.take()
    assert isinstance(fetched, Fetched)
    assert fetched.chunk.leader_epoch == 7
