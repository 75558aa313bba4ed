import asyncio

import pytest

from kctl.client.clock import ManualClock, Timer
from kctl.client.errors import Account, FlushTimeout, KafkaError, UndeliveredError
from kctl.client.producer.delivery_tracker import DeliveryTracker
from kctl.client.producer.future import Outcome, SendFuture
from kctl.client.producer.mailbox import FlushMark
from kctl.client.producer.metrics import ProducerCounters
from kctl.client.producer.record_run import RecordRun
from tests.unit.producer.records import Flag, Maker

GOOD = Outcome(None, 10)
BAD = Outcome(KafkaError("bad"))
LOST = Outcome(KafkaError("lost"), is_unknown=True)


class Setup:
    def __init__(self) -> None:
        self.clock = ManualClock()
        self.maker = Maker(self.clock)
        self.deliveries = DeliveryTracker(self.maker.memory, ProducerCounters())

    def accept(self, count: int, partition: int = 0) -> list[RecordRun]:
        """Runs of one record each, as one batch has them."""
        runs = [self.maker.sent(partition=partition) for _ in range(count)]
        for number, run in enumerate(runs):
            run.offset_in_batch = number
            self.deliveries.accept(run)
        return runs

    def flush(self, timeout_ms: int = 1000) -> FlushMark:
        mark = FlushMark(Timer(self.clock, timeout_ms), Flag())
        self.deliveries.flush(mark)
        return mark


def futures(runs: list[RecordRun]) -> list[SendFuture]:
    return [future for run in runs if isinstance(run.result, list) for future in run.result]


@pytest.fixture
def setup() -> Setup:
    return Setup()


def test_completion_tells_everyone_once_and_gives_memory_back(setup: Setup) -> None:
    called: list[SendFuture] = []
    runs = setup.accept(3)
    records = futures(runs)
    flag = Flag()
    records[1].waiters = [flag]
    for record in records:
        record.callback = called.append
    setup.deliveries.finish(runs, GOOD)
    assert called == records
    assert flag.count == 1
    assert [record.result(0).offset for record in records] == [10, 11, 12]
    assert (setup.deliveries.outstanding, setup.maker.memory.used_bytes) == (0, 0)
    with pytest.raises(AssertionError):
        setup.deliveries.finish(runs[:1], BAD)


def test_counts_are_right_before_the_first_callback_runs(setup: Setup) -> None:
    seen = []
    runs = setup.accept(2)
    futures(runs)[0].callback = lambda _: seen.append(
        (setup.deliveries.outstanding, setup.deliveries.result({}).delivered)
    )
    setup.deliveries.finish(runs, GOOD)
    assert seen == [(0, 2)]


@pytest.mark.parametrize("error", [ValueError("x"), SystemExit(3), KeyboardInterrupt(), asyncio.CancelledError()])
def test_callback_that_raises_or_exits_harms_no_other_record(
    setup: Setup, error: BaseException, caplog: pytest.LogCaptureFixture
) -> None:
    called: list[SendFuture] = []

    def fail(_: SendFuture) -> None:
        raise error

    runs = setup.accept(2)
    first, second = futures(runs)
    first.callback, second.callback = fail, called.append
    setup.deliveries.finish(runs, GOOD)
    assert called == [second]
    assert setup.deliveries.running_callback is None
    assert "the producer continues" in caplog.text


def test_flush_waits_for_what_was_accepted_before_it_and_nothing_after(setup: Setup) -> None:
    before = setup.accept(2)
    mark = setup.flush()
    after = setup.accept(1)
    setup.deliveries.finish(after, GOOD)
    setup.deliveries.finish(before[:1], GOOD)
    was_done = mark.is_done
    setup.deliveries.finish(before[1:], GOOD)
    assert (was_done, mark.is_done, mark.error) == (False, True, None)
    assert not setup.deliveries.is_flushing


def test_flush_of_nothing_is_done_at_once(setup: Setup) -> None:
    assert setup.flush().is_done


def test_flush_never_ends_well_with_a_record_undelivered(setup: Setup) -> None:
    setup.deliveries.finish(setup.accept(2), BAD)
    late = setup.accept(1)
    mark = setup.flush()
    setup.deliveries.finish(late, LOST)
    assert isinstance(mark.error, UndeliveredError)
    assert (mark.error.undelivered, str(mark.error.cause)) == (3, "bad")
    assert setup.flush().error is None  # reported once


def test_a_failure_is_told_by_every_flush_that_waits_for_it_and_by_none_that_begins_later(setup: Setup) -> None:
    records = setup.accept(2)
    first = setup.flush()
    more = setup.accept(1)
    second = setup.flush()
    setup.deliveries.finish(records, BAD)
    third = setup.flush()
    setup.deliveries.finish(more, LOST)
    errors = [flush.error for flush in (first, second, third)]
    told = [(error.undelivered, str(error.cause)) for error in errors if isinstance(error, UndeliveredError)]
    assert told == [(2, "bad"), (3, "bad"), (1, "lost")]
    assert setup.flush().error is None


def test_flush_ends_at_its_deadline_with_the_count(setup: Setup) -> None:
    setup.accept(5)
    setup.deliveries.finish(setup.accept(1), BAD)
    mark = setup.flush(1000)
    setup.clock.advance(1000)
    assert setup.deliveries.next_flush_deadline_ms() == 1000
    setup.deliveries.expire_flushes(1000, None, lambda _: Account(("connecting 1000 ms",)))
    assert isinstance(mark.error, FlushTimeout)
    assert (mark.error.undelivered, mark.error.elapsed_ms) == (6, 1000)
    assert mark.error.ledger == ("connecting 1000 ms",)


def test_a_failure_after_a_flush_gave_up_is_reported_by_the_next(setup: Setup) -> None:
    stuck = setup.accept(2)
    setup.flush(10)
    setup.clock.advance(10)
    setup.deliveries.expire_flushes(10, None, lambda _: Account())
    setup.deliveries.finish(stuck, BAD)
    mark = setup.flush()
    assert isinstance(mark.error, UndeliveredError)
    assert mark.error.undelivered == 2


def test_every_record_is_accounted_for_by_partition(setup: Setup) -> None:
    setup.deliveries.finish(setup.accept(3, partition=0), GOOD)
    setup.deliveries.finish(setup.accept(2, partition=0), BAD)
    setup.deliveries.finish(setup.accept(4, partition=1), LOST)
    result = setup.deliveries.result({})
    assert (result.delivered, result.failed, result.unknown, result.undelivered) == (3, 2, 4, 6)
    parts = {key.partition: part[:3] for key, part in result.partitions.items()}
    assert parts == {0: (3, 2, 0), 1: (0, 0, 4)}
    assert [str(part.error) for part in result.partitions.values()] == ["bad", "lost"]
