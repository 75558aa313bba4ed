"""A proxy in front of real brokers that can damage a response, or answer as a balancer without a backend does.

`FaultyProxy.runtime()` gives a client whose connections all go through it, whatever the brokers advertise. Frames of
brokers are forwarded whole, so that injected bytes stand between two of them.
"""

import contextlib
import socket
import threading
from types import TracebackType
from typing import Self

from kctl.client.network.selector import Selector
from kctl.client.network.system import system_runtime
from kctl.client.runtime import Address, Runtime, SocketOptions

UNAVAILABLE = b"HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\n\r\n"
NO_FRAME = (2**31 - 1).to_bytes(4, "big") + bytes(60)
_SIZE_BYTES = 4


class FaultyProxy:
    """One listening socket for each address that a client dials."""

    def __init__(self) -> None:
        self.is_refusing = False
        """Whether new connections are answered with HTTP 503."""
        self.accepted = 0
        """Connections so far, those that were refused left out."""
        self.refused = 0
        self.damaged = 0
        self._listeners: dict[Address, socket.socket] = {}
        self._clients: dict[socket.socket, threading.Lock] = {}
        self._lock = threading.Lock()

    def runtime(self) -> Runtime:
        """Return the runtime of a client behind this proxy."""
        proxy = self

        class Through(Selector):
            def connect(self, channel: int, address: Address) -> None:
                super().connect(channel, proxy.address_for(address))

        def make(options: SocketOptions) -> Selector:
            return Through(options)

        return system_runtime()._replace(make_selector=make)

    def address_for(self, address: Address) -> Address:
        """Return where to dial instead."""
        with self._lock:
            if address not in self._listeners:
                self._listeners[address] = listener = socket.create_server(("127.0.0.1", 0))
                threading.Thread(target=self._accept, args=(listener, address), daemon=True).start()
            return Address("127.0.0.1", self._listeners[address].getsockname()[1])

    def damage(self) -> None:
        """Send bytes that are no frame on every open connection."""
        for client, lock in list(self._clients.items()):
            with lock, contextlib.suppress(OSError):
                client.sendall(NO_FRAME)
                self.damaged += 1

    def cut(self) -> None:
        """End every open connection."""
        for client in list(self._clients):
            with contextlib.suppress(OSError):
                client.shutdown(socket.SHUT_RDWR)

    def _accept(self, listener: socket.socket, address: Address) -> None:
        with contextlib.suppress(OSError):
            while True:
                client, _ = listener.accept()
                threading.Thread(target=self._serve, args=(client, address), daemon=True).start()

    def _serve(self, client: socket.socket, address: Address) -> None:
        with client, contextlib.suppress(OSError):
            if self.is_refusing:
                client.recv(4096)
                self.refused += 1
                client.sendall(UNAVAILABLE)
                return
            self.accepted += 1
            with socket.create_connection((address.ip, address.port)) as broker:
                self._clients[client] = threading.Lock()
                back = threading.Thread(target=self._frames_back, args=(broker, client), daemon=True)
                back.start()
                while data := client.recv(65536):
                    broker.sendall(data)
                broker.shutdown(socket.SHUT_RDWR)
                back.join()
        self._clients.pop(client, None)

    def _frames_back(self, broker: socket.socket, client: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while size := _read(broker, _SIZE_BYTES):
                frame = size + _read(broker, int.from_bytes(size, "big"))
                with self._clients[client]:
                    client.sendall(frame)
        with contextlib.suppress(OSError):
            client.shutdown(socket.SHUT_RDWR)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for listener in self._listeners.values():
            with contextlib.suppress(OSError):
                listener.shutdown(socket.SHUT_RDWR)
            listener.close()
        self.cut()


def _read(sock: socket.socket, count: int) -> bytes:
    """Return that many bytes; nothing at the end of the stream."""
    data = b""
    while len(data) < count:
        piece = sock.recv(count - len(data))
        if not piece:
            return b""
        data += piece
    return data
