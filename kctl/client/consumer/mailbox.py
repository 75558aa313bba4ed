"""ConsumerMailbox: the mailbox of a consumer, with the events that its network thread reports.

Owns the reports and the wake-up flag; knows nothing of partitions. A KeyboardInterrupt may come after any call in here:
an event leaves its queue when it was handled, and its handler expects it twice.
"""

from collections import deque
from collections.abc import Callable, Iterable
from typing import NamedTuple

from kctl.client.clock import FOREVER_MS, Clock, Timer
from kctl.client.consumer.events import (
    Consumed,
    Forget,
    NetworkFailed,
    Query,
    Question,
    ToApplication,
    ToNetwork,
    TryAgain,
)
from kctl.client.errors import KafkaError, WakeupError
from kctl.client.loop.close import CloseRequest, close_margin_ms
from kctl.client.loop.mailbox import LOOP_GRACE_MS, Call, CallInterrupted, Mailbox
from kctl.client.runtime import Driver, Task


class CloseReport(NamedTuple):
    """What the network thread achieved of a close.

    Attributes:
        has_left: whether the group has confirmed that the member left; None where it stays a member.
        expired_in: the step in which the deadline passed; None when everything was done.
    """

    has_left: bool | None = None
    expired_in: str | None = None


class ConsumerMailbox(Mailbox[ToNetwork]):
    """What the application thread and the network thread of a consumer share.

    Args: on_report: a weak reference to what gets the reports of the network thread, in order, on the application
        thread. The network thread has this mailbox, too: it must not keep alive a listener that refers to its consumer.
    Attributes:
        waiter: wakes the application.
        reports: from the network thread, which appends to it.
        close_report: set by the network thread at its end.
        wants_room: set by the network thread: it would fetch more if the application had consumed what it holds.
    """

    CLIENT = "consumer"

    def __init__(
        self,
        clock: Clock,
        driver: Driver,
        wakeup: Callable[[], None],
        last_error: Callable[[], KafkaError | None],
        on_report: Callable[[], Callable[[ToApplication], None] | None],
    ) -> None:
        super().__init__(clock, driver, wakeup, last_error)
        self.waiter = driver.waiter()
        self.reports: deque[ToApplication] = deque()
        self.close_report: CloseReport | None = None
        self.wants_room = False
        self._on_report = on_report
        self._last_call_id = 0
        self._fatal_error: KafkaError | None = None
        self._is_closing = False
        self._is_woken = False
        self._is_unannounced = False
        self._is_unannounced_until_wait = False

    # --- to the network -----------------------------------------------------------------------------------------------

    def post(self, event: ToNetwork | Call | CallInterrupted) -> None:
        self.post_all((event,))

    def post_all(self, events: Iterable[ToNetwork | Call | CallInterrupted]) -> None:
        """Hand events to the network thread, and announce those posted quietly; without any, it is left asleep."""
        for event in events:
            self.post_quietly(event)
        if self._is_unannounced:
            self._announce()

    def _announce(self) -> None:
        self._wakeup()
        self._is_unannounced = self._is_unannounced_until_wait = False

    def post_each(self, events: deque[ToNetwork]) -> None:
        """Hand over the events of a queue; each leaves it when the network has it, so it may be handed over twice."""
        while events:
            if isinstance(events[0], Forget):  # wakes no loop: the next fetch leaves the partition out
                self.post_until_wait(events[0])
            else:
                self.post_quietly(events[0])
            events.popleft()
        self.post_all(())

    def post_quietly(self, event: ToNetwork | Call | CallInterrupted) -> None:
        """Hand over an event that can wait for the next `post` or for the loop's next turn."""
        self._is_unannounced = True
        self._events.append(event)

    def post_consumed(self, event: Consumed) -> None:
        """Hand over what makes room: where the loop wants none, it can wait for the loop's next turn."""
        self._events.append(event)
        if self.wants_room:  # looked at last, as the loop looks at the events last (fall_asleep)
            self._is_unannounced = True

    def post_until_wait(self, event: ToNetwork) -> None:
        """Hand over an event that can wait for a `wait`, besides: a poll that has its records at once wakes no loop."""
        self._is_unannounced_until_wait = True
        self._events.append(event)

    def fall_asleep(self) -> bool:
        """Return whether no close came, nor the room that is wanted: every other event was announced, or can wait."""
        return not self._close_requests and not (self.wants_room and self._events)

    # --- from the network ---------------------------------------------------------------------------------------------

    def look(self) -> None:
        """Take everything the network thread has reported so far.

        Raises:
            WakeupError: wakeup() was called since the last look.
            AuthenticationError, WrongPeerError, ...: no broker accepts the client, and waiting does not cure that.
        """
        self.drain()
        if self._is_woken and not self._is_closing:
            self._is_woken = False
            raise WakeupError("wakeup() was called")
        if self._fatal_error is not None:
            self.post(TryAgain())
            error, self._fatal_error = self._fatal_error, None
            raise error
        if self.is_finished:
            raise self.closed_error()

    def drain(self) -> None:
        """Take everything the network thread has reported so far and raise nothing."""
        while self.reports:
            self._handle(self.reports[0])
            self.reports.popleft()

    def _handle(self, report: ToApplication) -> None:
        if isinstance(report, NetworkFailed):
            self._fatal_error = report.error
        else:
            on_report = self._on_report()
            assert on_report is not None  # it is what calls this
            on_report(report)

    def wait(self, timer: Timer, until_ms: int = FOREVER_MS) -> bool:
        """Wait for reports until the timer's end, or an earlier instant; return False when the timer's end has come."""
        timer.update()
        if timer.is_expired:
            return False
        if self._is_unannounced_until_wait:
            self._announce()
        self.driver.wait(self.waiter, min(timer.deadline_at_ms, until_ms))
        return True

    def wakeup(self) -> None:
        """Make the present or next call raise WakeupError; any thread."""
        self._is_woken = True
        self.waiter.notify()

    # --- calls --------------------------------------------------------------------------------------------------------

    def query(self, question: Callable[[int], Question], timer: Timer) -> object:
        """Ask the network thread and return its result.

        Raises: ApiTimeout when the timer ends first, what `look` raises, and what the network thread answers.
        """
        call = Query(question(self.next_call_id()), timer, self.waiter)
        self.ask(call)
        self.drain()  # what was reported before the answer
        return call.result

    def next_call_id(self) -> int:
        """Return a new id, for a call that waits or for one in the background."""
        self._last_call_id += 1
        return self._last_call_id

    # --- close --------------------------------------------------------------------------------------------------------

    def ignore_wakeups(self) -> None:
        """Let wakeup() interrupt nothing from now on."""
        self._is_closing = True

    def close(self, task: Task, timer: Timer, *, is_leaving: bool = False) -> bool:
        """Make the loop end by the timer's end, and wait for that; return whether it has ended.

        Its last steps are waited for too, so that no thread is left; only with no time at all it ends by itself. What
        was abandoned was abandoned at the timer's end: the caller waits for that.
        """
        self.post_close(CloseRequest.within(timer, is_leaving=is_leaving))
        grace_ms = LOOP_GRACE_MS if timer.timeout_ms else 0
        has_ended = self.driver.join(task, min(FOREVER_MS, timer.deadline_at_ms + grace_ms))
        self.drain()
        timer.update()
        if (
            self.close_report is not None
            and self.close_report.expired_in
            and timer.remaining_ms <= close_margin_ms(timer.timeout_ms)
        ):
            while self.wait(timer):
                self.drain()
        return has_ended
