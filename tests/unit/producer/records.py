"""Records and configs in a few words, for unit tests of the loop's parts."""

from collections.abc import Callable

from kctl.client.clock import Clock, ManualClock
from kctl.client.config import ProducerConfig
from kctl.client.errors import KafkaError
from kctl.client.producer.buffer_memory import BufferMemory
from kctl.client.producer.future import NO_PARTITION, Callback, ColumnsFuture, SendFuture
from kctl.client.producer.mailbox import ProducerMailbox
from kctl.client.producer.record import MEMORY_OVERHEAD_BYTES
from kctl.client.producer.record_run import RecordRun
from kctl.client.records import Rows
from kctl.client.runtime import Task, Waiter


class Flag:
    """A waiter that remembers how often it was raised."""

    def __init__(self) -> None:
        self.count = 0

    def notify(self) -> None:
        self.count += 1


class NoDriver:
    """A driver for tests in which nobody waits for long: a wait ends at its deadline at once."""

    def __init__(self, clock: ManualClock) -> None:
        self.clock = clock
        self.present_caller: object = None

    def waiter(self) -> Flag:
        return Flag()

    def wait(self, waiter: Waiter, deadline_at_ms: int) -> bool:
        assert isinstance(waiter, Flag)
        if waiter.count:
            waiter.count = 0
            return True
        self.clock.advance(max(0, deadline_at_ms - self.clock.now_ms()))
        return False

    def spawn(self, loop: object, name: str) -> Task:
        raise AssertionError("no loop here")

    def join(self, task: Task, deadline_at_ms: int) -> bool:
        raise AssertionError("no loop here")

    def is_current(self, task: Task) -> bool:
        return False

    def caller(self) -> object:
        return self.present_caller


def config(**properties: object) -> ProducerConfig:
    names = {key.replace("_", "."): value for key, value in properties.items()}
    return ProducerConfig.parse({"bootstrap.servers": "a:1", **names})


def mailbox(
    clock: ManualClock,
    wakes: list[int] | None = None,
    linger_ms: int = 0,
    last_error: Callable[[], KafkaError | None] = lambda: None,
    delivery_timeout_ms: int = 120_000,
) -> ProducerMailbox:
    found: list[int] = [] if wakes is None else wakes
    return ProducerMailbox(
        clock, NoDriver(clock), lambda: found.append(clock.now_ms()), last_error, linger_ms, delivery_timeout_ms
    )


class Maker:
    """Makes records whose memory is accounted for."""

    def __init__(self, clock: ManualClock) -> None:
        self.clock: Clock = clock
        self.memory = BufferMemory(10**9, NoDriver(clock))
        self.mailbox = mailbox(clock)

    def record(
        self,
        value: bytes = b"v",
        *,
        topic: str = "t",
        partition: int = NO_PARTITION,
        key: bytes | None = None,
        callback: Callback | None = None,
    ) -> SendFuture:
        """A record as `send` posts it."""
        size_bytes = MEMORY_OVERHEAD_BYTES + len(value) + len(key or b"")
        now_ms = self.clock.now_ms()
        record = SendFuture(
            self.mailbox, topic, partition, key, value, (), self.clock.wall_ms(), now_ms, size_bytes, callback
        )
        assert self.memory.try_acquire(record)
        return record

    def sent(
        self,
        value: bytes = b"v",
        *,
        topic: str = "t",
        partition: int = NO_PARTITION,
        key: bytes | None = None,
    ) -> RecordRun:
        """A record of `send` as the loop takes it: a run of one."""
        return RecordRun.of_futures([self.record(value, topic=topic, partition=partition, key=key)])

    def run(self, values: list[bytes | None], *, partition: int = NO_PARTITION, topic: str = "t") -> RecordRun:
        """Rows that were sent as columns."""
        size_bytes = sum(MEMORY_OVERHEAD_BYTES + len(value or b"") for value in values)
        columns = ColumnsFuture(self.mailbox, topic, len(values))
        rows = Rows(values, timestamp_ms=self.clock.wall_ms())
        run = RecordRun(topic, partition, rows, columns, self.clock.now_ms(), size_bytes)
        assert self.memory.try_acquire(run)
        return run


def values_of(run: RecordRun) -> list[bytes | None]:
    return run.rows.values[run.first : run.end]
