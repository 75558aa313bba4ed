"""The faults a node can be given, all in one table: what each does to connects, to requests and to answers.

A fault is data. Those who carry it out ask `NodeFaults` what happens to a connect, to the bytes of a request, to an
answer, whether the node is frozen, and with which error a request fails (error_answers.py says how).
"""

from collections.abc import Callable
from enum import Enum
from typing import NamedTuple

from kctl.client.broker_errors import ErrorCode
from kctl.sandbox.triggers import MAX_FAILURES, Trigger


class OnConnect(Enum):
    """What becomes of a connection attempt."""

    ACCEPT = "accept"
    DROP = "drop"
    REFUSE = "refuse"
    RESET = "reset"


class OnRequest(Enum):
    """What becomes of the bytes a client sends."""

    ANSWER = "answer"
    SWALLOW = "swallow"
    RESET = "reset"
    HOLD = "hold"


class Fault(Enum):
    """What can be wrong with a node; the value is the word that users type."""

    BLACKHOLE = "blackhole"
    """New connection attempts vanish: no answer to a SYN. Open connections live on."""
    REFUSE = "refuse"
    """Nothing listens on the port. Open connections live on."""
    RESET = "reset"
    """A connection is accepted and reset at once. Open connections live on."""
    RESET_ON_REQUEST = "reset-on-request"
    """A connection is reset when its next bytes arrive."""
    SILENCE = "silence"
    """Connections are accepted, their bytes are read, and no answer ever comes; for bytes read so, not even later."""
    FREEZE = "freeze"
    """The process stands still: connects succeed, and everything is answered late, when the fault ends."""
    DROP_RESPONSES = "drop-responses"
    """Requests are carried out and their answers are lost; on such a connection none comes later either."""
    DELAY = "delay"
    """Each answer leaves `ms` milliseconds late."""


class Effect(NamedTuple):
    """What one fault changes; the defaults are those of a healthy node."""

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
"""The one place where a fault is defined. With several active, the first in the order of `Fault` decides."""


class Failure(NamedTuple):
    """Requests of an API that fail, and the error of their responses."""

    trigger: Trigger
    code: ErrorCode


class NodeFaults:
    """The faults of one node that are active now."""

    __slots__ = ("_active", "_failures", "_listeners", "active")

    def __init__(self) -> None:
        self.active: tuple[Fault, ...] = ()
        """What is on, in the order of `Fault`."""
        self._active: dict[Fault, int] = {}
        self._failures: dict[int, list[Failure]] = {}
        """By api key, in the order in which they were ordered."""
        self._listeners: list[Callable[[], None]] = []

    def start(self, fault: Fault, *, ms: int = 0) -> None:
        """Switch `fault` on; `ms` is the delay of DELAY, which needs one, and is refused elsewhere.

        Raises:
            ValueError: `ms` does not fit the fault.
        """
        if EFFECTS[fault].is_delay != (ms > 0):
            raise ValueError(f"fault {fault.value} with ms={ms}: only delay takes milliseconds, and it needs some")
        self._active[fault] = ms
        self._changed()

    def stop(self, fault: Fault) -> None:
        """Switch `fault` off; no effect when it is not on."""
        if self._active.pop(fault, None) is not None:
            self._changed()

    def heal(self) -> None:
        """Switch everything off."""
        self._failures.clear()
        if self._active:
            self._active.clear()
            self._changed()

    def fail_requests(self, api_key: int, code: ErrorCode, trigger: Trigger) -> None:
        """Let requests of an API end in `code`: after those that were ordered before, which count them first.

        Args: trigger: counts requests; nodes that share one count together.
        Raises:
            ValueError: more than `MAX_FAILURES` are ordered.
        """
        ordered = self._failures.setdefault(api_key, [])
        left = [failure.trigger.left for failure in ordered if failure.trigger.left is not None]
        if len(ordered) >= MAX_FAILURES or sum(left) + (trigger.left or 0) > MAX_FAILURES:
            raise ValueError(f"{trigger.left} failures after {sum(left)}: use 1 to {MAX_FAILURES} in total")
        ordered.append(Failure(trigger, code))

    def pop_error(self, api_key: int) -> ErrorCode | None:
        """Return the error of the request of an API that has just come, and count it."""
        ordered = self._failures.get(api_key, [])
        for failure in list(ordered):
            if failure.trigger.left == 0:  # used up, here or on another node
                ordered.remove(failure)
            elif failure.trigger.fires():
                return failure.code
        return None

    def on_change(self, listener: Callable[[], None]) -> None:
        """Have `listener` called after each change."""
        self._listeners.append(listener)

    def _changed(self) -> None:
        self.active = tuple(fault for fault in Fault if fault in self._active)
        for listener in list(self._listeners):
            listener()

    @property
    def on_connect(self) -> OnConnect:
        """What happens to a connection attempt."""
        for fault in self.active:
            if EFFECTS[fault].on_connect is not OnConnect.ACCEPT:
                return EFFECTS[fault].on_connect
        return OnConnect.ACCEPT

    @property
    def on_request(self) -> OnRequest:
        """What happens to bytes that arrive."""
        for fault in self.active:
            if EFFECTS[fault].on_request is not OnRequest.ANSWER:
                return EFFECTS[fault].on_request
        return OnRequest.ANSWER

    @property
    def loses_answers(self) -> bool:
        """Whether answers get lost."""
        return Fault.DROP_RESPONSES in self._active

    @property
    def is_frozen(self) -> bool:
        """Whether the node neither reads nor writes."""
        return Fault.FREEZE in self._active

    @property
    def is_down(self) -> bool:
        """Whether the node is as good as gone: other nodes cannot copy from it, nor it from them."""
        return self.is_frozen or self.on_connect in (OnConnect.REFUSE, OnConnect.DROP)

    @property
    def delay_ms(self) -> int:
        """How late an answer leaves."""
        return self._active.get(Fault.DELAY, 0)
