"""Bad records and batches that a reader passes on request, and what it gives out before and behind them."""

import pytest

from kctl.client.errors import CorruptBatchError
from kctl.client.records import BatchReader, Condition, FieldError, OutputField, OutputPlan
from kctl.client.records.compression import compress
from tests.unit.records.handmade import batch, message, record, varint

VALUES = OutputPlan([OutputField("value"), b"\n"])
HEADERS = OutputPlan([OutputField("headers"), b"=", OutputField("value"), b"\n"])
MANY_HEADERS = varint(100_001) + b"\0\1" * 100_001


def read(data: bytes, plan: OutputPlan, most: int = 500) -> tuple[bytes, list[int]]:
    """Return the output, and the offsets behind all that was passed."""
    reader = BatchReader(data, topic="t", partition=0)
    text, passed = b"", []
    while not reader.exhausted:
        try:
            text += reader.output(plan, most)
        except CorruptBatchError as error:
            passed.append(reader.skip(error))
        assert len(passed) < 10
    assert reader.count == text.count(b"\n")
    return text, passed


@pytest.mark.parametrize("most", [1, 2, 500])
def test_record_with_too_many_headers_is_passed_alone(most: int) -> None:
    data = batch(record(0, value=b"a"), record(1, tail=MANY_HEADERS), record(2, value=b"c"), base_offset=40)
    assert read(data, HEADERS, most) == (b"=a\n=c\n", [42])
    assert read(data, VALUES, most) == (b"a\nv\nc\n", [])


@pytest.mark.parametrize("at", [0, 1, 2])
def test_record_that_a_converter_rejects_is_passed_alone(at: int) -> None:
    def convert(value: bytes) -> bytes:
        if value == b"bad":
            raise FieldError("too long")
        return value

    values = [b"a", b"b", b"c"]
    values[at] = b"bad"
    data = batch(*(record(number, value=value) for number, value in enumerate(values)))
    plan = OutputPlan([b"<", OutputField("offset"), OutputField("value", convert), b">\n"])
    expected = b"".join(b"<%d%b>\n" % (number, value) for number, value in enumerate(values) if number != at)
    assert read(data, plan) == (expected, [at + 1])
    reader = BatchReader(data, topic="t", partition=0)
    if at > 0:
        assert reader.output(plan).count(b"\n") == at
    with pytest.raises(CorruptBatchError, match="too long"):
        reader.output(plan)
    assert reader.next_offset == at


def test_record_that_a_condition_cannot_search_is_passed_alone() -> None:
    def search(value: bytes) -> bytes | None:
        if value == b"bad":
            raise FieldError("not text") from ValueError("cause")
        return value if value != b"other" else None

    values = [b"a", b"b", b"bad", b"c", b"other", b"bad", b"bad", b"d"]
    data = batch(*(record(number, value=value) for number, value in enumerate(values)))
    plan = OutputPlan([b"<", OutputField("value"), b">\n"], b"", [Condition("value", search)])
    assert read(data, plan) == (b"<a>\n<b>\n<c>\n<d>\n", [3, 6, 7])
    reader = BatchReader(data, topic="t", partition=0)
    reader.output(plan)
    with pytest.raises(CorruptBatchError, match="offset 2: not text") as caught:
        reader.output(plan)
    assert isinstance(caught.value.__cause__, ValueError)


@pytest.mark.parametrize(
    "bad",
    [
        batch(record(0), record(1), base_offset=41, crc=1),
        batch(record(0), record(1), base_offset=41, attributes=7),
        batch(record(0), record(1, size=3), base_offset=41),
        batch(base_offset=41, last_offset_delta=1, count=2, attributes=4, body=b"no zstd"),
        batch(record(0), record(1), base_offset=41, attributes=0x20, crc=1),
    ],
    ids=["checksum", "codec", "record", "compression", "control batch"],
)
def test_damaged_batch_is_passed_to_its_end(bad: bytes) -> None:
    data = batch(record(value=b"a"), base_offset=40) + bad + batch(record(value=b"c"), base_offset=43)
    text, passed = read(data, VALUES)
    assert text in (b"a\nc\n", b"a\nv\nc\n"), "the record before the damage is whole"
    assert passed == [43]


def test_damaged_old_message_is_passed() -> None:
    data = message(40, value=b"a") + message(41, crc=1) + message(42, value=b"c")
    assert read(data, VALUES) == (b"a\nc\n", [42])


def test_batch_that_is_too_large_is_passed() -> None:
    body = compress("zstd", record(value=bytes(1 << 20)))
    data = batch(base_offset=40, last_offset_delta=0, count=1, attributes=4, body=body)
    reader = BatchReader(data + batch(record(value=b"c"), base_offset=41), max_decompressed_bytes=1 << 16)
    with pytest.raises(CorruptBatchError, match="the limit of 65536 bytes") as raised:
        reader.output(VALUES)
    assert reader.skip(raised.value) == 41
    assert reader.output(VALUES) == b"c\n"
