"""Fingerprints of records, and tallies that compare the records of two topics.

A fingerprint is a 128-bit BLAKE2b hash of key, value, headers and, if compared, timestamp and offset, each with its
length. A `Tally` has the sum of the fingerprints, which ignores their order, and a polynomial, which depends on it.
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
"""Columns that a batch needs."""


class Compared(NamedTuple):
    """Fields that are compared in addition to key, value and headers."""

    timestamps: bool = True
    offsets: bool = False


class Entry(NamedTuple):
    """A record as a comparison sees it.

    Attributes:
        identity: hash that pairs changed records: of the offset if compared, otherwise of the key, otherwise of the
            timestamp.
        position: the offset if compared, otherwise the timestamp if compared, otherwise 0. Increases on both sides.
    """

    offset: int
    fingerprint: int
    identity: int
    position: int = 0


class Tally(NamedTuple):
    """Sums over consecutive records. Without records, the first and last offsets are -1.

    Attributes:
        total: sum of the fingerprints.
        order: polynomial of the fingerprints in their order.
    """

    records: int = 0
    total: int = 0
    order: int = 0
    first_offset: int = -1
    last_offset: int = -1

    def then(self, later: "Tally") -> "Tally":
        """Return the tally of this tally's records followed by the records of `later`."""
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
        """Return whether both tallies have equal records in any order."""
        return (self.records, self.total) == (other.records, other.total)

    def is_same(self, other: "Tally") -> bool:
        """Return whether both tallies have equal records in equal order; offsets may differ."""
        return self.has_same_records(other) and self.order == other.order


def tally(entries: Iterator[tuple[int, int]]) -> Tally:
    """Return the tally of (offset, fingerprint) pairs."""
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
    for offset, key, value, at_ms, headers in _rows(batch):
        yield offset, _fingerprint(offset, key, value, at_ms, headers, compared)


def entries(batch: "pa.RecordBatch", compared: Compared) -> Iterator[Entry]:
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
