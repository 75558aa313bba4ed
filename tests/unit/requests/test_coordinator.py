"""Coordinator against a fake network: found, lost, looked for again with back-off, refused."""

from kctl.client.broker_errors import ErrorCode
from kctl.client.cluster import Node
from kctl.client.cluster_client import ClusterClient
from kctl.client.errors import ConnectionLost, KafkaError, RequestTimeout
from kctl.client.network.in_flight import Outgoing
from kctl.client.protocol.api import find_coordinator
from kctl.client.protocol.api.find_coordinator import FindCoordinatorRequest, FindCoordinatorResponse
from kctl.client.protocol.api.heartbeat import HeartbeatRequest, HeartbeatResponse
from kctl.client.protocol.schema import Request
from kctl.client.protocol.versions import NodeVersions
from kctl.client.requests.coordinator import HELD, PROMPT, Coordinator
from kctl.client.requests.request import Poll
from kctl.client.requests.retry import FIND_COORDINATOR
from tests.unit.consumer.fakes import FakeClient, FakeNetwork, answer, chance, config, fail


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


class Desk:
    def __init__(self) -> None:
        self.client = FakeClient()
        self.network = self.client.network = Network()
        client: ClusterClient = self.client.as_client()
        self.coordinator = Coordinator(
            config(), client, chance(), "g", FIND_COORDINATOR, connections=(PROMPT, HELD), patience_ms=22_500
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
    assert Desk().coordinator.poll(0).requests == []


def test_coordinator_has_two_connections_of_its_own() -> None:
    desk = Desk()
    desk.find()
    assert {id_: (node.host, node.port) for id_, node in desk.network.dedicated.items()} == {
        PROMPT: ("host2", 9092),
        HELD: ("host2", 9092),
    }
    assert desk.coordinator.ready(PROMPT)
    assert desk.coordinator.ready(HELD)


def test_an_old_broker_is_asked_in_its_own_words() -> None:
    desk = Desk()
    assert desk.look_up().coordinator_keys == ["g"]
    old = Desk()
    old.network.newest = 3
    assert (old.look_up().key, old.sent.request.coordinator_keys) == ("g", [])  # type: ignore[attr-defined]  # checked


def test_a_wrong_coordinator_is_looked_for_again_after_the_back_off() -> None:
    desk = Desk()
    desk.find()
    error = desk.coordinator.check(ErrorCode.NOT_COORDINATOR, "Heartbeat")
    assert "NOT_COORDINATOR" in str(error)
    assert desk.network.hung_up == [PROMPT, HELD], "what is held back on them is over"
    assert not desk.coordinator.ready(PROMPT)
    assert desk.coordinator.poll(0).next_deadline_at_ms == 100
    desk.client.clock.advance(100)
    desk.find()
    assert desk.coordinator.ready(PROMPT)


def test_a_failed_connection_is_noticed_once() -> None:
    desk = Desk()
    desk.find()
    failures: dict[int, KafkaError] = {PROMPT: ConnectionLost("one"), HELD: ConnectionLost("two")}
    desk.network.down = dict(failures)
    for connection in (PROMPT, HELD):
        assert not desk.coordinator.ready(connection)
        desk.client.clock.advance(1000)
        desk.find()
    desk.network.hung_up.clear()
    assert not desk.coordinator.ready(PROMPT)
    assert not desk.coordinator.ready(HELD)
    assert desk.network.hung_up == [], "the connections are given the time to be made again"


def test_a_request_with_little_time_says_nothing_about_the_coordinator() -> None:
    desk = Desk()
    desk.find()
    for limit_ms, is_lost in ((50, False), (30_000, True)):
        request = desk.coordinator.outgoing(PROMPT, HeartbeatRequest(), limit_ms, lambda _: None)
        fail(request, RequestTimeout("waiting", timeout_ms=limit_ms, elapsed_ms=limit_ms))
        assert desk.coordinator.ready(PROMPT) is not is_lost


def test_a_refusal_is_there_for_one_turn() -> None:
    desk = Desk()
    desk.find(ErrorCode.GROUP_AUTHORIZATION_FAILED)
    assert "GROUP_AUTHORIZATION_FAILED" in str(desk.coordinator.refusal)
    desk.coordinator.poll(0)
    assert desk.coordinator.refusal is None
    passing = Desk()
    passing.find(ErrorCode.COORDINATOR_NOT_AVAILABLE)
    assert passing.coordinator.refusal is None
    assert "COORDINATOR_NOT_AVAILABLE" in str(passing.coordinator.error)


def second_look(desk: Desk) -> Outgoing | None:
    """Return the question that is asked while the coordinator is known."""
    return next(iter(desk.coordinator.poll(desk.client.clock.now_ms()).requests), None)


def found_at(node_id: int) -> FindCoordinatorResponse:
    found = find_coordinator.Coordinator(key="g", node_id=node_id, host=f"host{node_id}", port=9092)
    return FindCoordinatorResponse(coordinators=[found])


def test_while_a_request_is_not_answered_another_node_is_asked_who_coordinates() -> None:
    desk = Desk()
    desk.find()
    request = desk.coordinator.outgoing(PROMPT, HeartbeatRequest(), 30_000, lambda _: None)
    assert desk.coordinator.poll(0) == Poll([], 1000)
    desk.client.clock.advance(1000)
    look = second_look(desk)
    assert look is not None
    assert look.node_id in (1, 3), "not the one that is silent"
    answer(look, found_at(2))
    assert desk.coordinator.ready(PROMPT), "it is still the one"
    assert desk.network.hung_up == []
    desk.client.clock.advance(999)
    assert second_look(desk) is None
    desk.client.clock.advance(1)
    look = second_look(desk)
    assert look is not None
    answer(look, found_at(3))
    assert desk.network.hung_up == [PROMPT, HELD]
    assert desk.network.dedicated[PROMPT] == Node(PROMPT, "host3", 9092)
    assert desk.coordinator.ready(PROMPT)
    assert "node 3 coordinates now" in str(desk.coordinator.error)
    fail(request, ConnectionLost("of the one before"))
    assert desk.coordinator.ready(PROMPT)
    desk.client.clock.advance(60_000)
    assert second_look(desk) is None, "nothing is waited for"


def test_a_connection_that_is_not_ready_is_silence_too() -> None:
    desk = Desk()
    desk.find()
    desk.network.down = {PROMPT: None, 1: None}
    assert not desk.coordinator.ready(PROMPT)
    desk.client.clock.advance(1000)
    look = second_look(desk)
    assert look is not None
    assert look.node_id == 3
    desk.network.down = {}
    answer(look, found_at(2))
    assert desk.coordinator.ready(PROMPT)
    desk.client.clock.advance(60_000)
    assert second_look(desk) is None


def test_an_answer_ends_the_silence_and_a_held_request_is_none() -> None:
    desk = Desk()
    desk.find()
    desk.coordinator.outgoing(HELD, HeartbeatRequest(), 30_000, lambda _: None)
    request = desk.coordinator.outgoing(PROMPT, HeartbeatRequest(), 30_000, lambda _: None)
    answer(request, HeartbeatResponse())
    desk.client.clock.advance(60_000)
    assert second_look(desk) is None


def test_a_second_look_that_finds_nothing_changes_nothing() -> None:
    desk = Desk()
    desk.find()
    desk.coordinator.outgoing(PROMPT, HeartbeatRequest(), 30_000, lambda _: None)
    desk.client.clock.advance(1000)
    look = second_look(desk)
    assert look is not None
    fail(look, ConnectionLost("gone"))
    desk.client.clock.advance(1000)
    look = second_look(desk)
    assert look is not None
    answer(look, refused())
    assert desk.coordinator.ready(PROMPT)
    assert desk.coordinator.error is None


def test_who_did_not_answer_is_not_asked_who_coordinates() -> None:
    desk = Desk()
    desk.look_up()
    answer(desk.sent, found_at(1))
    request = desk.coordinator.outgoing(PROMPT, HeartbeatRequest(), 30_000, lambda _: None)
    fail(request, RequestTimeout("waiting", timeout_ms=30_000, elapsed_ms=30_000))
    desk.client.clock.advance(100)
    desk.look_up()
    assert desk.sent.node_id == 2
    answer(desk.sent, found_at(1))
    desk.coordinator.check(ErrorCode.NOT_COORDINATOR, "Heartbeat")
    desk.client.clock.advance(1000)
    desk.look_up()
    assert desk.sent.node_id == 1, "it answers, so it may be asked"


def test_any_broker_can_say_who_coordinates() -> None:
    desk = Desk()
    desk.look_up()
    assert desk.sent.is_for_any


def test_how_an_idle_connection_ended_is_no_reason_to_look_for_another_coordinator() -> None:
    desk = Desk()
    desk.find()
    desk.network.down = {PROMPT: ConnectionLost("closed by the broker")}
    assert not desk.coordinator.ready(PROMPT)
    assert desk.network.hung_up == []
    desk.network.down = {PROMPT: ConnectionLost("the next attempt has failed, too")}
    assert not desk.coordinator.ready(PROMPT)
    assert desk.network.hung_up == [PROMPT, HELD]


def test_a_doubted_coordinator_stays_until_another_one_is_named() -> None:
    desk = Desk()
    desk.coordinator.recheck()
    assert not desk.coordinator.is_recheck_pending, "there is none"
    desk.find()
    held = desk.coordinator.outgoing(HELD, HeartbeatRequest(), 30_000, lambda _: None)
    desk.coordinator.recheck()
    look = second_look(desk)
    assert look is not None
    assert look.node_id in (1, 3), "somebody else"
    assert not look.is_for_any
    fail(look, ConnectionLost("gone"))
    assert second_look(desk) is None, "not at once"
    desk.client.clock.advance(1000)
    look = second_look(desk)
    assert look is not None
    answer(look, found_at(2))
    assert not desk.coordinator.is_recheck_pending
    assert desk.network.hung_up == [], "what is held back there goes on"
    desk.coordinator.recheck()
    look = second_look(desk)
    assert look is not None
    answer(look, found_at(3))
    assert not desk.coordinator.is_recheck_pending
    assert desk.network.dedicated[HELD] == Node(HELD, "host3", 9092)
    fail(held, ConnectionLost("of the one before"))


def test_a_doubted_coordinator_is_asked_itself_where_nobody_else_can_be() -> None:
    desk = Desk()
    desk.find()
    desk.network.down = {1: None, 3: None}
    desk.coordinator.recheck()
    look = second_look(desk)
    assert look is not None
    assert look.node_id == 2


def refused() -> FindCoordinatorResponse:
    error = find_coordinator.Coordinator(key="g", node_id=-1, error_code=ErrorCode.COORDINATOR_NOT_AVAILABLE)
    return FindCoordinatorResponse(coordinators=[error])
