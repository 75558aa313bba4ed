"""Columns of a call of send_columns: checked as a whole, copied, and divided into runs that fill batches."""

from typing import Any

import pytest

from kctl.client.clock import ManualClock
from kctl.client.producer.future import ColumnsFuture
from kctl.client.producer.given_rows import GivenColumns, RowLimits
from kctl.client.producer.record import MEMORY_OVERHEAD_BYTES
from kctl.client.producer.record_run import RecordRun
from kctl.client.records import RecordBatchBuilder
from tests.unit.producer.records import mailbox

ROOMY = RowLimits(16_384, 1 << 25)


def checked(values: Any, limits: RowLimits = ROOMY, **columns: Any) -> GivenColumns:
    arguments = {"keys": None, "partition": None, "headers": None, "timestamps_ms": None, **columns}
    return GivenColumns(values=values, limits=limits, now_ms=5, **arguments)


def runs_of(columns: GivenColumns, partition: int = 0) -> list[RecordRun]:
    return list(columns.runs(ColumnsFuture(mailbox(ManualClock()), "t", columns.count), partition))


@pytest.mark.parametrize("size_bytes", [0, 1, 100, 1000])
def test_a_run_fills_a_batch_and_is_not_cut_again(size_bytes: int) -> None:
    columns = checked([bytes(size_bytes)] * 5000, keys=[b"k"] * 5000, timestamps_ms=7, partition=0)
    run = runs_of(columns)[0]
    builder = RecordBatchBuilder(batch_size_bytes=ROOMY.batch_size_bytes)
    fitting = builder.try_append_rows(run.rows, 0, run.count)
    assert fitting == run.count
    assert builder.size_bytes > 0.7 * ROOMY.batch_size_bytes


def test_runs_whose_keys_choose_partitions_are_four_batches_or_a_quarter_of_memory() -> None:
    keys: list[bytes | None] = [b"k"] * 5000
    batch, keyed = (runs_of(checked([bytes(100)] * 5000, keys=keys, partition=each))[0] for each in (0, None))
    assert 4 * batch.count <= keyed.count <= 4 * batch.count + 4
    limits = RowLimits(1 << 20, 100_000)
    assert max(run.size_bytes for run in runs_of(checked([b"12345"] * 5000, limits, keys=keys))) <= 50_000


def test_runs_take_what_their_rows_take_and_half_of_the_memory_at_most() -> None:
    limits = RowLimits(1 << 20, 100_000)
    columns = checked([b"12345"] * 5000 + [bytes(30_000)], limits=limits)
    runs = runs_of(columns)
    assert sum(run.count for run in runs) == columns.count == 5001
    sizes = [run.count * (MEMORY_OVERHEAD_BYTES + 5) for run in runs[:-1]]
    assert [run.size_bytes for run in runs[:-1]] == sizes
    assert max(sizes) <= 50_000
    assert (columns.first_larger_than(20_000), columns.largest_bytes) == (5000, 30_000 + MEMORY_OVERHEAD_BYTES)


def test_no_rows_make_no_run() -> None:
    assert (runs_of(checked([])), checked([]).largest_bytes) == ([], -1)


def test_a_batch_size_of_nothing_makes_runs_of_one() -> None:
    assert len(runs_of(checked([b"a", b"b", b""], limits=RowLimits(0, 1 << 25)))) == 3


def test_columns_are_copied() -> None:
    values: list[bytes | None] = [b"a", b"b"]
    headers: list[Any] = [[("h", b"1")], []]
    columns = checked(values, headers=headers, keys=(b"k", None), timestamps_ms=[3, None])
    values[0] = headers[0][0] = None
    (run,) = runs_of(columns, 4)
    assert (run.rows.values, run.rows.keys, run.rows.headers) == ([b"a", b"b"], [b"k", None], [(("h", b"1"),), ()])
    assert (run.rows.timestamps_ms, run.partition, run.count) == ([3, 5], 4, 2)


@pytest.mark.parametrize(
    ("columns", "said"),
    [
        ({"values": [b"", "x"]}, "row 1: value must be bytes"),
        ({"values": [b"", b""], "keys": [None, 3]}, "row 1: key must be bytes"),
        ({"values": [b"", b""], "keys": [None]}, "keys has 1 entries instead of 2"),
        ({"values": [b""], "timestamps_ms": 1 << 63}, "timestamp_ms must be"),
        ({"values": [b""], "timestamps_ms": [1 << 63]}, "row 0: timestamp_ms must be"),
        ({"values": [b""], "timestamps_ms": []}, "timestamps_ms has 0 entries instead of 1"),
        ({"values": [b"", b""], "headers": [(), [("h", "x")]]}, "row 1: header 'h' must be bytes"),
    ],
)
def test_row_that_no_record_can_have_is_named(columns: dict[str, Any], said: str) -> None:
    with pytest.raises((TypeError, ValueError), match=said):
        checked(**columns)
