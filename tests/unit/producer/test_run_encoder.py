"""Rows that their caller encodes: the bytes that the loop would write, and the same rows where these are asked for."""

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kctl.client.clock import ManualClock
from kctl.client.cluster import NO_TOPIC_ID, PartitionInfo, TopicInfo
from kctl.client.producer.future import NO_PARTITION, ColumnsFuture
from kctl.client.producer.record import MEMORY_OVERHEAD_BYTES
from kctl.client.producer.record_run import RecordRun
from kctl.client.producer.run_encoder import RunEncoder
from kctl.client.records import CODEC_IDS, PackedRows, RecordBatchBuilder, Rows, partition_of_key
from tests.unit.producer.records import config, mailbox
from tests.unit.records.column_contents import packed_column

Column = list[bytes | None]
TOPIC = TopicInfo("t", NO_TOPIC_ID, False, None, {number: PartitionInfo("t", number, 1) for number in range(3)})


def run_of(
    values: Column,
    keys: Column | None = None,
    partition: int = NO_PARTITION,
    timestamps_ms: list[int] | None = None,
) -> RecordRun:
    size_bytes = sum(MEMORY_OVERHEAD_BYTES + len(value or b"") for value in values)
    size_bytes += sum(len(key or b"") for key in keys or ())
    future = ColumnsFuture(mailbox(ManualClock()), "t", len(values))
    return RecordRun(
        "t", partition, Rows(list(values), keys, timestamps_ms=timestamps_ms, timestamp_ms=7), future, 0, size_bytes
    )


def packed_run_of(values: Column, keys: Column) -> RecordRun:
    run = run_of(values, keys)
    rows = PackedRows(packed_column(values), packed_column(keys))
    return RecordRun("t", NO_PARTITION, rows.part(0, len(values), 7), run.result, 0, run.size_bytes)


in_both_forms = pytest.mark.parametrize("made_of", [run_of, packed_run_of])


def encoder(batch_size: int = 0, **properties: object) -> RunEncoder:
    return RunEncoder(config(batch_size=batch_size, **properties), lambda _: 1.0)


def batch_of(values: Column, keys: Column | None, codec: str) -> bytes:
    """Return the batch of rows that the network loop encodes one after the other."""
    builder = RecordBatchBuilder(codec, batch_size_bytes=1 << 30)
    for row, value in enumerate(values):
        assert builder.try_append(None if keys is None else keys[row], value, (), 7) is not None
    return builder.build()


CONTENTS = st.binary(max_size=40) | st.binary(min_size=1995, max_size=2010)


@given(
    st.lists(st.tuples(CONTENTS | st.none(), CONTENTS | st.none()), min_size=1, max_size=30),
    st.booleans(),
    st.sampled_from(list(CODEC_IDS)),
)
def test_encoded_rows_are_the_batch_of_the_loop_and_can_be_read_back(
    rows: list[tuple[bytes | None, bytes | None]], has_keys: bool, codec: str
) -> None:
    values: Column = [value for value, _ in rows]
    keys: Column | None = [key for _, key in rows] if has_keys else None
    run = run_of(values, keys, partition=1)
    encoder(compression_type=codec).encode(run, TOPIC)
    assert run.encoded is not None
    assert run.encoded.build() == batch_of(values, keys, codec)
    assert (run.rows.values, run.rows.timestamp_ms) == (values, 7)
    assert (run.rows.keys or [None] * len(values)) == (keys or [None] * len(values))
    assert run.rows.is_plain


@in_both_forms
@given(rows=st.lists(st.tuples(st.binary(max_size=6), CONTENTS | st.none()), min_size=3, max_size=40))
def test_rows_are_divided_by_their_keys_and_each_part_is_encoded(
    made_of: Callable[[Column, Column], RecordRun], rows: list[tuple[bytes, bytes | None]]
) -> None:
    run = made_of([value for _, value in rows], [key for key, _ in rows])
    run.created_at_ms = 5
    encoder().encode(run, TOPIC)
    parts = run.by_key(3)
    assert parts is not None
    for part in parts:
        mine = [(key, value) for key, value in rows if partition_of_key(key, 3) == part.partition]
        assert part.encoded is not None
        assert part.encoded.build() == batch_of([value for _, value in mine], [key for key, _ in mine], "none")
        assert part.created_at_ms == 5
    assert sum(part.count for part in parts) == run.count == len(rows)
    assert sum(part.size_bytes for part in parts) == run.size_bytes
    assert sorted(zip(run.rows.keys or (), map(str, run.rows.values), strict=True)) == sorted(
        (key, str(value)) for key, value in rows
    )


@in_both_forms
def test_rows_are_divided_again_where_the_topic_has_got_more_partitions(
    made_of: Callable[[Column, Column], RecordRun],
) -> None:
    keys: Column = [b"%d" % number for number in range(50)]
    run = made_of(list(keys), keys)
    encoder().encode(run, TOPIC)
    parts = run.by_key(7)
    assert parts is not None
    assert {part.partition: sorted(map(str, part.rows.keys or ())) for part in parts} == {
        number: sorted(str(key) for key in keys if key is not None and partition_of_key(key, 7) == number)
        for number in {partition_of_key(key, 7) for key in keys if key is not None}
    }


def test_rows_with_timestamps_that_are_divided_by_key_keep_them() -> None:
    values: Column = [b"%d" % number for number in range(50)]
    run = run_of(values, values, timestamps_ms=list(range(50)))
    encoder().encode(run, TOPIC)
    assert run.divided is not None
    assert dict(zip(run.rows.values, run.rows.timestamps_ms or (), strict=True)) == {
        b"%d" % number: number for number in range(50)
    }


@pytest.mark.parametrize(("keys", "topic"), [([b"k", None] * 9, TOPIC), ([b"k", b"l"], TOPIC), ([b"k"] * 9, None)])
def test_packed_rows_that_are_not_divided_are_made_objects_of(keys: Column, topic: TopicInfo | None) -> None:
    values: Column = [b"%d" % number for number in range(len(keys))]
    run = packed_run_of(values, keys)
    encoder().encode(run, topic)
    assert (run.is_packed, run.divided, run.encoded) == (False, None, None)
    assert (run.rows.values, run.rows.keys, run.rows.timestamp_ms) == (values, keys, 7)


def test_small_parts_of_packed_rows_are_left_to_the_loop() -> None:
    keys: Column = [b"%d" % number for number in range(50)]
    run = packed_run_of(keys, keys)
    encoder(1 << 20).encode(run, TOPIC)
    assert run.divided is not None
    assert all(part.encoded is None and part.count for part in run.divided[1])
    assert sorted(map(str, run.rows.keys or ())) == sorted(map(str, keys))


@pytest.mark.parametrize(
    ("batch_size", "is_encoded"), [(1000, True), (2 * 109 * 10, True), (2 * 109 * 10 + 2, False), (1 << 20, False)]
)
def test_rows_that_fill_less_than_half_a_batch_are_left_to_the_loop(batch_size: int, *, is_encoded: bool) -> None:
    run = run_of([bytes(100)] * 10)
    encoder(batch_size).encode(run, TOPIC)
    assert (run.encoded is not None) == is_encoded


def test_rows_of_a_topic_that_is_not_known_are_not_divided_and_those_that_take_turns_not_encoded() -> None:
    keyed = run_of([b"v"] * 9, [b"k"] * 9)
    encoder().encode(keyed, None)
    assert (keyed.divided, keyed.encoded) == (None, None)
    keys: Column = [b"k"] * 9
    for column in (None, keys):
        in_turns = run_of([b"v"] * 9, column)
        encoder(partitioner_class="round_robin").encode(in_turns, TOPIC)
        assert (in_turns.divided, in_turns.encoded) == (None, None)
    keyless = run_of([b"v"] * 9, [b"k"] * 9)
    encoder(partitioner_ignore_keys=True).encode(keyless, TOPIC)
    assert keyless.encoded is not None


def test_rows_with_headers_or_times_of_their_own_are_left_to_the_loop() -> None:
    run = run_of([b"v"], partition=0)
    run = RecordRun("t", 0, Rows([b"v"], None, None, None, [5]), run.result, 0, 90)
    encoder().encode(run, TOPIC)
    assert run.encoded is None


def test_part_cut_off_an_encoded_run_is_made_of_rows_again() -> None:
    values: Column = [b"%d" % number for number in range(10)]
    run = run_of(values, partition=0)
    encoder().encode(run, TOPIC)
    head = run.cut_off(4)
    assert (head.encoded, run.encoded) == (None, None)
    assert head.rows.values[head.first : head.end] + run.rows.values[run.first : run.end] == values
