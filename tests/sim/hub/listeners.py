"""Listeners for tests of the simulated network."""

from collections.abc import Callable

from kctl.sandbox.faults import NodeFaults, OnConnect
from kctl.sandbox.runtime import Wire


class EchoEnd:
    """Endpoint that returns all bytes."""

    def __init__(self, wire: Wire, on_gone: Callable[[], None]) -> None:
        self._wire = wire
        self._on_gone = on_gone

    def receive(self, data: bytes) -> None:
        self._wire.write(data)

    def writable(self) -> None:
        """Nothing waits."""

    def disconnected(self) -> None:
        self._on_gone()


class EchoListener:
    """Accepts as its faults say and counts connections that ended."""

    def __init__(self) -> None:
        self.faults = NodeFaults()
        self.wires: list[Wire] = []
        self.gone = 0

    def on_connect(self) -> OnConnect:
        return self.faults.on_connect

    def accept(self, wire: Wire) -> EchoEnd:
        self.wires.append(wire)
        return EchoEnd(wire, self._gone)

    def _gone(self) -> None:
        self.gone += 1
