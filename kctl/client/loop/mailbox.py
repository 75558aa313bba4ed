"""Mailbox: the queue and the wake-ups between application threads and the network thread.

Application threads put events in; the loop takes them out, in order, and answers the calls among them. Every piece of
state behind the events belongs to the loop alone. Waiting is always: post, look, wait. A KeyboardInterrupt may come
after any call in here: an event is in the queue or not, and an interrupted call is reported to the loop.
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
"""Extra wait past the deadline for the network thread to report the cause.

The loop ends every wait on its millisecond; only a callback that blocks the loop makes a caller use the grace.
"""
SUSPEND_THRESHOLD_MS = 50
"""A wait that overruns by more than this means that the process was suspended (SIGSTOP, sleep)."""


class Call:
    """A blocking call, which the loop answers by its deadline: `is_done`, then `error` or none.

    Attributes: is_collected: the caller has the answer; set by the caller's last step, which nothing can interrupt.
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
        """Answer, and wake the caller; the loop only. Others may keep the error that was given."""
        self.error = None if error is None else error.without_traceback()
        self.is_done = True
        self.waiter.notify()

    def timed_out(
        self, waiting_for: str, cause: KafkaError | None = None, account: Account | None = None
    ) -> KafkaTimeoutError:
        """Return the error of a wait that reached its deadline."""
        self.timer.update()
        elapsed_ms = self.timer.elapsed_ms
        timeout_ms = self.timer.timeout_ms
        return self.TIMEOUT_ERROR(
            waiting_for, timeout_ms=timeout_ms, elapsed_ms=elapsed_ms, cause=cause, account=account
        )


class CallInterrupted(NamedTuple):
    """A call that has ended without its answer (Ctrl-C, a wakeup): no application thread waits for it any more."""

    call: Call


E = TypeVar("E")


class Mailbox(Generic[E]):
    """The events from application threads to the loop.

    Attributes:
        task: the loop, once spawned.
        failure: the bug that ended the loop.
        is_finished: set by the loop when it takes no more events; what is posted later is the poster's to undo.
        is_forked: set in the child of a fork(), where there is no loop.
        leaves_when_dropped: whether the loop of a client that is dropped leaves a group.
    """

    CLIENT: ClassVar[str]
    """producer or consumer, for error messages."""

    def __init__(
        self,
        clock: Clock,
        driver: Driver,
        wakeup: Callable[[], None],
        last_error: Callable[[], KafkaError | None],
    ) -> None:
        """`wakeup` ends the loop's poll; `last_error`: that of the client, where the loop names no cause."""
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

    # --- application side ---------------------------------------------------------------------------------------------

    def post(self, event: E | Call | CallInterrupted) -> None:
        """Hand an event to the loop; any thread."""
        try:
            self._events.append(event)
            if self._is_loop_asleep:
                self._is_loop_asleep = False
                self._wakeup()
        except BaseException:  # Ctrl-C: the loop must not sleep on an event that it may have
            self._wakeup()
            raise

    def post_close(self, request: CloseRequest) -> None:
        """Hand over a close, which overtakes all events: its deadline must not wait for them; any thread."""
        self._close_requests.append(request)
        self._wakeup()

    def nudge(self) -> bool:
        """Let the loop look around at once; return whether there is one."""
        self._wakeup()
        return not self.is_finished

    def withdraw(self, event: E | Call) -> bool:
        """Take out an event that the loop, finished since, has not taken; return whether it was still there."""
        while True:
            try:
                self._events.remove(event)
            except ValueError:
                return False
            except IndexError:  # the loop is taking its last events at this moment
                continue
            return True

    def ask(self, call: Call) -> None:
        """Post a call, wait until the loop has answered it, and raise its error if there is one.

        A caller that is interrupted leaves `CallInterrupted` behind.
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
            if self.is_finished and self.withdraw(call):
                raise self.closed_error()
            if not self.driver.wait(call.waiter, deadline_at_ms) and not call.is_done:
                now_ms = self.clock.now_ms()
                if is_last_look or now_ms - deadline_at_ms < SUSPEND_THRESHOLD_MS:
                    doing = "a callback or an overloaded machine is holding up the network loop"
                    raise call.timed_out(doing, self._last_error())
                is_last_look, deadline_at_ms = True, now_ms + LOOP_GRACE_MS  # the loop was suspended, too
            self.look()

    def look(self) -> None:
        """Take what the loop has reported besides answers, and raise what ends a call; without reports do nothing."""

    def check_process(self) -> None:
        """Raise IllegalStateError in the child of a fork(): the loop is the parent's."""
        if self.is_forked:
            raise forked_error(self.CLIENT)

    def closed_error(self) -> IllegalStateError:
        """Return the error of a call after the end of the loop, with the reason, or in the child of a fork()."""
        if self.is_forked:
            return forked_error(self.CLIENT)
        if self.failure is None:
            return IllegalStateError(f"the {self.CLIENT} is closed")
        why = f"{type(self.failure).__name__}: {self.failure}"
        error = IllegalStateError(f"the network thread of this {self.CLIENT} has ended, which is a bug: {why}")
        error.__cause__ = self.failure
        return error

    def is_on_loop(self) -> bool:
        """Return whether the caller runs on the loop, that is, in a callback."""
        return self.task is not None and self.driver.is_current(self.task)

    # --- loop side ----------------------------------------------------------------------------------------------------

    def pop_some(self, most: int) -> Sequence[E | Call | CallInterrupted]:
        """Return the next events in order, `most` at most."""
        events = self._events
        return [events.popleft() for _ in range(min(most, len(events)))]

    def pop_close(self) -> CloseRequest | None:
        """Return the next close, or None."""
        try:
            return self._close_requests.popleft()
        except IndexError:
            return None

    @property
    def size(self) -> int:
        """The number of events that were not taken; closes do not count."""
        return len(self._events)

    @property
    def is_empty(self) -> bool:
        """Whether every event was taken; closes do not count."""
        return not self._events

    def fall_asleep(self) -> bool:
        """Note that the loop is about to wait for a wake-up; False when there are events to take first."""
        self._is_loop_asleep = True
        return not self._events and not self._close_requests

    def awake(self) -> None:
        """Note that the loop looks at its events by itself: no wake-up is needed."""
        self._is_loop_asleep = False
