"""FilterProcess: it decides as a RecordFilter does, and ends what does not end by itself, with the record's name."""

import pyarrow as pa
import pytest

from kctl.pipeline.filter_process import FilterProcess
from kctl.pipeline.job_errors import FilterTimeoutError, RecordDataError
from kctl.pipeline.record_filter import RecordFilter
from tests.unit.pipeline.test_record_filter import BATCH

pytestmark = pytest.mark.slow

LONG_MS = 60_000


def test_batches_are_filtered_as_by_the_filter_itself() -> None:
    wanted = RecordFilter(since_ms=2, key="^[ab]", headers=(("h", None),), jq=".offset == 13")
    with FilterProcess(wanted, LONG_MS) as chosen:
        for _ in range(3):
            assert chosen.wanted(BATCH).equals(wanted.wanted(BATCH))


@pytest.mark.parametrize(
    ("wanted", "name", "offset"),
    [
        (RecordFilter(jq="if .offset == 13 then last(repeat(1)) else true end"), "--jq", 13),
        (RecordFilter(key="^(.|.)*$", jq="last(repeat(1))"), "--key and --jq", 10),
        (RecordFilter(key=r"^b|^(1+)+$"), "--key", 14),
    ],
)
def test_filter_that_does_not_end_is_ended_and_named(wanted: RecordFilter, name: str, offset: int) -> None:
    keys = pa.array([b"b", b"b", b"b", b"1" * 40 + b"-"], pa.binary())
    batch = BATCH.set_column(0, "key", keys)
    with FilterProcess(wanted, 300) as chosen, pytest.raises(FilterTimeoutError) as caught:
        chosen.wanted(batch)
    within = "it did not finish within 300ms (--api-timeout)"
    assert str(caught.value) == f"cannot evaluate {name} on t-0 offset {offset}: {within}"


def test_program_that_fails_names_the_record() -> None:
    wanted = RecordFilter(jq="if .offset == 13 then . + 1 else . end")
    with (
        FilterProcess(wanted, LONG_MS) as chosen,
        pytest.raises(RecordDataError, match="cannot evaluate --jq on t-0 offset 13: "),
    ):
        chosen.wanted(BATCH)


def test_process_that_is_killed_is_an_error() -> None:
    wanted = RecordFilter(jq="if .offset == 13 then last(repeat(1)) else true end")
    with FilterProcess(wanted, LONG_MS) as chosen:
        assert chosen.wanted(BATCH.slice(0, 2)).num_rows == 2
        assert chosen._process is not None
        chosen._process.kill()
        with pytest.raises(RecordDataError, match="cannot evaluate --jq: its process exited with code -9"):
            chosen.wanted(BATCH)
