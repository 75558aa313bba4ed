"""Compaction of one log: remaining keys, tombstones, transactions, and sequence numbers, and its schedule."""

import pytest

from kctl.client.records import BatchReader
from kctl.sandbox.batches import BatchRefused
from kctl.sandbox.log import PartitionLog
from kctl.sandbox.settings import TopicSettings
from kctl.sandbox.timestamps import first_at_or_after
from tests.unit.sandbox.scenario import WALL_MS, batch

SETTINGS = TopicSettings(
    max_message_bytes=10_000,
    is_compacted=True,
    segment_bytes=1,
    min_cleanable_dirty_ratio=0.01,
    delete_retention_ms=500,
)
"""Each batch is a segment."""
TRANSACTIONAL = 0x10
DAY_MS = 86_400_000


def _log(**changed: object) -> PartitionLog:
    return PartitionLog(SETTINGS._replace(**changed))  # type: ignore[arg-type]  # fields by name


def _write(log: PartitionLog, *pairs: tuple[bytes, bytes | None], age_ms: int = 0, **more: object) -> None:
    values, keys = [value for _, value in pairs], [key for key, _ in pairs]
    stamps = [WALL_MS - age_ms] * len(pairs)
    log.append(batch(*values, keys=keys, timestamps_ms=stamps, **more), 0, WALL_MS)  # type: ignore[arg-type]  # by name


def _left(log: PartitionLog) -> list[tuple[int, bytes | None, bytes | None]]:
    data = b"".join(one.data for one in log.batches if not one.header.is_control)
    return [(one.offset, one.key, one.value) for records in BatchReader(data) for one in records]


def test_compaction_keeps_the_latest_record_of_each_key_and_all_of_the_active_segment() -> None:
    log = _log()
    for number in range(4):
        _write(log, (b"a", b"%d" % number), (b"b%d" % number, b"v"))
    log.compact(WALL_MS)
    assert _left(log) == [
        (1, b"b0", b"v"),
        (3, b"b1", b"v"),
        (4, b"a", b"2"),
        (5, b"b2", b"v"),
        (6, b"a", b"3"),
        (7, b"b3", b"v"),
    ]
    assert (log.start_offset, log.end_offset, log.compacted_until) == (0, 8, 6)
    assert not log.due(WALL_MS).is_due


def test_reading_from_an_offset_that_is_gone_continues_with_the_next_batch() -> None:
    log = _log()
    for number in range(4):
        _write(log, (b"a", b"%d" % number))
    log.compact(WALL_MS)
    assert log.read(0, 10_000, at_least_one=True) == b"".join(one.data for one in log.batches)
    assert [one.header.base_offset for one in log.batches_from(1, 4)] == [2, 3]
    assert first_at_or_after(log, WALL_MS) == (2, WALL_MS)


def test_tombstone_is_removed_when_its_horizon_has_passed_and_the_log_is_compacted_again() -> None:
    log = _log()
    _write(log, (b"a", b"1"))
    _write(log, (b"a", None), (b"b", b"1"))
    _write(log, (b"c", b"1"))
    log.compact(WALL_MS)
    assert _left(log) == [(1, b"a", None), (2, b"b", b"1"), (3, b"c", b"1")]
    assert log.batches[0].header.delete_horizon_ms == WALL_MS + 500
    for number, (now_ms, is_there) in enumerate(((WALL_MS + 499, True), (WALL_MS + 500, False))):
        _write(log, (b"d%d" % number, b"1"))
        log.compact(now_ms)
        assert ((1, b"a", None) in _left(log)) is is_there


@pytest.mark.parametrize("codec", [0, 1, 2, 3, 4])
def test_batch_that_loses_records_keeps_its_codec_offsets_and_headers(codec: int) -> None:
    from kctl.client.records.compression import codec_name, compress
    from tests.unit.sandbox.scenario import records_of

    log = _log()
    payload = compress(codec_name(codec) or "none", records_of([b"1", b"2"], [WALL_MS, WALL_MS + 7], [b"a", b"b"]))
    made = batch(b"1", b"2", timestamps_ms=[WALL_MS, WALL_MS + 7], attributes=codec, payload=payload)
    log.append(made, 0, WALL_MS)
    _write(log, (b"a", b"3"))
    _write(log, (b"c", b"4"))
    log.compact(WALL_MS)
    header = log.batches[0].header
    assert (header.attributes, header.base_offset, header.last_offset, header.records_count) == (codec, 0, 1, 1)
    assert (header.base_timestamp_ms, header.max_timestamp_ms) == (WALL_MS + 7, WALL_MS + 7)
    assert _left(log)[0] == (1, b"b", b"2")


def _transaction(log: PartitionLog, number: int, *, commit: bool) -> None:
    who = (7, number, 0)
    _write(log, (b"a", b"%d" % number), producer=who, attributes=TRANSACTIONAL)
    log.append_marker(7, number + 1, 0, WALL_MS, commit=commit, by_epoch=0)


def test_records_of_aborted_transactions_go_at_once_and_their_markers_a_horizon_later() -> None:
    log = _log(delete_retention_ms=0)
    for number, commit in enumerate((True, False)):
        _transaction(log, number, commit=commit)
    _write(log, (b"z", b"1"))
    log.compact(WALL_MS)
    assert _left(log) == [(0, b"a", b"0"), (4, b"z", b"1")]
    assert [one.header.base_offset for one in log.batches] == [0, 1, 3, 4]
    assert [one.first_offset for one in log.aborted] == [2]
    for number in range(3):
        _write(log, (b"y%d" % number, b"1"))
        log.compact(WALL_MS + number)
    assert log.batches[1].header.base_offset == 1, "the marker of a transaction with records is kept"
    assert not log.aborted


def test_transaction_aborted_in_the_clean_part_hides_no_later_record_of_its_producer() -> None:
    log = _log()
    _transaction(log, 0, commit=False)
    _write(log, (b"z", b"1"))
    log.compact(WALL_MS)
    for number in range(1, 4):
        _transaction(log, number, commit=True)
    _write(log, (b"z", b"2"))
    log.compact(WALL_MS)
    assert _left(log) == [(2, b"z", b"1"), (7, b"a", b"3"), (9, b"z", b"2")]


def test_transaction_aborted_before_the_start_of_the_log_removes_no_record_of_its_producer() -> None:
    log = _log()
    _transaction(log, 0, commit=False)
    log.delete_records(2)
    _transaction(log, 1, commit=True)
    for number in range(2):
        _write(log, (b"z", b"%d" % number))
    log.compact(WALL_MS)
    assert not log.aborted
    assert _left(log) == [(2, b"a", b"1"), (4, b"z", b"0"), (5, b"z", b"1")]


def test_open_transaction_holds_compaction_back() -> None:
    log = _log()
    _write(log, (b"a", b"1"))
    _write(log, (b"a", b"2"))
    _write(log, (b"a", b"3"), producer=(7, 0, 0), attributes=TRANSACTIONAL)
    for number in range(2):
        _write(log, (b"b", b"%d" % number))
    log.compact(WALL_MS)
    assert (log.compacted_until, len(log.batches)) == (2, 4)
    assert not log.due(WALL_MS).is_due
    log.append_marker(7, 0, 0, WALL_MS, commit=True, by_epoch=0)
    assert log.due(WALL_MS).is_due


def test_last_batch_of_a_producer_is_kept_empty() -> None:
    log = _log()
    for sequence in range(2):
        _write(log, (b"a", b"1"), producer=(7, 0, sequence))
    for _ in range(2):
        _write(log, (b"a", b"2"))
    log.compact(WALL_MS)
    found = [(one.header.base_offset, one.header.records_count, one.header.base_sequence) for one in log.batches]
    assert found == [(1, 0, 1), (2, 1, -1), (3, 1, -1)]


def test_compacted_topic_refuses_records_without_a_key() -> None:
    log = _log()
    with pytest.raises(BatchRefused) as refused:
        log.append(batch(b"1", b"2", keys=[b"a", None]), 0, WALL_MS)
    assert refused.value.keyless == (1,)
    assert log.end_offset == 0


@pytest.mark.parametrize(
    ("changed", "is_due", "may_be_later", "until"),
    [
        ({}, True, False, 3),
        ({"min_cleanable_dirty_ratio": 1.0}, False, False, 3),
        ({"min_cleanable_dirty_ratio": 1.0, "max_compaction_lag_ms": DAY_MS}, True, False, 3),
        ({"min_cleanable_dirty_ratio": 1.0, "max_compaction_lag_ms": 5 * DAY_MS}, False, True, 3),
        ({"min_compaction_lag_ms": DAY_MS}, True, False, 2),
        ({"min_compaction_lag_ms": 5 * DAY_MS}, False, True, 0),
    ],
)
def test_due_follows_ratio_and_lags(changed: dict[str, object], is_due: bool, may_be_later: bool, until: int) -> None:
    log = _log(**changed)
    for age_ms in (3 * DAY_MS, 2 * DAY_MS, 1000, 0):
        _write(log, (b"a", b"1"), age_ms=age_ms)
    found = log.due(WALL_MS)
    assert (found.is_due, found.may_be_later, found.until_offset) == (is_due, may_be_later, until)
