"""Fetch sessions: omitted partitions, order of partitions, and eviction."""

import pytest

from kctl.client.broker_errors import ErrorCode
from kctl.client.protocol.api.fetch import (
    FetchPartition,
    FetchRequest,
    FetchResponse,
    FetchTopic,
    ForgottenTopic,
)
from kctl.sandbox.fetch_sessions import EVICTION_MS, FetchContext
from kctl.sandbox.settings import ClusterSettings
from tests.unit.sandbox.scenario import WALL_MS, Client, Scenario, batch

VERSION = 12


def _request(
    session_id: int, epoch: int, *asked: tuple[int, int], max_bytes: int = 10_000, max_wait_ms: int = 0
) -> FetchRequest:
    partitions = [FetchPartition(partition=at, fetch_offset=offset, partition_max_bytes=1000) for at, offset in asked]
    topics = [FetchTopic(topic="t", partitions=partitions)] if partitions else []
    return FetchRequest(
        session_id=session_id,
        session_epoch=epoch,
        topics=topics,
        min_bytes=1,
        max_bytes=max_bytes,
        max_wait_ms=max_wait_ms,
    )


def _fetch(
    client: Client, session_id: int, epoch: int, *asked: tuple[int, int], max_bytes: int = 10_000
) -> FetchResponse:
    return client.call(_request(session_id, epoch, *asked, max_bytes=max_bytes), FetchResponse, VERSION)


def _told(response: FetchResponse) -> list[tuple[int, int]]:
    return [(data.partition_index, data.error_code) for topic in response.responses for data in topic.partitions]


def _append(scenario: Scenario, index: int) -> None:
    scenario.cluster.topics["t"].partitions[index].log.append(batch(b"v"), 0, WALL_MS)


def test_only_what_is_new_is_told() -> None:
    scenario = Scenario(topics={"t": 3})
    client = scenario.connect()
    opened = _fetch(client, 0, 0, (0, 0), (1, 0), (2, 0))
    assert [at for at, _ in _told(opened)] == [0, 1, 2]
    assert _told(_fetch(client, opened.session_id, 1)) == []
    _append(scenario, 1)
    assert _told(_fetch(client, opened.session_id, 2)) == [(1, 0)]
    assert _told(_fetch(client, opened.session_id, 3, (1, 1))) == []
    scenario.sandbox.delete_records("t", 1, 1)
    assert _told(_fetch(client, opened.session_id, 4)) == [(1, 0)], "a new start of the log is news"


def test_a_moved_leader_is_told_until_it_is_back() -> None:
    scenario = Scenario(nodes=2, topics={"t": 1})
    client = scenario.connect()
    opened = _fetch(client, 0, 0, (0, 0))
    scenario.sandbox.move_leader("t", 0, 2)
    for epoch in (1, 2):
        assert _told(_fetch(client, opened.session_id, epoch)) == [(0, ErrorCode.NOT_LEADER_OR_FOLLOWER)]
    scenario.sandbox.move_leader("t", 0, 1)
    assert _told(_fetch(client, opened.session_id, 3)) == [(0, 0)]
    assert _told(_fetch(client, opened.session_id, 4)) == []


def test_served_partition_waits_behind_the_others() -> None:
    scenario = Scenario(topics={"t": 3})
    client = scenario.connect()
    opened = _fetch(client, 0, 0, (0, 0), (1, 0), (2, 0))
    for index in (0, 1, 2):
        _append(scenario, index)
    served = []
    for epoch in (1, 2, 3, 4):
        answer = _fetch(client, opened.session_id, epoch, max_bytes=1)
        served += [data.partition_index for topic in answer.responses for data in topic.partitions if data.records]
    assert served == [0, 1, 2, 0]


def test_a_waiting_fetch_answers_with_news_alone() -> None:
    scenario = Scenario(topics={"t": 2})
    client = scenario.connect()
    opened = _fetch(client, 0, 0, (0, 0), (1, 0))
    correlation_id = client.send(_request(opened.session_id, 1, max_wait_ms=500), VERSION)
    assert not client.frames
    _append(scenario, 1)
    assert _told(client.take(FetchResponse, VERSION, correlation_id)) == [(1, 0)]


def test_an_answer_that_the_session_has_left_behind_is_refused() -> None:
    scenario = Scenario(topics={"t": 1})
    slow, fast = scenario.connect(), scenario.connect()
    opened = _fetch(slow, 0, 0, (0, 0))
    correlation_id = slow.send(_request(opened.session_id, 1, max_wait_ms=500), VERSION)
    assert _fetch(fast, opened.session_id, 2).error_code == ErrorCode.NONE
    scenario.scheduler.advance(500)
    late = slow.take(FetchResponse, VERSION, correlation_id)
    assert (late.error_code, late.session_id) == (ErrorCode.INVALID_FETCH_SESSION_EPOCH, opened.session_id)


def test_sessions_belong_to_one_node_and_end_with_it() -> None:
    scenario = Scenario(nodes=2, topics={"t": 1})
    client = scenario.connect(1)
    opened = _fetch(client, 0, 0, (0, 0))
    elsewhere = _fetch(scenario.connect(2), opened.session_id, 1)
    assert elsewhere.error_code == ErrorCode.FETCH_SESSION_ID_NOT_FOUND
    assert _fetch(client, opened.session_id, 1).error_code == ErrorCode.NONE
    scenario.sandbox.forget_fetch_sessions(1)
    assert _fetch(client, opened.session_id, 2).error_code == ErrorCode.FETCH_SESSION_ID_NOT_FOUND


def test_names_and_ids_do_not_mix_in_a_session() -> None:
    client = Scenario(topics={"t": 1}).connect()
    opened = _fetch(client, 0, 0, (0, 0))
    by_id = client.call(_request(opened.session_id, 1), FetchResponse, 13)
    assert (by_id.error_code, by_id.session_id) == (ErrorCode.FETCH_SESSION_TOPIC_ID_ERROR, 0)
    assert _fetch(client, opened.session_id, 1).error_code == ErrorCode.NONE


def test_epochs_skip_zero_when_they_wrap() -> None:
    scenario = Scenario(topics={"t": 1})
    client = scenario.connect()
    opened = _fetch(client, 0, 0, (0, 0))
    sessions = scenario.cluster.nodes[1].fetch_sessions
    sessions._sessions[opened.session_id].epoch = 2**31 - 1
    assert _fetch(client, opened.session_id, 2**31 - 1).error_code == ErrorCode.NONE
    assert _fetch(client, opened.session_id, 1).error_code == ErrorCode.NONE


def _full(sizes: tuple[int, ...] = (2, 2)) -> tuple[Scenario, Client, list[int]]:
    settings = ClusterSettings(max_incremental_fetch_session_cache_slots=len(sizes))
    scenario = Scenario(topics={"t": 5}, settings=settings)
    client = scenario.connect()
    return scenario, client, [_fetch(client, 0, 0, *((at, 0) for at in range(size))).session_id for size in sizes]


def test_without_a_free_slot_there_is_no_session() -> None:
    scenario, client, _ = _full()
    answer = _fetch(client, 0, 0, (0, 0), (1, 0), (2, 0))
    assert (answer.error_code, answer.session_id, len(_told(answer))) == (ErrorCode.NONE, 0, 3)
    assert len(scenario.cluster.nodes[1].fetch_sessions) == 2


def test_an_idle_session_gives_its_slot_up() -> None:
    scenario, client, (idle, used) = _full()
    scenario.scheduler.advance(1)
    _fetch(client, used, 1)
    scenario.scheduler.advance(EVICTION_MS - 1)
    assert _fetch(client, 0, 0, (0, 0)).session_id == 0, "not idle for long enough yet"
    scenario.scheduler.advance(1)
    assert _fetch(client, 0, 0, (0, 0)).session_id != 0
    assert _fetch(client, idle, 1).error_code == ErrorCode.FETCH_SESSION_ID_NOT_FOUND
    assert _fetch(client, used, 2).error_code == ErrorCode.NONE


@pytest.mark.parametrize(("size", "is_given"), [(2, False), (3, True)])
def test_an_old_session_gives_its_slot_to_a_larger_one(size: int, is_given: bool) -> None:
    scenario, client, (large, small) = _full((4, 2))
    scenario.scheduler.advance(EVICTION_MS + 1)
    for session in (large, small):
        _fetch(client, session, 1)
    got = _fetch(client, 0, 0, *((at, 0) for at in range(size)))
    assert (got.session_id != 0) is is_given
    gone = _fetch(client, small, 2).error_code == ErrorCode.FETCH_SESSION_ID_NOT_FOUND
    assert gone is is_given
    assert _fetch(client, large, 2).error_code == ErrorCode.NONE


def test_forgetting_and_asking_the_same_partition_again() -> None:
    scenario = Scenario(topics={"t": 1})
    sessions = scenario.cluster.nodes[1].fetch_sessions
    client = scenario.connect()
    opened = _fetch(client, 0, 0, (0, 0))
    request = _request(opened.session_id, 1, (0, 0))
    request.forgotten_topics_data = [ForgottenTopic(topic="t", partitions=[0])]
    context = sessions.begin(request, VERSION, lambda _: None)
    assert isinstance(context, FetchContext)
    assert len(context.wanted) == 1, "the fetch that empties a session is answered without one"
    assert len(sessions) == 0
