"""The bridge: synchronous code in a greenlet, whose waits a coroutine awaits.

A coroutine starts the greenlet. Where the code waits, the greenlet hands an awaitable to the coroutine, which awaits it
and continues the greenlet with its result. An exception of the await, such as asyncio.CancelledError, is raised where
the code waits, as a KeyboardInterrupt is in a thread: calls of the clients are written to survive it.
"""

from collections.abc import Awaitable, Callable, Coroutine
from functools import partial, wraps
from typing import Any, Concatenate, ParamSpec, Protocol, TypeVar, cast

from greenlet import getcurrent, greenlet

P = ParamSpec("P")
R = TypeVar("R")
T = TypeVar("T")


class _Bridged(greenlet):
    """A greenlet whose parent is a coroutine that awaits for it."""


def is_bridged() -> bool:
    """Return whether the caller runs in a bridge, so that it may await."""
    return isinstance(getcurrent(), _Bridged)


def await_in_bridge(awaitable: Awaitable[T]) -> T:
    """Await something from synchronous code; only in a bridge."""
    parent = getcurrent().parent
    assert parent is not None
    return cast(T, parent.switch(awaitable))


async def run(call: Callable[[], R]) -> R:
    """Run synchronous code, and await what it waits for.

    If the coroutine is cancelled, the code gets the asyncio.CancelledError where it waits. There is no await between
    the end of the code and the end of this coroutine, so nothing that the code returns is lost.
    """
    bridged = _Bridged(call)
    bridged.gr_context = getcurrent().gr_context  # context variables are those of the caller
    step: Callable[[], Any] = bridged.switch
    while True:
        bridged.parent = getcurrent()
        wanted = step()
        if bridged.dead:
            return cast(R, wanted)
        try:
            step = partial(bridged.switch, await wanted)
        except GeneratorExit as error:  # the event loop is gone: no wait can be awaited any more
            while not bridged.dead:
                bridged.parent = getcurrent()
                wanted = bridged.throw(error)
                if isinstance(wanted, Coroutine):
                    wanted.close()
            raise
        except BaseException as error:  # noqa: BLE001  # raised again where the code waits
            step = partial(bridged.throw, error)


class HasClient(Protocol):
    """A client for asyncio, and the synchronous client below it."""

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
