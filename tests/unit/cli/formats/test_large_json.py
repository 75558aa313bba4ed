"""JSON of values that are too large to be escaped at once."""

import json
import tracemalloc

import pytest

from kctl.cli.formats.texts import PART_BYTES, JsonForm
from kctl.client.errors import CorruptBatchError
from kctl.client.records import BatchReader, FieldError, OutputField, OutputPlan
from tests.unit.records.handmade import batch, record

SHORT = b'a"\x00\xc3\xa9\xf0\x9f\x98\x80\\\n\x7f'


@pytest.mark.parametrize("is_ascii", [True, False])
@pytest.mark.parametrize("part_bytes", [4, 5, 7])
def test_json_of_parts_is_the_json_of_the_whole(part_bytes: int, is_ascii: bool) -> None:
    whole, parted = JsonForm(is_ascii=is_ascii), JsonForm(is_ascii=is_ascii, part_bytes=part_bytes)
    for data in (SHORT, SHORT * 3, SHORT[:-3] + b"\xff", SHORT + b"\xc3", b"\xed\xa0\x80" + SHORT):
        assert parted.value(data) == whole.value(data)


def test_json_above_the_limit_is_rejected() -> None:
    form = JsonForm(is_ascii=False, most_bytes=98, part_bytes=10)
    assert len(form.value(b"\0" * 16)) == 98
    with pytest.raises(FieldError, match="17 bytes are more than 98 bytes as JSON"):
        form.value(b"\0" * 17)
    with pytest.raises(FieldError, match="the field of 78 bytes is larger than 98 bytes in JSON"):
        form.value(b"\xff" * 78)


@pytest.mark.parametrize("at", [0, 1, 2])
def test_large_value_that_is_rejected_leaves_no_part(at: int) -> None:
    """The records around it are whole, and the bad one is passed alone."""
    form = JsonForm(is_ascii=False, most_bytes=3 << 20)
    values = [b"a", b"b" * (2 << 20), b"c"]
    values.insert(at, b"\0" * (1 << 20) + b"d" * (1 << 20))
    reader = BatchReader(batch(*(record(number, value=value) for number, value in enumerate(values))))
    plan = OutputPlan([b'{"o":', OutputField("offset"), b',"v":', OutputField("value", form.value), b"}\n"])
    text, passed = b"", []
    while not reader.exhausted:
        try:
            text += reader.output(plan)
        except CorruptBatchError as error:
            passed.append(reader.skip(error))
    assert passed == [at + 1]
    assert [json.loads(line)["v"].encode() for line in text.splitlines()] == values[:at] + values[at + 1 :]


@pytest.mark.parametrize(
    "data", [b"\0\x1b", "a\U0001f600".encode(), b"a" * 50 + b"\n"], ids=["controls", "wide", "text"]
)
def test_large_value_takes_no_more_memory_than_its_json_twice(data: bytes) -> None:
    size_bytes = 8 << 20
    value = data * (size_bytes // len(data))
    form = JsonForm(is_ascii=False)
    tracemalloc.start()
    try:
        written = form.value(value)
        _, peak_bytes = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert json.loads(written) == value.decode()
    assert peak_bytes < 2.3 * len(written) + 12 * PART_BYTES
