"""ProducerMailbox: records, calls and waits of application threads, for the loop."""

from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

from kctl.client.awaiting import DoneCallback
from kctl.client.clock import FOREVER_MS, Clock, Timer
from kctl.client.errors import FlushTimeout, IllegalStateError, KafkaError, MaxBlockTimeout, ResultTimeout
from kctl.client.loop.mailbox import Call, CallInterrupted, Mailbox
from kctl.client.producer.future import NO_PARTITION, ColumnsFuture, SendFuture
from kctl.client.producer.record_run import RecordRun
from kctl.client.records import is_neighbour
from kctl.client.runtime import Driver, Waiter

if TYPE_CHECKING:
    from kctl.client.cluster_client import TimeMark


class WatchFuture(NamedTuple):
    future: SendFuture | ColumnsFuture
    waiter: Waiter | DoneCallback


class RecordRefused(NamedTuple):
    error: KafkaError


class TopicWait(Call):
    """Wait until the topic's partitions are known, or until it is known whether `partition` exists."""

    __slots__ = ("partition", "topic")

    TIMEOUT_ERROR = MaxBlockTimeout

    def __init__(self, topic: str, partition: int | None, timer: Timer, waiter: Waiter) -> None:
        super().__init__(timer, waiter)
        self.topic = topic
        self.partition = partition


class FlushMark(Call):
    """Send all earlier records without linger, and finish when their results are known.

    Attributes:
        time_mark: clock reading when the loop received this call.
        failed: number of failed records that the flush reports.
        first_error: error of the first failed record.
    """

    __slots__ = ("failed", "first_error", "time_mark")

    TIMEOUT_ERROR = FlushTimeout

    def __init__(self, timer: Timer, waiter: Waiter) -> None:
        super().__init__(timer, waiter)
        self.time_mark: TimeMark | None = None
        self.failed = 0
        self.first_error: KafkaError | None = None


LONGEST_SLEEP_MS = 100
"""Maximum time that the loop sleeps with posted records, because metrics() counts records only after the loop takes
them.
"""

Event = list[SendFuture] | RecordRun | WatchFuture | RecordRefused | CallInterrupted | Call
"""Event that the loop takes from the mailbox."""
Posted = SendFuture | Event
"""Event that application threads post. The mailbox joins `send` records of one partition to lists."""


class ProducerMailbox(Mailbox[Posted]):
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
        """Set the rules that decide whether a posted record wakes the loop.

        A record does not wake the loop if it may linger beyond the next turn and fills no batch, or if its topic awaits
        a response.

        Args:
            next_turn_at_ms: latest time of the next turn.
            room_bytes: number of bytes that fit before a batch is full.
            is_linger_over: whether no record may linger.
            awaiting_responses: topics that can send nothing before a response; if nonempty, no other record waits.
        """
        self._next_turn_at_ms, self._room_bytes, self._posted_bytes = next_turn_at_ms, room_bytes, 0
        self._is_linger_over, self._awaiting_responses, self._turn_at_ms = is_linger_over, awaiting_responses, now_ms

    def nudge_for_memory(self) -> bool:
        """Wake the loop, unless it can send nothing before a response; return whether it still runs."""
        is_futile = self._is_loop_asleep and self._awaiting_responses and not self._posted_bytes
        if is_futile and self.clock.now_ms() - self._turn_at_ms <= LONGEST_SLEEP_MS:
            return not self.is_finished
        return self.nudge()

    def posted_records(self) -> int:
        """Return the number of records in the mailbox; any thread."""
        return sum(
            1 if type(event) is SendFuture else event.count
            for event in self._events.copy()
            if isinstance(event, SendFuture | RecordRun)
        )

    def post_record(self, record: SendFuture | RecordRun) -> None:
        """Pass a record and its memory to the loop; any thread."""
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
            ResultTimeout: the timeout has passed.
            IllegalStateError: the caller is the loop or a forked process, or a bug ended the loop.
        """
        self.check_process()
        if self.is_on_loop():
            raise IllegalStateError("callbacks must not wait for records: the wait would block the response")
        timer = Timer(self.clock, timeout_ms)
        waiter = self.driver.waiter()
        self.post(WatchFuture(future, waiter))
        while future.outcome is None:
            if self.is_finished:  # the loop may not have seen this wait, but completes every record before it ends
                has_ended = self._wait_for_end(timer.deadline_at_ms)
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
        """Notify the waiter when the future is done. After the end of the loop, the caller waits for this."""
        self.check_process()
        event = WatchFuture(future, waiter)
        self.post(event)
        if self.is_finished and not self.is_on_loop() and self.withdraw(event):
            self._wait_for_end(FOREVER_MS)  # the loop completes every record before it ends

    def handle(self, count: int) -> None:
        """Do nothing, because the loop has passed on the error."""

    def pop_some(self, most: int) -> list[Event]:
        """Return up to `most` events; records of one partition form a list, in order.

        Records do not overtake other events, or records without a partition.
        """
        events = self._events
        taken: list[Event] = []
        row: list[SendFuture] = []
        rows: dict[tuple[str, int], list[SendFuture]] = {}
        for _ in range(min(most, len(events))):
            event = events.popleft()
            if type(event) is not SendFuture:
                row = []
                rows.clear()
                taken.append(event)
            elif row and is_neighbour(event, row[0]):
                row.append(event)
            elif event.partition != NO_PARTITION and (known := rows.get((event.topic, event.partition))) is not None:
                row = known
                row.append(event)
            else:
                row = [event]
                taken.append(row)
                if event.partition == NO_PARTITION:
                    rows.clear()
                else:
                    rows[event.topic, event.partition] = row
        return taken
