"""ProducerMailbox: the mailbox of a producer: records, calls, and waits for futures."""

from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

from kctl.client.awaiting import DoneCallback
from kctl.client.clock import FOREVER_MS, Clock, Timer
from kctl.client.errors import FlushTimeout, IllegalStateError, KafkaError, MaxBlockTimeout, ResultTimeout
from kctl.client.loop.mailbox import Call, CallInterrupted, Mailbox
from kctl.client.producer.future import ColumnsFuture, SendFuture
from kctl.client.producer.record_run import RecordRun
from kctl.client.records import is_neighbour
from kctl.client.runtime import Driver, Waiter

if TYPE_CHECKING:
    from kctl.client.cluster_client import TimeMark


class WatchFuture(NamedTuple):
    """Notify the waiter when the future is done."""

    future: SendFuture | ColumnsFuture
    waiter: Waiter | DoneCallback


class RecordRefused(NamedTuple):
    """A record that was meant to be part of a transaction was not accepted."""

    error: KafkaError


class TopicWait(Call):
    """Wait until the topic's partitions are known; with a `partition`, until that one is or is known not to be."""

    __slots__ = ("partition", "topic")

    TIMEOUT_ERROR = MaxBlockTimeout

    def __init__(self, topic: str, partition: int | None, timer: Timer, waiter: Waiter) -> None:
        super().__init__(timer, waiter)
        self.topic = topic
        self.partition = partition


class FlushMark(Call):
    """Send everything before this mark without lingering, and answer when all of it is done.

    Attributes:
        time_mark: the client's when the loop took the mark; None before.
        failed, first_error: how many records the answer reports as failed, and why the first of them has.
    """

    __slots__ = ("failed", "first_error", "time_mark")

    TIMEOUT_ERROR = FlushTimeout

    def __init__(self, timer: Timer, waiter: Waiter) -> None:
        super().__init__(timer, waiter)
        self.time_mark: TimeMark | None = None
        self.failed = 0
        self.first_error: KafkaError | None = None


LONGEST_SLEEP_MS = 100
"""That long after its last turn a record wakes the loop in any case: metrics() counts what the loop has taken."""

Event = list[SendFuture] | RecordRun | WatchFuture | RecordRefused | CallInterrupted | Call
"""What the loop takes from the mailbox."""
Posted = SendFuture | Event
"""What application threads post: records of `send` that follow each other become lists on the way out."""


class ProducerMailbox(Mailbox[Posted]):
    """The events from application threads to the loop of a producer."""

    CLIENT = "producer"

    def __init__(
        self,
        clock: Clock,
        driver: Driver,
        wakeup: Callable[[], None],
        last_error: Callable[[], KafkaError | None],
        linger_ms: int = 0,
        delivery_timeout_ms: int = 0,
    ) -> None:
        super().__init__(clock, driver, wakeup, last_error)
        self._linger_ms = linger_ms
        self._delivery_timeout_ms = delivery_timeout_ms
        self._next_turn_at_ms = FOREVER_MS
        self._is_linger_over = False
        self._room_bytes = 0
        self._posted_bytes = 0
        self._awaiting_responses: frozenset[str] = frozenset()
        self._turn_at_ms = 0

    def expect(
        self,
        next_turn_at_ms: int,
        room_bytes: int,
        *,
        now_ms: int = 0,
        is_linger_over: bool = False,
        awaiting_responses: frozenset[str] = frozenset(),
    ) -> None:
        """Note when the loop's next turn is at the latest, and how many bytes may be posted before a batch is full.

        A record that may linger beyond that turn, and fills no batch, does not wake the loop. Nor does one that cannot
        be sent before a response, which wakes the loop: it would find nothing to do.

        Args:
            now_ms: when the present turn began.
            is_linger_over: no record may linger.
            awaiting_responses: the topics of which nothing can be sent before a response; where there are any, no
                other record waits to be sent.
        """
        self._next_turn_at_ms, self._room_bytes, self._posted_bytes = next_turn_at_ms, room_bytes, 0
        self._is_linger_over, self._awaiting_responses, self._turn_at_ms = is_linger_over, awaiting_responses, now_ms

    def nudge(self) -> bool:
        """Wake the loop, unless it can send nothing before a response; return whether there is one."""
        is_futile = self._is_loop_asleep and self._awaiting_responses and not self._posted_bytes
        if is_futile and self.clock.now_ms() - self._turn_at_ms <= LONGEST_SLEEP_MS:
            return not self.is_finished
        return super().nudge()

    def posted_records(self) -> int:
        """Return how many records the loop has not taken; any thread."""
        return sum(
            1 if type(event) is SendFuture else event.count
            for event in self._events.copy()
            if isinstance(event, SendFuture | RecordRun)
        )

    def post_record(self, record: SendFuture | RecordRun) -> None:
        """Hand a record to the loop, and with it the memory that it holds; any thread."""
        try:
            record.holds_memory = False  # CPython handles no signal between this and the end of the append
            self._events.append(record)
            if self._is_loop_asleep:
                late_ms = self._next_turn_at_ms - record.created_at_ms
                if (
                    record.topic in self._awaiting_responses
                    and late_ms <= self._delivery_timeout_ms
                    and record.created_at_ms - self._turn_at_ms <= LONGEST_SLEEP_MS
                ):
                    return
                self._posted_bytes += record.size_bytes
                is_in_time = late_ms <= self._linger_ms and not self._is_linger_over
                if not is_in_time or self._posted_bytes >= self._room_bytes:
                    self._is_loop_asleep = False
                    self._wakeup()
        except BaseException:
            self._wakeup()
            raise

    def wait_for(self, future: SendFuture | ColumnsFuture, timeout_ms: int) -> None:
        """Wait until the future is done.

        Raises:
            ResultTimeout: the timeout has passed first.
            IllegalStateError: called on the loop itself, or in the child of a fork(); or a bug ended the loop.
        """
        self.check_process()
        if self.is_on_loop():
            raise IllegalStateError("a callback must not wait for a record: the wait would block the response")
        timer = Timer(self.clock, timeout_ms)
        waiter = self.driver.waiter()
        self.post(WatchFuture(future, waiter))
        while future.outcome is None:
            if self.is_finished:  # the loop may not have seen this wait; it completes every record before it ends
                has_ended = self._has_ended(timer.deadline_at_ms)
                if has_ended and future.outcome is None:
                    raise self.closed_error()
            else:
                has_ended = self.driver.wait(waiter, timer.deadline_at_ms)
            if not has_ended and future.outcome is None:
                timer.update()
                raise ResultTimeout(
                    future.waited_for,
                    timeout_ms=timeout_ms,
                    elapsed_ms=timer.elapsed_ms,
                )

    def watch(self, future: SendFuture | ColumnsFuture, waiter: DoneCallback) -> None:
        """Notify the waiter when the future is done; after the end of the loop that is left to the caller."""
        self.check_process()
        event = WatchFuture(future, waiter)
        self.post(event)
        if self.is_finished and not self.is_on_loop() and self.withdraw(event):
            self._has_ended(FOREVER_MS)  # it completes every record before it ends

    def handle(self, count: int) -> None:
        """Do nothing: the error of a record was handed over while the loop completed it; see `Failures.handle`."""

    def _has_ended(self, deadline_at_ms: int) -> bool:
        return self.task is None or self.driver.join(self.task, deadline_at_ms)

    def pop_some(self, most: int) -> list[Event]:
        """Return the next events in order, at most `most`; records of one topic and partition as lists."""
        events = self._events
        taken: list[Event] = []
        row: list[SendFuture] = []
        for _ in range(min(most, len(events))):
            event = events.popleft()
            if type(event) is not SendFuture:
                row = []
                taken.append(event)
            elif row and is_neighbour(event, row[0]):
                row.append(event)
            else:
                row = [event]
                taken.append(row)
        return taken
