"""RecordStatistics: counts, sizes, keys, timestamps and schema IDs of consecutive records.

HyperLogLog over Kafka's murmur2 estimates the number of distinct keys, with an error of about 2 % up to some 100
million keys. Counts of frequent keys are lower bounds, and a key that is rare in every batch may be missing. Source:
Flajolet, Fusy, Gandouet, Meunier: HyperLogLog (2007), with its correction of small counts.
"""

import math
from collections.abc import Mapping
from itertools import pairwise
from typing import Any, Final, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from kctl.client.records import raise_registers
from kctl.pipeline.packed_arrays import packed_parts

COLUMNS: Final = ("key", "value", "offset", "timestamp")
"""Columns that a batch needs."""
REGISTER_BITS: Final = 12
_REGISTERS: Final = 1 << REGISTER_BITS
MOST_KEYS: Final = 10
"""Number of most frequent keys in a report."""
_KEPT_KEYS: Final = 1000
_KEYS_OF_BATCH: Final = 100
MOST_SCHEMAS: Final = 100
LONGEST_KEY: Final = 64
"""Number of bytes of a key that are kept. Longer keys with equal prefixes count as one key."""
_ID_BYTES: Final = 5
"""Size of the prefix in Confluent's format: a zero byte and the big-endian schema id."""


class DistinctKeys(NamedTuple):
    registers: bytes = bytes(_REGISTERS)

    def plus(self, other: "DistinctKeys") -> "DistinctKeys":
        if self.registers == other.registers:
            return self
        largest = pc.max_element_wise(*(_as_array(each.registers) for each in (self, other)))
        return DistinctKeys(largest.buffers()[1].to_pybytes()[:_REGISTERS])

    @property
    def estimate(self) -> int:
        total = sum(2.0**-rank for rank in self.registers)
        found = 0.7213 / (1 + 1.079 / _REGISTERS) * _REGISTERS * _REGISTERS / total
        empty = self.registers.count(0)
        if found <= 2.5 * _REGISTERS and empty:
            found = _REGISTERS * math.log(_REGISTERS / empty)
        return round(found)


def _as_array(registers: bytes) -> pa.Array:
    return pa.Array.from_buffers(pa.uint8(), len(registers), [None, pa.py_buffer(registers)])


class RecordStatistics(NamedTuple):
    """Statistics of consecutive records.

    Attributes:
        first_offset, last_offset: -1 without records.
        null_keys, null_values: number of records without a key or without a value.
        key_bytes, value_bytes: total sizes.
        max_value_bytes: size of the largest value.
        value_sizes: dict from bit length of the value size to record count. Bit length 11 means 1,024 to 2,047 bytes.
        first_timestamp_ms, last_timestamp_ms: minimum and maximum. None without timestamps.
        timestamp_of_first_ms, timestamp_of_last_ms: timestamps of the first and the last record, for `then`.
        unordered: number of records with an earlier timestamp than the previous record.
    """

    records: int = 0
    first_offset: int = -1
    last_offset: int = -1
    null_keys: int = 0
    null_values: int = 0
    key_bytes: int = 0
    value_bytes: int = 0
    max_value_bytes: int = 0
    value_sizes: Mapping[int, int] = {}
    first_timestamp_ms: int | None = None
    last_timestamp_ms: int | None = None
    timestamp_of_first_ms: int | None = None
    timestamp_of_last_ms: int | None = None
    unordered: int = 0
    distinct_keys: DistinctKeys = DistinctKeys()
    frequent_keys: Mapping[bytes, int] = {}
    schema_ids: Mapping[int, int] = {}

    def then(self, later: "RecordStatistics") -> "RecordStatistics":
        """Return the statistics of these records followed by the records of `later`, of the same partition."""
        if not self.records or not later.records:
            return self if self.records else later
        last, first = self.timestamp_of_last_ms, later.timestamp_of_first_ms
        return self.beside(later)._replace(
            first_offset=self.first_offset,
            last_offset=later.last_offset,
            timestamp_of_first_ms=self.timestamp_of_first_ms,
            timestamp_of_last_ms=later.timestamp_of_last_ms,
            unordered=self.unordered + later.unordered + (last is not None and first is not None and first < last),
        )

    def beside(self, other: "RecordStatistics") -> "RecordStatistics":
        """Return the statistics of these records and of records of another partition, without offsets and their
        timestamps.
        """
        return RecordStatistics(
            records=self.records + other.records,
            null_keys=self.null_keys + other.null_keys,
            null_values=self.null_values + other.null_values,
            key_bytes=self.key_bytes + other.key_bytes,
            value_bytes=self.value_bytes + other.value_bytes,
            max_value_bytes=max(self.max_value_bytes, other.max_value_bytes),
            value_sizes=_sum(self.value_sizes, other.value_sizes),
            first_timestamp_ms=_least(min, self.first_timestamp_ms, other.first_timestamp_ms),
            last_timestamp_ms=_least(max, self.last_timestamp_ms, other.last_timestamp_ms),
            unordered=self.unordered + other.unordered,
            distinct_keys=self.distinct_keys.plus(other.distinct_keys),
            frequent_keys=_kept(_sum(self.frequent_keys, other.frequent_keys)),
            schema_ids=_most(_sum(self.schema_ids, other.schema_ids), MOST_SCHEMAS),
        )

    def value_bytes_at(self, share: float) -> int | None:
        """Return the size that a share of values does not exceed, up to a power of two. Return None without values."""
        left = share * sum(self.value_sizes.values())
        for bits, count in sorted(self.value_sizes.items()):
            left -= count
            if left <= 0:
                return min((1 << bits) - 1, self.max_value_bytes)
        return None


def statistics_of(batch: pa.RecordBatch) -> RecordStatistics:
    if not batch.num_rows:
        return RecordStatistics()
    keys, values, offsets = batch.column("key"), batch.column("value"), batch.column("offset")
    key_sizes, value_sizes = pc.binary_length(keys), pc.binary_length(values)
    distinct, frequent = _keys(keys)
    at_ms = batch.column("timestamp").cast(pa.timestamp("ms", "UTC"), safe=False).cast(pa.int64())
    known = at_ms.filter(pc.greater_equal(at_ms, 0))
    times = pc.min_max(known).as_py()
    steps = pc.subtract(known.slice(1), known.slice(0, max(0, len(known) - 1)))
    return RecordStatistics(
        batch.num_rows,
        offsets[0].as_py(),
        offsets[-1].as_py(),
        keys.null_count,
        values.null_count,
        pc.sum(key_sizes).as_py() or 0,
        pc.sum(value_sizes).as_py() or 0,
        pc.max(value_sizes).as_py() or 0,
        _bits(value_sizes),
        times["min"],
        times["max"],
        known[0].as_py() if len(known) else None,
        known[-1].as_py() if len(known) else None,
        pc.sum(pc.less(steps, 0)).as_py() or 0,
        distinct,
        frequent,
        _schema_ids(values, value_sizes),
    )


def _bits(sizes: pa.Array) -> dict[int, int]:
    ends = pc.min_max(sizes).as_py()
    if ends["min"] is None:
        return {}
    first, last = ends["min"].bit_length(), ends["max"].bit_length()
    # one comparison for each power of two in between: value sizes of a topic are mostly similar
    above = [pc.sum(pc.greater_equal(sizes, 1 << bits)).as_py() for bits in range(first, last)]
    at_least = [len(sizes) - sizes.null_count, *above, 0]
    return {first + n: more - fewer for n, (more, fewer) in enumerate(pairwise(at_least)) if more > fewer}


def _keys(keys: pa.Array) -> tuple[DistinctKeys, dict[bytes, int]]:
    counted = pc.value_counts(keys.drop_null())
    unique, counts = counted.field("values"), counted.field("counts")
    if not len(unique):
        return DistinctKeys(), {}
    top = pc.select_k_unstable(counts, _KEYS_OF_BATCH, [("", "descending")])
    frequent: dict[bytes, int] = {}
    for key, count in zip(unique.take(top).to_pylist(), counts.take(top).to_pylist(), strict=True):
        frequent[key[:LONGEST_KEY]] = frequent.get(key[:LONGEST_KEY], 0) + count
    registers = bytearray(_REGISTERS)
    raise_registers(registers, packed_parts(unique), REGISTER_BITS)
    return DistinctKeys(bytes(registers)), frequent


def _schema_ids(values: pa.Array, sizes: pa.Array) -> dict[int, int]:
    framed = pc.and_(pc.starts_with(values, pattern=b"\x00"), pc.greater_equal(sizes, _ID_BYTES))
    if not pc.any(framed).as_py():
        return {}
    ids = pc.value_counts(pc.binary_slice(values.filter(framed), 1, _ID_BYTES))
    found = {int.from_bytes(each["values"], "big"): each["counts"] for each in ids.to_pylist()}
    return dict(_most(found, MOST_SCHEMAS))


def _sum(one: Mapping[Any, int], other: Mapping[Any, int]) -> dict[Any, int]:
    total = dict(one)
    for name, count in other.items():
        total[name] = total.get(name, 0) + count
    return total


def _most(counts: dict[Any, int], most: int) -> dict[Any, int]:
    if len(counts) <= most:
        return counts
    return dict(sorted(counts.items(), key=lambda each: (-each[1], each[0]))[:most])


def _kept(counts: dict[bytes, int]) -> dict[bytes, int]:
    return counts if len(counts) < 2 * _KEPT_KEYS else _most(counts, _KEPT_KEYS)


def _least(choose: Any, one: int | None, other: int | None) -> int | None:
    return other if one is None else one if other is None else choose(one, other)
