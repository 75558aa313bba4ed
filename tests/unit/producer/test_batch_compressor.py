"""Batches that a helper compresses: which ones, who hears of it, and what happens without a helper."""

from collections.abc import Callable

import pytest

from kctl.client.clock import ManualClock, Timer
from kctl.client.producer.batch_compressor import BatchCompressor
from kctl.client.producer.future import ColumnsFuture
from kctl.client.producer.record_run import RecordRun
from kctl.client.records import RecordBatchBuilder
from kctl.client.runtime import Task, Waiter
from tests.unit.producer.records import Flag, NoDriver, mailbox


class HeldDriver(NoDriver):
    """Keeps the loop of the helper, for the test to run when its time has come."""

    def __init__(self) -> None:
        super().__init__(ManualClock())
        self.loops: list[Callable[[], None]] = []
        self.has_threads = True
        self.on_spawn: Callable[[], None] = lambda: None

    def spawn(self, loop: object, name: str) -> Task:
        if not self.has_threads:
            raise RuntimeError("can't start new thread")
        assert callable(loop)
        self.on_spawn()
        self.loops.append(loop)
        return HeldTask()

    def wait(self, waiter: Waiter, deadline_at_ms: int) -> bool:
        assert isinstance(waiter, Flag)
        assert waiter.count, "the helper waits for ever"
        return super().wait(waiter, deadline_at_ms)


class HeldTask:
    is_alive = True


def encoded(level: int | None = None) -> RecordRun:
    builder = RecordBatchBuilder("zstd", level)
    for number in range(50):
        builder.try_append(None, b"value %d" % number, (), 7)
    return RecordRun("t", 0, builder, ColumnsFuture(mailbox(ManualClock()), "t", 50), 0, 5000)


def is_compressed(run: RecordRun) -> bool:
    assert run.encoded is not None
    return run.encoded.ratio < 1


class Helper:
    """A compressor and how often its network thread was woken; `run` lets the helper do what waits, and exit."""

    def __init__(self) -> None:
        self.driver = HeldDriver()
        self.wakes = 0
        self.compressor = BatchCompressor(self.driver, self._wakeup)

    def _wakeup(self) -> None:
        self.wakes += 1
        self.compressor.stop()

    def run(self) -> None:
        (loop,) = self.driver.loops
        loop()


def test_one_batch_waits_for_the_helper_and_the_caller_compresses_the_next() -> None:
    helper, first, second = Helper(), encoded(), encoded()
    helper.compressor.compress(first)
    assert (first.is_compressing, is_compressed(first)) == (True, False)
    helper.compressor.compress(second)
    assert (second.is_compressing, is_compressed(second)) == (False, True)
    helper.run()
    assert (first.is_compressing, is_compressed(first), helper.wakes) == (False, True, 1)


def test_sender_that_comes_while_another_starts_the_helper_compresses_and_starts_no_second_one() -> None:
    helper, first, second = Helper(), encoded(), encoded()
    helper.driver.on_spawn = lambda: helper.compressor.compress(second)
    helper.compressor.compress(first)
    assert len(helper.driver.loops) == 1
    assert (is_compressed(first), is_compressed(second)) == (False, True)


def test_helper_is_started_again_after_the_system_had_no_thread_left() -> None:
    helper = Helper()
    helper.driver.has_threads = False
    helper.compressor.compress(encoded())
    helper.driver.has_threads = True
    helper.compressor.compress(after := encoded())
    assert (len(helper.driver.loops), after.is_compressing) == (1, True)


def test_after_the_stop_and_without_a_thread_the_caller_compresses() -> None:
    helper, after = Helper(), encoded()
    helper.compressor.stop()
    helper.compressor.compress(after)
    assert is_compressed(after)
    assert helper.driver.loops == []
    helper = Helper()
    helper.driver.has_threads = False
    helper.compressor.compress(after := encoded())
    assert (after.is_compressing, is_compressed(after)) == (False, True)


def test_a_batch_that_cannot_be_compressed_is_left_to_the_network_thread(caplog: pytest.LogCaptureFixture) -> None:
    helper, run = Helper(), encoded()
    helper.compressor.compress(run)
    run.encoded = None  # as good a failure as any
    helper.run()
    assert (run.is_compressing, helper.wakes) == (False, 1)
    assert "cannot compress a batch" in caplog.text


def test_a_join_without_a_helper_waits_for_nothing() -> None:
    helper = Helper()
    helper.compressor.join(Timer(helper.driver.clock, 50))
    assert helper.driver.clock.now_ms() == ManualClock().now_ms()
