"""Fetches that brought nothing: they are repeated as they were until a partition or the metadata changes."""

from collections.abc import Callable

import pytest

from kctl.client.consumer.events import Fetched, StartFetch, Waiting
from kctl.client.errors import ConnectionLost
from kctl.client.network.in_flight import Outgoing
from kctl.client.protocol.api.fetch import FetchableTopicResponse, FetchResponse, PartitionData
from tests.unit.consumer.fakes import T0, T1, T2, TOPIC_ID, FakeClient, answer, batch, fail, topic
from tests.unit.consumer.fetch.test_manager import Scenario, asked, data, message

SESSION_ID = 9


def brings(*partitions: PartitionData) -> FetchResponse:
    responses = [FetchableTopicResponse(topic_id=TOPIC_ID, partitions=list(partitions))] if partitions else []
    return FetchResponse(session_id=SESSION_ID, responses=responses)


class IdleScenario(Scenario):
    """T0 and T1 at their ends on broker 1; the fetch on the wire is one that may be repeated."""

    def __init__(self) -> None:
        super().__init__(FakeClient(topic("t", [1, 1, 1])), T0, T1)
        answer(self.request(), brings(data(0, b"", end=0), data(1, b"", end=0)))
        self.now_ms = 0
        self.on_wire = self.request()
        self.on_wire = self.step()
        self.reports.clear()

    def step(self) -> Outgoing:
        """Answer the fetch on the wire with nothing, and return the next."""
        self.now_ms += 500
        answer(self.on_wire, brings(), self.now_ms)
        return self.request(self.now_ms)


def test_idle_fetch_is_repeated_with_the_next_epoch_of_its_session() -> None:
    scenario = IdleScenario()
    epoch = message(scenario.on_wire).session_epoch
    for number in range(1, 4):
        scenario.on_wire = scenario.step()
        sent = message(scenario.on_wire)
        assert (sent.session_id, sent.session_epoch) == (SESSION_ID, epoch + number)
        assert (sent.topics, sent.forgotten_topics_data, sent.max_bytes) == ([], [], 2 << 20)
    assert scenario.reports.take() == []


def test_records_of_one_partition_continue_behind_them() -> None:
    scenario = IdleScenario()
    scenario.on_wire = scenario.step()
    answer(scenario.on_wire, brings(data(1, batch(0, 3), end=3)), scenario.now_ms)
    assert [event.chunk.topic_partition for event in scenario.reports.take() if isinstance(event, Fetched)] == [T1]
    assert asked(scenario.request(scenario.now_ms)) == [("t", 1, 3)]


CHANGES: dict[str, tuple[Callable[[Scenario], None], list[tuple[str, int, int]], list[int]]] = {
    "seek": (lambda scenario: scenario.manager.start(StartFetch(T1, 9, 4)), [("t", 1, 4)], []),
    "another partition": (lambda scenario: scenario.manager.start(StartFetch(T2, 9, 4)), [("t", 2, 4)], []),
    "forget": (lambda scenario: scenario.manager.forget(T1), [], [1]),
    "suspend": (lambda scenario: scenario.manager.suspend(T1), [], [1]),
    "pause": (lambda scenario: scenario.manager.set_paused(T1, True), [], [1]),
}


@pytest.mark.parametrize("is_on_wire", [True, False])
@pytest.mark.parametrize("change", CHANGES)
def test_change_of_a_partition_is_part_of_the_next_fetch(change: str, *, is_on_wire: bool) -> None:
    scenario = IdleScenario()
    act, added, removed = CHANGES[change]
    if is_on_wire:
        act(scenario)
    answer(scenario.on_wire, brings(), 2000)
    if not is_on_wire:
        act(scenario)
    requests = [*scenario.requests(2000), *scenario.requests(2000)]
    [sent] = requests
    assert asked(sent) == added
    assert [number for each in message(sent).forgotten_topics_data for number in each.partitions] == removed


def test_new_leader_is_fetched_from() -> None:
    scenario = IdleScenario()
    scenario.client.know(topic("t", [1, 2, 1]))
    answer(scenario.on_wire, brings(), 2000)
    requests = {request.node_id: request for request in scenario.requests(2000)}
    assert asked(requests[2]) == [("t", 1, 0)]
    assert [each.partitions for each in message(requests[1]).forgotten_topics_data] == [[1]]


def test_broker_that_is_not_connected_is_reported_and_reported_back() -> None:
    scenario = IdleScenario()
    scenario.client.network.down[1] = ConnectionLost("gone")
    answer(scenario.on_wire, brings(), 2000)
    assert [*scenario.requests(2000), *scenario.requests(2000)] == []
    assert scenario.waiting() == ["leader host1:9092 (id 1) cannot be reached: gone"] * 2
    del scenario.client.network.down[1]
    [scenario.on_wire] = scenario.requests(2100)
    answer(scenario.on_wire, brings(), 2200)
    assert scenario.waiting() == ["reached the end of the partition, offset 0"] * 2


def test_failed_repetition_is_retried_in_full() -> None:
    scenario = IdleScenario()
    fail(scenario.on_wire, ConnectionLost("gone"), 2000)
    assert [event.reason for event in scenario.reports.take() if isinstance(event, Waiting)] == ["gone"] * 2
    assert scenario.requests(2050) == []
    sent = scenario.request(2100)
    assert (message(sent).session_epoch, asked(sent)) == (0, [("t", 0, 0), ("t", 1, 0)])


def test_repetition_without_response_is_reported_and_taken_back() -> None:
    scenario = IdleScenario()
    assert scenario.requests(3000) == []
    assert scenario.waiting() == ["no response from broker 1"] * 2
    answer(scenario.on_wire, brings(), 3100)
    assert scenario.waiting() == [
        "",
        "",
        "reached the end of the partition, offset 0",
        "reached the end of the partition, offset 0",
    ]
