"""A client of messages over the simulated selector, for tests of the sandbox in virtual time."""

from collections.abc import Callable
from itertools import count
from typing import TypeVar

from kctl.client.protocol.framing import FrameReader
from kctl.client.protocol.schema import Request, Response
from kctl.client.runtime import Address, Connected, Disconnected, IoEvent, Received
from tests.sim.virtual import Hub, SimNetwork, SimSelector
from tests.support.frames import decode_response, encode_request

R = TypeVar("R", bound=Response)


class Lost(Exception):
    """The connection ended."""


class SimPeer:
    """Connections of one client, one channel each; every wait has a limit in virtual time."""

    def __init__(self, hub: Hub, network: SimNetwork, name: str = "peer") -> None:
        self.hub = hub
        self.selector = SimSelector(hub, network, name)
        self.connected: dict[int, None] = {}
        self.lost: dict[int, OSError | None] = {}
        self._ids = count(1)
        self._readers: dict[int, FrameReader] = {}
        self._frames: dict[int, list[bytes]] = {}

    def connect(self, channel: int, node_id: int, limit_ms: int = 1_000) -> bool:
        """Return whether a node was reached within the limit."""
        self.selector.connect(channel, Address(f"10.0.0.{node_id}", 9092))
        self._readers[channel] = FrameReader(1 << 26)
        self._frames[channel] = []
        self._wait(limit_ms, lambda: channel in self.connected or channel in self.lost)
        return channel in self.connected

    def send(self, channel: int, request: Request, version: int) -> int:
        """Send a request and return its correlation id."""
        correlation_id = next(self._ids)
        self.selector.send(channel, encode_request(request, version, correlation_id, "sim"))
        return correlation_id

    def call(self, channel: int, request: Request, response: type[R], version: int, limit_ms: int = 1_000) -> R | None:
        """Return the response to a request, or None after the limit.

        Raises:
            Lost: the connection ended.
        """
        correlation_id = self.send(channel, request, version)
        return self.receive(channel, response, version, correlation_id, limit_ms)

    def receive(
        self, channel: int, response: type[R], version: int, correlation_id: int, limit_ms: int = 1_000
    ) -> R | None:
        """Return the next response; see `call`."""
        self._wait(limit_ms, lambda: bool(self._frames[channel]) or channel in self.lost)
        if not self._frames[channel]:
            if channel in self.lost:
                raise Lost(str(self.lost[channel]))
            return None
        got_id, message = decode_response(response, self._frames[channel].pop(0), version)
        assert got_id == correlation_id
        return message

    def _wait(self, limit_ms: int, is_done: Callable[[], bool]) -> None:
        end_ms = self.hub.now_ms + limit_ms
        while not is_done() and self.hub.now_ms < end_ms:
            for event in self.selector.poll(end_ms):
                self._take(event)

    def _take(self, event: IoEvent) -> None:
        match event:
            case Connected(channel):
                self.connected[channel] = None
            case Received(channel, data):
                self._frames[channel] += self._readers[channel].feed(data)
            case Disconnected(channel, error):
                self.lost[channel] = error
