"""Runs: rising offsets with gaps, counted and found as a list would."""

from bisect import bisect_left

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from kctl.pipeline.jobs.offset_translation import Runs

OFFSETS = st.sets(st.integers(0, 60), min_size=1).map(sorted)


@given(OFFSETS, st.integers(1, 20), st.integers(0, 70))
def test_runs_count_and_find_offsets_as_a_list_does(offsets: list[int], size: int, asked: int) -> None:
    parts = [offsets[start : start + size] for start in range(0, len(offsets), size)]
    runs = Runs.of(pa.record_batch({"offset": pa.array(part, pa.int64())}) for part in parts)
    assert runs.count == len(offsets)
    assert runs.before(asked) == bisect_left(offsets, asked)
    assert [runs.offset_of(index) for index in range(len(offsets))] == offsets


def test_no_batches_are_no_offsets() -> None:
    assert (Runs.of([]).count, Runs.of([]).before(7)) == (0, 0)
