"""Coordinator against a fake network: found, lost, looked for again with back-off, refused."""

from kctl.client.broker_errors import ErrorCode
from kctl.client.cluster import Node
from kctl.client.cluster_client import ClusterClient
from kctl.client.errors import ConnectionLost, KafkaError, RequestTimeout
from kctl.client.network.in_flight import Outgoing
from kctl.client.protocol.api import find_coordinator
from kctl.client.protocol.api.find_coordinator import FindCoordinatorRequest, FindCoordinatorResponse
from kctl.client.protocol.api.group_membership import HeartbeatRequest, HeartbeatResponse
from kctl.client.protocol.schema import Request
from kctl.client.protocol.versions import NodeVersions
from kctl.client.requests.coordinator import HELD, PROMPT, Coordinator
from kctl.client.requests.request import Poll
from kctl.client.requests.retry import FIND_COORDINATOR
from tests.unit.consumer.fakes import FakeClient, FakeNetwork, answer, config, fail, rng


class Network(FakeNetwork):
    def __init__(self) -> None:
        super().__init__()
        self.dedicated: dict[int, Node] = {}
        self.hung_up: list[int] = []
        self.newest = 6

    def dedicate(self, node: Node) -> None:
        self.dedicated[node.node_id] = node

    def disconnect(self, node_id: int, reason: str) -> None:
        assert reason
        self.hung_up.append(node_id)

    def versions(self, node_id: int) -> NodeVersions:
        assert node_id not in self.down
        return NodeVersions({FindCoordinatorRequest.API_KEY: (0, self.newest)})

    def supports(self, node_id: int, kind: type[Request], at_least: int = 0) -> bool:
        return self.versions(node_id).supports(kind, at_least)


class Scenario:
    def __init__(self) -> None:
        self.client = FakeClient()
        self.network = self.client.network = Network()
        client: ClusterClient = self.client.as_client()
        self.coordinator = Coordinator(
            config(), client, rng(), "g", FIND_COORDINATOR, connections=(PROMPT, HELD), patience_ms=22_500
        )

    def look_up(self) -> FindCoordinatorRequest:
        """Want it, and return the question that is sent."""
        assert not self.coordinator.ready(PROMPT)
        [self.sent] = self.coordinator.poll(self.client.clock.now_ms()).requests
        assert isinstance(self.sent.request, FindCoordinatorRequest)
        return self.sent.request

    def find(self, code: int = 0) -> None:
        self.look_up()
        found = find_coordinator.Coordinator(key="g", node_id=2, host="host2", port=9092, error_code=code)
        answer(self.sent, FindCoordinatorResponse(coordinators=[found]))


def test_nobody_looks_until_somebody_wants_it() -> None:
    assert Scenario().coordinator.poll(0).requests == []


def test_coordinator_has_two_connections_of_its_own() -> None:
    scenario = Scenario()
    scenario.find()
    assert {id_: (node.host, node.port) for id_, node in scenario.network.dedicated.items()} == {
        PROMPT: ("host2", 9092),
        HELD: ("host2", 9092),
    }
    assert scenario.coordinator.ready(PROMPT)
    assert scenario.coordinator.ready(HELD)


def test_an_old_broker_is_asked_in_its_own_words() -> None:
    scenario = Scenario()
    assert scenario.look_up().coordinator_keys == ["g"]
    old = Scenario()
    old.network.newest = 3
    assert (old.look_up().key, old.sent.request.coordinator_keys) == ("g", [])  # type: ignore[attr-defined]  # checked


def test_a_wrong_coordinator_is_looked_for_again_after_the_back_off() -> None:
    scenario = Scenario()
    scenario.find()
    error = scenario.coordinator.check(ErrorCode.NOT_COORDINATOR, "Heartbeat")
    assert "NOT_COORDINATOR" in str(error)
    assert scenario.network.hung_up == [PROMPT, HELD], "what is held back on them is over"
    assert not scenario.coordinator.ready(PROMPT)
    assert scenario.coordinator.poll(0).next_deadline_at_ms == 100
    scenario.client.clock.advance(100)
    scenario.find()
    assert scenario.coordinator.ready(PROMPT)


def test_a_failed_connection_is_noticed_once() -> None:
    scenario = Scenario()
    scenario.find()
    failures: dict[int, KafkaError] = {PROMPT: ConnectionLost("one"), HELD: ConnectionLost("two")}
    scenario.network.down = dict(failures)
    for connection in (PROMPT, HELD):
        assert not scenario.coordinator.ready(connection)
        scenario.client.clock.advance(1000)
        scenario.find()
    scenario.network.hung_up.clear()
    assert not scenario.coordinator.ready(PROMPT)
    assert not scenario.coordinator.ready(HELD)
    assert scenario.network.hung_up == [], "the connections are given the time to be made again"


def test_a_request_with_little_time_says_nothing_about_the_coordinator() -> None:
    scenario = Scenario()
    scenario.find()
    for limit_ms, is_lost in ((50, False), (30_000, True)):
        request = scenario.coordinator.outgoing(PROMPT, HeartbeatRequest(), limit_ms, lambda _: None)
        fail(request, RequestTimeout("waiting", timeout_ms=limit_ms, elapsed_ms=limit_ms))
        assert scenario.coordinator.ready(PROMPT) is not is_lost


def test_a_refusal_is_there_for_one_turn() -> None:
    scenario = Scenario()
    scenario.find(ErrorCode.GROUP_AUTHORIZATION_FAILED)
    assert "GROUP_AUTHORIZATION_FAILED" in str(scenario.coordinator.refusal)
    scenario.coordinator.poll(0)
    assert scenario.coordinator.refusal is None
    passing = Scenario()
    passing.find(ErrorCode.COORDINATOR_NOT_AVAILABLE)
    assert passing.coordinator.refusal is None
    assert "COORDINATOR_NOT_AVAILABLE" in str(passing.coordinator.error)


def second_look(scenario: Scenario) -> Outgoing | None:
    """Return the question that is asked while the coordinator is known."""
    return next(iter(scenario.coordinator.poll(scenario.client.clock.now_ms()).requests), None)


def found_at(node_id: int) -> FindCoordinatorResponse:
    found = find_coordinator.Coordinator(key="g", node_id=node_id, host=f"host{node_id}", port=9092)
    return FindCoordinatorResponse(coordinators=[found])


def test_while_a_request_is_not_answered_another_node_is_asked_who_coordinates() -> None:
    scenario = Scenario()
    scenario.find()
    request = scenario.coordinator.outgoing(PROMPT, HeartbeatRequest(), 30_000, lambda _: None)
    assert scenario.coordinator.poll(0) == Poll([], 1000)
    scenario.client.clock.advance(1000)
    look = second_look(scenario)
    assert look is not None
    assert look.node_id in (1, 3), "not the one that is silent"
    answer(look, found_at(2))
    assert scenario.coordinator.ready(PROMPT), "it is still the one"
    assert scenario.network.hung_up == []
    scenario.client.clock.advance(999)
    assert second_look(scenario) is None
    scenario.client.clock.advance(1)
    look = second_look(scenario)
    assert look is not None
    answer(look, found_at(3))
    assert scenario.network.hung_up == [PROMPT, HELD]
    assert scenario.network.dedicated[PROMPT] == Node(PROMPT, "host3", 9092)
    assert scenario.coordinator.ready(PROMPT)
    assert "is no longer the coordinator, broker 3 is" in str(scenario.coordinator.error)
    fail(request, ConnectionLost("of the one before"))
    assert scenario.coordinator.ready(PROMPT)
    scenario.client.clock.advance(60_000)
    assert second_look(scenario) is None, "nothing is waited for"


def test_a_connection_that_is_not_ready_is_silence_too() -> None:
    scenario = Scenario()
    scenario.find()
    scenario.network.down = {PROMPT: None, 1: None}
    assert not scenario.coordinator.ready(PROMPT)
    scenario.client.clock.advance(1000)
    look = second_look(scenario)
    assert look is not None
    assert look.node_id == 3
    scenario.network.down = {}
    answer(look, found_at(2))
    assert scenario.coordinator.ready(PROMPT)
    scenario.client.clock.advance(60_000)
    assert second_look(scenario) is None


def test_an_answer_ends_the_silence_and_a_held_request_is_none() -> None:
    scenario = Scenario()
    scenario.find()
    scenario.coordinator.outgoing(HELD, HeartbeatRequest(), 30_000, lambda _: None)
    request = scenario.coordinator.outgoing(PROMPT, HeartbeatRequest(), 30_000, lambda _: None)
    answer(request, HeartbeatResponse())
    scenario.client.clock.advance(60_000)
    assert second_look(scenario) is None


def test_a_second_look_that_finds_nothing_changes_nothing() -> None:
    scenario = Scenario()
    scenario.find()
    scenario.coordinator.outgoing(PROMPT, HeartbeatRequest(), 30_000, lambda _: None)
    scenario.client.clock.advance(1000)
    look = second_look(scenario)
    assert look is not None
    fail(look, ConnectionLost("gone"))
    scenario.client.clock.advance(1000)
    look = second_look(scenario)
    assert look is not None
    answer(look, refused())
    assert scenario.coordinator.ready(PROMPT)
    assert scenario.coordinator.error is None


def test_who_did_not_answer_is_not_asked_who_coordinates() -> None:
    scenario = Scenario()
    scenario.look_up()
    answer(scenario.sent, found_at(1))
    request = scenario.coordinator.outgoing(PROMPT, HeartbeatRequest(), 30_000, lambda _: None)
    fail(request, RequestTimeout("waiting", timeout_ms=30_000, elapsed_ms=30_000))
    scenario.client.clock.advance(100)
    scenario.look_up()
    assert scenario.sent.node_id == 2
    answer(scenario.sent, found_at(1))
    scenario.coordinator.check(ErrorCode.NOT_COORDINATOR, "Heartbeat")
    scenario.client.clock.advance(1000)
    scenario.look_up()
    assert scenario.sent.node_id == 1, "it answers, so it may be asked"


def test_any_broker_can_say_who_coordinates() -> None:
    scenario = Scenario()
    scenario.look_up()
    assert scenario.sent.is_for_any


def test_how_an_idle_connection_ended_is_no_reason_to_look_for_another_coordinator() -> None:
    scenario = Scenario()
    scenario.find()
    scenario.network.down = {PROMPT: ConnectionLost("closed by the broker")}
    assert not scenario.coordinator.ready(PROMPT)
    assert scenario.network.hung_up == []
    scenario.network.down = {PROMPT: ConnectionLost("the next attempt has failed, too")}
    assert not scenario.coordinator.ready(PROMPT)
    assert scenario.network.hung_up == [PROMPT, HELD]


def test_a_doubted_coordinator_stays_until_another_one_is_named() -> None:
    scenario = Scenario()
    scenario.coordinator.recheck()
    assert not scenario.coordinator.is_recheck_pending, "there is none"
    scenario.find()
    held = scenario.coordinator.outgoing(HELD, HeartbeatRequest(), 30_000, lambda _: None)
    scenario.coordinator.recheck()
    look = second_look(scenario)
    assert look is not None
    assert look.node_id in (1, 3), "somebody else"
    assert not look.is_for_any
    fail(look, ConnectionLost("gone"))
    assert second_look(scenario) is None, "not at once"
    scenario.client.clock.advance(1000)
    look = second_look(scenario)
    assert look is not None
    answer(look, found_at(2))
    assert not scenario.coordinator.is_recheck_pending
    assert scenario.network.hung_up == [], "what is held back there goes on"
    scenario.coordinator.recheck()
    look = second_look(scenario)
    assert look is not None
    answer(look, found_at(3))
    assert not scenario.coordinator.is_recheck_pending
    assert scenario.network.dedicated[HELD] == Node(HELD, "host3", 9092)
    fail(held, ConnectionLost("of the one before"))


def test_a_doubted_coordinator_is_asked_itself_where_nobody_else_can_be() -> None:
    scenario = Scenario()
    scenario.find()
    scenario.network.down = {1: None, 3: None}
    scenario.coordinator.recheck()
    look = second_look(scenario)
    assert look is not None
    assert look.node_id == 2


def refused() -> FindCoordinatorResponse:
    error = find_coordinator.Coordinator(key="g", node_id=-1, error_code=ErrorCode.COORDINATOR_NOT_AVAILABLE)
    return FindCoordinatorResponse(coordinators=[error])
