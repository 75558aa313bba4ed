"""RecordStatistics: equal to counting record by record, however the records are divided into runs."""

from collections import Counter
from collections.abc import Sequence
from itertools import pairwise

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kctl.pipeline.record_statistics import RecordStatistics, statistics_of

Record = tuple[bytes | None, bytes | None, int]
KEYS = st.none() | st.binary(max_size=3)
VALUES = (
    st.none() | st.binary(max_size=9) | st.sampled_from([b"\x00\x00\x00\x00\x07x", b"\x00\x00\x00\x01\x00", b"\x00"])
)
RECORDS = st.lists(st.tuples(KEYS, VALUES, st.integers(-1, 5)), max_size=40)


def batch(records: Sequence[Record], first_offset: int = 0) -> pa.RecordBatch:
    keys = [key for key, _, _ in records]
    values = [value for _, value, _ in records]
    at_ms = [each for _, _, each in records]
    offsets = range(first_offset, first_offset + len(records))
    return pa.record_batch(
        {
            "key": pa.array(keys, pa.binary()),
            "value": pa.array(values, pa.binary()),
            "offset": pa.array(offsets, pa.int64()),
            "timestamp": pa.array([1000 * each for each in at_ms], pa.timestamp("us", "UTC")),
        }
    )


def in_runs(records: Sequence[Record], bounds: Sequence[int]) -> RecordStatistics:
    found = RecordStatistics()
    for start, end in zip([0, *bounds], [*bounds, len(records)], strict=True):
        found = found.then(statistics_of(batch(records[start:end], start)))
    return found


@given(RECORDS, st.lists(st.integers(0, 40), max_size=3))
def test_statistics_are_those_of_counting_each_record(records: list[Record], bounds: list[int]) -> None:
    found = in_runs(records, sorted(min(bound, len(records)) for bound in bounds))
    keys = [key for key, _, _ in records if key is not None]
    values = [value for _, value, _ in records if value is not None]
    times = [at_ms for *_, at_ms in records if at_ms >= 0]
    assert (found.records, found.null_keys, found.null_values) == (
        len(records),
        len(records) - len(keys),
        len(records) - len(values),
    )
    assert (found.first_offset, found.last_offset) == ((0, len(records) - 1) if records else (-1, -1))
    assert (found.key_bytes, found.value_bytes) == (sum(map(len, keys)), sum(map(len, values)))
    assert found.max_value_bytes == max(map(len, values), default=0)
    assert found.value_sizes == Counter(len(value).bit_length() for value in values)
    assert (found.first_timestamp_ms, found.last_timestamp_ms) == (min(times, default=None), max(times, default=None))
    assert found.frequent_keys == Counter(keys)
    assert found.distinct_keys.estimate == pytest.approx(len(set(keys)), abs=1)
    framed = [int.from_bytes(value[1:5], "big") for value in values if len(value) >= 5 and value[0] == 0]
    assert found.schema_ids == Counter(framed)


@given(RECORDS, st.integers(0, 40))
def test_unordered_records_are_counted_across_runs(records: list[Record], bound: int) -> None:
    timed = [(key, value, max(0, at_ms)) for key, value, at_ms in records]
    found = in_runs(timed, [min(bound, len(timed))])
    assert found.unordered == sum(later[2] < earlier[2] for earlier, later in pairwise(timed))


@pytest.mark.parametrize("distinct", [500, 20_000, 300_000])
def test_distinct_keys_are_estimated_within_five_percent(distinct: int) -> None:
    found = RecordStatistics()
    for start in range(0, distinct, 16_384):
        records = [(b"key-%d" % number, b"", 0) for number in range(start, min(distinct, start + 16_384))]
        found = found.then(statistics_of(batch([*records, *records[:100]], start)))
    assert found.distinct_keys.estimate == pytest.approx(distinct, rel=0.05)


def test_a_frequent_key_is_found_among_many_rare_ones() -> None:
    found = RecordStatistics()
    for number in range(20):
        rare = [(b"rare-%d-%d" % (number, each), b"", 0) for each in range(5000)]
        found = found.then(statistics_of(batch([*rare, *[(b"hot", b"", 0)] * 500], number * 5500)))
    assert max(found.frequent_keys.items(), key=lambda each: each[1]) == (b"hot", 10_000)
    assert len(found.frequent_keys) < 2000


def test_shares_of_values_are_sizes_to_the_next_power_of_two() -> None:
    found = statistics_of(batch([(None, bytes(size), 0) for size in [10] * 98 + [1000] * 2]))
    assert (found.value_bytes_at(0.5), found.value_bytes_at(0.99)) == (15, 1000)
    assert RecordStatistics().value_bytes_at(0.5) is None
