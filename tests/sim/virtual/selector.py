"""SimSelector: the client's channels on the simulated network; its poll waits in the hub.

It fits `kctl.client.runtime.Selectable` by shape. What arrives is handed out in order within a channel; like the
system's, it may hand bytes out in pieces (`LinkProfile.segment_bytes`).
"""

from kctl.client.runtime import Address, Connected, Disconnected, IoEvent, Received
from tests.sim.virtual.hub import Hub, Pause
from tests.sim.virtual.network import Connection, SimNetwork
from tests.sim.virtual.schedule import MS


class _Channel:
    """One channel of a selector: turns what the network says into events of the next poll."""

    __slots__ = ("_number", "_selector")

    def __init__(self, selector: "SimSelector", number: int) -> None:
        self._selector = selector
        self._number = number

    def on_connected(self, local: str) -> None:
        self._selector.happened(Connected(self._number, local))

    def on_received(self, data: bytes) -> None:
        self._selector.happened(Received(self._number, data))

    def on_disconnected(self, error: OSError | None) -> None:
        self._selector.lost(self._number)
        self._selector.happened(Disconnected(self._number, error))


class SimSelector:
    """The channels of one client and the one wait over them."""

    def __init__(self, hub: Hub, network: SimNetwork, name: str) -> None:
        self._hub = hub
        self._network = network
        self._name = hub.unique(f"{name}.io")
        self._connections: dict[int, Connection] = {}
        self._lost_bytes: dict[int, int] = {}
        """Unsent bytes of channels that the network ended."""
        self._events: list[IoEvent] = []
        self._is_woken = False
        self.was_woken = False
        self._is_shut = False
        self._pause: Pause | None = None

    def connect(self, channel: int, address: Address) -> None:
        """Start to connect; the outcome is an event of a later poll."""
        if self._is_shut:
            raise RuntimeError(f"{self._name}: connect after shutdown")
        if channel in self._connections:
            raise RuntimeError(f"{self._name}: channel {channel} is in use")
        end = _Channel(self, channel)
        self._connections[channel] = self._network.dial(f"{self._name}.{channel}", end, address)

    def send(self, channel: int, *pieces: bytes) -> None:
        """Send the pieces; ignored when the channel is gone."""
        data = b"".join(pieces)
        if not data:
            return
        connection = self._connections.get(channel)
        if connection is not None:
            connection.send(data)
        elif channel in self._lost_bytes:
            self._lost_bytes[channel] += len(data)

    def expect(self, channel: int, count: int, place: memoryview | None = None) -> None:
        """Nothing: here a poll returns with the first bytes, which is the harder case."""

    def unsent_bytes(self, channel: int) -> int:
        """Return what the simulated kernel has not taken yet: nothing, unless its buffer is full."""
        connection = self._connections.get(channel)
        return self._lost_bytes.get(channel, 0) if connection is None else connection.unsent_bytes

    def close(self, channel: int) -> None:
        """Forget the channel; events of it that no poll has returned are dropped. Idempotent."""
        self._lost_bytes.pop(channel, None)
        connection = self._connections.pop(channel, None)
        if connection is not None:
            connection.abandon()
        self._events = [event for event in self._events if event.channel != channel]

    def poll(self, until_ms: int) -> list[IoEvent]:
        """Wait in virtual time until `until_ms`; if it has passed, only events due now happen first."""
        if self._is_shut:
            raise RuntimeError(f"{self._name}: poll after shutdown")
        self._hub.count_step(self._name)
        if not self._events and not self._is_woken:
            self._hub.pause("I/O", max(self._hub.now_us, until_ms * MS), self._wait)
            self._pause = None
        self.was_woken, self._is_woken = self._is_woken, False
        events, self._events = self._events, []
        return events

    def _wait(self, pause: Pause) -> None:
        self._pause = pause

    def wakeup(self) -> None:
        """End the present or the next poll."""
        self._is_woken = True
        if self._pause is not None:
            self._pause.wake()

    def shutdown(self) -> None:
        """Close every channel and the selector. Idempotent."""
        for channel in list(self._connections):
            self.close(channel)
        self._is_shut = True

    @property
    def open_channels(self) -> int:
        """Number of channels that are connected or connecting: zero after shutdown."""
        return len(self._connections)

    def happened(self, event: IoEvent) -> None:
        """Keep an event for the next poll and end the present one."""
        self._events.append(event)
        if self._pause is not None:
            self._pause.wake()

    def lost(self, channel: int) -> None:
        """Take note that the network ended the channel."""
        connection = self._connections.pop(channel, None)
        self._lost_bytes[channel] = 0 if connection is None else connection.unsent_bytes
