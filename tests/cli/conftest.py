"""A sandbox cluster on loopback for the commands to talk to, and addresses at which things go wrong."""

import socket
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from threading import Thread

import pytest

from kctl.sandbox import Sandbox
from kctl.sandbox.server import ServedSandbox
from tests.cli import processes
from tests.cli.processes import BOUND_S


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    """Commands run inside the test's process, fixtures included, unless the test is marked or a package is tested."""
    processes.is_in_process = not processes.INSTALLED and item.get_closest_marker("process") is None
    try:
        return (yield)
    finally:
        processes.is_in_process = False


@pytest.fixture(autouse=True)
def checked_listings(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each listing that a test of this folder gets as JSON is held to docs/schemas/listing.v1.json."""
    monkeypatch.setattr(processes, "is_checked", True)


@pytest.fixture(scope="session")
def cluster() -> Iterator[ServedSandbox]:
    """A healthy cluster of three nodes; tests make topics of their own in it."""
    with Sandbox(nodes=3).serve() as served:
        yield served


@pytest.fixture
def bootstrap(cluster: ServedSandbox) -> str:
    return cluster.bootstrap


@pytest.fixture
def topic(cluster: ServedSandbox, request: pytest.FixtureRequest) -> str:
    """A topic of this test's own, with three partitions."""
    name = "".join(c if c.isalnum() else "-" for c in request.node.name)[:100]
    cluster.sandbox.create_topic(name, partitions=3)
    return name


@pytest.fixture
def refused() -> Iterator[str]:
    """An address that refuses connections, and that nobody else can take meanwhile."""
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        yield f"127.0.0.1:{bound.getsockname()[1]}"


class SilentPeer:
    """Accepts connections and says nothing."""

    def __init__(self, listening: socket.socket) -> None:
        self.address = f"127.0.0.1:{listening.getsockname()[1]}"
        self._listening = listening
        self._accepted: list[socket.socket] = []

    def wait_for_request(self) -> None:
        """Return when somebody has connected and sent something."""
        accepted, _ = self._listening.accept()
        accepted.settimeout(BOUND_S)
        self._accepted.append(accepted)
        assert accepted.recv(1)

    def close(self) -> None:
        for accepted in self._accepted:
            accepted.close()


@pytest.fixture
def silent_peer() -> Iterator[SilentPeer]:
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        listening.listen(64)
        listening.settimeout(BOUND_S)
        peer = SilentPeer(listening)
        yield peer
        peer.close()


@pytest.fixture
def silent(silent_peer: SilentPeer) -> str:
    """An address that accepts and then says nothing."""
    return silent_peer.address


@contextmanager
def _closing_server(greeting: bytes) -> Iterator[str]:
    """An address whose server greets everybody, and closes the connection once it has received something."""

    def serve() -> None:
        while True:
            try:
                accepted, _ = listening.accept()
            except OSError:  # the test is over
                return
            with accepted:
                accepted.sendall(greeting)
                accepted.recv(1000)

    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        listening.listen(64)
        server = Thread(target=serve)
        server.start()
        yield f"127.0.0.1:{listening.getsockname()[1]}"
        listening.shutdown(socket.SHUT_RDWR)
        server.join()


@pytest.fixture
def ssh() -> Iterator[str]:
    """An address at which an SSH server greets everybody."""
    with _closing_server(b"SSH-2.0-OpenSSH_9.2\r\n") as address:
        yield address


@pytest.fixture
def closing() -> Iterator[str]:
    """An address whose server closes each connection on its first request, as a listener with TLS does."""
    with _closing_server(b"") as address:
        yield address
