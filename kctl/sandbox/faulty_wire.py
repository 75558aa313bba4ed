"""Effect of node faults on the raw bytes of a connection, below TLS and the Kafka protocol."""

from collections.abc import Callable

from kctl.sandbox.faults import NodeFaults, OnRequest
from kctl.sandbox.runtime import Endpoint, Wire


class FaultyWire:
    """Layer between transport and broker connection: an `Endpoint` for the transport, a `Wire` for the connection."""

    def __init__(self, faults: NodeFaults, wire: Wire, make_inner: Callable[[Wire], Endpoint]) -> None:
        self._faults = faults
        self._wire = wire
        self._held_in: list[bytes] = []
        self._held_out: list[Callable[[], None]] = []
        self._is_inner_full = False
        self._is_mute = False
        self._is_over = False
        self._inner = make_inner(self)

    # --- input --------------------------------------------------------------------------------------------------------

    def receive(self, data: bytes) -> None:
        if self._is_over or self._is_mute:
            return
        effect = self._faults.on_request
        if effect is OnRequest.RESET:
            self.reset()
            self._inner.disconnected()
        elif effect is OnRequest.SWALLOW:
            self._is_mute = True
        elif effect is OnRequest.HOLD:
            self._held_in.append(data)
            self._pace()
        else:
            self._inner.receive(data)

    def writable(self) -> None:
        self._inner.writable()

    def disconnected(self) -> None:
        self._is_over = True
        self._inner.disconnected()

    # --- output -------------------------------------------------------------------------------------------------------

    @property
    def is_full(self) -> bool:
        return self._wire.is_full

    @property
    def is_gone(self) -> bool:
        return self._wire.is_gone

    def write(self, data: bytes) -> None:
        if self._faults.on_request is OnRequest.SWALLOW:
            self._is_mute = True
        if not self._is_mute:
            self._do(lambda: self._wire.write(data))

    def close(self) -> None:
        self._do(self._close)

    def _close(self) -> None:
        self._is_over = True
        self._wire.close()

    def reset(self) -> None:
        self._is_over = True
        self._wire.reset()

    def pause_reading(self, is_paused: bool) -> None:
        self._is_inner_full = is_paused
        self._pace()

    def _pace(self) -> None:
        self._wire.pause_reading(self._is_inner_full or bool(self._held_in))

    def _do(self, action: Callable[[], None]) -> None:
        if self._faults.is_frozen:
            self._held_out.append(action)
        elif not self._is_over:
            action()

    # --- faults -------------------------------------------------------------------------------------------------------

    def thaw(self) -> None:
        """Pass on all held bytes, unless the node is frozen again."""
        if self._faults.is_frozen:
            return
        held_out, self._held_out = self._held_out, []
        for action in held_out:
            self._do(action)
        held_in, self._held_in = self._held_in, []
        for data in held_in:
            self.receive(data)
        if held_in:
            self._pace()
