"""End of network threads at the end of the program: they finish their work within one time limit.

The threads are daemons, which Python would stop anywhere.
"""

import atexit
import logging
import os
import sys
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from typing import Any, NamedTuple

from kctl.client.clock import Timer, duration_text
from kctl.client.errors import IllegalStateError, KafkaError
from kctl.client.loop.close import CloseRequest
from kctl.client.loop.mailbox import LOOP_GRACE_MS, Mailbox
from kctl.client.network.system import has_threads
from kctl.client.wording import counted

logger = logging.getLogger("kctl.client")

LIMIT_MS = 30_000
"""Time limit for all network threads together, counted from the end of the program."""
QUIET_MS = 1000
"""Time after which a wait is logged."""
WORKER_PRIORITY = -100
"""Priority of the finalizer in multiprocessing workers, which runs after the finalizers of pools and queues."""


class Unfinished(NamedTuple):
    """Work of a client that would be lost silently.

    Attributes:
        records: number of accepted records that were not delivered and not reported by a flush.
        error: error of the first failed record.
        transaction: description of an uncommitted transaction, or None.
    """

    records: int = 0
    error: KafkaError | None = None
    transaction: str | None = None


class OpenLoop:
    """Network thread of a client. It may outlive the client and must not refer to it.

    Args:
        limit_ms: time that the client's timeouts allow for finishing.
        unfinished: returns the remaining work; any thread.
    """

    def __init__(self, mailbox: Mailbox[Any], limit_ms: int, unfinished: Callable[[], Unfinished] = Unfinished) -> None:
        self._mailbox = mailbox
        self._limit_ms = limit_ms
        self._is_dropped = False
        self.unfinished = unfinished

    def drop(self, most_ms: int = LIMIT_MS) -> Timer:
        """Let the thread deliver accepted records and exit, without waiting; return its timer. Any thread."""
        self._is_dropped = True
        timer = Timer(self._mailbox.clock, min(self._limit_ms, most_ms))
        self._mailbox.post_close(CloseRequest.within(timer, is_leaving=self._mailbox.leaves_when_dropped))
        return timer

    def join(self, deadline_at_ms: int) -> bool:
        task = self._mailbox.task
        return task is None or self._mailbox.driver.join(task, deadline_at_ms)

    def follow(self) -> None:
        """Let the end of the program wait for this thread, unless it has exited."""
        if not has_threads(self._mailbox.driver):
            return
        _open[id(self._mailbox)] = self
        _watch_worker()
        if self._mailbox.is_finished:
            forget(self._mailbox)

    def log_dropped(self, error: BaseException | None) -> None:
        records = self.unfinished().records
        if records:
            logger.warning("%s not delivered: the with block ended with %r", counted(records, "record"), error)

    def ended(self) -> None:
        line = report([self.unfinished()]) if self._is_dropped else ""
        if line:
            logger.warning("a client was dropped without close(): %s", line)


_open: dict[int, OpenLoop] = {}
"""Loops by the identity of the mailbox, which the loop keeps alive."""
_watched: set[int] = set()
"""Process ids of multiprocessing workers that wait for their threads at their end."""


def check_not_ended() -> None:
    """Raise IllegalStateError at the end of the program if records of a new producer would be lost silently."""
    if sys.modules["kctl.client"]._has_ended:  # the package, which is above this layer, has the first handler
        hint = "import kctl.client before you register the atexit handler"
        raise IllegalStateError(f"cannot create a producer: the program has ended ({hint})")


def forget(mailbox: Mailbox[Any]) -> None:
    loop = _open.pop(id(mailbox), None)
    if loop is not None:
        loop.ended()


def finish(loops: Sequence[OpenLoop], limit_ms: int = LIMIT_MS) -> list[Unfinished]:
    """Let the threads finish in parallel within one limit, or until Ctrl-C; return their unfinished work."""
    try:
        timers = [loop.drop(limit_ms) for loop in loops]
        slow = [
            loop
            for loop, timer in zip(loops, timers, strict=True)
            if not loop.join(min(timer.deadline_at_ms, timer.start_at_ms + QUIET_MS))
        ]
        left_ms = max((timer.timeout_ms for timer in timers), default=0)
        if slow and left_ms > QUIET_MS:
            logger.warning(
                "waiting for up to %s for clients to finish (%s left). Press Ctrl-C to exit immediately",
                duration_text(left_ms),
                counted(_records(each.unfinished() for each in slow), "record"),
            )
        for loop, timer in zip(loops, timers, strict=True):
            loop.join(timer.deadline_at_ms + LOOP_GRACE_MS)
    except KeyboardInterrupt:  # no caller is left to handle it
        pass
    return [each.unfinished() for each in loops]


def report(left: Iterable[Unfinished]) -> str:
    """Describe lost records and transactions; empty if nothing is lost."""
    left = list(left)
    parts = []
    records = _records(left)
    if records:
        error = next((each.error for each in left if each.error is not None), None)
        parts.append(f"{counted(records, 'record')} not delivered" + (f" ({error})" if error is not None else ""))
    parts += [each.transaction for each in left if each.transaction is not None]
    return ", ".join(parts)


def _records(left: Iterable[Unfinished]) -> int:
    return sum(each.records for each in left)


def finish_all() -> None:
    """Wait for all network threads at the end of the program; lost work is reported on stderr."""
    loops = list(_open.values())
    _open.clear()
    if not loops:
        return
    line = report(finish(loops))
    if line and sys.stderr is not None:
        with suppress(OSError, ValueError):  # closed
            sys.stderr.write(f"kctl.client: the program ended without close(): {line}\n")
            sys.stderr.flush()


def _watch_worker() -> None:
    """Let a multiprocessing worker wait at its end, because os._exit() runs no `atexit` handlers."""
    process = sys.modules.get("multiprocessing.process")
    if process is None or process.parent_process() is None or os.getpid() in _watched:
        return
    _watched.add(os.getpid())
    from multiprocessing.util import Finalize

    Finalize(None, finish_all, exitpriority=WORKER_PRIORITY)


# Not threading._register_atexit, which runs before the program's threads are joined: they may still send. Registered at
# import, so that handlers registered later, which may send or close, run first; before logging ends.
atexit.register(finish_all)
if hasattr(os, "register_at_fork"):  # not on Windows
    os.register_at_fork(after_in_child=_open.clear)
