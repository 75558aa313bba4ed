"""Checks of produced batches by a broker, and the fields that it changes."""

import struct

import pytest

from kctl.client.broker_errors import ErrorCode
from kctl.client.records._hot.crc32c import crc32c
from kctl.client.records.compression import compress
from kctl.sandbox.batches import BatchRefused, appended, header_of, produced_batch
from kctl.sandbox.record_walk import check_records, walk
from tests.unit.sandbox.scenario import WALL_MS, batch, records_of


def test_a_good_batch_is_read() -> None:
    data = batch(b"a", b"b", timestamps_ms=[5, 9], producer=(7, 1, 40))
    header = produced_batch(data)
    assert (header.records_count, header.base_timestamp_ms, header.max_timestamp_ms) == (2, 5, 9)
    assert (header.producer_id, header.producer_epoch, header.base_sequence) == (7, 1, 40)
    check_records(header, data)
    assert list(walk(header, data)) == [(0, 5), (1, 9)]


@pytest.mark.parametrize("codec_id", range(1, 5))
def test_compressed_records_are_walked(codec_id: int) -> None:
    codec = ("none", "gzip", "snappy", "lz4", "zstd")[codec_id]
    stamps = [WALL_MS + n for n in range(50)]
    plain = records_of([b"value"] * 50, stamps)
    data = batch(*[b"value"] * 50, timestamps_ms=stamps, attributes=codec_id, payload=compress(codec, plain))
    assert list(walk(produced_batch(data), data)) == list(enumerate(stamps))


GOOD = batch(b"value")


@pytest.mark.parametrize(
    ("data", "code"),
    [
        (None, ErrorCode.INVALID_RECORD),
        (b"", ErrorCode.INVALID_RECORD),
        (GOOD[:60], ErrorCode.INVALID_RECORD),
        (GOOD[:-1], ErrorCode.INVALID_RECORD),
        (GOOD[:-1] + b"\xff", ErrorCode.CORRUPT_MESSAGE),
        (GOOD[:8] + b"\x7f\xff\xff\xff" + GOOD[12:], ErrorCode.INVALID_RECORD),
        (GOOD[:8] + b"\xff\xff\xff\xff" + GOOD[12:], ErrorCode.INVALID_RECORD),
        (GOOD + GOOD, ErrorCode.INVALID_RECORD),
        (batch(b"v", magic=1), ErrorCode.INVALID_RECORD),
        (batch(b"v", count=2), ErrorCode.INVALID_RECORD),
        (batch(b"v", last_offset_delta=4), ErrorCode.INVALID_RECORD),
        (batch(b"v", count=0, last_offset_delta=-1), ErrorCode.INVALID_RECORD),
        (batch(b"v", attributes=5), ErrorCode.UNKNOWN_SERVER_ERROR),
        (batch(b"v", attributes=0x20), ErrorCode.INVALID_RECORD),
        (batch(b"v", attributes=1), ErrorCode.UNKNOWN_SERVER_ERROR),
        (batch(b"v", payload=b""), ErrorCode.INVALID_RECORD),
        (batch(b"v", payload=b"\xff" * 12), ErrorCode.UNKNOWN_SERVER_ERROR),
        (batch(b"v", payload=records_of([b"v"], [0]) + b"\0"), ErrorCode.INVALID_RECORD),
        (batch(b"v", payload=b"\x0c\0\0\0\x01\x02v\0"), ErrorCode.INVALID_RECORD),
        (batch(b"v", payload=b"\x02\0\0\0\x01\x02v\0"), ErrorCode.INVALID_RECORD),
        (batch(b"v", payload=b"\x0e\0\0\x02\x01\x02v\0"), ErrorCode.INVALID_RECORD),
    ],
    ids=lambda value: value.name if isinstance(value, ErrorCode) else "batch",
)
def test_bad_batches_are_refused(data: bytes | None, code: ErrorCode) -> None:
    with pytest.raises(BatchRefused) as refused:
        check_records(produced_batch(data), data or b"")
    assert refused.value.code is code


def test_every_cut_and_every_flipped_byte_is_refused() -> None:
    data = batch(b"some", b"values", producer=(7, 0, 0))
    for at in range(len(data)):
        with pytest.raises(BatchRefused):
            produced_batch(data[:at])
        if at >= 16:  # earlier bytes are the broker's fields and the length
            flipped = data[:at] + bytes([data[at] ^ 0x40]) + data[at + 1 :]
            with pytest.raises(BatchRefused):
                produced_batch(flipped)


def test_offset_and_epoch_are_written_outside_of_the_crc() -> None:
    stored = appended(GOOD, 1234, 7, None)
    header = header_of(stored)
    assert (header.base_offset, header.leader_epoch) == (1234, 7)
    assert stored[16:] == GOOD[16:]


def test_append_time_is_written_inside_of_the_crc() -> None:
    stored = appended(GOOD, 0, 0, 99)
    header = header_of(stored)
    assert header.is_log_append_time
    assert header.max_timestamp_ms == 99
    assert struct.unpack_from(">I", stored, 17)[0] == crc32c(stored[21:])
