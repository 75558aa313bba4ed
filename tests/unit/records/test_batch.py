"""The header of a batch: golden bytes, what is refused, and what a broker stamps onto it."""

import pytest

from kctl.client.errors import CorruptBatchError, LocalProtocolError, UnsupportedCodecError
from kctl.client.records import BatchReader, RecordBatchBuilder, split_batches, stamp_batch
from tests.unit.records.handmade import batch, record, with_right_crc

GOLDEN = bytes.fromhex(
    "0000000000000000"  # base offset
    "00000044"  # length
    "ffffffff"  # leader epoch
    "02"  # version
    "624304da"  # CRC32C
    "0000"  # attributes
    "00000001"  # last offset delta
    "000000000000000a"  # base timestamp
    "000000000000000c"  # max timestamp
    "ffffffffffffffff"  # producer id
    "ffff"  # producer epoch
    "ffffffff"  # base sequence
    "00000002"  # records
    "16 00 00 00 02 6b 02 76 02 02 68 01"  # key k, value v, header h null
    "0c 00 04 02 01 00 00"  # key null, value empty, no headers
)


def damage(data: bytes, *, check_crcs: bool = True) -> CorruptBatchError:
    with pytest.raises(CorruptBatchError) as caught:
        BatchReader(data, topic="t", partition=3, check_crcs=check_crcs).records()
    return caught.value


def test_golden_bytes_are_written_and_read() -> None:
    builder = RecordBatchBuilder()
    builder.try_append(b"k", b"v", [("h", None)], 10)
    builder.try_append(None, b"", [], 12)
    assert builder.build() == GOLDEN
    first, second = BatchReader(GOLDEN).records()
    assert (first.key, first.value, first.headers, first.timestamp_ms) == (b"k", b"v", (("h", None),), 10)
    assert (second.key, second.value, second.headers, second.timestamp_ms) == (None, b"", (), 12)


def test_a_wrong_crc_is_damage_unless_unchecked() -> None:
    data = batch(record(), base_offset=7, crc=0x12345678)
    error = damage(data)
    assert (error.topic, error.partition, error.base_offset, error.offset) == ("t", 3, 7, 0)
    assert "the batch at offset 7 of t-3 is corrupt at byte 0 of the records: the CRC is" in str(error)
    assert "the header contains 12345678" in str(error)
    assert len(BatchReader(data, check_crcs=False).records()) == 1


@pytest.mark.parametrize("position", range(21, 61))
def test_every_byte_of_the_header_is_under_the_crc(position: int) -> None:
    data = bytearray(batch(record()))
    data[position] ^= 1
    assert "CRC" in str(damage(bytes(data)))


@pytest.mark.parametrize(
    ("data", "cause"),
    [
        (batch(record(), base_offset=-1), "base offset is out of range"),
        (batch(record(), base_offset=(1 << 63) - 1), "base offset is out of range"),
        (batch(record(), count=-1), "the record count -1"),
        (batch(record(), count=2), "the record count 2 does not match the last offset delta 0"),
        (batch(record(), last_offset_delta=-1), "last offset delta -1"),
        (batch(record(), count=0, last_offset_delta=3), "bytes of records, but its record count is 0"),
        (batch(record(), magic=3), "kctl does not support version 3 of the record format"),
        (batch(record(), magic=255), "version 255"),
        (batch(record(), length=0), "batch length 0"),
        (batch(record(), length=-1), "batch length -1"),
        (batch(record(), length=-(1 << 31)), "batch length -2147483648"),
        (batch(record(), length=20), "the batch has 32 bytes, fewer than a batch header"),
    ],
)
def test_an_impossible_header_is_damage(data: bytes, cause: str) -> None:
    assert cause in str(damage(data))


@pytest.mark.parametrize("codec_id", [5, 6, 7])
def test_an_unknown_codec_is_named(codec_id: int) -> None:
    error = damage(batch(record(), base_offset=7, attributes=codec_id))
    assert isinstance(error, UnsupportedCodecError)
    assert error.base_offset == 7
    assert f"codec {codec_id}" in str(error)


def test_an_empty_batch_that_compaction_left_is_passed() -> None:
    reader = BatchReader(batch(base_offset=10, count=0, last_offset_delta=4) + batch(record(), base_offset=15))
    assert [found.offset for found in reader.records()] == [15]
    assert reader.next_offset == 16


def test_the_delete_horizon_flag_changes_nothing() -> None:
    (found,) = BatchReader(batch(record(timestamp_delta=5), attributes=0x40)).records()
    assert found.timestamp_ms == 1_005


def test_a_broker_stamps_offset_and_epoch() -> None:
    stamped = stamp_batch(GOLDEN, 500, 9)
    assert stamped[21:] == GOLDEN[21:]
    first, second = BatchReader(stamped, fetch_offset=500).records()
    assert (first.offset, second.offset, first.leader_epoch) == (500, 501, 9)


def test_a_broker_stamps_its_own_time() -> None:
    stamped = stamp_batch(GOLDEN, 500, 9, log_append_time_ms=77)
    assert with_right_crc(stamped) == stamped
    found = BatchReader(stamped, fetch_offset=500).records()
    assert [(each.timestamp_ms, each.timestamp_type) for each in found] == [(77, "log_append_time")] * 2


def test_a_produce_request_is_split_into_batches() -> None:
    data = batch(record(0), record(1), producer_id=4) + batch(record(0))
    (first, first_bytes), (second, second_bytes) = split_batches(data)
    assert first_bytes + second_bytes == data
    assert (first.producer_id, first.record_count, second.producer_id) == (4, 2, -1)


@pytest.mark.parametrize("end", [1, 11, 60, 69, 71, 139])
def test_a_produce_request_may_not_be_cut(end: int) -> None:
    data = batch(record()) + batch(record())
    with pytest.raises(CorruptBatchError):
        split_batches(data[:end])


def test_a_produce_request_may_not_be_old() -> None:
    with pytest.raises(CorruptBatchError, match="version 2, not 1"):
        split_batches(batch(record(), magic=1))


def test_a_batch_has_records() -> None:
    with pytest.raises(LocalProtocolError, match="without records"):
        RecordBatchBuilder().build()
