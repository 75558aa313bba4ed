"""FetchedChunk: undecoded records of one partition from one fetch, and a function that reads batch headers."""

from struct import Struct
from typing import NamedTuple

from kctl.client.cluster import NO_EPOCH, TopicPartition
from kctl.client.records import AbortedTransaction, BatchReader
from kctl.client.records.compression import DEFAULT_MAX_DECOMPRESSED_BYTES

MAX_OFFSET = 2**63 - 1


class FetchedChunk(NamedTuple):
    """Undecoded record batches of one partition.

    Attributes:
        epoch: application's decision that caused the fetch (see events.py).
        fetch_offset: first requested offset; the first batch may contain earlier records.
        next_offset: position after the chunk, past compacted gaps and control batches.
        buffer, start, end: `buffer[start:end]` has the batches; the last one may be incomplete.
        aborted_transactions: aborted transactions in the data; None with read_uncommitted.
        high_watermark, log_start_offset, last_stable_offset: offsets in the Fetch response; -1 if unknown.
        leader_epoch: leader epoch of the last batch; -1 if unknown.
        max_decompressed_bytes: maximum size of a decompressed batch.
    """

    topic_partition: TopicPartition
    epoch: int
    fetch_offset: int
    next_offset: int
    buffer: bytes
    aborted_transactions: tuple[AbortedTransaction, ...] | None = None
    check_crcs: bool = True
    high_watermark: int = -1
    log_start_offset: int = -1
    last_stable_offset: int = -1
    leader_epoch: int = NO_EPOCH
    max_decompressed_bytes: int = DEFAULT_MAX_DECOMPRESSED_BYTES
    start: int = 0
    end: int | None = None

    @property
    def size_bytes(self) -> int:
        return (len(self.buffer) if self.end is None else self.end) - self.start

    @property
    def data(self) -> bytes:
        """Batches as bytes; a copy, unless they fill the buffer."""
        return self.buffer[self.start : self.end]

    @property
    def topic(self) -> str:
        return self.topic_partition.topic

    @property
    def partition(self) -> int:
        return self.topic_partition.partition

    def reader(self, stop_offset: int = MAX_OFFSET) -> BatchReader:
        """Return a decoder of the records before `stop_offset`."""
        return BatchReader(
            self.buffer,
            start=self.start,
            end=self.end,
            topic=self.topic,
            partition=self.partition,
            fetch_offset=self.fetch_offset,
            stop_offset=stop_offset,
            check_crcs=self.check_crcs,
            aborted=self.aborted_transactions,
            max_decompressed_bytes=self.max_decompressed_bytes,
        )


class BatchWalk(NamedTuple):
    """Result of `walk_batches`: the offset after the last complete batch, and the end of that batch in the buffer."""

    next_offset: int
    end: int
    damage: str = ""
    """Description of an impossible batch header; empty if there is none."""
    leader_epoch: int = NO_EPOCH
    """Leader epoch of the last complete batch."""


_BASE_OFFSET_AND_LENGTH = Struct(">qi")
_LEADER_EPOCH = Struct(">i")
_LAST_OFFSET_DELTA = Struct(">i")
_LENGTH_FROM = 12
"""Index of the first byte that the length field of a batch counts."""
_LEADER_EPOCH_AT = 12
_MAGIC_AT = 16
_LAST_OFFSET_DELTA_AT = 23
_SHORTEST_V2 = 61
_SHORTEST_V0 = 26


def walk_batches(data: bytes, fetch_offset: int, start: int = 0, limit: int | None = None) -> BatchWalk:
    """Find the complete batches in `data[start:limit]` by their headers.

    Source: message formats 0 to 2. The last offset of a v2 batch is base offset + last offset delta. In v0 and v1, the
        leading offset is the last offset.
    """
    size = len(data) if limit is None else limit
    next_offset, at, last_at, last_offset = fetch_offset, start, -1, -1
    damage = ""
    while at + _LAST_OFFSET_DELTA_AT < size:
        base_offset, length = _BASE_OFFSET_AND_LENGTH.unpack_from(data, at)
        end = at + _LENGTH_FROM + length
        magic = data[at + _MAGIC_AT]
        if magic > 2 or base_offset < 0 or length + _LENGTH_FROM < (_SHORTEST_V2 if magic == 2 else _SHORTEST_V0):
            damage = f"invalid batch header at byte {at - start} (length {length}, magic {magic})"
            break
        if end > size:
            break
        last = base_offset + (_LAST_OFFSET_DELTA.unpack_from(data, at + _LAST_OFFSET_DELTA_AT)[0] if magic == 2 else 0)
        if last < base_offset or last < last_offset:
            damage = (
                f"the batch at byte {at - start} ends at offset {last}, before offset {max(base_offset, last_offset)}"
            )
            break
        next_offset, last_offset, last_at, at = max(next_offset, last + 1), last, at, end
    return BatchWalk(next_offset, at, damage, _leader_epoch(data, last_at))


def _leader_epoch(data: bytes, at: int) -> int:
    if at < 0 or data[at + _MAGIC_AT] != 2:
        return NO_EPOCH
    return max(NO_EPOCH, int(_LEADER_EPOCH.unpack_from(data, at + _LEADER_EPOCH_AT)[0]))


def base_offset_behind(data: bytes, at: int) -> int | None:
    """Return the base offset of the batch that follows the batch at `at`; None if the data ends or is damaged there."""
    if len(data) - at < _LENGTH_FROM:
        return None
    length = _BASE_OFFSET_AND_LENGTH.unpack_from(data, at)[1]
    behind = at + _LENGTH_FROM + length
    if length <= 0 or behind + _LAST_OFFSET_DELTA_AT >= len(data):
        return None
    base_offset = int(_BASE_OFFSET_AND_LENGTH.unpack_from(data, behind)[0])
    return None if data[behind + _MAGIC_AT] > 2 or base_offset < 0 else base_offset


def offset_after(data: bytes, base_offset: int) -> int:
    """Return the offset after the batch that contains `base_offset`; `base_offset + 1` if no such batch is complete."""
    at = 0
    while at < len(data):
        header = data[at : at + _LENGTH_FROM]
        if len(header) < _LENGTH_FROM:
            break
        length = _BASE_OFFSET_AND_LENGTH.unpack(header)[1]
        if length < 0:
            break
        walk = walk_batches(data[at : at + _LENGTH_FROM + length], -1)
        if walk.next_offset > base_offset:
            return walk.next_offset
        at += _LENGTH_FROM + length
    return base_offset + 1
