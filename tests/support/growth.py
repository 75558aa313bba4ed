"""Cost of a call, counted: executed lines of kctl, requests and bytes; and the exponents by which costs grow."""

import gc
import sys
from collections.abc import Callable, Sequence
from math import inf, log2
from pathlib import Path
from types import FrameType
from typing import Any, NamedTuple, Protocol

from greenlet import getcurrent

import kctl

_KCTL = str(Path(kctl.__file__).parent)
_CODECS = str(Path(kctl.__file__).parent / "client" / "protocol")
"""Not counted: some messages are compiled when they come for the first time. Bytes stand for what codecs cost."""
LEAST_GROWTH = 0.1
"""Part of the smallest cost; a cost that grows by less between the smallest and the largest size does not grow."""
SLACK = 0.1
TURNS_LINES = 1000
"""Lines of some turns of a network loop: their number varies with the order in which connections are ready."""


class Cost(NamedTuple):
    """What one call has cost.

    Attributes:
        lines: lines that clients and commands have executed, not the sandbox. A loop in C is one line.
        requests: responses of brokers.
        bytes: in both directions.
    """

    lines: int
    requests: int
    bytes: int


class Exponents(NamedTuple):
    """By which power of the size each cost grows."""

    lines: float
    requests: float
    bytes: float


class CountedNetwork(Protocol):
    """A simulated network: the number of responses and of bytes that it has carried."""

    responses: int
    carried_bytes: int


def cost_of(network: CountedNetwork, call: Callable[[], object]) -> Cost:
    """Return what a call costs that uses a simulated network; loops of clients that it starts are part of it."""
    requests, carried_bytes = network.responses, network.carried_bytes
    lines = lines_of(call)
    return Cost(lines, network.responses - requests, network.carried_bytes - carried_bytes)


def lines_of(call: Callable[[], object]) -> int:
    """Return the number of lines that a call executes."""
    lines, caller = 0, getcurrent()

    def on_line(_frame: FrameType, event: str, _argument: object) -> Callable[..., Any]:
        nonlocal lines
        lines += event == "line"
        return on_line

    def on_call(frame: FrameType, _event: str, _argument: object) -> Callable[..., Any] | None:
        name = frame.f_code.co_filename
        if not name.startswith(_KCTL) or name.startswith(_CODECS):
            return None
        current = getcurrent()
        is_of_sandbox = current.parent is None and current is not caller  # it runs in the greenlet of the hub
        return None if is_of_sandbox else on_line

    before = sys.gettrace()
    gc.disable()  # finalizers of earlier calls do not run inside of this one
    sys.settrace(on_call)
    try:
        call()
    finally:
        sys.settrace(before)
        gc.enable()
    return lines


def exponents_of(costs: Sequence[Cost]) -> Exponents:
    """Return the exponents of the costs at sizes n, 2n and 4n."""
    lines, requests, carried_bytes = zip(*costs, strict=True)
    return Exponents(exponent(lines, TURNS_LINES), exponent(requests), exponent(carried_bytes))


def exponent(costs: tuple[int, ...], noise: int = 0) -> float:
    """Return the exponent of a cost at sizes n, 2n and 4n; what does not depend on the size does not count.

    Args: noise: a difference that has no meaning.
    """
    first, second, third = costs
    if third - first <= max(LEAST_GROWTH * first, 2 * noise):
        return 0
    if third <= second:
        return 0
    if second - first + noise <= 0:
        return inf
    return max(0, log2((third - second) / (second - first + noise)))


def wrong_exponents(found: Exponents, expected: Exponents) -> dict[str, float]:
    """Return the exponents that are above the expected ones; and that of requests if the table expects more."""
    above = {
        name: round(value, 2)
        for name, value, most in zip(Exponents._fields, found, expected, strict=True)
        if value > most + SLACK
    }
    return above if found.requests > expected.requests - 1 else {**above, "requests": found.requests}
