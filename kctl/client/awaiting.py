"""Awaiting: functions that are called when a future is done, and coroutines of asyncio that wait for it.

Knows of a future only that it is done once `outcome` is set, and that its mailbox notifies waiters on the loop.
"""

import logging
from collections.abc import Callable, Generator
from contextlib import suppress
from typing import Any

logger = logging.getLogger("kctl.client.producer")


class DoneCallback:
    """A waiter that calls a function with a future, once."""

    __slots__ = ("_pending",)

    def __init__(self, future: Any, callback: Callable[[Any], object]) -> None:
        self._pending = [(future, callback)]
        """Emptied by the one thread that calls; the loop and the caller may both notify."""

    def notify(self) -> None:
        """Call the function, unless that was done."""
        with suppress(IndexError):
            future, callback = self._pending.pop()
            try:
                callback(future)
            except BaseException:  # as for other callbacks: it would end the network thread
                logger.exception("a callback of %r raised", future)


def call_when_done(future: Any, callback: Callable[[Any], object]) -> None:
    """Call a function with a future on the network loop when it is done; immediately, if it is done.

    Raises: TypeError: it is not a function. IllegalStateError: the future is that of a forked parent.
    """
    if not callable(callback):
        raise TypeError(f"callback must be a function, not {type(callback).__name__}")
    waiter = DoneCallback(future, callback)
    mailbox = future.mailbox  # before the outcome is looked at, after which the future drops it
    if not future.done():
        mailbox.watch(future, waiter)
    if future.outcome is not None:
        waiter.notify()


def wait_in_asyncio(future: Any) -> Generator[Any, None, None]:
    """Wait in the running loop of asyncio until a future is done."""
    if future.done():
        return
    import asyncio  # deferred import: only for programs that use it

    loop = asyncio.get_running_loop()
    waiter = loop.create_future()

    def wake() -> None:
        if not waiter.done():
            waiter.set_result(None)

    def on_done(_: Any) -> None:
        with suppress(RuntimeError):  # the loop of asyncio is closed
            loop.call_soon_threadsafe(wake)

    call_when_done(future, on_done)
    yield from waiter
