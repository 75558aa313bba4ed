"""AsyncioReads: polls of a consumer as coroutines of asyncio, which lose no record when they are cancelled.

A poll runs in a thread of the executor of asyncio. Its records count as given in the step of the coroutine that returns
them. A coroutine that is cancelled before has given nothing, and the next poll returns its records. A thread cannot be
cancelled, so the coroutine ends the wait of the thread, and then itself: the consumer can be used immediately.
"""

import logging
import threading
from collections.abc import AsyncIterator, Callable
from contextlib import suppress
from datetime import timedelta
from math import inf
from typing import TYPE_CHECKING, TypeVar

from kctl.client.consumer.application_side import ApplicationSide
from kctl.client.consumer.fetched_data import PollResult
from kctl.client.records import Record

if TYPE_CHECKING:
    from asyncio import Future

T = TypeVar("T")
logger = logging.getLogger("kctl.client.consumer")
_THREADS_OF_ASYNCIO = "asyncio_"
"""What the names of the threads of asyncio's executor begin with."""


class AsyncioReads:
    """The methods of `Consumer` that are coroutines."""

    _side: ApplicationSide
    _is_unpolled = True

    def _note_first_poll(self) -> None:
        """Warn of `asyncio.to_thread(consumer.poll)`.

        A poll in a thread returns its records to asyncio, which drops them if the coroutine was cancelled. The
        next poll comes as it does after records that were processed, so the consumer cannot tell the two.
        """
        self._is_unpolled = False
        if threading.current_thread().name.startswith(_THREADS_OF_ASYNCIO):
            logger.warning("poll() in a thread of asyncio loses its records if it is cancelled; await poll_async()")

    def _poll(self, timeout: float | timedelta | None) -> PollResult | None:
        raise NotImplementedError

    async def poll_async(self, timeout: float | timedelta | None = None) -> list[Record]:
        """Return the next records, as `poll` does, without blocking the loop of asyncio.

        If it is cancelled (`asyncio.wait_for`, `asyncio.timeout`, `task.cancel`), no record is lost or committed: the
        next poll returns them. Raises as `poll`.
        """
        result = await self._in_thread(lambda: self._poll(timeout))
        if result is None:
            return []
        records = result.records
        result.given = result.count  # no await from here to the caller
        return records

    async def __aiter__(self) -> AsyncIterator[Record]:
        """Yield records for ever, as the loop over the consumer does; ends when the consumer is closed."""
        while self._side.close_result is None:
            result = await self._in_thread(lambda: self._poll(inf))
            if result is None:
                continue
            result.is_one_by_one = True
            for record in result.records:
                result.given += 1
                yield record
                if self._side.data.result is not result:  # a call has taken note of the positions
                    break

    async def _in_thread(self, call: Callable[[], T]) -> T:
        """Run a call in a thread; if the coroutine is cancelled, end the call's wait first."""
        import asyncio  # deferred import: only for programs that use it

        running = asyncio.get_running_loop().run_in_executor(None, call)
        try:
            return await asyncio.shield(running)
        except asyncio.CancelledError:
            await self._end(running)
            raise

    async def _end(self, running: "Future[T]") -> None:
        """Make a call in a thread return, and wait until it has."""
        import asyncio  # deferred import: only for programs that use it

        self._side.mailbox.cancel()
        while not running.done():
            with suppress(asyncio.CancelledError):
                await asyncio.wait([running])
        self._side.mailbox.is_cancelled = False
        if not running.cancelled():
            running.exception()  # it was met
