"""Fingerprints of records, and what a run of them adds up to: for telling whether two topics hold the same.

A fingerprint is 128 bits of BLAKE2b over key, value, headers and, where they count, timestamp and offset, each with its
length, so that nothing can move from one field into the next. A `Tally` has their sum, which does not depend on the
order, and a polynomial, which does; tallies of consecutive ranges make the tally of both. Runs in tasks; knows neither
Spark nor Kafka.
"""

from collections.abc import Iterator
from hashlib import blake2b
from struct import Struct
from typing import TYPE_CHECKING, Any, Final, NamedTuple

if TYPE_CHECKING:
    import pyarrow as pa

_SUM_MODULUS: Final = 2**128
_ORDER_MODULUS: Final = 2**127 - 1
_ORDER_BASE: Final = 0x5DEECE66D_1234567_89ABCDEF_0F1E2D3
_LENGTH = Struct("<i")
_NUMBER = Struct("<q")
_NULL = _LENGTH.pack(-1)
COLUMNS: Final = ("key", "value", "offset", "timestamp", "headers")
"""What a batch needs to have."""


class Compared(NamedTuple):
    """What of a record counts, beside key, value and headers."""

    timestamps: bool = True
    offsets: bool = False


class Entry(NamedTuple):
    """A record as far as a comparison knows it.

    Attributes:
        identity: what it keeps when it is changed: its offset if that counts, else its key, else its timestamp.
        position: what rises along the partition on both sides alike: the offset if that counts, else the timestamp if
            that counts, else nothing.
    """

    offset: int
    fingerprint: int
    identity: int
    position: int = 0


class Tally(NamedTuple):
    """What records one after the other add up to; of none, the first and last offset are -1."""

    records: int = 0
    total: int = 0
    order: int = 0
    first_offset: int = -1
    last_offset: int = -1

    def then(self, later: "Tally") -> "Tally":
        """Return the tally of these records and later ones."""
        if not self.records or not later.records:
            return self if self.records else later
        return Tally(
            self.records + later.records,
            (self.total + later.total) % _SUM_MODULUS,
            (self.order * pow(_ORDER_BASE, later.records, _ORDER_MODULUS) + later.order) % _ORDER_MODULUS,
            self.first_offset,
            later.last_offset,
        )

    def has_same_records(self, other: "Tally") -> bool:
        """Whether both are of the same records, in whatever order."""
        return (self.records, self.total) == (other.records, other.total)

    def is_same(self, other: "Tally") -> bool:
        """Whether both are of the same records in the same order; offsets may differ."""
        return self.has_same_records(other) and self.order == other.order


def tally(entries: Iterator[tuple[int, int]]) -> Tally:
    """Return what (offset, fingerprint) pairs add up to."""
    count = total = order = 0
    first = last = -1
    for offset, fingerprint in entries:
        if not count:
            first = offset
        count += 1
        total += fingerprint
        order = (order * _ORDER_BASE + fingerprint) % _ORDER_MODULUS
        last = offset
    return Tally(count, total % _SUM_MODULUS, order, first, last)


def fingerprints(batch: "pa.RecordBatch", compared: Compared) -> Iterator[tuple[int, int]]:
    """Yield offset and fingerprint of each record of a batch with the columns `COLUMNS`."""
    for offset, key, value, at_ms, headers in _rows(batch):
        yield offset, _fingerprint(offset, key, value, at_ms, headers, compared)


def entries(batch: "pa.RecordBatch", compared: Compared) -> Iterator[Entry]:
    """Yield each record of a batch with the columns `COLUMNS`."""
    for offset, key, value, at_ms, headers in _rows(batch):
        what = _NUMBER.pack(offset) if compared.offsets else key if key is not None else _NUMBER.pack(at_ms or 0)
        identity = _digest(what)
        position = offset if compared.offsets else (at_ms or 0) if compared.timestamps else 0
        yield Entry(offset, _fingerprint(offset, key, value, at_ms, headers, compared), identity, position)


def _rows(batch: "pa.RecordBatch") -> Iterator[tuple[int, bytes | None, bytes | None, int | None, Any]]:
    import pyarrow as pa

    at_ms = batch.column("timestamp").cast(pa.timestamp("ms", "UTC"), safe=False).cast(pa.int64())
    headers = batch.column("headers")
    return zip(
        batch.column("offset").to_pylist(),
        batch.column("key").to_pylist(),
        batch.column("value").to_pylist(),
        at_ms.to_pylist(),
        [None] * batch.num_rows if headers.null_count == batch.num_rows else headers.to_pylist(),
        strict=True,
    )


def _fingerprint(
    offset: int, key: bytes | None, value: bytes | None, at_ms: int | None, headers: Any, compared: Compared
) -> int:
    parts = [*_sized(key), *_sized(value)]
    if compared.timestamps:
        parts.append(_NUMBER.pack(-1 if at_ms is None else at_ms))
    if compared.offsets:
        parts.append(_NUMBER.pack(offset))
    for header in headers or ():
        parts += [*_sized(header["key"].encode("utf-8", "surrogateescape")), *_sized(header["value"])]
    return _digest(b"".join(parts))


def _sized(data: bytes | None) -> tuple[bytes, ...]:
    return (_NULL,) if data is None else (_LENGTH.pack(len(data)), data)


def _digest(data: bytes) -> int:
    return int.from_bytes(blake2b(data, digest_size=16).digest(), "little")
