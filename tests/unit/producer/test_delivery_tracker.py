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


class Scenario:
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
def scenario() -> Scenario:
    return Scenario()


def test_completion_tells_everyone_once_and_gives_memory_back(scenario: Scenario) -> None:
    called: list[SendFuture] = []
    runs = scenario.accept(3)
    records = futures(runs)
    flag = Flag()
    records[1].waiters = [flag]
    for record in records:
        record.callback = called.append
    scenario.deliveries.finish(runs, GOOD)
    assert called == records
    assert flag.count == 1
    assert [record.result(0).offset for record in records] == [10, 11, 12]
    assert (scenario.deliveries.outstanding, scenario.maker.memory.used_bytes) == (0, 0)
    with pytest.raises(AssertionError):
        scenario.deliveries.finish(runs[:1], BAD)


def test_counts_are_right_before_the_first_callback_runs(scenario: Scenario) -> None:
    seen = []
    runs = scenario.accept(2)
    futures(runs)[0].callback = lambda _: seen.append(
        (scenario.deliveries.outstanding, scenario.deliveries.result({}).delivered)
    )
    scenario.deliveries.finish(runs, GOOD)
    assert seen == [(0, 2)]


@pytest.mark.parametrize("error", [ValueError("x"), SystemExit(3), KeyboardInterrupt(), asyncio.CancelledError()])
def test_callback_that_raises_or_exits_harms_no_other_record(
    scenario: Scenario, error: BaseException, caplog: pytest.LogCaptureFixture
) -> None:
    called: list[SendFuture] = []

    def fail(_: SendFuture) -> None:
        raise error

    runs = scenario.accept(2)
    first, second = futures(runs)
    first.callback, second.callback = fail, called.append
    scenario.deliveries.finish(runs, GOOD)
    assert called == [second]
    assert scenario.deliveries.running_callback is None
    assert "The producer continues" in caplog.text


def test_flush_waits_for_what_was_accepted_before_it_and_nothing_after(scenario: Scenario) -> None:
    before = scenario.accept(2)
    mark = scenario.flush()
    after = scenario.accept(1)
    scenario.deliveries.finish(after, GOOD)
    scenario.deliveries.finish(before[:1], GOOD)
    was_done = mark.is_done
    scenario.deliveries.finish(before[1:], GOOD)
    assert (was_done, mark.is_done, mark.error) == (False, True, None)
    assert not scenario.deliveries.is_flushing


def test_flush_of_nothing_is_done_at_once(scenario: Scenario) -> None:
    assert scenario.flush().is_done


def test_flush_never_ends_well_with_a_record_undelivered(scenario: Scenario) -> None:
    scenario.deliveries.finish(scenario.accept(2), BAD)
    late = scenario.accept(1)
    mark = scenario.flush()
    scenario.deliveries.finish(late, LOST)
    assert isinstance(mark.error, UndeliveredError)
    assert (mark.error.undelivered, str(mark.error.cause)) == (3, "bad")
    assert scenario.flush().error is None  # reported once


def test_a_failure_is_told_by_every_flush_that_waits_for_it_and_by_none_that_begins_later(scenario: Scenario) -> None:
    records = scenario.accept(2)
    first = scenario.flush()
    more = scenario.accept(1)
    second = scenario.flush()
    scenario.deliveries.finish(records, BAD)
    third = scenario.flush()
    scenario.deliveries.finish(more, LOST)
    errors = [flush.error for flush in (first, second, third)]
    told = [(error.undelivered, str(error.cause)) for error in errors if isinstance(error, UndeliveredError)]
    assert told == [(2, "bad"), (3, "bad"), (1, "lost")]
    assert scenario.flush().error is None


def test_flush_ends_at_its_deadline_with_the_count(scenario: Scenario) -> None:
    scenario.accept(5)
    scenario.deliveries.finish(scenario.accept(1), BAD)
    mark = scenario.flush(1000)
    scenario.clock.advance(1000)
    assert scenario.deliveries.next_flush_deadline_at_ms() == 1000
    scenario.deliveries.expire_flushes(1000, None, lambda _: Account(("connecting 1000 ms",)))
    assert isinstance(mark.error, FlushTimeout)
    assert (mark.error.undelivered, mark.error.elapsed_ms) == (6, 1000)
    assert mark.error.time_breakdown == ("connecting 1000 ms",)


def test_a_failure_after_a_flush_gave_up_is_reported_by_the_next(scenario: Scenario) -> None:
    stuck = scenario.accept(2)
    scenario.flush(10)
    scenario.clock.advance(10)
    scenario.deliveries.expire_flushes(10, None, lambda _: Account())
    scenario.deliveries.finish(stuck, BAD)
    mark = scenario.flush()
    assert isinstance(mark.error, UndeliveredError)
    assert mark.error.undelivered == 2


def test_every_record_is_accounted_for_by_partition(scenario: Scenario) -> None:
    scenario.deliveries.finish(scenario.accept(3, partition=0), GOOD)
    scenario.deliveries.finish(scenario.accept(2, partition=0), BAD)
    scenario.deliveries.finish(scenario.accept(4, partition=1), LOST)
    result = scenario.deliveries.result({})
    assert (result.delivered, result.failed, result.unknown, result.undelivered) == (3, 2, 4, 6)
    parts = {key.partition: part[:3] for key, part in result.partitions.items()}
    assert parts == {0: (3, 2, 0), 1: (0, 0, 4)}
    assert [str(part.error) for part in result.partitions.values()] == ["bad", "lost"]
