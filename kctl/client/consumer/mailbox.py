"""ConsumerMailbox: mailbox of a consumer, with reports of its network thread.

A KeyboardInterrupt between any two calls is safe: events leave their queue only after their handling, and handlers
accept an event twice.
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
    """Result of a close on the network thread.

    Attributes:
        has_left: whether the group confirmed the leave; None if the member remains.
        expired_in: name of the step that timed out, or None.
    """

    has_left: bool | None = None
    expired_in: str | None = None


class ConsumerMailbox(Mailbox[ToNetwork]):
    """Data shared by the application thread and the network thread of a consumer.

    Args: on_report: weak reference to the handler of reports on the application thread. A strong one would keep the
        consumer alive.
    Attributes: wants_room: whether the network thread could fetch more after the application consumes data.
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
        """Post events, and wake the network thread for them and for earlier events of `post_quietly`."""
        for event in events:
            self.post_quietly(event)
        if self._is_unannounced:
            self._announce()

    def _announce(self) -> None:
        self._wakeup()
        self._is_unannounced = self._is_unannounced_until_wait = False

    def post_each(self, events: deque[ToNetwork]) -> None:
        """Post each event, then remove it from the queue; after an interrupt, an event may be posted twice."""
        while events:
            if isinstance(events[0], Forget):  # the next fetch leaves the partition out: no wake-up
                self.post_until_wait(events[0])
            else:
                self.post_quietly(events[0])
            events.popleft()
        self.post_all(())

    def post_quietly(self, event: ToNetwork | Call | CallInterrupted) -> None:
        """Post an event without waking the network thread; the next `post` wakes it."""
        self._is_unannounced = True
        self._events.append(event)

    def post_consumed(self, event: Consumed) -> None:
        """Post that data was consumed; the network thread wakes only if it needs memory."""
        self._events.append(event)
        if self.wants_room:  # read last: the loop reads the events last (fall_asleep)
            self._is_unannounced = True

    def post_until_wait(self, event: ToNetwork) -> None:
        """Post an event that can wait for the application's next `wait`, which wakes the network thread."""
        self._is_unannounced_until_wait = True
        self._events.append(event)

    def fall_asleep(self) -> bool:
        """Return whether the loop may wait, because no close, nudge, or needed memory is pending."""
        return not self._close_requests and not self._is_nudged and not (self.wants_room and self._events)

    # --- from the network ---------------------------------------------------------------------------------------------

    def look(self) -> None:
        """Handle all reports of the network thread.

        Raises:
            WakeupError: wakeup() was called since the last check.
            AuthenticationError, WrongPeerError, ...: no broker accepts the client, and waiting does not help.
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
        while self.reports:
            self._handle(self.reports[0])
            self.reports.popleft()

    def _handle(self, report: ToApplication) -> None:
        if isinstance(report, NetworkFailed):
            self._fatal_error = report.error
        else:
            on_report = self._on_report()
            assert on_report is not None  # its owner calls this
            on_report(report)

    def wait(self, timer: Timer, until_ms: int = FOREVER_MS) -> bool:
        timer.update()
        if timer.is_expired:
            return False
        if self._is_unannounced_until_wait:
            self._announce()
        self.driver.wait(self.waiter, min(timer.deadline_at_ms, until_ms))
        return True

    def wakeup(self) -> None:
        self._is_woken = True
        self.waiter.notify()

    # --- calls --------------------------------------------------------------------------------------------------------

    def query(self, question: Callable[[int], Question], timer: Timer) -> object:
        """Post a query, wait for its end, and return its result.

        Raises: ApiTimeout, errors of `look`, and the error of the query.
        """
        call = Query(question(self.next_call_id()), timer, self.waiter)
        self.ask(call)
        self.drain()  # reports before the result
        return call.result

    def next_call_id(self) -> int:
        self._last_call_id += 1
        return self._last_call_id

    # --- close --------------------------------------------------------------------------------------------------------

    def ignore_wakeups(self) -> None:
        self._is_closing = True

    def close(self, task: Task, timer: Timer, *, is_leaving: bool = False) -> bool:
        """Let the loop end within the timer, and join its thread; return whether it has ended.

        The thread gets LOOP_GRACE_MS more, unless the timeout is 0. If a step timed out, this method also waits until
        the timer expires.
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
