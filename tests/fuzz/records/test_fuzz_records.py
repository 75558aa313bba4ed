"""Damaged batches through every exit: the typed error or good records, nothing else, and nothing lost without a word.

Runs on the compiled modules and, with KCTL_PURE=1, on their sources; both give the same (see the last test).
"""

import struct
from contextlib import suppress

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kctl.client.errors import CorruptBatchError, UnsupportedCodecError
from kctl.client.records import AbortedTransaction, BatchReader, Columns, OutputField, OutputPlan, RecordBatchBuilder
from kctl.client.records.compression import CODEC_IDS, compress
from tests.fuzz.examples import examples
from tests.unit.records.column_contents import entries, longs
from tests.unit.records.handmade import batch, message, record, with_right_crc

LIMIT = 1 << 20
EVERYTHING = OutputPlan([OutputField("key"), OutputField("value"), OutputField("headers"), OutputField("timestamp")])
VALUES = OutputPlan([OutputField("value"), b"\n"])
Found = tuple[int, int, bytes | None, bytes | None, tuple[tuple[str, bytes | None], ...]]


def build(codec: str) -> bytes:
    builder = RecordBatchBuilder(codec, batch_size_bytes=1 << 20)
    builder.try_append(b"key", b"value" * 30, [("name", b"1"), ("name", None)], 1_000)
    builder.try_append(None, None, [], 900)
    builder.try_append(b"", b"", [("", b"")], 5_000_000_000_000)
    return builder.build()


def wrapped(magic: int, codec: str) -> bytes:
    inner = message(0, magic=magic) + message(1, None, b"value", magic=magic)
    return message(1, None, compress(codec, inner), magic=magic, attributes=CODEC_IDS[codec])


SAMPLES = {codec: build(codec) for codec in CODEC_IDS}
SAMPLES |= {"v0": message(0, magic=0) + message(1, magic=0), "v1": message(0) + message(1, None, None)}
SAMPLES |= {f"v{magic} {codec}": wrapped(magic, codec) for magic in (0, 1) for codec in ("gzip", "snappy", "lz4")}


def read_all(
    data: bytes, *, check_crcs: bool = True, chunk: int = 2, around: bytes = b""
) -> tuple[list[Found], CorruptBatchError | None]:
    """Every record, headers included, up to the end or the first damage; `around` lies before and after the bytes."""
    start, end = len(around), len(around) + len(data)
    buffer = around + data + around
    reader = BatchReader(buffer, start=start, end=end, check_crcs=check_crcs, max_decompressed_bytes=LIMIT)
    found: list[Found] = []
    try:
        while not reader.exhausted:
            for each in reader.records(chunk):
                found.append((each.offset, each.timestamp_ms, each.key, each.value, each.headers))
    except CorruptBatchError as error:
        return found, error
    return found, None


def through_plan(data: bytes, plan: OutputPlan, *, check_crcs: bool) -> CorruptBatchError | None:
    """Every record's output, up to the end or the first damage."""
    reader = BatchReader(data, check_crcs=check_crcs, max_decompressed_bytes=LIMIT, aborted=[AbortedTransaction(-1, 0)])
    try:
        while not reader.exhausted:
            assert len(reader.output(plan, 2)) <= 4 * (LIMIT + len(data))
    except CorruptBatchError as error:
        return error
    return None


def survive(data: bytes, *, check_crcs: bool = True) -> None:
    """Read the bytes through every exit: good records or the typed error."""
    found, damage = read_all(data, check_crcs=check_crcs)
    inside, damage_inside = read_all(data, check_crcs=check_crcs, around=SAMPLES["none"])
    assert (inside, damage_inside is None) == (found, damage is None), "what lies around the bytes is not looked at"
    offsets = [each[0] for each in found]
    assert offsets == sorted(set(offsets))
    columns = Columns(keys=True, values=True, timestamps=True, headers=True, room_bytes=4 * (LIMIT + len(data)))
    reader = BatchReader(data, check_crcs=check_crcs, max_decompressed_bytes=LIMIT)
    with suppress(CorruptBatchError):
        while not reader.exhausted:
            reader.columns(columns, 2)
    keys, values = entries(columns.keys), entries(columns.values)
    lists = (keys, values, longs(columns.offsets), longs(columns.timestamps_ms), columns.headers)
    assert [len(each) for each in lists] == [columns.count] * 5
    assert values[: len(found)] == [each[3] for each in found][: columns.count]
    for plan in (EVERYTHING, VALUES):
        error = through_plan(data, plan, check_crcs=check_crcs)
        assert error is None or str(error)


@pytest.mark.parametrize("name", SAMPLES)
def test_cut_at_each_byte_gives_whole_batches_and_says_what_was_cut(name: str) -> None:
    data = SAMPLES[name]
    everything, error = read_all(data)
    assert error is None
    for end in range(len(data)):
        found, error = read_all(data[:end])
        assert error is None
        assert found == everything[: len(found)]
        assert len(found) < len(everything)


@pytest.mark.parametrize("name", CODEC_IDS)
def test_a_cut_inside_with_length_and_crc_put_right_is_damage(name: str) -> None:
    data = SAMPLES[name]
    whole, _ = read_all(data)
    for end in range(61, len(data)):
        cut = with_right_crc(data[:8] + struct.pack(">i", end - 12) + data[12:end])
        found, error = read_all(cut)
        assert error is not None
        assert found == whole[: len(found)]


@pytest.mark.parametrize("name", [name for name in SAMPLES if name not in ("v0", "v1")])
def test_every_flipped_bit_is_found_unless_the_crc_leaves_it_out(name: str) -> None:
    data = SAMPLES[name]
    whole, _ = read_all(data)
    for position in range(12, len(data)):
        for bit in range(8):
            flipped = bytearray(data)
            flipped[position] ^= 1 << bit
            found, error = read_all(bytes(flipped))
            if data[16] == 2 and position < 16:  # the leader's epoch
                assert found == whole
            else:
                assert error is not None
                assert found == []


@pytest.mark.parametrize("name", SAMPLES)
def test_flipped_bits_that_pass_the_crc_give_records_or_the_typed_error(name: str) -> None:
    data = SAMPLES[name]
    for position in range(len(data)):
        for mask in (0x01, 0x80, 0xFF):
            flipped = bytearray(data)
            flipped[position] ^= mask
            survive(bytes(flipped), check_crcs=False)


@st.composite
def mutated(draw: st.DrawFn) -> bytes:
    """A sample with bytes replaced, removed and added, and for version 2 the length and CRC put right."""
    data = bytearray(SAMPLES[draw(st.sampled_from(sorted(SAMPLES)))])
    for _ in range(draw(st.integers(1, 4))):
        position = draw(st.integers(0, len(data) - 1))
        kind = draw(st.sampled_from(["replace", "insert", "remove", "length"]))
        if kind == "replace":
            data[position] = draw(st.integers(0, 255))
        elif kind == "insert":
            data[position:position] = draw(st.binary(min_size=1, max_size=12))
        elif kind == "remove":
            del data[position : position + draw(st.integers(1, 6))]
        else:
            data[position : position + 4] = struct.pack(">i", draw(st.integers(-(1 << 31), (1 << 31) - 1)))
        if len(data) < 61:
            data += bytes(61 - len(data))
    if draw(st.booleans()):
        data[8:12] = struct.pack(">i", len(data) - 12)
        data[:] = with_right_crc(bytes(data))
    return bytes(data)


@settings(max_examples=examples(1_500), deadline=None)
@given(mutated(), st.booleans())
def test_mutated_batches_give_records_or_the_typed_error(data: bytes, check_crcs: bool) -> None:
    survive(data, check_crcs=check_crcs)


@settings(max_examples=examples(500), deadline=None)
@given(st.binary(max_size=200), st.booleans())
def test_rubbish_gives_the_typed_error_or_nothing(data: bytes, check_crcs: bool) -> None:
    survive(data, check_crcs=check_crcs)


@settings(max_examples=examples(500), deadline=None)
@given(st.binary(max_size=120), st.integers(0, 5), st.integers(0, 5), st.sampled_from(range(8)))
def test_rubbish_for_records_under_a_right_crc(body: bytes, count: int, last: int, attributes: int) -> None:
    data = batch(body=body, count=count, last_offset_delta=last, attributes=attributes)
    survive(data)
    found, error = read_all(data)
    assert error is not None or len(found) == count
    if attributes > 4 and count <= last + 1 and (count or not body):
        assert isinstance(error, UnsupportedCodecError)


numbers = st.integers(-(1 << 70), 1 << 70) | st.integers(-3, 300)


@settings(max_examples=examples(1_000), deadline=None)
@given(st.integers(-(1 << 62), 1 << 62), st.integers(-(1 << 62), 1 << 62), st.integers(-(1 << 62), 1 << 62), numbers)
def test_any_number_in_any_field(size: int, offset_delta: int, timestamp_delta: int, key_size: int) -> None:
    body = record(offset_delta, b"k", b"v", timestamp_delta=timestamp_delta)
    survive(batch(body))
    survive(batch(record(size=size)))
    survive(batch(record(tail=struct.pack(">q", key_size % (1 << 63)))))
