"""Mailbox: all that application threads and the network loop share, and how they wake each other.

Application threads put events in; the loop takes them out, in order, and raises the waiter that an event carries.
Every piece of state behind the events belongs to the loop alone. Waiting is always: post, look, wait.
Shown by tests/unit/producer/test_mailbox.py and, with threads, tests/loopback/producer.
"""

from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING, ClassVar, NamedTuple

from kctl.client.clock import Clock, Timer
from kctl.client.errors import (
    Account,
    FlushTimeout,
    IllegalStateError,
    KafkaError,
    KafkaTimeoutError,
    MaxBlockTimeout,
    ResultTimeout,
)
from kctl.client.lifetime import forked_error
from kctl.client.loop.close import teardown_ms
from kctl.client.producer.future import ColumnsFuture, SendFuture
from kctl.client.producer.record_run import RecordRun
from kctl.client.seams import Driver, Task, Waiter

if TYPE_CHECKING:
    from kctl.client.cluster_client import LedgerMark

LOOP_GRACE_MS = 100
"""How much longer than its deadline a caller waits for the loop's own word on it, which tells why.

The loop ends every wait on its millisecond; only a callback that blocks the loop makes a caller use the grace.
"""
STOOD_STILL_MS = 50
"""A wait that ends so much later than it was to has not waited: the process was stopped, or the machine asleep."""


class WatchFuture(NamedTuple):
    """Raise the waiter when the future is done."""

    future: SendFuture | ColumnsFuture
    waiter: Waiter


class CallInterrupted(NamedTuple):
    """The call that posted this has ended without its answer: no application thread waits for it any more."""

    call: "Reply"


class RecordRefused(NamedTuple):
    """A record that was meant to be part of a transaction was not accepted."""

    error: KafkaError


class Reply:
    """Something that the loop answers by a deadline: `is_done`, then `error` or none.

    Attributes: is_collected: the caller has the answer; set by the caller's last step, which nothing can interrupt.
    """

    __slots__ = ("error", "is_collected", "is_done", "timer", "waiter")

    LIMIT: ClassVar[type[KafkaTimeoutError]] = KafkaTimeoutError

    def __init__(self, timer: Timer, waiter: Waiter) -> None:
        self.timer = timer
        self.waiter = waiter
        self.is_done = False
        self.is_collected = False
        self.error: KafkaError | None = None

    def finish(self, error: KafkaError | None = None) -> None:
        """Answer, and wake who asked; the loop only."""
        self.error = error
        self.is_done = True
        self.waiter.notify()

    def timed_out(
        self, waiting_for: str, cause: KafkaError | None = None, account: Account | None = None
    ) -> KafkaTimeoutError:
        """Return the error for a wait that reached its limit."""
        self.timer.update()
        elapsed_ms = self.timer.elapsed_ms
        limit_ms = self.timer.timeout_ms
        return self.LIMIT(waiting_for, timeout_ms=limit_ms, elapsed_ms=elapsed_ms, cause=cause, account=account)


class TopicWait(Reply):
    """Wait until the topic's partitions are known; with a `partition`, until that one is or is known not to be."""

    __slots__ = ("partition", "topic")

    LIMIT = MaxBlockTimeout

    def __init__(self, topic: str, partition: int | None, timer: Timer, waiter: Waiter) -> None:
        super().__init__(timer, waiter)
        self.topic = topic
        self.partition = partition


class FlushMark(Reply):
    """Send everything before this mark without lingering, and answer when all of it is done.

    Attributes:
        ledger: the client's when the loop took the mark; None before.
        failed, first_error: how many records the answer reports as failed, and why the first of them has.
    """

    __slots__ = ("failed", "first_error", "ledger")

    LIMIT = FlushTimeout

    def __init__(self, timer: Timer, waiter: Waiter) -> None:
        super().__init__(timer, waiter)
        self.ledger: LedgerMark | None = None
        self.failed = 0
        self.first_error: KafkaError | None = None


class CloseMark(NamedTuple):
    """Deliver what there is until the deadline, then fail the rest."""

    deadline_at_ms: int
    timeout_ms: int

    @classmethod
    def within(cls, timer: Timer) -> "CloseMark":
        """Return the mark of a close on this timer; 0 is past already: no rest of a millisecond is left to send in."""
        return cls(timer.deadline_at_ms - teardown_ms(timer.timeout_ms) if timer.timeout_ms else 0, timer.timeout_ms)


Event = RecordRun | WatchFuture | RecordRefused | CallInterrupted | Reply
"""What the loop takes from the mailbox."""
Posted = SendFuture | Event
"""What application threads post: records of `send` become runs on the way out."""


class Mailbox:
    """The events from application threads to the loop.

    Attributes:
        task: the loop, once spawned.
        failure: the bug that ended the loop.
        is_finished: set by the loop when it takes no more events; what is posted later is the poster's to undo.
        is_forked: set in the child of a fork(), where there is no loop.
    """

    def __init__(self, clock: Clock, driver: Driver, wakeup: Callable[[], None]) -> None:
        self.clock = clock
        self.driver = driver
        self.task: Task | None = None
        self.is_finished = False
        self.failure: BaseException | None = None
        self.is_forked = False
        self._events: deque[Posted] = deque()
        self._close_marks: deque[CloseMark] = deque()
        self._wakeup = wakeup
        self._is_loop_asleep = False

    # --- application side ---------------------------------------------------------------------------------------------

    def post(self, event: Posted) -> None:
        """Hand an event to the loop; any thread."""
        try:
            self._events.append(event)
            if self._is_loop_asleep:
                self._is_loop_asleep = False
                self._wakeup()
        except BaseException:  # Ctrl-C: the loop must not sleep on an event that it may have
            self.nudge()
            raise

    def post_record(self, record: SendFuture | RecordRun) -> None:
        """Hand a record to the loop, and with it the memory that it holds; any thread."""
        try:
            record.holds_memory = False  # CPython handles no signal between this and the end of the append
            self._events.append(record)
            if self._is_loop_asleep:
                self._is_loop_asleep = False
                self._wakeup()
        except BaseException:
            self.nudge()
            raise

    def post_close(self, mark: CloseMark) -> None:
        """Hand over a close, which overtakes all events: its deadline must not wait for them; any thread."""
        self._close_marks.append(mark)
        self.nudge()

    def nudge(self) -> bool:
        """Let the loop look around at once; return whether there is one."""
        self._wakeup()
        return not self.is_finished

    def take_back(self, event: Posted) -> bool:
        """Take out an event that the loop, finished since, has not taken; return whether it was still there."""
        while True:
            try:
                self._events.remove(event)
            except ValueError:
                return False
            except IndexError:  # the loop is taking its last events at this moment
                continue
            return True

    def ask(self, reply: Reply) -> None:
        """Post a reply, wait until the loop has answered it, and raise its error if there is one."""
        self.post(reply)
        deadline_at_ms = reply.timer.deadline_at_ms + LOOP_GRACE_MS
        is_last_look = False
        while not reply.is_done:
            if self.is_finished and self.take_back(reply):
                raise self.closed_error()
            if self.driver.wait(reply.waiter, deadline_at_ms) or reply.is_done:
                continue
            now_ms = self.clock.now_ms()
            if is_last_look or now_ms - deadline_at_ms < STOOD_STILL_MS:
                raise reply.timed_out("a callback is holding up the network loop")
            is_last_look, deadline_at_ms = True, now_ms + LOOP_GRACE_MS  # the whole process stood still, the loop too
        if reply.error is not None:
            reply.is_collected = True
            raise reply.error

    def wait_for(self, future: SendFuture | ColumnsFuture, timeout_ms: int) -> None:
        """Wait until the future is done.

        Raises:
            ResultTimeout: the timeout has passed first.
            IllegalStateError: called on the loop itself, or in the child of a fork().
        """
        self.check_process()
        if self.is_on_loop():
            raise IllegalStateError("a callback must not wait for a record: the wait would hold up its own answer")
        timer = Timer(self.clock, timeout_ms)
        waiter = self.driver.waiter()
        self.post(WatchFuture(future, waiter))
        while future.outcome is None:
            if not self.driver.wait(waiter, timer.deadline_at_ms) and future.outcome is None:
                timer.update()
                raise ResultTimeout(
                    future.waited_for,
                    timeout_ms=timeout_ms,
                    elapsed_ms=timer.elapsed_ms,
                )

    def check_process(self) -> None:
        """Raise IllegalStateError in the child of a fork(): the loop is the parent's."""
        if self.is_forked:
            raise forked_error("producer")

    def closed_error(self) -> IllegalStateError:
        """Return the error of a call after the end of the loop, with the reason, or in the child of a fork()."""
        if self.is_forked:
            return forked_error("producer")
        if self.failure is None:
            return IllegalStateError("the producer is closed")
        why = f"{type(self.failure).__name__}: {self.failure}"
        error = IllegalStateError(f"the network thread of this producer has ended, which is a bug: {why}")
        error.__cause__ = self.failure
        return error

    def is_on_loop(self) -> bool:
        """Return whether the caller runs on the loop, that is, in a callback."""
        return self.task is not None and self.driver.is_current(self.task)

    # --- loop side ----------------------------------------------------------------------------------------------------

    def take_some(self, most: int) -> list[Event]:
        """Return the next events in order, at most `most`; records of one topic, partition and instant as runs."""
        events = self._events
        taken: list[Event] = []
        row: list[SendFuture] = []
        topic, partition, created_at_ms = "", 0, 0
        for _ in range(min(most, len(events))):
            event = events.popleft()
            if type(event) is not SendFuture:
                if row:
                    taken.append(RecordRun.of_futures(row))
                    row = []
                taken.append(event)
            elif row and event.created_at_ms == created_at_ms and event.partition == partition and event.topic == topic:
                row.append(event)
            else:
                if row:
                    taken.append(RecordRun.of_futures(row))
                row = [event]
                topic, partition, created_at_ms = event.topic, event.partition, event.created_at_ms
        if row:
            taken.append(RecordRun.of_futures(row))
        return taken

    def take_close(self) -> CloseMark | None:
        """Return the next close, or None."""
        try:
            return self._close_marks.popleft()
        except IndexError:
            return None

    @property
    def is_empty(self) -> bool:
        """Whether every event was taken; closes do not count."""
        return not self._events

    def may_sleep(self) -> bool:
        """Say that the loop is about to wait for a wake-up; False when there are events to take first."""
        self._is_loop_asleep = True
        return not self._events and not self._close_marks

    def awake(self) -> None:
        """Say that the loop looks at its events by itself: no wake-up is needed."""
        self._is_loop_asleep = False
