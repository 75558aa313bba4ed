"""The walk along the batches of a fetch: chunks, wanted offsets, cut batches, and damage after good records."""

import subprocess
import sys

import pytest

from kctl.client.errors import CorruptBatchError
from kctl.client.records import AbortedTransaction, BatchReader, OutputField, OutputPlan
from kctl.client.records import reader as reader_module
from kctl.client.records.compression import compress
from kctl.client.records.reader import OUTPUT_BYTES, UNJOINED_BYTES
from tests.unit.records.handmade import batch, message, record

VALUES = OutputPlan([OutputField("value"), b"\n"])


def numbered(offset: int, count: int) -> bytes:
    """A batch whose records' values are their offsets."""
    records = (record(number, value=str(offset + number).encode()) for number in range(count))
    return batch(*records, base_offset=offset)


LOG = numbered(0, 3) + numbered(3, 1) + numbered(4, 6)


def test_chunks_cross_batches() -> None:
    reader = BatchReader(LOG)
    chunks = [[found.offset for found in reader.records(4)] for _ in range(4)]
    assert chunks == [[0, 1, 2, 3], [4, 5, 6, 7], [8, 9], []]
    assert (reader.count, reader.next_offset, reader.exhausted) == (10, 10, True)


def test_the_next_offset_follows_every_chunk() -> None:
    reader = BatchReader(LOG)
    positions = []
    while not reader.exhausted:
        reader.records(4)
        positions.append(reader.next_offset)
    assert positions == [4, 8, 10]


def test_no_records_wanted_is_not_the_end() -> None:
    reader = BatchReader(LOG)
    assert reader.records(0) == []
    assert not reader.exhausted
    assert len(reader.records()) == 10


def test_nothing_fetched() -> None:
    reader = BatchReader(b"", fetch_offset=7)
    assert reader.records() == []
    assert (reader.exhausted, reader.next_offset) == (True, 7)


@pytest.mark.parametrize("start", range(11))
@pytest.mark.parametrize("stop", [0, 1, 3, 4, 7, 10, 99])
def test_only_wanted_offsets_come_out_of_both_exits(start: int, stop: int) -> None:
    wanted = list(range(start, min(stop, 10)))
    reader = BatchReader(LOG, fetch_offset=start, stop_offset=stop)
    assert [found.offset for chunk in reader for found in chunk] == wanted
    assert reader.exhausted
    assert reader.next_offset == max(start, min(stop, 10))
    text = BatchReader(LOG, fetch_offset=start, stop_offset=stop).output(VALUES)
    assert text == b"".join(b"%d\n" % offset for offset in wanted)


def test_a_stop_within_a_gap_is_where_to_go_on() -> None:
    data = batch(record(0), record(5), base_offset=0, last_offset_delta=5)
    reader = BatchReader(data, stop_offset=3)
    assert [found.offset for found in reader.records()] == [0]
    assert (reader.exhausted, reader.next_offset) == (True, 3)


def test_the_exits_go_along_the_same_position() -> None:
    reader = BatchReader(LOG)
    assert [found.offset for found in reader.records(2)] == [0, 1]
    assert reader.output(VALUES, 3) == b"2\n3\n4\n"
    assert [found.offset for found in reader.records(2)] == [5, 6]


@pytest.mark.parametrize("kept", range(len(LOG)))
def test_a_cut_batch_at_the_end_is_normal(kept: int) -> None:
    ends = [len(numbered(0, 3)), len(numbered(0, 3) + numbered(3, 1)), len(LOG)]
    whole = sum(end <= kept for end in ends)
    reader = BatchReader(LOG[:kept])
    given = [0, 3, 4, 10][whole]
    assert [found.offset for found in reader.records()] == list(range(given))
    assert (reader.exhausted, reader.next_offset) == (True, given)


def test_a_cut_old_message_is_normal() -> None:
    data = message(0) + message(1)
    reader = BatchReader(data[:-1])
    assert len(reader.records()) == 1
    assert (reader.exhausted, reader.next_offset) == (True, 1)


def test_batches_are_read_where_they_lie_in_a_buffer() -> None:
    bad = bytearray(numbered(10, 6))
    bad[-3] ^= 1
    old = message(10)
    for data in (LOG, LOG[:-1], LOG + bytes(bad), LOG + old + message(11), LOG + old[:-1] + b"!", LOG + b"\xff" * 99):
        alone, inside = BatchReader(data), BatchReader(LOG + data + LOG, start=len(LOG), end=len(LOG) + len(data))
        for _ in range(3):
            assert outcome(inside) == outcome(alone)
        assert (inside.next_offset, inside.exhausted) == (alone.next_offset, alone.exhausted)


@pytest.mark.parametrize("check_crcs", [True, False])
def test_damage_of_a_batch_inside_a_buffer_is_where_it_is_in_the_records(check_crcs: bool) -> None:
    bad = bytearray(LOG + batch(record(0), record(1), base_offset=10))
    bad[-3] = 0xFF
    alone, inside = (
        BatchReader(b"?" * start + bytes(bad) + LOG, start=start, end=start + len(bad), check_crcs=check_crcs)
        for start in (0, 1000)
    )
    for reader in (alone, inside):
        reader.records()
    assert "damaged" in outcome(alone)
    assert outcome(inside) == outcome(alone)


def outcome(reader: BatchReader) -> str:
    """Return what the next records are, or what is wrong with them and where."""
    try:
        return repr(reader.records(6))
    except CorruptBatchError as error:
        return f"damaged: {error}, {error.base_offset}, {error.offset}"


def test_damage_comes_after_the_good_records_and_stays() -> None:
    bad = bytearray(numbered(4, 6))
    bad[-3] ^= 1
    reader = BatchReader(LOG[: -len(bad)] + bytes(bad))
    assert [found.offset for found in reader.records()] == [0, 1, 2, 3]
    assert reader.next_offset == 4
    for _ in range(2):
        with pytest.raises(CorruptBatchError, match="batch at offset 4"):
            reader.records()
        with pytest.raises(CorruptBatchError, match="batch at offset 4"):
            reader.output(VALUES)
    assert not reader.exhausted
    assert reader.next_offset == 4


def test_damage_inside_a_batch_comes_after_its_good_records() -> None:
    data = batch(record(0), record(1), record(9), last_offset_delta=2)
    reader = BatchReader(data)
    assert reader.output(VALUES) == b"v\nv\n"
    assert reader.next_offset == 2
    with pytest.raises(CorruptBatchError, match="offset delta 9"):
        reader.output(VALUES)


@pytest.mark.parametrize("offset", [0, 1, 2])
def test_a_batch_that_goes_back_is_damage_and_not_left_out(offset: int) -> None:
    reader = BatchReader(numbered(0, 3) + numbered(offset, 1))
    assert len(reader.records()) == 3
    with pytest.raises(CorruptBatchError, match=f"batch at offset {offset} of .* the previous batch ends at offset 2"):
        reader.records()


def test_damaged_headers_in_output_do_not_count_as_given() -> None:
    data = batch(record(0), record(1, tail=b"\x02"), record(2))
    plan = OutputPlan([OutputField("offset"), OutputField("headers"), b"\n"])
    reader = BatchReader(data)
    assert reader.output(plan) == b"0\n"
    assert (reader.count, reader.next_offset) == (1, 1)
    with pytest.raises(CorruptBatchError, match="headers"):
        reader.output(plan)


def test_values_of_two_batches_are_not_joined_where_the_first_has_many_bytes() -> None:
    large = batch(record(0, value=bytes(UNJOINED_BYTES - 1)), base_offset=0, last_offset_delta=0)
    reader = BatchReader(large + numbered(1, 1) + numbered(2, 1))
    assert [len(reader.output(VALUES)) for _ in range(2)] == [UNJOINED_BYTES, 4]


def test_aborted_batches_are_not_decompressed(monkeypatch: pytest.MonkeyPatch) -> None:
    body = compress("gzip", record(value=b"no"))
    aborted = batch(body=body, count=1, last_offset_delta=0, attributes=0x11, producer_id=7, base_sequence=0)
    good = batch(record(value=b"yes"), base_offset=1)
    monkeypatch.setattr(reader_module, "decompress", None)
    reader = BatchReader(aborted + good, aborted=[AbortedTransaction(7, 0)])
    assert [found.value for found in reader.records()] == [b"yes"]


def test_records_are_given_after_enough_bytes_were_decompressed() -> None:
    large = b"x" * (OUTPUT_BYTES // 2)
    body = compress("gzip", record(value=large))
    data = b"".join(batch(body=body, count=1, last_offset_delta=0, base_offset=i, attributes=1) for i in range(5))
    reader = BatchReader(data)
    assert [len(reader.records()) for _ in range(3)] == [2, 2, 1]
    assert sum(len(chunk) for chunk in BatchReader(data)) == 5


def test_records_outlive_the_fetched_bytes() -> None:
    found = BatchReader(bytes(LOG)).records()
    assert [each.value for each in found] == [b"%d" % number for number in range(10)]


def test_importing_records_loads_no_codec() -> None:
    code = "import sys, kctl.client.records; print('cramjam' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], check=True, stdout=subprocess.PIPE, text=True)
    assert done.stdout.strip() == "False"
