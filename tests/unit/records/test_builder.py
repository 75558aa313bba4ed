"""What RecordBatchBuilder writes, how large it says it is, and when it is full."""

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kctl.client.errors import LocalProtocolError
from kctl.client.records import BATCH_OVERHEAD_BYTES, BatchReader, Header, RecordBatchBuilder, Rows
from tests.unit.records.handmade import batch, record

Row = tuple[bytes | None, bytes | None, list[tuple[str, bytes | None]], int]
CODECS = ["none", "gzip", "snappy", "lz4", "zstd"]
names = st.text(max_size=8)
content = st.none() | st.binary(max_size=40)
rows = st.tuples(content, content, st.lists(st.tuples(names, content), max_size=4), st.integers(-1, (1 << 63) - 1))


@given(st.lists(rows, min_size=1, max_size=20), st.sampled_from(CODECS))
def test_built_batch_is_read_back(data: list[Row], codec: str) -> None:
    builder = RecordBatchBuilder(codec, batch_size_bytes=1 << 20)
    for number, (key, value, headers, timestamp) in enumerate(data):
        assert builder.try_append(key, value, headers, timestamp) == number
    built = builder.build()
    found = BatchReader(built).records()
    assert [(each.key, each.value, list(each.headers), each.timestamp_ms) for each in found] == data
    assert [each.offset for each in found] == list(range(len(data)))
    assert found[0].batch.max_timestamp_ms == max(row[3] for row in data)


@given(st.lists(st.integers(-(1 << 63), (1 << 63) - 1) | st.sampled_from([-1, -6_795_364_578_871, 0]), min_size=1))
def test_timestamps_of_64_bits_are_read_back(given_ms: list[int]) -> None:
    """A batch is full if the distance from its first timestamp has more than 64 bits."""
    found = []
    builder = RecordBatchBuilder(batch_size_bytes=1 << 20)
    for timestamp_ms in [*given_ms, None]:
        if timestamp_ms is None or builder.try_append(None, b"v", [], timestamp_ms) is None:
            records = BatchReader(builder.build()).records()
            assert records[0].batch.max_timestamp_ms == max(each.timestamp_ms for each in records)
            found += [each.timestamp_ms for each in records]
            builder = RecordBatchBuilder(batch_size_bytes=1 << 20)
            if timestamp_ms is not None:
                assert builder.try_append(None, b"v", [], timestamp_ms) == 0
    assert found == given_ms


@given(st.lists(rows, min_size=1, max_size=20))
def test_the_bytes_are_those_of_the_format(
    data: list[Row],
) -> None:
    builder = RecordBatchBuilder(batch_size_bytes=1 << 20)
    made = []
    for number, (key, value, headers, timestamp) in enumerate(data):
        builder.try_append(key, value, headers, timestamp)
        raw = [(name.encode(), header) for name, header in headers]
        made.append(record(number, key, value, raw, timestamp - data[0][3]))
    wanted = batch(
        *made, leader_epoch=-1, base_timestamp=data[0][3], max_timestamp=max(timestamp for *_, timestamp in data)
    )
    assert builder.size_bytes == len(wanted)
    assert builder.build() == wanted


def test_the_batch_is_full_at_its_size_to_the_byte() -> None:
    one = len(record(0, b"k", b"v" * 50))
    builder = RecordBatchBuilder(batch_size_bytes=BATCH_OVERHEAD_BYTES + 3 * one)
    for number in range(3):
        assert builder.try_append(b"k", b"v" * 50, [], 0) == number
    assert builder.try_append(b"k", b"v" * 50, [], 0) is None
    assert builder.try_append(None, None, [], 0) is None
    assert builder.record_count == 3
    assert len(builder.build()) == builder.size_bytes == BATCH_OVERHEAD_BYTES + 3 * one


def test_the_first_record_always_fits() -> None:
    builder = RecordBatchBuilder(batch_size_bytes=10)
    assert builder.try_append(b"k", b"v" * 5_000, [], 0) == 0
    assert builder.try_append(None, None, [], 0) is None
    assert len(builder.build()) > 5_000


def test_an_expected_ratio_lets_more_in() -> None:
    plain = RecordBatchBuilder("zstd", batch_size_bytes=1_000)
    hopeful = RecordBatchBuilder("zstd", batch_size_bytes=1_000, expected_ratio=0.25)
    counts = []
    for builder in (plain, hopeful):
        while builder.try_append(None, b"v" * 90, [], 0) is not None:
            pass
        assert builder.size_bytes <= 1_000
        counts.append(builder.record_count)
    assert counts[1] >= 3 * counts[0]


def test_the_ratio_is_what_compression_made() -> None:
    builder = RecordBatchBuilder("gzip", batch_size_bytes=1 << 20)
    builder.try_append(None, b"v" * 10_000, [], 0)
    assert builder.ratio == 1.0
    built = builder.build()
    assert builder.size_bytes == len(built)
    assert builder.ratio == pytest.approx((len(built) - BATCH_OVERHEAD_BYTES) / 10_000, rel=0.1)


@pytest.mark.parametrize("codec", CODECS)
def test_the_producer_may_be_named_again_after_build(codec: str) -> None:
    builder = RecordBatchBuilder(codec, producer_id=1, producer_epoch=2, base_sequence=3, transactional=True)
    builder.try_append(None, b"v" * 100, [], 5)
    first = builder.build()
    info = BatchReader(first).records()[0].batch
    assert (info.producer_id, info.producer_epoch, info.base_sequence, info.is_transactional) == (1, 2, 3, True)
    builder.set_producer_state(1, 3, 0)
    second = builder.build()
    info = BatchReader(second).records()[0].batch
    assert (info.producer_id, info.producer_epoch, info.base_sequence, info.is_transactional) == (1, 3, 0, False)
    assert first[61:] == second[61:]


def test_a_built_batch_takes_no_more() -> None:
    builder = RecordBatchBuilder()
    builder.try_append(None, b"v", [], 5)
    builder.build()
    with pytest.raises(LocalProtocolError, match="is built"):
        builder.try_append(None, b"v", [], 5)


def test_misuse_is_named() -> None:
    with pytest.raises(LocalProtocolError, match="'brotli' is none of none, gzip"):
        RecordBatchBuilder("brotli")
    with pytest.raises(LocalProtocolError, match="header name"):
        RecordBatchBuilder().try_append(None, None, [("\ud800", None)], 0)


def test_a_refused_record_leaves_nothing_behind() -> None:
    builder = RecordBatchBuilder()
    builder.try_append(None, b"v", [], 0)
    with pytest.raises(LocalProtocolError):
        builder.try_append(None, b"w", [("\ud800", None)], 0)
    builder.try_append(None, b"x", [], 0)
    assert [found.value for found in BatchReader(builder.build()).records()] == [b"v", b"x"]


def test_a_header_name_that_was_not_text_is_written_as_it_was_read() -> None:
    first = BatchReader(batch(record(headers=[(b"\xffn", b"")]))).records()[0]
    builder = RecordBatchBuilder()
    builder.try_append(b"k", b"v", first.headers, 0)
    assert b"\x04\xffn" in builder.build()


@pytest.mark.parametrize("level", [1, 9])
@pytest.mark.parametrize("codec", ["gzip", "lz4", "zstd"])
def test_levels_are_passed_on(codec: str, level: int) -> None:
    value = bytes(range(256)) * 40
    builder = RecordBatchBuilder(codec, level)
    builder.try_append(None, value, [], 0)
    assert BatchReader(builder.build()).records()[0].value == value


@given(st.lists(rows, min_size=1, max_size=20), st.integers(100, 600), st.integers(0, 5), st.booleans(), st.booleans())
def test_rows_at_once_are_what_they_are_one_by_one(
    data: list[Row], size_bytes: int, skipped: int, has_keys: bool, has_times: bool
) -> None:
    first = min(skipped, len(data))
    keys = [key for key, _, _, _ in data] if has_keys else None
    headers: list[Sequence[Header]] | None = [row_headers for _, _, row_headers, _ in data] if has_keys else None
    times = [timestamp for _, _, _, timestamp in data] if has_times else None
    singly, at_once = (RecordBatchBuilder(batch_size_bytes=size_bytes) for _ in range(2))
    for each in (singly, at_once):
        each.try_append(None, b"before", (), 5)
    taken = 0
    for key, value, row_headers, timestamp in data[first:]:
        row_key, more = (key, row_headers) if has_keys else (None, [])
        if singly.try_append(row_key, value, more, timestamp if has_times else 7) is None:
            break
        taken += 1
    columns = Rows([value for _, value, _, _ in data], keys, headers, None, times, 7)
    assert at_once.try_append_rows(columns, first, len(data)) == taken
    assert at_once.build() == singly.build()
    assert at_once.record_count == taken + 1


_VALUES = st.none() | st.binary(max_size=70) | st.sampled_from([63, 64, 1990, 1999, 2000, 2001, 9000]).map(bytes)


@given(
    st.lists(_VALUES, max_size=40),
    st.integers(0, 3),
    st.integers(61, 20_000),
    st.sampled_from(["none", "gzip", "snappy", "lz4", "zstd"]),
    st.lists(st.sampled_from([1000, 1001, 3047, 3048, 999, -1]), min_size=2, max_size=2),
    st.none() | st.lists(_VALUES, min_size=1, max_size=4),
)
def test_rows_are_encoded_as_single_records_are(
    values: list[bytes | None],
    single: int,
    batch_bytes: int,
    codec: str,
    times: list[int],
    some_keys: list[bytes | None] | None,
) -> None:
    by_row, by_rows = (RecordBatchBuilder(codec, batch_size_bytes=batch_bytes) for _ in range(2))
    expected = 0
    keys = None if some_keys is None else [some_keys[at % len(some_keys)] for at in range(len(values))]
    for at, value in enumerate(values):
        key = None if keys is None else keys[at]
        if by_row.try_append(key, value, (), times[0] if at < single else times[1]) is None:
            break
        expected += 1
    head = min(single, len(values))
    taken = by_rows.try_append_rows(Rows(values, keys, timestamp_ms=times[0]), 0, head)
    if taken == head:
        taken += by_rows.try_append_rows(Rows(values, keys, timestamp_ms=times[1]), head, len(values))
    assert (taken, by_rows.size_bytes, by_rows.max_timestamp_ms) == (
        expected,
        by_row.size_bytes,
        by_row.max_timestamp_ms,
    )
    if expected:
        assert by_rows.build() == by_row.build()


@pytest.mark.parametrize("key", [None, b"", b"k"])
def test_rows_beyond_the_tables_are_encoded_as_single_records_are(key: bytes | None) -> None:
    values: list[bytes | None] = [bytes(at % 130) for at in range(9000)]
    by_row, by_rows = (RecordBatchBuilder(batch_size_bytes=1 << 22) for _ in range(2))
    for value in values:
        by_row.try_append(key, value, (), 7)
    keys: list[bytes | None] | None = None if key is None else [key] * 9000
    assert by_rows.try_append_rows(Rows(values, keys, timestamp_ms=7), 0, 9000) == 9000
    assert by_rows.build() == by_row.build()


@pytest.mark.parametrize("key", [None, b"key"])
@pytest.mark.parametrize("size", [3, 60, 1999, 2047, 2048, 2100])
def test_a_batch_is_filled_to_its_last_byte(size: int, key: bytes | None) -> None:
    values: list[bytes | None] = [bytes(size)] * 3
    for batch_bytes in range(BATCH_OVERHEAD_BYTES + 2 * size, BATCH_OVERHEAD_BYTES + 3 * size + 40):
        by_row, by_rows = (RecordBatchBuilder(batch_size_bytes=batch_bytes) for _ in range(2))
        fitting = sum(by_row.try_append(key, value, (), 7) is not None for value in values)
        keys: list[bytes | None] | None = None if key is None else [key] * 3
        assert by_rows.try_append_rows(Rows(values, keys, timestamp_ms=7), 0, 3) == fitting
