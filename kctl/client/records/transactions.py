"""Transactions in a fetch: markers that end them, and a filter for batches of aborted transactions.

Source: KIP-98; https://kafka.apache.org/documentation/#controlbatch.
"""

from collections.abc import Iterable
from operator import attrgetter
from struct import Struct
from typing import Final, NamedTuple

from kctl.client.records._hot.builder import append_record
from kctl.client.records._hot.record import BatchInfo, Record
from kctl.client.records.batch import CONTROL, TRANSACTIONAL, batch_head

_KEY: Final = Struct(">hh")
_VALUE: Final = Struct(">hi")
UNKNOWN_EPOCH: Final = -1
_KINDS: Final = {0: "abort", 1: "commit"}


class AbortedTransaction(NamedTuple):
    """Entry of a fetch response: the records of the producer from `first_offset` to its next marker were aborted."""

    producer_id: int
    first_offset: int


class ControlMarker(NamedTuple):
    """A control record. Attributes: kind: `commit` or `abort`; `type N` for a record that ends no transaction."""

    offset: int
    producer_id: int
    producer_epoch: int
    kind: str
    coordinator_epoch: int


def read_marker(record: Record) -> ControlMarker:
    """Return the marker in a control record. Raises: CorruptBatchError: the key is too short."""
    key, value, batch = record.key or b"", record.value or b"", record.batch
    if len(key) < _KEY.size:
        raise batch.damaged(
            f"the key of the control record has {len(key)} bytes instead of {_KEY.size}",
            f"record at offset {record.offset}",
        )
    _, type_id = _KEY.unpack_from(key)
    kind = _KINDS.get(type_id, f"type {type_id}")
    coordinator_epoch = UNKNOWN_EPOCH
    # The key is sufficient; kfake, for example, writes markers without a value. Source: Java's ControlRecordType.
    if type_id in _KINDS and len(value) >= _VALUE.size:
        _, coordinator_epoch = _VALUE.unpack_from(value)
    return ControlMarker(record.offset, batch.producer_id, batch.producer_epoch, kind, coordinator_epoch)


def control_batch(
    *,
    producer_id: int,
    producer_epoch: int,
    commit: bool,
    timestamp_ms: int,
    base_offset: int = 0,
    leader_epoch: int = -1,
    coordinator_epoch: int = 0,
) -> bytes:
    """Return the batch with which a broker ends a transaction."""
    parts: list[bytes] = []
    key, value = _KEY.pack(0, int(commit)), _VALUE.pack(0, coordinator_epoch)
    append_record(parts, 0, 0, key, value, (), 1 << 16)
    body = b"".join(parts)
    head = batch_head(
        body,
        attributes=TRANSACTIONAL | CONTROL,
        record_count=1,
        last_offset_delta=0,
        base_timestamp_ms=timestamp_ms,
        max_timestamp_ms=timestamp_ms,
        producer_id=producer_id,
        producer_epoch=producer_epoch,
        base_offset=base_offset,
        leader_epoch=leader_epoch,
    )
    return head + body


class AbortedFilter:
    """Filter of batches that read_committed hides; it must get all batches in offset order."""

    def __init__(self, aborted: Iterable[AbortedTransaction]) -> None:
        self._coming = sorted(aborted, key=attrgetter("first_offset"), reverse=True)
        self._open: set[int] = set()

    def hides(self, batch: BatchInfo) -> bool:
        while self._coming and self._coming[-1].first_offset <= batch.last_offset:
            self._open.add(self._coming.pop().producer_id)
        return batch.is_transactional and not batch.is_control and batch.producer_id in self._open

    def ended(self, marker: ControlMarker) -> None:
        """Record a marker. After an abort marker, batches of the producer belong to another transaction."""
        if marker.kind == "abort":
            self._open.discard(marker.producer_id)
