"""Callbacks and asyncio waits for futures. A future is done when its `outcome` is set."""

import logging
from collections import deque
from collections.abc import Callable, Generator
from contextlib import suppress
from typing import TYPE_CHECKING, Any
from weakref import ref

if TYPE_CHECKING:
    from asyncio import AbstractEventLoop, Future

logger = logging.getLogger("kctl.client.producer")


class DoneCallback:
    __slots__ = ("_pending",)

    def __init__(self, future: Any, callback: Callable[[Any], object]) -> None:
        self._pending = [(future, callback)]
        """One entry; the thread that removes it runs the callback, because the loop and the caller may both notify."""

    def notify(self) -> None:
        with suppress(IndexError):
            future, callback = self._pending.pop()
            try:
                callback(future)
            except BaseException:  # an exception would end the network thread
                logger.exception("a callback of %r raised an exception", future)


def call_when_done(future: Any, callback: Callable[[Any], object]) -> None:
    """Call a function with a future: on the network loop when the future is done, or immediately if it is.

    Raises: TypeError: `callback` is not a function. IllegalStateError: the future belongs to the parent of a fork.
    """
    if not callable(callback):
        raise TypeError(f"callback must be a function, not {type(callback).__name__}")
    waiter = DoneCallback(future, callback)
    mailbox = future.mailbox  # read before the outcome, after which it may be dropped
    if not future.done():
        mailbox.watch(future, waiter)
    if future.outcome is not None:
        waiter.notify()


MOST_AT_ONCE = 256
"""Number of functions to run in one turn of an event loop.

Thousands of acknowledgments may arrive together, and each lets a task run.
"""


class LoopWakes:
    """Functions that other threads post to an event loop, which is woken once for several.

    Attributes: loop: weak reference to the event loop.
    """

    __slots__ = ("_is_called", "_posted", "loop")

    def __init__(self, loop: "AbstractEventLoop") -> None:
        self.loop = ref(loop)
        self._posted: deque[Callable[[], object]] = deque()
        self._is_called = False

    def post(self, function: Callable[[], object]) -> None:
        """Schedule a function, which must not raise; any thread."""
        self._posted.append(function)
        if not self._is_called:
            self._is_called = True
            loop = self.loop()
            if loop is not None:
                with suppress(RuntimeError):  # the loop is closed
                    loop.call_soon_threadsafe(self._run)

    def _run(self) -> None:
        self._is_called = False  # before the queue is read, so that later posts schedule again
        for _ in range(min(len(self._posted), MOST_AT_ONCE)):
            self._posted.popleft()()
        loop = self.loop()
        if self._posted and not self._is_called and loop is not None:
            self._is_called = True
            loop.call_soon(self._run)


_wakes: list[LoopWakes] = []
"""One LoopWakes per event loop. If two threads add in parallel, an entry may be lost and is created again."""


def wakes_of(loop: "AbstractEventLoop") -> LoopWakes:
    """Return the LoopWakes of a running event loop; only the loop's thread may call it."""
    for wakes in _wakes:
        if wakes.loop() is loop:
            return wakes
    made = LoopWakes(loop)
    _wakes[:] = [made, *(wakes for wakes in _wakes if wakes.loop() is not None)]
    return made


class LoopWait:
    """Callback of a future that ends a wait in asyncio.

    The next flush still reports a failure of the future, because the waiting task may be cancelled before it sees the
    failure.
    """

    __slots__ = ("_wakes", "done")

    def __init__(self, loop: "AbstractEventLoop") -> None:
        self._wakes = wakes_of(loop)
        self.done: Future[None] = loop.create_future()

    def __call__(self, _: object) -> None:
        self._wakes.post(self._end)

    def _end(self) -> None:
        if not self.done.done():
            self.done.set_result(None)


def wait_in_asyncio(future: Any) -> Generator[Any, None, None]:
    if future.done():
        return
    import asyncio  # deferred import: only for programs that use it

    wait = LoopWait(asyncio.get_running_loop())
    call_when_done(future, wait)
    yield from wait.done


def await_result(future: Any) -> Generator[Any, None, Any]:
    """Wait and return the result. It is not compiled, because generators of mypyc cancel waits by a deprecated call."""
    yield from wait_in_asyncio(future)
    return future.result(0)
