"""Listeners at the address of a broker that are not brokers, such as a load balancer."""

from kctl.sandbox.faults import OnConnect
from kctl.sandbox.runtime import Wire

UNAVAILABLE = b"HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\n\r\n"
TLS_ALERT = bytes.fromhex("15030300020228")


class StrangerEnd:
    """Answers the first bytes and hangs up."""

    def __init__(self, wire: Wire, answer: bytes) -> None:
        self._wire = wire
        self._answer = answer

    def receive(self, data: bytes) -> None:
        del data
        self._wire.write(self._answer)
        self._wire.close()

    def writable(self) -> None:
        """Nothing waits."""

    def disconnected(self) -> None:
        pass


class Stranger:
    """Listener that accepts every connection and always sends the same bytes."""

    def __init__(self, answer: bytes = UNAVAILABLE) -> None:
        self._answer = answer
        self.accepted = 0

    def on_connect(self) -> OnConnect:
        return OnConnect.ACCEPT

    def accept(self, wire: Wire) -> StrangerEnd:
        self.accepted += 1
        return StrangerEnd(wire, self._answer)
