"""Fingerprints: each field counts, none runs into the next; tallies add up in order and not."""

from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from kctl.pipeline.fingerprints import COLUMNS, Compared, Tally, entries, fingerprints, tally

RECORD = {"key": b"k", "value": b"v", "offset": 7, "timestamp": 1_000, "headers": [{"key": "h", "value": b"x"}]}
DIFFERENT: list[dict[str, Any]] = [
    {"key": None},
    {"key": b""},
    {"value": None},
    {"value": b""},
    {"key": b"kv", "value": b""},
    {"headers": None},
    {"headers": [{"key": "h", "value": None}]},
    {"headers": [{"key": "h", "value": b"x"}] * 2},
    {"headers": [{"key": "hx", "value": b""}]},
]


def batch(rows: Sequence[dict[str, Any]]) -> Any:
    from kctl.pipeline.record_columns import TYPES

    columns = {name: [row[name] for row in rows] for name in COLUMNS}
    columns["timestamp"] = [ms * 1000 for ms in columns["timestamp"]]
    return pa.record_batch({name: pa.array(values, TYPES[name]) for name, values in columns.items()})


def one(row: dict[str, Any], compared: Compared) -> int:
    ((_, fingerprint),) = fingerprints(batch([row]), compared)
    return fingerprint


def test_each_field_counts() -> None:
    found = {one(RECORD | change, Compared()) for change in [{}, *DIFFERENT]}
    assert len(found) == len(DIFFERENT) + 1


def test_timestamps_and_offsets_count_where_they_should() -> None:
    for change, compared in (({"timestamp": 9}, "timestamps"), ({"offset": 9}, "offsets")):
        with_it, without = Compared(False, False)._replace(**{compared: True}), Compared(False, False)
        assert one(RECORD, with_it) != one(RECORD | change, with_it)
        assert one(RECORD, without) == one(RECORD | change, without)


def test_null_headers_are_none_at_all() -> None:
    assert one(RECORD | {"headers": None}, Compared()) == one(RECORD | {"headers": []}, Compared())


def test_identity_is_the_offset_or_the_key_or_the_time() -> None:
    def identity(row: dict[str, Any], compared: Compared) -> int:
        return next(entries(batch([row]), compared)).identity

    changed = RECORD | {"value": b"other"}
    assert identity(RECORD, Compared()) == identity(changed | {"timestamp": 5, "offset": 3}, Compared())
    assert identity(RECORD, Compared(offsets=True)) != identity(changed | {"offset": 3}, Compared(offsets=True))
    assert identity(RECORD | {"key": None}, Compared()) == identity(changed | {"key": None}, Compared())
    assert identity(RECORD | {"key": None}, Compared()) != identity(changed | {"key": None, "timestamp": 5}, Compared())


def test_tallies_of_parts_make_the_whole() -> None:
    pairs = [(offset, 2**127 + offset * 3**70) for offset in range(50)]
    whole = tally(iter(pairs))
    assert (whole.records, whole.first_offset, whole.last_offset) == (50, 0, 49)
    for cut in (0, 1, 25, 50):
        assert tally(iter(pairs[:cut])).then(tally(iter(pairs[cut:]))) == whole
    assert Tally().then(Tally()) == Tally()


def test_order_is_seen_and_only_order() -> None:
    one, other = (tally(iter([(0, 5), (1, 6), (2, 7)])), tally(iter([(10, 6), (11, 5), (12, 7)])))
    assert one.has_same_records(other)
    assert not one.is_same(other)
    assert not one.has_same_records(tally(iter([(0, 5), (1, 6), (2, 8)])))
    assert one.is_same(tally(iter([(3, 5), (4, 6), (5, 7)])))
