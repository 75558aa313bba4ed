"""Control batches, and what read_committed leaves out."""

import struct

import pytest

from kctl.client.errors import CorruptBatchError
from kctl.client.records import AbortedTransaction, BatchReader, ControlMarker, control_batch
from kctl.client.records.transactions import UNKNOWN_EPOCH
from tests.unit.records.handmade import batch, record

TRANSACTIONAL, CONTROL = 0x10, 0x20


def data(offset: int, producer_id: int, *, count: int = 1, transactional: bool = True) -> bytes:
    return batch(
        *(record(number) for number in range(count)),
        base_offset=offset,
        producer_id=producer_id,
        producer_epoch=0,
        attributes=TRANSACTIONAL if transactional else 0,
    )


def marker(offset: int, producer_id: int, *, commit: bool) -> bytes:
    return control_batch(
        producer_id=producer_id,
        producer_epoch=0,
        commit=commit,
        timestamp_ms=5,
        base_offset=offset,
        coordinator_epoch=8,
    )


def control(key: bytes | None, value: bytes | None, *, offset: int = 0) -> bytes:
    attributes = TRANSACTIONAL | CONTROL
    return batch(record(0, key, value), base_offset=offset, attributes=attributes, producer_id=1, producer_epoch=0)


def offsets(fetched: bytes, aborted: list[AbortedTransaction] | None) -> list[int]:
    reader = BatchReader(fetched, aborted=aborted)
    return [found.offset for chunk in reader for found in chunk]


LOG = b"".join(
    [
        data(0, 1, count=2),  # aborted
        data(2, 2),  # committed
        data(3, 3, transactional=False),  # not in a transaction at all
        marker(4, 1, commit=False),
        data(5, 1),  # the next transaction of the same producer, committed
        marker(6, 2, commit=True),
        marker(7, 1, commit=True),
        data(8, 1, transactional=False),
    ]
)


def test_markers_are_seen_but_are_no_records() -> None:
    reader = BatchReader(LOG)
    assert [found.offset for found in reader.records()] == [0, 1, 2, 3, 5, 8]
    assert reader.markers == [
        ControlMarker(4, 1, 0, "abort", 8),
        ControlMarker(6, 2, 0, "commit", 8),
        ControlMarker(7, 1, 0, "commit", 8),
    ]
    assert reader.next_offset == 9


def test_read_committed_leaves_out_what_was_aborted() -> None:
    reader = BatchReader(LOG, aborted=[AbortedTransaction(1, 0)])
    assert [found.offset for found in reader.records()] == [2, 3, 5, 8]
    assert (reader.count, reader.next_offset) == (4, 9)


def test_read_committed_without_aborted_transactions_leaves_out_nothing() -> None:
    assert offsets(LOG, []) == [0, 1, 2, 3, 5, 8]


def test_an_aborted_transaction_starts_at_its_first_offset() -> None:
    log = data(0, 1) + marker(1, 1, commit=True) + data(2, 1) + marker(3, 1, commit=False)
    assert offsets(log, [AbortedTransaction(1, 2)]) == [0]


def test_two_aborted_transactions_of_one_producer_in_any_order() -> None:
    log = data(0, 1) + marker(1, 1, commit=False) + data(2, 1) + marker(3, 1, commit=True)
    log += data(4, 1) + marker(5, 1, commit=False) + data(6, 2) + marker(7, 2, commit=True)
    assert offsets(log, [AbortedTransaction(1, 4), AbortedTransaction(1, 0)]) == [2, 6]


def test_a_fetch_that_ends_before_the_marker_hides_as_well() -> None:
    reader = BatchReader(data(0, 1, count=3), aborted=[AbortedTransaction(1, 0)])
    assert reader.records() == []
    assert reader.exhausted
    assert reader.next_offset == 3


def test_a_marker_of_an_unknown_type_is_passed_and_named() -> None:
    reader = BatchReader(control(struct.pack(">hh", 0, 4), b"") + batch(record(), base_offset=1))
    assert [found.offset for found in reader.records()] == [1]
    assert reader.markers[0].kind == "type 4"


@pytest.mark.parametrize(("key", "value"), [(None, b""), (b"\0\0\0", b"")])
def test_a_damaged_marker_is_damage(key: bytes | None, value: bytes | None) -> None:
    with pytest.raises(CorruptBatchError, match=r"key of the control record has"):
        BatchReader(control(key, value)).records()


@pytest.mark.parametrize("value", [None, b"", b"\0\0\0"])
@pytest.mark.parametrize("kind", [0, 1])
def test_a_marker_without_a_value_is_read_by_its_key_alone(kind: int, value: bytes | None) -> None:
    log = data(0, 1) + control(struct.pack(">hh", 0, kind), value, offset=1) + batch(record(), base_offset=2)
    reader = BatchReader(log, aborted=[AbortedTransaction(1, 0)] if kind == 0 else [])
    assert [found.offset for chunk in reader for found in chunk] == ([2] if kind == 0 else [0, 2])
    assert reader.markers[0].coordinator_epoch == UNKNOWN_EPOCH
