"""Sandbox on sockets: all nodes in one thread.

    with Sandbox(nodes=3).serve() as served:
        served.bootstrap                         # 127.0.0.1:40001,127.0.0.1:40002,...

For the command line, `run_until_signal` serves until a signal.
"""

import json
import secrets
import signal
import socket
from collections.abc import Callable
from pathlib import Path
from threading import Event
from types import FrameType, TracebackType
from typing import Self

from kctl.client.errors import IllegalStateError
from kctl.posix import HANG_UP
from kctl.sandbox import commands
from kctl.sandbox.control_socket import ControlSocket
from kctl.sandbox.data_file import DataRefused, load, lock_folder, save
from kctl.sandbox.listening_socket import ListeningSocket, bound_socket
from kctl.sandbox.node import NodeListener
from kctl.sandbox.sandbox import Sandbox
from kctl.sandbox.socket_loop import SocketLoop
from kctl.sandbox.socket_wire import SocketWire
from kctl.sandbox.status import status_of


class SandboxFailure(Exception):
    """Internal error of the sandbox; its cause is the first error."""


class SystemEntropy:
    __slots__ = ()

    def token_bytes(self, count: int) -> bytes:
        return secrets.token_bytes(count)


class ServedSandbox:
    """Sandbox that serves until `stop`."""

    def __init__(self, sandbox: Sandbox, host: str, port: int, advertised_host: str, data: Path | None) -> None:
        """Listen and start the thread; see `Sandbox.serve`."""
        self.sandbox = sandbox
        self._data = data
        self._wires: dict[SocketWire, None] = {}
        self._sockets: dict[int, ListeningSocket] = {}
        self._control: ControlSocket | None = None
        self._is_stopped = False
        self._lock = None if data is None else lock_folder(data)
        try:
            bound = _bind_all(list(sandbox.cluster.nodes), host, port)
        except OSError:
            self._unlock()
            raise
        self._loop = SocketLoop("kctl-sandbox")
        try:
            sandbox.run_on(self._loop, SystemEntropy(), self._loop.carry_out)
            if data is not None:
                load(sandbox.cluster, data)
        except (IllegalStateError, DataRefused):
            _close_all(bound)
            self._loop.stop()
            self._unlock()
            raise
        for node_id, sock in bound.items():
            node = sandbox.cluster.nodes[node_id]
            node.host, node.port = advertised_host, sock.getsockname()[1]
            self._listen(sandbox.listeners[node_id], sock)
        self._loop.start()

    def serve_commands(self, path: Path) -> None:
        """Receive the commands of commands.py on a Unix socket until `stop`.

        Raises:
            OSError: the path is in use, is too long, or cannot be created.
        """

        def listen() -> None:
            self._control = ControlSocket(
                self._loop, path, self._carry_out, lambda: json.dumps(status_of(self.sandbox))
            )

        self._loop.carry_out(listen)

    def _carry_out(self, words: list[str]) -> str | None:
        try:
            commands.carry_out(self.sandbox, words)
        except commands.CommandRefused as refusal:
            return str(refusal)
        return None

    def _listen(self, listener: NodeListener, sock: socket.socket) -> None:
        listening = ListeningSocket(self._loop, sock, lambda accepted: self._accepted(listener, accepted))
        self._sockets[listener.node.node_id] = listening
        listener.node.faults.on_change(lambda: listening.follow(listener.on_connect()))
        listening.follow(listener.on_connect())

    def _accepted(self, listener: NodeListener, sock: socket.socket) -> None:
        wire = SocketWire(self._loop, sock, self._closed)
        self._wires[wire] = None
        wire.begin(listener.accept(wire))

    def _closed(self, wire: SocketWire) -> None:
        self._wires.pop(wire, None)

    @property
    def bootstrap(self) -> str:
        return self.sandbox.bootstrap

    def listens_on(self, node_id: int) -> tuple[str, int]:
        """Return the host and port of a node's socket, which may differ from its advertised address."""
        listening = self._sockets[node_id]
        return listening.host, listening.port

    @property
    def open_connections(self) -> int:
        return len(self._wires)

    def stop(self) -> None:
        """Close all sockets, stop the thread, and save the data. Idempotent. No effect in a forked child.

        Raises:
            SandboxFailure: the sandbox had an internal error.
            DataRefused: the data cannot be saved.
        """
        if self._is_stopped or self._loop.is_forked:
            return
        self._is_stopped = True
        self._loop.carry_out(self._close_all)
        self._loop.stop()
        if self._data is not None:
            try:
                save(self.sandbox.cluster, self._data)
            finally:
                self._unlock()
        if self._loop.failures:
            raise SandboxFailure(f"{len(self._loop.failures)} failures") from self._loop.failures[0]

    def _unlock(self) -> None:
        if self._lock is not None:
            self._lock.release()

    def _close_all(self) -> None:
        if self._data is not None:
            self.sandbox.cluster.transactions.end_prepared()
        if self._control is not None:
            self._control.close()
        for listening in self._sockets.values():
            listening.close()
        for wire in list(self._wires):
            wire.abandon()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.stop()


def _bind_all(node_ids: list[int], host: str, port: int) -> dict[int, socket.socket]:
    bound: dict[int, socket.socket] = {}
    try:
        for step, node_id in enumerate(node_ids):
            bound[node_id] = bound_socket(host, port + step if port else 0)
    except OSError:
        _close_all(bound)
        raise
    return bound


def _close_all(bound: dict[int, socket.socket]) -> None:
    for sock in bound.values():
        sock.close()


_LOOK_S = 1.0
"""Interval of wakeups, in s, because a signal just before a wait does not interrupt the wait."""


def run_until_signal(
    sandbox: Sandbox,
    *,
    host: str = "127.0.0.1",
    port: int = 0,
    advertised_host: str | None = None,
    data: Path | None = None,
    on_ready: Callable[[ServedSandbox], None],
) -> signal.Signals:
    """Serve until SIGINT, SIGTERM, or SIGHUP unless it is ignored, and return the signal. Call this in the main thread.

    Args:
        host, port, advertised_host, data: see `Sandbox.serve`.
        on_ready: called when connections are accepted.

    Raises:
        OSError: an address is not available.
        SandboxFailure: the sandbox had an internal error.
    """
    stopped_by: list[signal.Signals] = []
    stop = Event()

    def on_signal(number: int, _: FrameType | None) -> None:
        stopped_by.append(signal.Signals(number))
        stop.set()

    numbers = [signal.SIGINT, signal.SIGTERM]
    if HANG_UP is not None and signal.getsignal(HANG_UP) is not signal.SIG_IGN:
        numbers.append(HANG_UP)
    before = {number: signal.signal(number, on_signal) for number in numbers}
    try:
        with sandbox.serve(host=host, port=port, advertised_host=advertised_host, data=data) as served:
            on_ready(served)
            while not stop.wait(_LOOK_S):
                pass
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
    return stopped_by[0]
