"""NetworkLink: the application's end of the two queues, and the only place where a consumer's call blocks.

Owns the open call and the wake-up flag; knows nothing of partitions. Waiting is always: look, then wait for the flag.
A KeyboardInterrupt may come after any call in here: an event leaves its queue when it was taken, and who takes one
expects it twice.
Shown by tests/unit/consumer/test_network_link.py.
"""

from collections import deque
from collections.abc import Callable, Iterable

from kctl.client.clock import FOREVER_MS, Timer
from kctl.client.consumer.events import (
    AbandonCall,
    CallDone,
    CallProgress,
    LoopEnded,
    NetworkFailed,
    Stop,
    ToApplication,
    ToNetwork,
    TryAgain,
)
from kctl.client.errors import ApiTimeout, IllegalStateError, KafkaError, WakeupError
from kctl.client.seams import Driver, Task, Waiter
from kctl.client.teardown import teardown_ms

END_GRACE_MS = 100
"""What the loop's end may take after its deadline, at the very most."""


class NetworkLink:
    """What the application thread uses to talk to the network loop.

    Args: on_event: takes what is not about calls, in order, on the application thread.
    """

    def __init__(
        self,
        driver: Driver,
        waiter: Waiter,
        *,
        outbox: deque[ToNetwork],
        inbox: deque[ToApplication],
        wake_network: Callable[[], None],
        on_event: Callable[[ToApplication], None],
    ) -> None:
        self._driver = driver
        self._waiter = waiter
        self._outbox = outbox
        self._inbox = inbox
        self._wake_network = wake_network
        self._on_event = on_event
        self._last_call_id = 0
        self._call_id = 0
        """Of the call that waits."""
        self._done: CallDone | None = None
        self._progress: CallProgress | None = None
        self._fatal_error: KafkaError | None = None
        self.last_word: LoopEnded | None = None
        """What the loop said at its end; None while it runs."""
        self._is_closing = False
        self._is_woken = False
        self._is_unannounced = False

    # --- one way ----------------------------------------------------------------------------------------------------

    def post(self, events: Iterable[ToNetwork]) -> None:
        """Hand events to the network loop, and announce those posted quietly; without any, it is left asleep."""
        for event in events:
            self._is_unannounced = True
            self._outbox.append(event)
        if self._is_unannounced:
            self._wake_network()
            self._is_unannounced = False

    def post_each(self, events: deque[ToNetwork]) -> None:
        """Hand over the events of a queue; each leaves it when the network has it, so it may be handed over twice."""
        while events:
            self._is_unannounced = True
            self._outbox.append(events[0])
            events.popleft()
        self.post(())

    def post_quietly(self, event: ToNetwork) -> None:
        """Hand over an event that can wait for the next `post` or for the loop's next turn."""
        self._is_unannounced = True
        self._outbox.append(event)

    # --- the other --------------------------------------------------------------------------------------------------

    def look(self) -> None:
        """Take everything the network has said so far.

        Raises:
            WakeupError: wakeup() was called since the last look.
            AuthenticationError, WrongPeerError, ...: no broker lets us in, and waiting does not cure that.
        """
        self.drain()
        if self._is_woken and not self._is_closing:
            self._is_woken = False
            raise WakeupError("wakeup() was called")
        if self._fatal_error is not None:
            self.post([TryAgain()])
            error, self._fatal_error = self._fatal_error, None
            raise error
        if self.last_word is not None:
            failure = self.last_word.failure
            why = "" if failure is None else f", which is a bug: {type(failure).__name__}: {failure}"
            raise IllegalStateError(f"the network thread of this consumer has ended{why}") from failure

    def drain(self) -> None:
        """Take everything the network has said so far and raise nothing."""
        while self._inbox:
            self._take(self._inbox[0])
            self._inbox.popleft()

    def wait(self, timer: Timer, until_ms: int = FOREVER_MS) -> bool:
        """Wait for news until the timer's end, or an earlier instant; return False when the timer's end has come."""
        timer.update()
        if timer.is_expired:
            return False
        self._driver.wait(self._waiter, min(timer.deadline_at_ms, until_ms))
        return True

    def wakeup(self) -> None:
        """Make the present or next call raise WakeupError; any thread."""
        self._is_woken = True
        self._waiter.notify()

    # --- calls ------------------------------------------------------------------------------------------------------

    def ask(self, question: Callable[[int], ToNetwork], timer: Timer) -> object:
        """Ask the network and return its result.

        Raises: ApiTimeout when the timer ends first, what `look` raises, and what the network answers.
        """
        self._call_id = call_id = self.next_call_id()
        self._done = self._progress = None
        try:
            self.post([question(call_id)])
            self.wait_until(self._is_answered, timer, "waiting for the network loop to take the call")
        finally:
            done, self._done, self._progress = self._done, None, None
            if done is None:
                self.post([AbandonCall(call_id)])
        return _result(done)

    def next_call_id(self) -> int:
        """Return a new id, for a call that waits or for one in the background."""
        self._last_call_id += 1
        return self._last_call_id

    def wait_until(self, is_done: Callable[[], bool], timer: Timer, waiting_for: str) -> None:
        """Wait until the condition holds, or raise ApiTimeout saying what it waited for."""
        self.look()
        while not is_done():
            if not self.wait(timer):
                raise self._timeout(timer, waiting_for)
            self.look()

    def _is_answered(self) -> bool:
        return self._done is not None

    def _timeout(self, timer: Timer, waiting_for: str) -> ApiTimeout:
        progress = self._progress
        return ApiTimeout(
            waiting_for if progress is None else progress.waiting_for,
            timeout_ms=timer.timeout_ms,
            elapsed_ms=timer.elapsed_ms,
            cause=None if progress is None else progress.cause,
            account=None if progress is None else progress.account_at(timer.now_ms, timer.elapsed_ms),
        )

    def close(self) -> None:
        """Let no wakeup interrupt what is done from now on."""
        self._is_closing = True

    def stop(self, task: Task, timer: Timer, *, is_leaving: bool = False) -> bool:
        """Tell the loop to end by the timer's end, and wait for that; return whether it has ended.

        Just before its deadline the loop gives up whatever it waits for. Its last steps are waited for too, so that no
        thread is left; only with no time at all it is left to end by itself. What is given up was given up at the
        timer's end: the caller waits for that.
        """
        given_up_ms = teardown_ms(timer.timeout_ms)
        self.post([Stop(timer.deadline_at_ms - given_up_ms, timer.start_at_ms, is_leaving, timer.timeout_ms)])
        grace_ms = END_GRACE_MS if timer.timeout_ms else 0
        has_ended = self._driver.join(task, min(FOREVER_MS, timer.deadline_at_ms + grace_ms))
        self.drain()
        timer.update()
        if self.last_word is not None and self.last_word.expired_in and timer.remaining_ms <= given_up_ms:
            while self.wait(timer):
                self.drain()
        return has_ended

    def _take(self, event: ToApplication) -> None:
        match event:
            case CallDone():
                if event.call_id == self._call_id:
                    self._done = event
            case CallProgress():
                if event.call_id == self._call_id:
                    self._progress = event
            case NetworkFailed(error):
                self._fatal_error = error
            case LoopEnded():
                self.last_word = event
            case _:
                self._on_event(event)


def _result(done: CallDone | None) -> object:
    assert done is not None
    if done.error is not None:
        raise done.error
    return done.result
