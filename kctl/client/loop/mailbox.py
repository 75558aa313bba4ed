"""Mailbox: queue and wake-ups between application threads and the network thread.

A caller posts, checks, then waits, in this order. KeyboardInterrupt is safe anywhere: interrupted calls are reported to
the loop.
"""

from collections import deque
from collections.abc import Callable, Sequence
from typing import ClassVar, Generic, NamedTuple, TypeVar

from kctl.client.clock import Clock, Timer
from kctl.client.errors import Account, IllegalStateError, KafkaError, KafkaTimeoutError
from kctl.client.lifetime import forked_error
from kctl.client.loop.close import CloseRequest
from kctl.client.runtime import Driver, Task, Waiter

LOOP_GRACE_MS = 100
"""Extra wait after the deadline, in which the network thread may report the cause.

The loop is exact to the millisecond; it needs this time only if a callback blocks it.
"""
SUSPEND_THRESHOLD_MS = 50
"""Delay of a wait that indicates that the process was suspended (SIGSTOP, sleep)."""


class Call:
    """A blocking call, which the loop finishes by its deadline by setting `is_done`, and `error` if it failed.

    Attributes: is_collected: whether the caller has the result; the caller's last, uninterruptible step sets it.
    """

    __slots__ = ("error", "is_collected", "is_done", "timer", "waiter")

    TIMEOUT_ERROR: ClassVar[type[KafkaTimeoutError]] = KafkaTimeoutError

    def __init__(self, timer: Timer, waiter: Waiter) -> None:
        self.timer = timer
        self.waiter = waiter
        self.is_done = False
        self.is_collected = False
        self.error: KafkaError | None = None

    def finish(self, error: KafkaError | None = None) -> None:
        """Finish the call with a copy of the error, and wake the caller; the loop only."""
        self.error = None if error is None else error.without_traceback()
        self.is_done = True
        self.waiter.notify()

    def timed_out(
        self, waiting_for: str, cause: KafkaError | None = None, account: Account | None = None
    ) -> KafkaTimeoutError:
        self.timer.update()
        elapsed_ms = self.timer.elapsed_ms
        timeout_ms = self.timer.timeout_ms
        return self.TIMEOUT_ERROR(
            waiting_for, timeout_ms=timeout_ms, elapsed_ms=elapsed_ms, cause=cause, account=account
        )


class CallInterrupted(NamedTuple):
    """The caller of this call has stopped waiting (Ctrl-C, wakeup)."""

    call: Call


E = TypeVar("E")


class Mailbox(Generic[E]):
    """Events from application threads to the loop.

    Args:
        wakeup: ends the loop's poll.
        last_error: returns the default cause of errors.
    Attributes:
        failure: exception that ended the loop, which is a bug.
        is_finished: whether the loop accepts no more events; posters must withdraw later ones.
        is_forked: whether this is the child of a fork(), which has no loop.
        leaves_when_dropped: whether the loop of a dropped client leaves its group.
    """

    CLIENT: ClassVar[str]
    """`producer` or `consumer`, for error messages."""

    def __init__(
        self,
        clock: Clock,
        driver: Driver,
        wakeup: Callable[[], None],
        last_error: Callable[[], KafkaError | None],
    ) -> None:
        self.clock = clock
        self.driver = driver
        self.task: Task | None = None
        self.is_finished = False
        self.failure: BaseException | None = None
        self.is_forked = False
        self.leaves_when_dropped = False
        self._events: deque[E | Call | CallInterrupted] = deque()
        self._close_requests: deque[CloseRequest] = deque()
        self._wakeup = wakeup
        self._last_error = last_error
        self._is_loop_asleep = False
        self._is_nudged = False

    # --- application side ---------------------------------------------------------------------------------------------

    def post(self, event: E | Call | CallInterrupted) -> None:
        try:
            self._events.append(event)
            if self._is_loop_asleep:
                self._is_loop_asleep = False
                self._wakeup()
        except BaseException:  # Ctrl-C: the loop must not sleep on an event that it may have
            self._wakeup()
            raise

    def post_close(self, request: CloseRequest) -> None:
        """Post a close, which overtakes all events; any thread."""
        self._close_requests.append(request)
        self._wakeup()

    def nudge(self) -> bool:
        """Let the loop run a turn; return whether it still runs. Any thread."""
        self._is_nudged = True
        self._wakeup()
        return not self.is_finished

    def withdraw(self, event: E | Call) -> bool:
        """Remove an event that a finished loop has not handled; return whether the queue contained it."""
        while True:
            try:
                self._events.remove(event)
            except ValueError:
                return False
            except IndexError:  # the loop is taking its last events
                continue
            return True

    def ask(self, call: Call) -> None:
        """Post a call, wait until the loop has finished it, and raise its error if any.

        An interrupted caller posts `CallInterrupted`.
        """
        try:
            self.post(call)
            self._wait_for(call)
            if call.error is not None:
                call.is_collected = True
                raise call.error
        except BaseException as error:
            if error is not call.error and not self.is_finished:
                self.post(CallInterrupted(call))
            raise

    def _wait_for(self, call: Call) -> None:
        deadline_at_ms = call.timer.deadline_at_ms + LOOP_GRACE_MS
        is_last_look = False
        self.look()
        while not call.is_done:
            if self.is_finished and (self.withdraw(call) or (self._wait_for_end(deadline_at_ms) and not call.is_done)):
                raise self.closed_error()
            if not self.driver.wait(call.waiter, deadline_at_ms) and not call.is_done:
                now_ms = self.clock.now_ms()
                if is_last_look or now_ms - deadline_at_ms < SUSPEND_THRESHOLD_MS:
                    doing = "waiting for the network loop, blocked by a callback or an overloaded machine"
                    raise call.timed_out(doing, self._last_error())
                is_last_look, deadline_at_ms = True, now_ms + LOOP_GRACE_MS  # the loop was suspended as well
            self.look()

    def _wait_for_end(self, deadline_at_ms: int) -> bool:
        """Wait for the end of the loop, which finishes all calls first; return whether it has ended."""
        return self.task is None or self.driver.join(self.task, deadline_at_ms)

    def look(self) -> None:
        """Handle reports of the loop, and raise if a report ends a call; clients with reports override it."""

    def check_process(self) -> None:
        """Raise IllegalStateError in the child of a fork()."""
        if self.is_forked:
            raise forked_error(self.CLIENT)

    def closed_error(self) -> IllegalStateError:
        """Return the error for a call after the end of the loop or after a fork(); it has the reason."""
        if self.is_forked:
            return forked_error(self.CLIENT)
        if self.failure is None:
            return IllegalStateError(f"the {self.CLIENT} is closed")
        why = f"{type(self.failure).__name__}: {self.failure}"
        error = IllegalStateError(f"the network thread of the {self.CLIENT} failed, which is a bug: {why}")
        error.__cause__ = self.failure
        return error

    def is_on_loop(self) -> bool:
        return self.task is not None and self.driver.is_current(self.task)

    # --- loop side ----------------------------------------------------------------------------------------------------

    def pop_some(self, most: int) -> Sequence[E | Call | CallInterrupted]:
        events = self._events
        return [events.popleft() for _ in range(min(most, len(events)))]

    def pop_close(self) -> CloseRequest | None:
        try:
            return self._close_requests.popleft()
        except IndexError:
            return None

    @property
    def size(self) -> int:
        return len(self._events)

    @property
    def is_empty(self) -> bool:
        return not self._events

    def fall_asleep(self) -> bool:
        """Announce that the loop will wait; return False if an event, a close, or a nudge is pending."""
        self._is_loop_asleep = True
        return not self._events and not self._close_requests and not self._is_nudged

    def awake(self) -> bool:
        """Announce that the loop needs no wake-up; return whether an event, a close, or a nudge is pending."""
        self._is_loop_asleep = False
        if self._is_nudged:
            self._is_nudged = False  # before the turn: a later nudge is about what the turn may have missed
            return True
        return True if self._events or self._close_requests else False  # noqa: SIM210 - cheaper than bool()
