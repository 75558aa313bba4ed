"""Faults of the link between a client and a node, as one table for the connections of `SimNetwork`.

As with TCP, bytes of a live connection are never lost, only delayed, split, or ended by a reset. An omitted client or
node means all.
"""

from collections.abc import Callable
from enum import Enum
from typing import NamedTuple


class LinkFault(Enum):
    """A lasting fault of links; `value` of `LinkFaults.start` is its size."""

    CLOG_REQUESTS = "clog-requests"
    """Nothing of the client arrives until it ends; then everything does, in order."""
    CLOG_RESPONSES = "clog-responses"
    """Nothing of the node arrives until it ends."""
    BLACKHOLE = "blackhole"
    """Connection attempts get no response; kernels retry, so one may succeed after the fault."""
    REFUSE = "refuse"
    """Connection attempts are refused."""
    SLOW = "slow"
    """Everything takes `value` ms longer."""
    RATE = "rate"
    """No more than `value` bytes a millisecond, each way."""
    SEGMENTS = "segments"
    """Bytes arrive in pieces of at most `value`."""
    WINDOW = "window"
    """The client's kernel takes no more than `value` bytes that have not arrived: the rest stays unsent."""


class _Active(NamedTuple):
    fault: LinkFault
    client: str
    ip: str
    value: int


class LinkFaults:
    """The faults of all links that are active now."""

    def __init__(self) -> None:
        self._active: dict[int, _Active] = {}
        self._started = 0
        self._listeners: dict[int, Callable[[], None]] = {}

    def start(self, fault: LinkFault, *, client: str = "", ip: str = "", value: int = 0) -> int:
        """Switch a fault on and return its number; the same fault may be on more than once."""
        self._started += 1
        self._active[self._started] = _Active(fault, client, ip, value)
        return self._started

    def stop(self, number: int) -> None:
        """Switch that fault off; no effect when it is not on."""
        if self._active.pop(number, None) is not None:
            self._changed()

    def heal(self) -> None:
        """Switch everything off."""
        if self._active:
            self._active.clear()
            self._changed()

    def value(self, fault: LinkFault, client: str, ip: str) -> int | None:
        """Return the value of the fault on that link, None when it is not on; the smallest one where several are."""
        if not self._active:
            return None
        values = [
            one.value
            for one in self._active.values()
            if one.fault is fault and one.client in ("", client) and one.ip in ("", ip)
        ]
        return min(values, default=None)

    def is_on(self, fault: LinkFault, client: str, ip: str) -> bool:
        """Return whether the fault is on, on that link."""
        return self.value(fault, client, ip) is not None

    def once_changed(self, key: int, listener: Callable[[], None]) -> None:
        """Have `listener` called once, after a fault has ended; a second one of the same key is the same."""
        self._listeners[key] = listener

    def _changed(self) -> None:
        listeners, self._listeners = self._listeners, {}
        for listener in listeners.values():
            listener()
