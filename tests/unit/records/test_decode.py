"""Records out of a batch: every field, and each way a record can be impossible."""

import pytest

from kctl.client.errors import CorruptBatchError
from kctl.client.records import BatchReader, OutputField, OutputPlan, Record
from kctl.client.records._hot.record import MOST_HEADERS
from tests.unit.records.handmade import batch, record, sized, varint

MAX = (1 << 63) - 1


def decode(data: bytes) -> list[Record]:
    return [found for chunk in BatchReader(data, topic="t", partition=3) for found in chunk]


def damage(data: bytes) -> CorruptBatchError:
    reader = BatchReader(data, topic="t", partition=3)
    with pytest.raises(CorruptBatchError) as caught:
        reader.records()
    assert caught.value.topic == "t"
    assert caught.value.partition == 3
    assert caught.value.__cause__ is None or not isinstance(caught.value.__cause__, IndexError)
    return caught.value


def test_all_fields_of_a_record() -> None:
    headers = [(b"a", b"1"), (b"a", b"2"), (b"", b""), (b"n", None)]
    (found,) = decode(batch(record(0, b"key", b"value", headers, 7), base_offset=40))
    assert (found.topic, found.partition, found.offset, found.leader_epoch) == ("t", 3, 40, 5)
    assert (found.key, found.value) == (b"key", b"value")
    assert (found.timestamp_ms, found.timestamp_type) == (1_007, "create_time")
    assert found.headers == (("a", b"1"), ("a", b"2"), ("", b""), ("n", None))
    assert found.headers is found.headers
    assert repr(found) == "Record(t-3@40, key=b'key', value=b'value')"


def test_null_and_empty_differ() -> None:
    nulls, empties = decode(batch(record(0, None, None), record(1, b"", b"")))
    assert (nulls.key, nulls.value, nulls.headers) == (None, None, ())
    assert (empties.key, empties.value) == (b"", b"")


def test_a_header_name_that_is_not_text_keeps_its_bytes() -> None:
    (found,) = decode(batch(record(headers=[(b"\xffn", b"")])))
    assert found.headers[0][0].encode("utf-8", "surrogateescape") == b"\xffn"


def test_all_records_share_what_the_batch_says() -> None:
    first, second = decode(batch(record(0), record(1), producer_id=9, producer_epoch=2, base_sequence=4))
    assert first.batch is second.batch
    info = first.batch
    assert (info.producer_id, info.producer_epoch, info.base_sequence, info.record_count) == (9, 2, 4, 2)
    assert (info.base_offset, info.last_offset, info.magic, info.compression) == (0, 1, 2, "none")


def test_gaps_of_compaction_stay_gaps() -> None:
    data = batch(record(2), record(7), last_offset_delta=9, base_offset=100)
    assert [found.offset for found in decode(data)] == [102, 107]


def test_log_append_time_replaces_every_timestamp() -> None:
    data = batch(record(0, timestamp_delta=1), record(1, timestamp_delta=2), attributes=8, max_timestamp=9_000)
    assert [(found.timestamp_ms, found.timestamp_type) for found in decode(data)] == [(9_000, "log_append_time")] * 2


@pytest.mark.parametrize(
    ("base", "delta", "wanted"),
    [
        (1_000, -1_000, 0),
        (0, MAX, MAX),
        (-1, 0, -1),
        (MAX, -MAX, 0),
        (MAX, 1, -MAX - 1),
        (1 << 62, 1 << 62, -MAX - 1),
        ((1 << 62) - 1, (1 << 62) - 1, MAX - 1),
        (-(1 << 62), -(1 << 62), -MAX - 1),
    ],
)
def test_timestamps_add_up_as_javas_do(base: int, delta: int, wanted: int) -> None:
    (found,) = decode(batch(record(timestamp_delta=delta), base_timestamp=base))
    assert found.timestamp_ms == wanted


def test_long_values_and_many_records() -> None:
    values = [bytes([number % 251]) * (number * 37 % 70_000) for number in range(300)]
    data = batch(*(record(number, None, value) for number, value in enumerate(values)))
    assert [found.value for found in decode(data)] == values


@pytest.mark.parametrize(
    ("bad", "cause"),
    [
        (record(size=-1), "negative record length -1"),
        (record(size=-2), "negative length -2"),
        (record(size=-(1 << 31)), "negative length"),
        (record(size=0), "length 1 where 0 bytes are left"),
        (record(size=3), "where|beyond|ends"),
        (record(size=100), "length 100 where 8 bytes are left"),
        (record(size=(1 << 31) - 1), "length 2147483647"),
        (b"\xff" * 12, "32 bits"),
        (record(offset_delta=1), "offset delta 1 after -1, last offset 70"),
        (record(offset_delta=-1), "offset delta -1"),
        (varint(6) + b"\0\0\0" + varint(-2) + b"\0\0", "negative length -2"),
        (varint(6) + b"\0\0\0" + varint(60) + b"\0\0", "length 60 where 2 bytes are left"),
        (varint(6) + b"\0\0\0\1" + varint(60) + b"\0", "length 60 where 1 bytes are left"),
        (varint(6) + b"\0\0\0\1\3\0", "negative length -2"),
        (record(tail=b""), "beyond the end of the record"),
        (record(tail=b"\0\0\0"), "2 bytes after the fields"),
        (record() + b"\0\0", "2 bytes after the last of 1 records"),
        (varint(20) + b"\0" + b"\xff" * 10 + b"\0\0\0\0" + b"\0" * 5, "64 bits"),
    ],
)
def test_an_impossible_record_is_damage_with_its_place(bad: bytes, cause: str) -> None:
    error = damage(batch(bad, base_offset=70, count=1, last_offset_delta=0))
    assert error.base_offset == 70
    assert error.offset is not None
    assert error.offset >= 61
    assert f"byte {error.offset} of the records" in str(error)
    with pytest.raises(CorruptBatchError, match=cause):
        raise error


def test_fewer_records_than_declared_are_damage() -> None:
    reader = BatchReader(batch(record(0), count=2, last_offset_delta=1))
    assert len(reader.records()) == 1
    with pytest.raises(CorruptBatchError, match="ends inside the record"):
        reader.records()


def test_offsets_must_rise() -> None:
    reader = BatchReader(batch(record(1), record(1), last_offset_delta=3))
    assert len(reader.records()) == 1
    with pytest.raises(CorruptBatchError, match="offset delta 1 after 1"):
        reader.records()


@pytest.mark.parametrize(
    "tail",
    [
        varint(1),
        varint(-1) + b"xx",
        varint(2) + sized(b"a") + sized(b"b"),
        varint(1) + varint(-1) + sized(b"b"),
        varint(1) + sized(b"a") + varint(5) + b"b",
        varint(1) + sized(b"a") + sized(b"b") + b"surplus",
        varint(1 << 30) + b"a",
    ],
)
def test_damaged_headers_are_found_when_asked_for(tail: bytes) -> None:
    (found,) = decode(batch(record(tail=tail), base_offset=70))
    assert found.value == b"v"
    with pytest.raises(CorruptBatchError, match="t-3, batch at offset 70, record at offset 70: headers") as caught:
        _ = found.headers
    assert caught.value.base_offset == 70


def many_headers(count: int) -> bytes:
    """Return a batch of one record with headers that take two bytes each."""
    return batch(record(headers=[(b"", b"")] * count))


def test_headers_of_a_record_are_bounded_before_they_take_memory() -> None:
    (most,) = decode(many_headers(int(MOST_HEADERS)))
    assert len(most.headers) == MOST_HEADERS
    (more,) = decode(many_headers(int(MOST_HEADERS) + 1))
    with pytest.raises(CorruptBatchError, match="100001 headers are more than 100000"):
        _ = more.headers


def test_output_of_large_records_is_returned_before_all_is_formatted() -> None:
    """Control characters and headers become many times their size."""
    size_bytes = 300_000
    data = batch(*(record(offset, None, bytes(size_bytes)) for offset in range(12)))
    reader = BatchReader(data, topic="t", partition=3)
    plan = OutputPlan([OutputField("value", lambda value: value * 6)])
    outputs = []
    while not reader.exhausted:
        outputs.append(len(reader.output(plan)))
    assert sum(outputs) == 12 * 6 * size_bytes
    assert max(outputs) <= 4 * 6 * size_bytes
