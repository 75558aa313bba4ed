"""Runs of rows: cut and assigned as single records would be, one result a row."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kctl.client.clock import ManualClock
from kctl.client.errors import DeliveryTimeout, UndeliveredError
from kctl.client.producer.accumulator import Accumulator
from kctl.client.producer.delivery_tracker import DeliveryTracker
from kctl.client.producer.future import NO_PARTITION, ColumnsFuture, Outcome
from kctl.client.producer.metrics import ProducerCounters
from kctl.client.producer.partition_queue import PartitionQueue
from kctl.client.producer.record import MEMORY_OVERHEAD_BYTES
from kctl.client.producer.record_run import RecordRun
from kctl.client.records import BatchReader, Rows
from tests.unit.producer.records import Maker, config, mailbox, values_of

LATE = DeliveryTimeout("waiting", timeout_ms=1, elapsed_ms=1)


def run_of(values: list[bytes | None], partition: int = 0, **columns: list[bytes | None]) -> RecordRun:
    size_bytes = sum(MEMORY_OVERHEAD_BYTES + len(value or b"") for value in values)
    size_bytes += sum(len(key or b"") for key in columns.get("keys", []))
    future = ColumnsFuture(mailbox(ManualClock()), "t", len(values))
    return RecordRun("t", partition, Rows(values, columns.get("keys"), timestamp_ms=7), future, 0, size_bytes)


def sizes(*runs: RecordRun) -> list[int]:
    return [sum(MEMORY_OVERHEAD_BYTES + len(value or b"") for value in values_of(run)) for run in runs]


@given(st.lists(st.binary(max_size=20) | st.none(), min_size=2, max_size=20), st.data())
def test_part_cut_off_a_run_has_its_own_rows_and_memory(values: list[bytes | None], data: st.DataObject) -> None:
    run = run_of(values)
    first = run.cut_off(data.draw(st.integers(1, len(values) - 1)))
    assert values_of(first) + values_of(run) == values
    assert [first.size_bytes, run.size_bytes] == sizes(first, run)


def test_rows_are_shared_out_in_their_order() -> None:
    run = run_of([b"%d" % number for number in range(6)], NO_PARTITION, keys=[b"k%d" % number for number in range(6)])
    parts = run.by_partition([2, 0, 2, 2, 0, 1])
    assert {part.partition: values_of(part) for part in parts} == {
        2: [b"0", b"2", b"3"],
        0: [b"1", b"4"],
        1: [b"5"],
    }
    assert [part.rows.keys for part in parts] == [[b"k0", b"k2", b"k3"], [b"k1", b"k4"], [b"k5"]]
    assert sum(part.size_bytes for part in parts) == run.size_bytes


def test_the_future_is_done_with_its_last_row_and_names_the_first_failure() -> None:
    future = ColumnsFuture(mailbox(ManualClock()), "t", 5)
    future.settle(2, Outcome())
    future.settle(1, Outcome(LATE))
    assert not future.done()
    assert "waiting for the delivery of 2 records to t" in future.waited_for
    future.settle(2, Outcome(DeliveryTimeout("later", timeout_ms=1, elapsed_ms=1)))
    assert future.done()
    with pytest.raises(UndeliveredError) as caught:
        future.result()
    assert (caught.value.undelivered, caught.value.cause, future.delivered) == (3, LATE, 2)


def test_a_future_of_no_rows_is_done() -> None:
    assert ColumnsFuture(mailbox(ManualClock()), "t", 0).result() == 0


# --- in queues and batches --------------------------------------------------------------------------------------------


class Scenario:
    def __init__(self, batch_size: int) -> None:
        self.maker = Maker(ManualClock())
        counters = ProducerCounters()
        deliveries = DeliveryTracker(self.maker.memory, counters)
        self.accumulator = Accumulator(config(batch_size=batch_size), counters, deliveries)

    @property
    def queue(self) -> PartitionQueue:
        return self.accumulator.queues("t")[0]

    def frozen(self) -> list[list[bytes | None]]:
        """All that waits, as batches hold it."""
        self.queue.sequence.adopt(7, 0)
        found = []
        while self.queue.runs:
            batch = self.accumulator.freeze(self.queue)
            found.append(read(bytes(batch.data)))
            assert batch.record_count == len(found[-1])
        assert self.queue.queued_bytes == self.queue.queued_count == 0
        assert self.queue.sequence.next_sequence == sum(map(len, found))
        return found


def read(data: bytes) -> list[bytes | None]:
    reader = BatchReader(data, topic="t", partition=0, fetch_offset=0, aborted=None)
    return [record.value for record in reader.records(10_000)]


@given(st.lists(st.integers(0, 9), min_size=1, max_size=12), st.integers(61, 300))
def test_batches_are_the_same_whether_rows_come_singly_or_in_runs(counts: list[int], batch_size: int) -> None:
    """A count of 0 is a single record between the runs."""
    singly, mixed = Scenario(batch_size), Scenario(batch_size)
    number = 0
    for count in counts:
        values: list[bytes | None] = [b"%d" % each for each in range(number, number + max(count, 1))]
        number += len(values)
        for value in values:
            assert value is not None
            singly.accumulator.add(singly.maker.sent(value, partition=0))
        if count:
            mixed.accumulator.add(mixed.maker.run(values, partition=0))
        else:
            mixed.accumulator.add(mixed.maker.sent(values[0] or b"", partition=0))
    assert mixed.queue.queued_count == singly.queue.queued_count == number
    assert mixed.frozen() == singly.frozen()
    for batch in mixed.queue.batches:
        at = 0
        for run in batch.runs:
            assert run.offset_in_batch == at
            at += run.count


def test_a_run_in_a_batch_that_is_too_large_is_split_with_it() -> None:
    scenario = Scenario(16_000)
    values: list[bytes | None] = [b"%02d" % number + bytes(100) for number in range(20)]
    scenario.accumulator.add(run_of(values))
    scenario.queue.sequence.adopt(7, 3)
    whole = scenario.accumulator.freeze(scenario.queue)
    scenario.accumulator.split(scenario.queue, whole)
    pieces = list(scenario.queue.batches)
    assert len(pieces) > 1
    assert [value for piece in pieces for value in read(bytes(piece.data))] == values
    assert [piece.base_sequence for piece in pieces] == [
        sum(earlier.record_count for earlier in pieces[:at]) for at in range(len(pieces))
    ]
    assert sum(run.size_bytes for piece in pieces for run in piece.runs) == sizes(run_of(values))[0]


def test_a_run_that_has_expired_in_a_batch_stays_expired_when_the_batch_is_split() -> None:
    scenario = Scenario(16_000)
    scenario.accumulator.add(run_of([bytes(100)] * 20))
    scenario.accumulator.add(scenario.maker.sent(bytes(100), partition=0))
    scenario.queue.sequence.adopt(7, 3)
    whole = scenario.accumulator.freeze(scenario.queue)
    whole.runs[0].outcome = Outcome(LATE)
    scenario.accumulator.split(scenario.queue, whole)
    pending = [record for batch in scenario.queue.batches for record in batch.pending()]
    assert [record.count for record in pending] == [1]
