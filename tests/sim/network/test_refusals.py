"""Refusals in virtual time: retried with a back-off, fatal only to a client that was never accepted; damaged frames."""

import pytest

from kctl.client.errors import ConnectionLost, RemoteProtocolError, WrongPeerError
from kctl.client.events import Failed, Lost, Started
from tests.sim.hub.strangers import TLS_ALERT, UNAVAILABLE, Stranger
from tests.sim.kit.network import NetworkClientCluster, is_metadata
from tests.sim.kit.scripted_node import answer_well
from tests.sim.virtual import Hub

TWO_GIB = (2**31 - 1).to_bytes(4, "big") + bytes(60)
UNASKED = (64).to_bytes(4, "big") + bytes([0x55] * 64)


@pytest.mark.parametrize("said", [UNAVAILABLE, TLS_ALERT], ids=["http 503", "tls alert"])
@pytest.mark.parametrize("well_after_ms", [100, 2500, 60_000])
def test_refused_node_is_connected_again_once_it_is_well(said: bytes, well_after_ms: int) -> None:
    with Hub() as hub:
        bench = NetworkClientCluster(hub)
        hub.call_later_ms(well_after_ms, "well", bench.network.replace_listener("10.0.0.1", Stranger(said)))
        assert bench.connect(until_ms=90_000)
        assert hub.now_ms <= well_after_ms + min(10_100, max(1300, well_after_ms))
        assert len(bench.seen(Failed)) <= 10


def test_client_that_was_never_accepted_fails_fast_and_a_new_call_gets_an_attempt_within_its_back_off() -> None:
    with Hub() as hub:
        bench = NetworkClientCluster(hub)
        stranger = Stranger()
        restore = bench.network.replace_listener("10.0.0.1", stranger)
        for _ in range(5):
            bench.client.clear_refusals()
            assert bench.client.fatal_error() is None
            before_ms = hub.now_ms
            assert bench.poll_until(lambda: bench.client.ready(-1) or bool(bench.client.fatal_error()), until_ms=60_000)
            assert isinstance(bench.client.fatal_error(), WrongPeerError)
            assert hub.now_ms - before_ms <= 1300
        assert stranger.accepted == 5
        restore()
        assert bench.connect()


def test_refusal_of_one_node_is_not_fatal_while_the_others_are_disconnected() -> None:
    with Hub() as hub:
        bench = NetworkClientCluster(hub, 2)
        for node_id in (-1, -2):
            assert bench.connect(node_id)
            answers = bench.ask(node_id)
            assert bench.poll_until(lambda answers=answers: bool(answers), until_ms=hub.now_ms + 100)  # type: ignore[misc]  # a bound default
        bench.network.replace_listener("10.0.0.2", Stranger())
        for connection in bench.network.connections_of():
            connection.cut()

        def is_refused() -> bool:
            return not bench.client.ready(-2) and isinstance(bench.client.node_error(-2), WrongPeerError)

        assert bench.poll_until(is_refused, until_ms=5000)
        assert not bench.client.is_ready(-1)
        assert bench.client.fatal_error() is None
        assert bench.connect(-1, until_ms=hub.now_ms + 200)


@pytest.mark.parametrize("damage", [TWO_GIB, UNASKED], ids=["2 GiB", "unasked"])
def test_damaged_frame_on_a_ready_connection_is_a_disconnect(damage: bytes) -> None:
    with Hub() as hub:
        bench = NetworkClientCluster(hub)
        bench.connect()
        answers = bench.ask()
        assert bench.poll_until(lambda: bool(answers), until_ms=hub.now_ms + 100)
        bench.nodes[0].answer = lambda _: None
        lost = bench.ask()
        bench.network.connections_of()[0].inject(damage)
        assert bench.poll_until(lambda: bool(lost), until_ms=hub.now_ms + 100)
        error = lost[0].error
        assert isinstance(error, ConnectionLost)
        assert error.retriable
        assert isinstance(error.__cause__, RemoteProtocolError)
        assert len(bench.seen(Lost)) == 1
        assert bench.client.fatal_error() is None
        bench.nodes[0].answer = answer_well
        lost_at_ms = hub.now_ms
        assert bench.connect(until_ms=hub.now_ms + 1000)
        assert hub.now_ms - lost_at_ms <= 100
        assert is_metadata(bench.fetch_metadata())
        assert len(bench.seen(Started)) == 4  # a node and an address each


def test_damaged_first_answer_to_a_client_that_was_never_accepted_is_a_refusal() -> None:
    """A server that speaks another dialect of Kafka is named at once."""
    with Hub() as hub:
        bench = NetworkClientCluster(hub)
        bench.connect()
        bench.nodes[0].answer = lambda _: None
        answers = bench.ask()
        bench.network.connections_of()[0].inject(UNASKED)
        assert bench.poll_until(lambda: bool(answers), until_ms=hub.now_ms + 100)
        assert isinstance(answers[0].error, RemoteProtocolError)
        assert bench.client.fatal_error() is answers[0].error
