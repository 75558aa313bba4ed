"""Rows of Arrow batches become records as they would one by one: same columns, same places, same order in each."""

from datetime import UTC, datetime
from itertools import accumulate, pairwise

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kctl.client.errors import ConfigError
from kctl.pipeline.record_columns import HEADERS
from kctl.pipeline.record_rows import RecordRows, RowDestination, place_rows, record_rows

TIME = datetime(2024, 5, 1, tzinfo=UTC)


def batch(**columns: pa.Array) -> pa.RecordBatch:
    return pa.RecordBatch.from_arrays(list(columns.values()), names=list(columns))


def as_lists(rows: RecordRows) -> RecordRows:
    return rows._replace(values=list(rows.values), keys=None if rows.keys is None else list(rows.keys))


def test_every_column_of_a_record_is_taken() -> None:
    rows = batch(
        value=pa.array([b"a", None]),
        key=pa.array(["é", None]),
        headers=pa.array([[{"key": "h", "value": None}], None], HEADERS),
        timestamp=pa.array([TIME, None], pa.timestamp("us", "UTC")),
        other=pa.array([1, 2]),
    )
    found = record_rows(rows, with_timestamps=True)
    assert as_lists(found) == RecordRows(
        [b"a", None], ["é".encode(), None], [(("h", None),), ()], [int(TIME.timestamp()) * 1000, None]
    )
    assert record_rows(rows, with_timestamps=False).timestamps_ms is None


@pytest.mark.parametrize("kind", [pa.null(), pa.binary(), pa.large_binary(), pa.string(), pa.large_string()])
def test_a_column_of_nulls_alone_is_as_if_it_were_not_there(kind: pa.DataType) -> None:
    rows = batch(
        value=pa.nulls(2, kind),
        key=pa.nulls(2, kind),
        headers=pa.nulls(2, HEADERS),
        timestamp=pa.nulls(2, pa.timestamp("us")),
    )
    assert record_rows(rows, with_timestamps=True) == RecordRows([None, None], None, None, None)


@pytest.mark.parametrize("kind", [pa.binary(), pa.large_binary(), pa.string(), pa.large_string()])
def test_text_and_bytes_of_every_width(kind: pa.DataType) -> None:
    assert list(record_rows(batch(value=pa.array(["a", "b"], kind)), with_timestamps=True).values) == [b"a", b"b"]


@pytest.mark.parametrize(
    ("columns", "said"),
    [
        ({"key": pa.array([b"k"])}, "need a column named 'value'. Columns found: key"),
        ({"value": pa.array([1])}, "column value has type int64, expected binary or string"),
        ({"value": pa.array([b""]), "headers": pa.array(["x"])}, "column headers has type string"),
        (
            {"value": pa.array([b""]), "headers": pa.array([[{"key": None, "value": b""}]], HEADERS)},
            "the key of a header must not be null",
        ),
        ({"value": pa.array([b""]), "timestamp": pa.array([7])}, "column timestamp has type int64"),
        (
            {"value": pa.array([b""]), "timestamp": pa.array([1 << 62], pa.timestamp("s"))},
            "the column timestamp to milliseconds: .*out of bounds",
        ),
        ({"value": pa.array([b""]), "partition": pa.array(["0"])}, "column partition has type string, expected int"),
        ({"value": pa.array([b""]), "partition": pa.array([-3])}, "invalid partition '-3'"),
    ],
)
def test_row_that_no_record_can_have_is_named(columns: dict[str, pa.Array], said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        [record_rows(rows, with_timestamps=True) for _, rows in place_rows(batch(**columns), "t")]


@pytest.mark.parametrize(
    ("topic", "said"),
    [
        (None, "no topic"),
        (pa.array(["t", None]), "Rows without a topic: 1"),
        (pa.array([1, 2]), "column topic has type int64"),
    ],
)
def test_a_row_without_topic_is_refused(topic: pa.Array | None, said: str) -> None:
    rows = batch(value=pa.array([b"", b""]), **({} if topic is None else {"topic": topic}))
    with pytest.raises(ConfigError, match=said):
        list(place_rows(rows, None))


places = st.lists(st.tuples(st.sampled_from("abc"), st.none() | st.integers(0, 4)), max_size=60)


@given(places, st.booleans(), st.booleans())
def test_each_place_gets_its_rows_in_their_order(given: list[tuple[str, int | None]], named: bool, split: bool) -> None:
    rows = batch(
        value=pa.array([b"%d" % number for number in range(len(given))], pa.binary()),
        topic=pa.array([topic for topic, _ in given], pa.string()),
        partition=pa.array([partition for _, partition in given], pa.int32()),
    )
    at = len(given) // 3 if split else 0  # a slice has an offset into its buffers
    found: dict[RowDestination, list[bytes | None]] = {}
    seen: list[int] = []
    for place, part in place_rows(rows.slice(at), "all" if named else None):
        values = record_rows(part, with_timestamps=True).values
        found.setdefault(place, []).extend(values)
        seen += [int(value or 0) for value in values]
    wanted: dict[RowDestination, list[bytes | None]] = {}
    for number, (topic, partition) in enumerate(given):
        if number >= at:
            wanted.setdefault(RowDestination("all" if named else topic, partition), []).append(b"%d" % number)
    assert found == wanted
    changes = [(before is None) != (after is None) for (_, before), (_, after) in pairwise(given)]
    stretch = [0, *accumulate(changes)]  # rows with and without a partition do not overtake each other
    assert [stretch[number] for number in seen] == sorted(stretch[number] for number in seen)
