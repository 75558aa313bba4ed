"""Waits of a call for an earlier call, which its timeout includes."""

import asyncio
import math
from collections.abc import Awaitable, Callable
from functools import partial
from inspect import signature
from typing import TypeVar

from kctl.client.clock import FOREVER_MS, Clock, Timer, to_timeout_ms
from kctl.client.errors import ApiTimeout

R = TypeVar("R")


async def ends_in_time(step: Callable[[], Awaitable[object]], timer: Timer) -> bool:
    """Await a step until the timer expires, and update the timer. Return whether the step has ended."""
    try:
        async with asyncio.timeout(None if timer.timeout_ms >= FOREVER_MS else timer.timeout_ms / 1000):
            await step()
    except TimeoutError:
        return False
    finally:
        timer.update()
    return True


def left_s(timer: Timer) -> float:
    """Return the rest of a timeout in s."""
    return math.inf if timer.timeout_ms >= FOREVER_MS else timer.remaining_ms / 1000


async def after(
    step: Callable[[], Awaitable[object]], call: "partial[R]", clock: Clock, default_ms: int, waiting_for: str
) -> "partial[R]":
    """Await a step, and return the call with the rest of its timeout.

    Args: default_ms: timeout of a call without the argument `timeout`.
    Raises: ApiTimeout: the step has not ended within the timeout of the call.
    """
    parameters = signature(call.func)
    given = parameters.bind(*call.args, **call.keywords)
    timer = Timer(clock, to_timeout_ms(given.arguments.get("timeout"), default_ms))
    if not await ends_in_time(step, timer):
        raise ApiTimeout(waiting_for, timeout_ms=timer.timeout_ms, elapsed_ms=timer.elapsed_ms)
    if timer.elapsed_ms and "timeout" in parameters.parameters:
        given.arguments["timeout"] = left_s(timer)
    return partial(call.func, *given.args, **given.kwargs)
