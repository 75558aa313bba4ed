"""Fetch sessions: what a request says of its partitions, through whole fetches of a manager."""

import pytest

from kctl.client.broker_errors import ErrorCode
from kctl.client.cluster import NO_TOPIC_ID, TopicPartition
from kctl.client.consumer.events import Fetched, PartitionFailed, StartFetch, Waiting
from kctl.client.consumer.fetch.sessions import (
    BEHIND_FETCH_MS,
    FINAL_EPOCH,
    LAST_EPOCH,
    AskedPartition,
    FetchSession,
)
from kctl.client.consumer.waiting import WaitKind
from kctl.client.errors import ConnectionLost, RemoteProtocolError
from kctl.client.network.in_flight import Outgoing
from kctl.client.protocol.api.fetch import FetchableTopicResponse, FetchResponse, PartitionData
from kctl.client.protocol.codec import encode
from tests.unit.consumer.fakes import T0, T1, T2, TOPIC_ID, FakeClient, answer, batch, fail, topic
from tests.unit.consumer.fetch.test_manager import Scenario, asked, data, error, message

OTHER_ID = bytes(reversed(range(16)))
ID = 4711


def says(*partitions: PartitionData, session_id: int = ID, error_code: int = 0) -> FetchResponse:
    """An answer within a session; partitions that it leaves out have nothing new."""
    topics = [FetchableTopicResponse(topic_id=TOPIC_ID, partitions=list(partitions))] if partitions else []
    return FetchResponse(error_code=error_code, session_id=session_id, responses=topics)


def empty(index: int, end: int = 0) -> PartitionData:
    return data(index, b"", end=end)


def session_of(request: Outgoing) -> tuple[int, int]:
    return message(request).session_id, message(request).session_epoch


def forgotten(request: Outgoing) -> list[tuple[str, list[int]]]:
    return [(each.topic, each.partitions) for each in message(request).forgotten_topics_data]


def opened(*partitions: TopicPartition, **props: object) -> Scenario:
    """A scenario whose first fetch has opened the session; every partition is empty."""
    scenario = Scenario(FakeClient(topic("t", [1, 1, 1])), *partitions, **props)  # type: ignore[arg-type]  # properties
    answer(scenario.request(), says(*(empty(tp.partition) for tp in partitions)))
    scenario.reports.take()
    return scenario


def test_the_first_fetch_names_all_and_asks_for_a_session_and_the_next_names_nothing() -> None:
    scenario = Scenario(FakeClient(topic("t", [1, 1])), T0, T1)
    first = scenario.request()
    assert (session_of(first), asked(first)) == ((0, 0), [("t", 0, 0), ("t", 1, 0)])
    answer(first, says(empty(0), empty(1)))
    for epoch in (1, 2, 3):
        request = scenario.request(500 * epoch)
        assert (session_of(request), asked(request), forgotten(request)) == ((ID, epoch), [], [])
        answer(request, says(), 500 * (epoch + 1))


def test_only_what_changed_is_named() -> None:
    scenario = opened(T0, T1, T2)
    request = scenario.request()
    answer(request, says(data(1, batch(0, 3))))
    request = scenario.request()
    assert (asked(request), forgotten(request)) == ([("t", 1, 3)], [])
    scenario.manager.start(StartFetch(T0, 9, 50))
    answer(request, says())
    assert asked(scenario.request()) == [("t", 0, 50)]


def test_partition_that_leaves_the_session_is_forgotten_and_named_when_it_returns() -> None:
    scenario = opened(T0, T1, T2)
    scenario.manager.forget(T0)
    scenario.manager.set_paused(T1, True)
    request = scenario.request()
    assert (asked(request), forgotten(request)) == ([], [("t", [0, 1])])
    answer(request, says())
    scenario.manager.set_paused(T1, False)
    request = scenario.request()
    assert (asked(request), forgotten(request)) == ([("t", 1, 0)], [])


def test_a_partition_without_room_leaves_the_session_and_returns_behind_its_data() -> None:
    scenario = opened(T0, T1, max_partition_fetch_bytes=100)
    big = batch(0, 1, value_bytes=200)
    answer(scenario.request(), says(data(0, big)))
    request = scenario.request(500)  # the other one brought nothing
    assert (asked(request), forgotten(request), message(request).max_wait_ms) == ([], [("t", [0])], 20)
    answer(request, says())
    scenario.manager.consumed(T0, 1, 1)
    request = scenario.request()
    assert (asked(request), forgotten(request)) == ([("t", 0, 1)], [])


def test_a_partition_that_an_answer_leaves_out_has_nothing_new() -> None:
    scenario = opened(T0, T1)
    answer(scenario.request(), says(data(0, batch(0, 3), end=3)))
    scenario.reports.take()
    answer(scenario.request(), says())
    assert [(each.topic_partition, each.kind) for each in scenario.reports.take() if isinstance(each, Waiting)] == [
        (T0, WaitKind.AT_END)
    ]
    assert len(scenario.requests()) == 1, "no back-off"


def test_behind_an_open_transaction_nothing_new_is_no_end() -> None:
    scenario = opened(T0, isolation_level="read_committed")
    part = data(0, batch(0, 3), end=9)
    part.last_stable_offset = 3
    answer(scenario.request(), says(part))
    scenario.reports.take()
    answer(scenario.request(), says())
    [waiting] = scenario.reports.take()
    assert isinstance(waiting, Waiting)
    assert (waiting.kind, waiting.reason) == (WaitKind.OPEN_TRANSACTION, "an open transaction begins at offset 3")


def test_one_that_stood_back_for_others_is_not_said_to_be_at_the_end() -> None:
    scenario = opened(T0)
    answer(scenario.request(), says(data(0, batch(0, 3), end=9)))
    scenario.reports.take()
    answer(scenario.request(), says())
    assert scenario.reports.take() == []


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        (ErrorCode.FETCH_SESSION_ID_NOT_FOUND, (0, 0)),
        (ErrorCode.INVALID_FETCH_SESSION_EPOCH, (ID, 0)),
        (ErrorCode.FETCH_SESSION_TOPIC_ID_ERROR, (ID, 0)),
    ],
)
def test_a_session_that_is_over_is_opened_anew_at_once(code: ErrorCode, expected: tuple[int, int]) -> None:
    scenario = opened(T0, T1)
    answer(scenario.request(), says(error_code=code, session_id=0), at_ms=7)
    assert scenario.reports.take() == [], "nothing is wrong with a partition"
    request = scenario.request(7)
    assert (session_of(request), asked(request)) == (expected, [("t", 0, 0), ("t", 1, 0)])
    answer(request, says(empty(0), empty(1), session_id=12))
    assert session_of(scenario.request(7)) == (12, 1)


def test_a_node_that_refuses_full_fetches_as_well_is_not_asked_in_a_loop() -> None:
    scenario = opened(T0)
    for at_ms in (0, 0):
        answer(scenario.request(), says(error_code=ErrorCode.INVALID_FETCH_SESSION_EPOCH, session_id=0), at_ms=at_ms)
    assert scenario.requests(99) == []
    assert session_of(scenario.request(100)) == (ID, 0)


def test_a_node_that_opens_no_session_gets_everything_named_each_time() -> None:
    scenario = Scenario(FakeClient(topic("t", [1, 1])), T0, T1)
    for _ in range(3):
        request = scenario.request()
        assert (session_of(request), len(asked(request))) == ((0, 0), 2)
        answer(request, says(empty(0), empty(1), session_id=0))


def test_a_session_that_ends_with_an_answer_still_counts_for_that_answer() -> None:
    scenario = opened(T0, T1)
    answer(scenario.request(), says(data(0, batch(0, 2)), session_id=0))
    request = scenario.request()
    assert (session_of(request), asked(request)) == ((0, 0), [("t", 1, 0), ("t", 0, 2)])


def test_without_an_answer_the_old_session_is_given_up_with_the_next_full_fetch() -> None:
    scenario = opened(T0)
    fail(scenario.request(), ConnectionLost("reset"), at_ms=5)
    request = scenario.request(105)
    assert (session_of(request), asked(request)) == ((ID, 0), [("t", 0, 0)])


def test_in_a_full_answer_a_missing_partition_is_a_fault_and_in_an_incremental_one_not() -> None:
    scenario = Scenario(FakeClient(topic("t", [1, 1])), T0, T1)
    answer(scenario.request(), says(empty(0)))
    [failed] = [each for each in scenario.reports.take() if isinstance(each, PartitionFailed)]
    assert isinstance(failed.error, RemoteProtocolError)
    assert (failed.topic_partition, str(failed.error)) == (
        T1,
        "the Fetch response from host1:9092 (id 1) does not contain t-1",
    )
    assert asked(scenario.request()) == [], "the session goes on with the other"


@pytest.mark.parametrize("is_full", [True, False])
def test_partition_that_is_in_response_twice_is_malformed(is_full: bool) -> None:
    scenario = Scenario(FakeClient(topic("t", [1, 1])), T0, T1) if is_full else opened(T0, T1)
    answer(scenario.request(), says(data(0, batch(0, 2)), data(1, batch(0, 2)), data(1, batch(0, 3))))
    told = scenario.reports.take()
    [failed] = [each for each in told if isinstance(each, PartitionFailed)]
    assert isinstance(failed.error, RemoteProtocolError)
    assert (failed.topic_partition, str(failed.error)) == (
        T1,
        "the Fetch response from host1:9092 (id 1) contains t-1 twice",
    )
    [fetched] = [each.chunk for each in told if isinstance(each, Fetched)]
    assert fetched.topic_partition == T0


def test_full_fetch_that_is_throttled_is_repeated() -> None:
    """Its response is empty, and leaves nothing out."""
    scenario = Scenario(FakeClient(topic("t", [1, 1])), T0, T1)
    answer(scenario.request(), FetchResponse(throttle_time_ms=300))
    assert [each for each in scenario.reports.take() if isinstance(each, PartitionFailed)] == []
    assert (session_of(again := scenario.request()), len(asked(again))) == ((0, 0), 2)


def test_an_error_of_one_partition_leaves_the_session_alone() -> None:
    scenario = opened(T0, T1)
    answer(scenario.request(), says(error(0, ErrorCode.NOT_LEADER_OR_FOLLOWER)), at_ms=10)
    request = scenario.request(10)
    assert (session_of(request), forgotten(request)) == ((ID, 2), [("t", [0])])


def test_a_topic_made_anew_replaces_the_old_one() -> None:
    scenario = opened(T0)
    scenario.client.know(topic("t", [1], topic_id=OTHER_ID))
    request = scenario.request()
    assert asked(request) == [("t", 0, 0)]
    assert [(each.topic_id, each.partitions) for each in message(request).forgotten_topics_data] == [(TOPIC_ID, [0])]
    assert message(request).topics[0].topic_id == OTHER_ID


def test_a_session_without_topic_ids_does_not_go_on_with_them() -> None:
    scenario = Scenario(FakeClient(topic("t", [1], topic_id=NO_TOPIC_ID)), T0)
    response = FetchResponse(session_id=ID, responses=[FetchableTopicResponse(topic="t", partitions=[empty(0)])])
    answer(scenario.request(), response)
    assert session_of(scenario.request()) == (ID, 1)
    scenario = Scenario(FakeClient(topic("t", [1], topic_id=NO_TOPIC_ID)), T0)
    answer(scenario.request(), response)
    scenario.client.know(topic("t", [1]))
    request = scenario.request()
    assert (session_of(request), asked(request), request.max_version) == ((ID, 0), [("t", 0, 0)], None)


def test_the_epoch_goes_on_with_one_behind_the_last() -> None:
    session = FetchSession()
    wanted = {T0: AskedPartition(TOPIC_ID, 0, 7, -1, 100)}
    session.begin(wanted, uses_topic_ids=True)
    session.answered(says(empty(0)))
    session._epoch = LAST_EPOCH  # nobody fetches so often in a test
    assert session.begin(wanted, uses_topic_ids=True).session_epoch == LAST_EPOCH
    session.answered(says())
    assert session.begin(wanted, uses_topic_ids=True).session_epoch == 1


def test_a_thousand_idle_partitions_cost_no_more_than_one() -> None:
    sizes = {}
    for count in (1, 1000):
        partitions = [TopicPartition("t", i) for i in range(count)]
        scenario = Scenario(FakeClient(topic("t", [1] * count)), *partitions)
        first = scenario.request()
        answer(first, says(*(empty(i) for i in range(count))))
        idle = scenario.request()
        sizes[count] = tuple(len(encode(message(each), 17)) for each in (first, idle))
    assert sizes[1000][0] > 30_000
    assert sizes[1000][1] == sizes[1][1] < 40


def test_stopping_gives_up_every_session_of_a_connected_node_once() -> None:
    client = FakeClient(topic("t", [1, 2, 3]))
    scenario = Scenario(client, T0, T1, T2)
    one, two, three = scenario.requests()
    answer(one, says(empty(0), session_id=11))
    answer(two, says(empty(1), session_id=22))
    answer(three, says(empty(2), session_id=0))
    client.network.down[2] = None
    scenario.requests()
    scenario.manager.stop(1000, 9000)
    poll = scenario.manager.poll(1000)
    [request] = poll.requests
    assert (request.node_id, session_of(request), asked(request)) == (1, (11, FINAL_EPOCH), [])
    assert request.timeout_ms == 30_000
    assert poll.next_deadline_at_ms == 1000 + BEHIND_FETCH_MS
    assert scenario.manager.poll(1001).requests == []
    assert not scenario.manager.is_stopped(1001)
    answer(request, says(session_id=0))
    assert scenario.manager.is_stopped(1001)


def test_sessions_of_nodes_without_a_connection_are_not_waited_for() -> None:
    client = FakeClient(topic("t", [1]))
    scenario = Scenario(client, T0)
    [request] = scenario.requests()
    answer(request, says(empty(0), session_id=11))
    client.network.down[1] = None
    scenario.manager.stop(1000, 9000)
    assert scenario.manager.is_stopped(1000)
    assert scenario.manager.poll(1000).requests == []


def test_a_close_behind_a_fetch_in_flight_is_not_waited_for_long() -> None:
    scenario = opened(T0)
    scenario.request()
    scenario.manager.stop(1000, 9000)
    poll = scenario.manager.poll(1000)
    [request] = poll.requests
    assert session_of(request)[1] == FINAL_EPOCH
    assert poll.next_deadline_at_ms == 1000 + BEHIND_FETCH_MS
    assert not scenario.manager.is_stopped(1000 + BEHIND_FETCH_MS - 1)
    assert scenario.manager.is_stopped(1000 + BEHIND_FETCH_MS)


def test_a_goodbye_without_an_answer_ends_in_time() -> None:
    scenario = opened(T0)
    scenario.manager.stop(1000, 1090)
    assert len(scenario.manager.poll(1000).requests) == 1
    assert not scenario.manager.is_stopped(1089)
    assert scenario.manager.is_stopped(1090)
    assert scenario.manager.poll(1090).requests == []


def test_without_sessions_there_is_nothing_to_give_up() -> None:
    scenario = Scenario(FakeClient(topic("t", [1])), T0)
    scenario.manager.stop(0, 1000)
    scenario.manager.poll(0)
    assert scenario.manager.is_stopped(0)
