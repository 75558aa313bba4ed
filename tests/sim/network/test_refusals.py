"""Refusals in virtual time: retried with a back-off, fatal only to a client that was never accepted; damaged frames."""

import pytest

from kctl.client.errors import ConnectionLost, RemoteProtocolError, WrongPeerError
from kctl.client.events import Failed, Lost, Started
from kctl.client.network.in_flight import Answer
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
        cluster = NetworkClientCluster(hub)
        hub.call_later_ms(well_after_ms, "well", cluster.network.replace_listener("10.0.0.1", Stranger(said)))
        assert cluster.connect(until_ms=90_000)
        assert hub.now_ms <= well_after_ms + min(10_100, max(1300, well_after_ms))
        assert len(cluster.seen(Failed)) <= 10


def test_client_that_was_never_accepted_fails_fast_and_a_new_call_gets_an_attempt_within_its_back_off() -> None:
    with Hub() as hub:
        cluster = NetworkClientCluster(hub)
        stranger = Stranger()
        restore = cluster.network.replace_listener("10.0.0.1", stranger)
        for _ in range(5):
            cluster.client.status.clear_refusals()
            assert cluster.client.status.fatal_error() is None
            before_ms = hub.now_ms
            assert cluster.poll_until(
                lambda: cluster.client.ready(-1) or bool(cluster.client.status.fatal_error()), until_ms=60_000
            )
            assert isinstance(cluster.client.status.fatal_error(), WrongPeerError)
            assert hub.now_ms - before_ms <= 1300
        assert stranger.accepted == 5
        restore()
        assert cluster.connect()


def test_refusal_of_one_node_is_not_fatal_while_the_others_are_disconnected() -> None:
    with Hub() as hub:
        cluster = NetworkClientCluster(hub, 2)
        for node_id in (-1, -2):
            assert cluster.connect(node_id)
            answers = cluster.ask(node_id)
            assert cluster.poll_until(lambda answers=answers: bool(answers), until_ms=hub.now_ms + 100)  # type: ignore[misc]  # a bound default
        cluster.network.replace_listener("10.0.0.2", Stranger())
        for connection in cluster.network.connections_of():
            connection.cut()

        def is_refused() -> bool:
            return not cluster.client.ready(-2) and isinstance(cluster.client.status.node_error(-2), WrongPeerError)

        assert cluster.poll_until(is_refused, until_ms=5000)
        assert not cluster.client.is_ready(-1)
        assert cluster.client.status.fatal_error() is None
        assert cluster.connect(-1, until_ms=hub.now_ms + 200)


@pytest.mark.parametrize("damage", [TWO_GIB, UNASKED], ids=["2 GiB", "unasked"])
def test_damaged_frame_on_a_ready_connection_is_a_disconnect(damage: bytes) -> None:
    with Hub() as hub:
        cluster = NetworkClientCluster(hub)
        cluster.connect()
        answers = cluster.ask()
        assert cluster.poll_until(lambda: bool(answers), until_ms=hub.now_ms + 100)
        cluster.nodes[0].answer = lambda _: None
        lost = cluster.ask()
        cluster.network.connections_of()[0].inject(damage)
        assert cluster.poll_until(lambda: bool(lost), until_ms=hub.now_ms + 100)
        error = lost[0].error
        assert isinstance(error, ConnectionLost)
        assert error.retriable
        assert isinstance(error.__cause__, RemoteProtocolError)
        assert len(cluster.seen(Lost)) == 1
        assert cluster.client.status.fatal_error() is None
        cluster.nodes[0].answer = answer_well
        lost_at_ms = hub.now_ms
        assert cluster.connect(until_ms=hub.now_ms + 1000)
        assert hub.now_ms - lost_at_ms <= 100
        assert is_metadata(cluster.fetch_metadata())
        assert len(cluster.seen(Started)) == 4  # a node and an address each


def test_damaged_first_answer_to_a_client_that_was_never_accepted_is_a_refusal() -> None:
    """A server with another dialect of Kafka is reported immediately."""
    with Hub() as hub:
        cluster = NetworkClientCluster(hub)
        answers = ask_and_damage(cluster)
        fatal = cluster.client.status.fatal_error()
        assert isinstance(fatal, RemoteProtocolError)
        error = answers[0].error
        assert error is not None
        assert error.retriable
        assert error.__cause__ is fatal


def test_damaged_first_answer_of_one_node_is_asked_again_of_another() -> None:
    """Else a call that was made before fails with it, even after another node has accepted the client."""
    with Hub() as hub:
        cluster = NetworkClientCluster(hub, 2)
        answers = ask_and_damage(cluster)
        assert isinstance(cluster.client.status.node_error(-1), RemoteProtocolError)
        assert cluster.client.status.fatal_error() is None
        assert answers[0].error is not None
        assert answers[0].error.retriable
        assert cluster.connect(-2)
        assert cluster.client.status.fatal_error() is None


def ask_and_damage(cluster: NetworkClientCluster) -> list[Answer]:
    """Return the results of the first request to node -1, which returns bytes that are not Kafka."""
    cluster.connect()
    cluster.nodes[0].answer = lambda _: None
    answers = cluster.ask()
    cluster.network.connections_of()[0].inject(UNASKED)
    assert cluster.poll_until(lambda: bool(answers), until_ms=cluster.hub.now_ms + 100)
    return answers
