"""Table of faults, and the active faults of a node."""

from collections.abc import Callable
from enum import Enum
from typing import NamedTuple

from kctl.client.broker_errors import ErrorCode
from kctl.sandbox.triggers import MAX_FAILURES, Trigger


class OnConnect(Enum):
    """Effect on a connection attempt."""

    ACCEPT = "accept"
    DROP = "drop"
    REFUSE = "refuse"
    RESET = "reset"


class OnRequest(Enum):
    """Effect on bytes from a client."""

    ANSWER = "answer"
    SWALLOW = "swallow"
    RESET = "reset"
    HOLD = "hold"


class Fault(Enum):
    """Fault of a node. The value is the word in commands."""

    BLACKHOLE = "blackhole"
    """No response to connection attempts. Open connections work."""
    REFUSE = "refuse"
    """Connections are refused. Open connections work."""
    RESET = "reset"
    """New connections are accepted and immediately reset. Open connections work."""
    RESET_ON_REQUEST = "reset-on-request"
    """Connections are reset when the next bytes arrive."""
    SILENCE = "silence"
    """Bytes are read without a response. Affected connections never get a response, even after the fault ends."""
    FREEZE = "freeze"
    """The process is stopped: connections succeed, and requests wait until the fault ends."""
    DROP_RESPONSES = "drop-responses"
    """Requests are executed but responses are lost. Affected connections never get a response again."""
    DELAY = "delay"
    """Each response is delayed by `ms` milliseconds."""


class Effect(NamedTuple):
    """Effect of a fault. The defaults have no effect."""

    on_connect: OnConnect = OnConnect.ACCEPT
    on_request: OnRequest = OnRequest.ANSWER
    loses_answers: bool = False
    is_delay: bool = False


EFFECTS: dict[Fault, Effect] = {
    Fault.BLACKHOLE: Effect(on_connect=OnConnect.DROP),
    Fault.REFUSE: Effect(on_connect=OnConnect.REFUSE),
    Fault.RESET: Effect(on_connect=OnConnect.RESET),
    Fault.RESET_ON_REQUEST: Effect(on_request=OnRequest.RESET),
    Fault.SILENCE: Effect(on_request=OnRequest.SWALLOW),
    Fault.FREEZE: Effect(on_request=OnRequest.HOLD),
    Fault.DROP_RESPONSES: Effect(loses_answers=True),
    Fault.DELAY: Effect(is_delay=True),
}
"""Effect of each fault. If several faults are active, the first in the order of `Fault` applies."""


class Failure(NamedTuple):
    """Failing requests of an API, and their error."""

    trigger: Trigger
    code: ErrorCode


class NodeFaults:
    __slots__ = ("_active", "_failures", "_listeners", "active")

    def __init__(self) -> None:
        self.active: tuple[Fault, ...] = ()
        """Active faults, in the order of `Fault`."""
        self._active: dict[Fault, int] = {}
        self._failures: dict[int, list[Failure]] = {}
        """Failures by API key, oldest first."""
        self._listeners: list[Callable[[], None]] = []

    def start(self, fault: Fault, *, ms: int = 0) -> None:
        """Start a fault.

        Args:
            ms: delay of each response for DELAY, otherwise 0.
        """
        if EFFECTS[fault].is_delay != (ms > 0):
            raise ValueError(f"invalid ms={ms} for fault {fault.value}: use ms > 0 for delay only")
        self._active[fault] = ms
        self._changed()

    def stop(self, fault: Fault) -> None:
        if self._active.pop(fault, None) is not None:
            self._changed()

    def heal(self) -> None:
        self._failures.clear()
        if self._active:
            self._active.clear()
            self._changed()

    def fail_requests(self, api_key: int, code: ErrorCode, trigger: Trigger) -> None:
        """Fail requests of an API with `code`, after earlier failures are used up. Nodes that share `trigger` count
        together.
        """
        ordered = self._failures.setdefault(api_key, [])
        left = [failure.trigger.left for failure in ordered if failure.trigger.left is not None]
        if len(ordered) >= MAX_FAILURES or sum(left) + (trigger.left or 0) > MAX_FAILURES:
            raise ValueError(
                f"invalid number of failures {trigger.left} after {sum(left)}: use 1 to {MAX_FAILURES} in total"
            )
        ordered.append(Failure(trigger, code))

    def pop_error(self, api_key: int) -> ErrorCode | None:
        """Count a new request of an API, and return its injected error or None."""
        ordered = self._failures.get(api_key, [])
        for failure in list(ordered):
            if failure.trigger.left == 0:  # used up, on this or another node
                ordered.remove(failure)
            elif failure.trigger.fires():
                return failure.code
        return None

    def on_change(self, listener: Callable[[], None]) -> None:
        self._listeners.append(listener)

    def _changed(self) -> None:
        self.active = tuple(fault for fault in Fault if fault in self._active)
        for listener in list(self._listeners):
            listener()

    @property
    def on_connect(self) -> OnConnect:
        for fault in self.active:
            if EFFECTS[fault].on_connect is not OnConnect.ACCEPT:
                return EFFECTS[fault].on_connect
        return OnConnect.ACCEPT

    @property
    def on_request(self) -> OnRequest:
        for fault in self.active:
            if EFFECTS[fault].on_request is not OnRequest.ANSWER:
                return EFFECTS[fault].on_request
        return OnRequest.ANSWER

    @property
    def loses_answers(self) -> bool:
        return Fault.DROP_RESPONSES in self._active

    @property
    def is_frozen(self) -> bool:
        return Fault.FREEZE in self._active

    @property
    def is_down(self) -> bool:
        """True if other nodes cannot replicate to or from the node."""
        return self.is_frozen or self.on_connect in (OnConnect.REFUSE, OnConnect.DROP)

    @property
    def delay_ms(self) -> int:
        return self._active.get(Fault.DELAY, 0)
