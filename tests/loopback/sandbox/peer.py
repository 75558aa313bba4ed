"""A raw socket that speaks the protocol's framing, with a deadline on every wait."""

import socket
import struct
from typing import Self, TypeVar

from kctl.client.protocol.schema import Request, Response
from tests.support.bounds import bound
from tests.support.frames import decode_response, encode_request

R = TypeVar("R", bound=Response)
PATIENCE_S = bound(60.0)
"""A test that waits this long has failed."""
GLANCE_S = 0.25
"""How long is looked for what must not come."""


class Peer:
    """One connection to one node."""

    def __init__(self, address: tuple[str, int]) -> None:
        self.socket = socket.create_connection(address, timeout=PATIENCE_S)

    def send(self, request: Request, version: int, correlation_id: int = 1) -> None:
        """Send a request."""
        self.socket.sendall(encode_request(request, version, correlation_id, "peer"))

    def receive(self, response: type[R], version: int, correlation_id: int = 1) -> R:
        """Return the next answer, which has to be the one of `correlation_id`."""
        (size,) = struct.unpack(">i", self.exactly(4))
        got_id, message = decode_response(response, self.exactly(size), version)
        assert got_id == correlation_id
        return message

    def call(self, request: Request, response: type[R], version: int) -> R:
        """Send a request and return its answer."""
        self.send(request, version)
        return self.receive(response, version)

    def exactly(self, size: int) -> bytes:
        data = b""
        while len(data) < size:
            piece = self.socket.recv(size - len(data))
            if not piece:
                raise ConnectionError(f"closed after {len(data)} of {size} bytes")
            data += piece
        return data

    def is_silent(self) -> bool:
        """Return whether nothing comes for a glance; an end of the connection is not silence."""
        self.socket.settimeout(GLANCE_S)
        try:
            return not self.socket.recv(1) and False
        except TimeoutError:
            return True
        finally:
            self.socket.settimeout(PATIENCE_S)

    def is_closed(self) -> bool:
        """Return whether the node closes the connection."""
        try:
            return self.socket.recv(1) == b""
        except ConnectionResetError:
            return True

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.socket.close()
