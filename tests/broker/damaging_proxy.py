"""A proxy before one broker that makes single answers unreadable, and a runtime whose clients connect through it.

It forwards frames and knows of them the API of a request and its correlation id, no more.
"""

import contextlib
import socket
import struct
import threading
from collections import deque
from collections.abc import Callable
from types import TracebackType
from typing import Self

from kctl.client.network.selector import Selector
from kctl.client.network.system import system_runtime
from kctl.client.runtime import Address, Runtime, SocketOptions
from tests.support.ports import HOST

_API_AND_ID = struct.Struct(">hhi")
"""The start of a request: API, version, correlation id."""
Change = Callable[[bytes], bytes]


class DamagingProxy:
    """Forwards between its own port and the broker's.

    Attributes: `damaged`: the API of each answer that was made unreadable so far.
    """

    def __init__(self, broker_port: int) -> None:
        self.broker_port = broker_port
        self.damaged: list[int] = []
        self._changes: dict[int, deque[Change]] = {}
        self._sockets: list[socket.socket] = []
        self._listener = socket.create_server((HOST, 0))
        self.port: int = self._listener.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def damage(self, api: int, change: Change) -> None:
        """Let the next answer to a request of that API arrive changed."""
        self._changes.setdefault(api, deque()).append(change)

    def is_pending(self, api: int) -> bool:
        """Return whether an answer to a request of that API is still to be changed."""
        return bool(self._changes.get(api))

    def runtime(self) -> Runtime:
        """Return a runtime that reaches the broker through the proxy only."""
        broker_port, port = self.broker_port, self.port

        class Redirected(Selector):
            def connect(self, channel: int, address: Address) -> None:
                assert address.port == broker_port
                super().connect(channel, address._replace(port=port))

        def make_selector(options: SocketOptions) -> Selector:
            return Redirected(options)

        return system_runtime()._replace(make_selector=make_selector)

    # --- forwarding -----------------------------------------------------------------------------------------------

    def _accept(self) -> None:
        with contextlib.suppress(OSError):  # closed
            while True:
                client, _ = self._listener.accept()
                broker = socket.create_connection((HOST, self.broker_port))
                self._sockets += [client, broker]
                asked: dict[int, int] = {}
                threading.Thread(target=self._requests, args=(client, broker, asked), daemon=True).start()
                threading.Thread(target=self._answers, args=(broker, client, asked), daemon=True).start()

    def _requests(self, client: socket.socket, broker: socket.socket, asked: dict[int, int]) -> None:
        with contextlib.suppress(OSError, EOFError):
            while True:
                frame = _frame(client)
                api, _, correlation_id = _API_AND_ID.unpack_from(frame, 4)
                asked[correlation_id] = api
                broker.sendall(frame)
        _end(broker)

    def _answers(self, broker: socket.socket, client: socket.socket, asked: dict[int, int]) -> None:
        with contextlib.suppress(OSError, EOFError):
            while True:
                frame = _frame(broker)
                api = asked.pop(int.from_bytes(frame[4:8], "big"))
                changes = self._changes.get(api)
                if changes:
                    frame = changes.popleft()(frame)
                    self.damaged.append(api)
                client.sendall(frame)
        _end(client)

    # --- the end --------------------------------------------------------------------------------------------------

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        _end(self._listener)
        self._listener.close()
        for each in self._sockets:
            _end(each)
            each.close()


def _frame(source: socket.socket) -> bytes:
    """Return the next frame with its length.

    Raises: EOFError: there is none.
    """
    head = _exactly(source, 4)
    return head + _exactly(source, int.from_bytes(head, "big"))


def _exactly(source: socket.socket, count: int) -> bytes:
    data = bytearray()
    while len(data) < count:
        piece = source.recv(count - len(data))
        if not piece:
            raise EOFError
        data += piece
    return bytes(data)


def _end(each: socket.socket) -> None:
    with contextlib.suppress(OSError):
        each.shutdown(socket.SHUT_RDWR)
