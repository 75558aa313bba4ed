"""Bridge: synchronous code in a greenlet whose waits are awaited by a coroutine.

To wait, the greenlet passes an awaitable to the coroutine, which resumes it with the result. Exceptions of the await,
such as asyncio.CancelledError, are raised in the waiting code, like a KeyboardInterrupt in a thread.
"""

from collections.abc import Awaitable, Callable, Coroutine
from functools import partial, wraps
from typing import Any, Concatenate, ParamSpec, Protocol, TypeVar, cast

from greenlet import getcurrent, greenlet

from kctl.client.clock import Timer

P = ParamSpec("P")
R = TypeVar("R")
T = TypeVar("T")


class WouldWait(Exception):
    """A call outside of a bridge has to wait. It had no effect and can be repeated in a bridge."""


class _Bridged(greenlet):
    """A greenlet whose parent is the coroutine that awaits for it."""

    timer: Timer | None = None


def timer_of_bridge() -> Timer | None:
    """Return the timer that the coroutine has started for the call."""
    bridged = getcurrent()
    return bridged.timer if isinstance(bridged, _Bridged) else None


def is_bridged() -> bool:
    """Return whether the caller runs in a bridge."""
    return isinstance(getcurrent(), _Bridged)


def await_in_bridge(awaitable: Awaitable[T]) -> T:
    """Await from synchronous code. Call it only in a bridge."""
    parent = getcurrent().parent
    assert parent is not None
    return cast(T, parent.switch(awaitable))


async def run(call: Callable[[], R], timer: Timer | None = None) -> R:
    """Run synchronous code and await its waits.

    Args: timer: the timer of the call, if a part of its time has passed.
    If the coroutine is cancelled, the waiting code gets the asyncio.CancelledError. The coroutine returns the result
    without another await, so a cancellation cannot lose it.
    """
    bridged = _Bridged(call)
    bridged.timer = timer
    bridged.gr_context = getcurrent().gr_context  # use the context variables of the caller
    step: Callable[[], Any] = bridged.switch
    while True:
        bridged.parent = getcurrent()
        wanted = step()
        if bridged.dead:
            return cast(R, wanted)
        try:
            step = partial(bridged.switch, await wanted)
        except GeneratorExit as error:  # the event loop has ended: no further wait can be awaited
            while not bridged.dead:
                bridged.parent = getcurrent()
                wanted = bridged.throw(error)
                if isinstance(wanted, Coroutine):
                    wanted.close()
            raise
        except BaseException as error:  # noqa: BLE001  # raised again where the code waits
            step = partial(bridged.throw, error)


class HasClient(Protocol):
    _client: Any

    async def _run(self, call: Callable[[], Any]) -> Any: ...


def awaited(
    method: Callable[Concatenate[Any, P], R],
) -> Callable[Concatenate[Any, P], Coroutine[Any, Any, R]]:
    """Return a coroutine method that calls a method of the synchronous client."""

    @wraps(method)
    async def call(self: HasClient, /, *args: P.args, **kwargs: P.kwargs) -> R:
        return cast(R, await self._run(partial(method, self._client, *args, **kwargs)))

    return call
