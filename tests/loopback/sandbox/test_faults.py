"""Each fault on real sockets: what a client sees, and that healing ends it."""

import socket
from collections.abc import Iterator

import pytest

from kctl.client.clock import SystemClock
from kctl.client.protocol.api.api_versions import ApiVersionsRequest, ApiVersionsResponse
from kctl.sandbox import Fault, Sandbox
from kctl.sandbox.server import ServedSandbox
from tests.loopback.sandbox.peer import GLANCE_S, Peer


@pytest.fixture
def served() -> Iterator[ServedSandbox]:
    with Sandbox(nodes=2).serve() as served:
        yield served


def _works(served: ServedSandbox, node_id: int) -> bool:
    with Peer(served.listens_on(node_id)) as peer:
        peer.call(ApiVersionsRequest(), ApiVersionsResponse, 0)
    return True


def _vanishes(served: ServedSandbox) -> bool:
    try:
        socket.create_connection(served.listens_on(1), timeout=GLANCE_S).close()
    except TimeoutError:
        return True
    return False


def test_blackhole(served: ServedSandbox) -> None:
    with Peer(served.listens_on(1)) as before:
        before.call(ApiVersionsRequest(), ApiVersionsResponse, 0)
        served.sandbox.start_fault(1, Fault.BLACKHOLE)
        assert [_vanishes(served) for _ in range(3)] == [True] * 3
        before.call(ApiVersionsRequest(), ApiVersionsResponse, 0)
    assert _works(served, 2)
    served.sandbox.heal(1)
    assert _works(served, 1)


def test_refuse(served: ServedSandbox) -> None:
    served.sandbox.start_fault(1, Fault.REFUSE)
    for _ in range(2):
        with pytest.raises(ConnectionRefusedError):
            Peer(served.listens_on(1))
    with socket.socket() as thief, pytest.raises(OSError, match="in use"):
        thief.bind(served.listens_on(1))
    served.sandbox.stop_fault(1, Fault.REFUSE)
    assert _works(served, 1)


def test_reset(served: ServedSandbox) -> None:
    served.sandbox.start_fault(1, Fault.RESET)
    with pytest.raises(ConnectionResetError), Peer(served.listens_on(1)) as peer:
        peer.socket.recv(1)
    served.sandbox.heal()
    assert _works(served, 1)


def test_reset_on_request(served: ServedSandbox) -> None:
    served.sandbox.start_fault(1, Fault.RESET_ON_REQUEST)
    with Peer(served.listens_on(1)) as peer:
        assert peer.is_silent()
        with pytest.raises(ConnectionResetError):
            peer.call(ApiVersionsRequest(), ApiVersionsResponse, 0)


def test_silence(served: ServedSandbox) -> None:
    served.sandbox.start_fault(1, Fault.SILENCE)
    with Peer(served.listens_on(1)) as peer:
        peer.send(ApiVersionsRequest(), 0)
        assert peer.is_silent()
        served.sandbox.heal()
        assert peer.is_silent()
    assert _works(served, 1)


def test_freeze(served: ServedSandbox) -> None:
    served.sandbox.start_fault(1, Fault.FREEZE)
    with Peer(served.listens_on(1)) as peer:
        peer.send(ApiVersionsRequest(), 0, 1)
        peer.send(ApiVersionsRequest(), 0, 2)
        assert peer.is_silent()
        assert _works(served, 2)
        served.sandbox.heal()
        peer.receive(ApiVersionsResponse, 0, 1)
        peer.receive(ApiVersionsResponse, 0, 2)


def test_delay_is_never_early(served: ServedSandbox) -> None:
    served.sandbox.start_fault(1, Fault.DELAY, ms=120)
    clock = SystemClock()
    with Peer(served.listens_on(1)) as peer:
        start_ms = clock.start_ms()
        peer.call(ApiVersionsRequest(), ApiVersionsResponse, 0)
        assert clock.start_ms() - start_ms >= 120
        served.sandbox.heal()
        peer.call(ApiVersionsRequest(), ApiVersionsResponse, 0)


def test_every_change_from_one_connect_fault_to_another(served: ServedSandbox) -> None:
    def outcome() -> str:
        try:
            with socket.create_connection(served.listens_on(1), timeout=GLANCE_S) as sock:
                sock.settimeout(GLANCE_S)
                try:
                    sock.recv(1)
                except TimeoutError:
                    return "accepted"
                return "closed"
        except TimeoutError:
            return "blackhole"
        except ConnectionResetError:
            return "reset"
        except ConnectionRefusedError:
            return "refuse"

    names = {Fault.BLACKHOLE: "blackhole", Fault.REFUSE: "refuse", Fault.RESET: "reset"}
    for first in names:
        for second in names:
            served.sandbox.start_fault(1, first)
            assert outcome() == names[first]
            served.sandbox.heal()
            served.sandbox.start_fault(1, second)
            assert outcome() == names[second]
            served.sandbox.start_fault(1, first)
            served.sandbox.stop_fault(1, second)
            assert outcome() == (names[first] if first is not second else "accepted")
            served.sandbox.heal()
    assert outcome() == "accepted"
