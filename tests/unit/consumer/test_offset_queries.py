import pytest

from kctl.client.broker_errors import ErrorCode, broker_error
from kctl.client.cluster import NO_NODE
from kctl.client.consumer.events import (
    EARLIEST_TIMESTAMP,
    LATEST_TIMESTAMP,
    AskOffsets,
    CallDone,
    PartitionFailed,
    PositionResolved,
    ResolvePosition,
    Waiting,
)
from kctl.client.consumer.offset_queries import OffsetQueries
from kctl.client.consumer.waiting import WaitKind
from kctl.client.errors import AuthenticationError, ConnectionLost, RemoteProtocolError
from kctl.client.network.in_flight import Outgoing
from kctl.client.protocol.api.partition_offsets import (
    ListOffsetsPartitionResponse,
    ListOffsetsRequest,
    ListOffsetsResponse,
    ListOffsetsTopicResponse,
)
from kctl.client.requests.leaders import Leaders
from kctl.client.requests.list_offsets import OffsetAndTimestamp
from tests.unit.consumer.fakes import T0, T1, T2, FakeClient, Reports, answer, config, fail, rng, topic


class Scenario:
    """An offsets manager with nothing asked yet."""

    def __init__(self, client: FakeClient, **props: object) -> None:
        self.client = client
        self.reports = Reports()
        self.manager = OffsetQueries(config(**props), Leaders(client.as_client()), rng(), self.reports.append)

    def ask(self, deadline_at_ms: int = 1000) -> None:
        self.manager.ask(AskOffsets(1, ((T0, LATEST_TIMESTAMP), (T1, 1234)), deadline_at_ms))

    def requests(self, now_ms: int = 0) -> list[Outgoing]:
        return self.manager.poll(now_ms).requests


def found(index: int, offset: int, code: int = 0) -> ListOffsetsResponse:
    each = ListOffsetsPartitionResponse(
        partition_index=index, error_code=code, offset=offset, timestamp=5, leader_epoch=7
    )
    return ListOffsetsResponse(topics=[ListOffsetsTopicResponse(name="t", partitions=[each])])


def test_each_leader_is_asked_once_and_the_call_ends_with_the_last_answer() -> None:
    scenario = Scenario(FakeClient(topic("t", [1, 2])), isolation_level="read_committed", request_timeout_ms=700)
    scenario.ask()
    one, two = scenario.requests()
    assert (one.node_id, two.node_id, one.timeout_ms) == (1, 2, 700)
    assert isinstance(two.request, ListOffsetsRequest)
    [part] = two.request.topics[0].partitions
    assert (part.partition_index, part.timestamp, part.current_leader_epoch) == (1, 1234, 7)
    assert (two.request.isolation_level, two.request.replica_id) == (1, -1)
    assert scenario.requests() == []
    answer(one, found(0, 10))
    assert scenario.reports.take() == []
    answer(two, found(1, -1))
    assert scenario.reports.take() == [CallDone(1, {T0: OffsetAndTimestamp(10, 5, 7), T1: None}, None)]
    assert scenario.manager.poll(0).next_deadline_at_ms > 10**9


def test_a_request_outlives_its_call_and_its_answer_is_then_nobodys() -> None:
    scenario = Scenario(FakeClient(topic("t", [1, 1])), request_timeout_ms=700)
    scenario.ask(deadline_at_ms=300)
    [request] = scenario.requests(now_ms=100)
    assert request.timeout_ms == 700
    assert scenario.requests(now_ms=300) == []
    assert scenario.manager.progress(1) is None
    answer(request, found(0, 10))
    assert scenario.reports.take() == []


@pytest.mark.parametrize("indexes", [[0], [0, 1, 1]])
def test_partition_that_a_response_leaves_out_or_has_twice_is_malformed(indexes: list[int]) -> None:
    scenario = Scenario(FakeClient(topic("t", [1, 1])))
    scenario.ask()
    [request] = scenario.requests()
    response = found(0, 4)
    response.topics = [each for index in indexes for each in found(index, 4).topics]
    answer(request, response)
    [done] = scenario.reports.take()
    assert isinstance(done, CallDone)
    assert isinstance(done.error, RemoteProtocolError)
    assert str(done.error).startswith("the ListOffsets response from ")


def test_a_leader_that_moved_is_asked_again_within_the_call() -> None:
    client = FakeClient(topic("t", [1, 1]))
    scenario = Scenario(client)
    scenario.ask()
    [request] = scenario.requests()
    moved = found(0, -1, ErrorCode.NOT_LEADER_OR_FOLLOWER)
    moved.topics += found(1, -1, ErrorCode.NOT_LEADER_OR_FOLLOWER).topics
    answer(request, moved, at_ms=10)
    assert client.is_refresh_wanted
    client.know(topic("t", [2, 1]))
    again = scenario.requests(110)
    assert [request.node_id for request in again] == [2, 1]
    for each, index in zip(again, (0, 1), strict=True):
        answer(each, found(index, 4), at_ms=120)
    assert isinstance(scenario.reports.take()[0], CallDone)


def test_progress_names_the_partition_and_the_last_error() -> None:
    scenario = Scenario(FakeClient(topic("t", [1, 1])))
    scenario.ask()
    [request] = scenario.requests()
    progress = scenario.manager.progress(1)
    assert progress is not None
    assert progress.waiting_for == "waiting for the offset of t-0 and 1 more from host1:9092 (id 1)"
    fail(request, ConnectionLost("reset by peer"))
    progress = scenario.manager.progress(1)
    assert progress is not None
    assert progress.waiting_for == "waiting for the offset of t-0 and 1 more"
    assert str(progress.cause) == "reset by peer"


def test_progress_names_a_leader_that_is_not_connected_and_what_that_waits_for() -> None:
    client = FakeClient(topic("t", [1, 1]))
    client.network.down[1] = None
    client.network.attempts[1] = ConnectionLost("no ApiVersions response yet")
    scenario = Scenario(client)
    scenario.ask()
    assert scenario.requests() == []
    progress = scenario.manager.progress(1)
    assert progress is not None
    assert progress.waiting_for.endswith("of t-0 and 1 more from host1:9092 (id 1), which is not connected")
    assert str(progress.cause) == "no ApiVersions response yet"


def test_error_that_is_not_retriable_ends_the_call_at_once() -> None:
    scenario = Scenario(FakeClient(topic("t", [1, 2])))
    scenario.ask()
    one, two = scenario.requests()
    answer(one, found(0, -1, ErrorCode.TOPIC_AUTHORIZATION_FAILED))
    [done] = scenario.reports.take()
    assert isinstance(done, CallDone)
    assert "TOPIC_AUTHORIZATION_FAILED" in str(done.error)
    answer(two, found(1, 4))
    assert scenario.reports.take() == []


def test_a_partition_that_newer_metadata_does_not_know_ends_the_call() -> None:
    client = FakeClient(topic("t", [1]))
    scenario = Scenario(client)
    scenario.ask()
    assert len(scenario.requests()) == 1
    assert scenario.reports.take() == [], "what we know may be old"
    client.know(topic("t", [1]))
    assert scenario.requests(1) == []
    [done] = scenario.reports.take()
    assert isinstance(done, CallDone)
    assert "cannot find t-1: the topic has 1 partition (UNKNOWN_TOPIC_OR_PARTITION)" in str(done.error)


def test_a_call_is_forgotten_at_its_deadline() -> None:
    scenario = Scenario(FakeClient(topic("t", [NO_NODE, NO_NODE])))
    scenario.ask(deadline_at_ms=500)
    assert scenario.manager.poll(499).next_deadline_at_ms == 500
    assert scenario.manager.progress(1) is not None
    scenario.manager.poll(500)
    assert scenario.manager.progress(1) is None
    assert scenario.reports.take() == []


def test_an_impossible_offset_is_an_error_and_the_next_look_up_backs_off() -> None:
    scenario = Scenario(FakeClient(topic("t", [1])))
    lookups = 0
    for now_ms in range(1000):
        for request in scenario.requests(now_ms):
            lookups += 1
            answer(request, found(0, -7), now_ms)
        failed = [event for event in scenario.reports.take() if isinstance(event, PartitionFailed)]
        assert all(isinstance(event.error, RemoteProtocolError) for event in failed)
        if failed or not now_ms:
            scenario.manager.resolve(ResolvePosition(T0, now_ms, -2))
    assert 4 <= lookups <= 15, "retry.backoff.ms of 100 ms, also when each error is followed by another attempt at once"


def unanswered(epoch: int) -> Waiting:
    """Return the report of a request for a position that was just sent."""
    reason = "waiting for the position: no response from broker 1"
    return Waiting(T0, epoch, reason, WaitKind.POSITION, 1)


def test_positions_of_many_partitions_travel_in_one_request() -> None:
    scenario = Scenario(FakeClient(topic("t", [1, 1])))
    scenario.manager.resolve(ResolvePosition(T0, 1, EARLIEST_TIMESTAMP))
    scenario.manager.resolve(ResolvePosition(T1, 2, LATEST_TIMESTAMP))
    [request] = scenario.requests()
    answer(request, found(0, 3))
    assert scenario.reports.take()[2] == PositionResolved(T0, 1, 3)


def test_a_time_after_the_last_record_means_the_end() -> None:
    scenario = Scenario(FakeClient(topic("t", [1])))
    scenario.manager.resolve(ResolvePosition(T0, 1, 999_999))
    [request] = scenario.requests()
    answer(request, found(0, -1))
    [again] = scenario.requests()
    assert scenario.reports.take() == [unanswered(1)] * 2
    assert isinstance(again.request, ListOffsetsRequest)
    assert again.request.topics[0].partitions[0].timestamp == LATEST_TIMESTAMP
    answer(again, found(0, 17))
    assert scenario.reports.take() == [PositionResolved(T0, 1, 17)]


def test_an_older_look_up_of_a_position_is_dropped() -> None:
    scenario = Scenario(FakeClient(topic("t", [1])))
    scenario.manager.resolve(ResolvePosition(T0, 1, EARLIEST_TIMESTAMP))
    [request] = scenario.requests()
    scenario.manager.resolve(ResolvePosition(T0, 2, LATEST_TIMESTAMP))
    answer(request, found(0, 3))
    assert scenario.reports.take() == [unanswered(1)]
    scenario.manager.forget(T0)
    assert scenario.requests() == []


def test_an_unknown_topic_is_waited_for_with_the_reason() -> None:
    unknown = topic("t", [], error=broker_error(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, "describe topic t"))
    scenario = Scenario(FakeClient(unknown))
    scenario.manager.resolve(ResolvePosition(T0, 1, EARLIEST_TIMESTAMP))
    for now_ms in range(3):
        scenario.client.know(unknown)
        assert scenario.requests(now_ms) == []
    [waiting] = scenario.reports.take()
    assert isinstance(waiting, Waiting)
    assert waiting.reason.startswith("waiting for the position: cannot describe topic t: ")


@pytest.mark.parametrize(
    "code", [ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, ErrorCode.TOPIC_AUTHORIZATION_FAILED], ids=lambda code: code.name
)
def test_a_call_about_two_partitions_of_a_topic_without_leaders_ends_once(code: ErrorCode) -> None:
    nothing = topic("t", [], error=broker_error(code, "describe topic t"))
    scenario = Scenario(FakeClient(nothing))
    scenario.ask()
    scenario.client.know(nothing)
    assert scenario.requests() == []
    [done] = scenario.reports.take()
    assert isinstance(done, CallDone)
    assert getattr(done.error, "code", None) == code


def test_call_waits_for_a_leader_that_refused_and_asks_the_others_meanwhile() -> None:
    client = FakeClient(topic("t", [1, 1, 2]))
    refusal = client.network.down[1] = AuthenticationError("refused")
    scenario = Scenario(client)
    scenario.manager.ask(AskOffsets(1, ((T0, LATEST_TIMESTAMP), (T1, 1234), (T2, 1234)), 1000))
    assert [request.node_id for request in scenario.requests()] == [2]
    assert scenario.reports.take() == []
    progress = scenario.manager.progress(1)
    assert progress is not None
    assert progress.cause is refusal
    del client.network.down[1]
    assert [request.node_id for request in scenario.requests()] == [1]


def test_a_topic_that_is_not_ours_to_read_is_raised() -> None:
    forbidden = topic("t", [], error=broker_error(ErrorCode.TOPIC_AUTHORIZATION_FAILED, "describe topic t"))
    scenario = Scenario(FakeClient(forbidden))
    scenario.manager.resolve(ResolvePosition(T0, 1, EARLIEST_TIMESTAMP))
    scenario.requests()
    [failed] = scenario.reports.take()
    assert isinstance(failed, PartitionFailed)
    assert failed.epoch == 1
