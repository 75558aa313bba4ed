from kctl.client.broker_errors import ErrorCode
from kctl.client.clock import FOREVER_MS, ManualClock
from kctl.client.cluster import Node
from kctl.client.errors import ConnectionLost
from kctl.client.hedged_requests import MOST_HEDGES, SILENCE_MS, HedgedRequests
from kctl.client.network.in_flight import Answer, Outgoing
from kctl.client.protocol.api.metadata import MetadataRequest, MetadataResponse
from tests.unit.fake_network import FakeNetwork

NODES = tuple(Node(i, f"host{i}", 9092) for i in (1, 2, 3))


class Scenario:
    """Three nodes that are up, one question to node 1, and what became of it."""

    def __init__(self, timeout_ms: int = 30_000) -> None:
        self.clock = ManualClock()
        self.network = FakeNetwork(self.clock)
        self.network.set_nodes(NODES)
        self.network.up = [1, 2, 3]
        self.requests = HedgedRequests(self.network, self.clock)
        self.answers: list[Answer] = []
        self.requests.send(Outgoing(1, MetadataRequest(), timeout_ms, self.answers.append, max_version=9))

    def run(self) -> int:
        return self.requests.run(self.clock.now_ms())

    def after(self, ms: int) -> int:
        self.clock.advance(ms)
        return self.run()

    @property
    def asked(self) -> list[int]:
        return [sent.node_id for sent in self.network.sent]


def test_a_broker_that_answers_in_time_is_the_only_one_asked() -> None:
    scenario = Scenario()
    assert scenario.run() == SILENCE_MS
    assert scenario.after(SILENCE_MS - 1) == SILENCE_MS
    scenario.network.sent[0].answer(MetadataResponse())
    assert scenario.asked == [1]
    assert len(scenario.answers) == 1
    assert scenario.after(SILENCE_MS) == FOREVER_MS
    assert scenario.asked == [1]


def test_another_is_asked_the_same_with_what_is_left_of_the_time_when_the_first_is_silent() -> None:
    scenario = Scenario()
    assert scenario.after(SILENCE_MS) == 2 * SILENCE_MS
    first, second = scenario.network.sent
    assert (second.node_id, second.request, second.max_version) == (2, first.request, 9)
    assert second.timeout_ms == 30_000 - SILENCE_MS
    scenario.after(SILENCE_MS)
    assert scenario.asked == [1, 2, 3]


def test_the_first_answer_counts_and_later_ones_are_not_heard() -> None:
    scenario = Scenario()
    scenario.after(SILENCE_MS)
    scenario.network.sent[1].answer(MetadataResponse(error_code=int(ErrorCode.UNKNOWN_SERVER_ERROR)))
    scenario.network.sent[0].answer(MetadataResponse())
    assert [answer.node_id for answer in scenario.answers] == [2]
    assert scenario.run() == FOREVER_MS


def test_one_failure_is_waited_out_while_another_may_still_answer() -> None:
    scenario = Scenario()
    scenario.after(SILENCE_MS)
    scenario.network.sent[0].fail(ConnectionLost("gone"))
    assert scenario.answers == []
    scenario.network.sent[1].fail(ConnectionLost("gone too"))
    assert [str(answer.error) for answer in scenario.answers] == ["gone too"]


def test_a_failure_of_the_only_one_asked_is_told_at_once() -> None:
    scenario = Scenario()
    scenario.network.sent[0].fail(ConnectionLost("gone"))
    assert len(scenario.answers) == 1
    assert scenario.after(SILENCE_MS) == FOREVER_MS
    assert scenario.asked == [1]


def test_nobody_else_is_asked_when_nobody_else_is_ready_or_the_time_is_up() -> None:
    scenario = Scenario(timeout_ms=2500)
    scenario.network.up = [1]
    assert scenario.after(SILENCE_MS) == FOREVER_MS
    scenario.network.up = [1, 3]
    assert scenario.after(1) == 2 * SILENCE_MS + 1
    assert scenario.asked == [1, 3]
    scenario.network.up = [1, 2, 3]
    scenario.after(2500)
    assert scenario.asked == [1, 3]


def test_requests_of_a_slow_cluster_are_sent_to_few_brokers_beside_the_second() -> None:
    scenario = Scenario()
    for _ in range(3 * MOST_HEDGES - 1):
        scenario.requests.send(Outgoing(1, MetadataRequest(), 30_000, scenario.answers.append, max_version=9))
    scenario.after(SILENCE_MS)
    assert scenario.asked == [1] * 3 * MOST_HEDGES + [2] * 3 * MOST_HEDGES
    scenario.after(SILENCE_MS)
    assert scenario.asked[6 * MOST_HEDGES :] == [3] * MOST_HEDGES
    scenario.network.sent[0].answer(MetadataResponse())
    scenario.run()
    assert len(scenario.asked) == 7 * MOST_HEDGES, "the third broker has the request still"
    scenario.network.sent[6 * MOST_HEDGES].answer(MetadataResponse())
    scenario.run()
    assert len(scenario.asked) == 7 * MOST_HEDGES + 1
