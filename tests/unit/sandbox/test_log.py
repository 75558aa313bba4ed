"""A partition's log: offsets, limits of reading, retention, limits of writing, watchers."""

from collections.abc import Callable

import pytest

from kctl.client.broker_errors import ErrorCode
from kctl.sandbox.batches import BatchRefused
from kctl.sandbox.log import OffsetOutOfRange, PartitionLog
from kctl.sandbox.settings import TopicSettings
from tests.unit.sandbox.scenario import WALL_MS, batch

SETTINGS = TopicSettings(max_message_bytes=1_000)


def _filled(*sizes: int) -> PartitionLog:
    log = PartitionLog(SETTINGS)
    for count in sizes:
        log.append(batch(*[b"v"] * count), 0, WALL_MS)
    return log


def _whole(log: PartitionLog, *numbers: int) -> bytes:
    return b"".join(log.batches[number].data for number in numbers)


def test_offsets_are_assigned_without_gaps() -> None:
    log = _filled(3, 1, 2)
    assert [stored.header.base_offset for stored in log.batches] == [0, 3, 4]
    assert log.end_offset == 6
    assert log.is_contiguous()


def test_reading_starts_with_the_batch_that_holds_the_offset() -> None:
    log = _filled(3, 1, 2)
    assert log.read(2, 10_000, at_least_one=False) == _whole(log, 0, 1, 2)
    assert log.read(3, 10_000, at_least_one=False) == _whole(log, 1, 2)
    assert log.read(6, 10_000, at_least_one=True) == b""


def test_the_last_batch_may_be_cut_and_the_first_is_whole_or_nothing() -> None:
    log = _filled(3, 1)
    first = _whole(log, 0)
    assert log.read(0, len(first) + 5, at_least_one=False) == _whole(log, 0, 1)[: len(first) + 5]
    assert log.read(0, len(first) - 1, at_least_one=False) == b""
    assert log.read(0, len(first) - 1, at_least_one=True) == first
    assert log.read(0, 0, at_least_one=True) == first


@pytest.mark.parametrize("offset", [-1, 1, 7])
def test_offsets_outside_are_refused(offset: int) -> None:
    log = _filled(3, 3)
    log.delete_records(2)
    with pytest.raises(OffsetOutOfRange):
        log.read(offset, 100, at_least_one=True)


def test_retention_drops_whole_batches_only() -> None:
    log = _filled(3, 3)
    log.delete_records(2)
    assert (log.start_offset, len(log.batches)) == (2, 2)
    log.delete_records(1)
    assert log.start_offset == 2
    log.delete_records(6)
    assert (log.start_offset, log.batches, log.read(6, 9, at_least_one=True)) == (6, (), b"")
    with pytest.raises(OffsetOutOfRange):
        log.delete_records(7)


def test_limits_of_writing() -> None:
    log = PartitionLog(SETTINGS)
    with pytest.raises(BatchRefused) as refused:
        log.append(batch(b"v" * 1_000), 0, WALL_MS)
    assert refused.value.code is ErrorCode.MESSAGE_TOO_LARGE
    ahead_ms = WALL_MS + 3_600_001
    with pytest.raises(BatchRefused) as refused:
        log.append(batch(b"v", timestamps_ms=[ahead_ms]), 0, WALL_MS)
    assert refused.value.code is ErrorCode.INVALID_TIMESTAMP
    log.append(batch(b"v", timestamps_ms=[ahead_ms - 1]), 0, WALL_MS)
    assert log.end_offset == 1


def test_log_append_time() -> None:
    log = PartitionLog(SETTINGS._replace(is_log_append_time=True))
    ahead_ms = WALL_MS + 9_999_999
    assert log.append(batch(b"v", timestamps_ms=[ahead_ms]), 0, WALL_MS) == (0, WALL_MS)
    assert log.batches[0].header.max_timestamp_ms == WALL_MS


def test_a_repeated_batch_is_not_stored_again() -> None:
    log = PartitionLog(SETTINGS)
    data = batch(b"v", producer=(1, 0, 0))
    assert log.append(data, 0, WALL_MS) == (0, -1)
    assert log.append(data, 0, WALL_MS + 5) == (0, WALL_MS)
    assert log.end_offset == 1


def test_watchers_are_told_until_they_stop() -> None:
    log = _filled(1)
    told: list[int] = []
    stop = log.watch(lambda: told.append(log.end_offset))
    log.append(batch(b"v"), 0, WALL_MS)
    stop()
    stop()
    log.append(batch(b"v"), 0, WALL_MS)
    assert told == [2]
    assert log.watchers == 0


def test_a_watcher_that_another_one_ends_is_not_called_any_more() -> None:
    log = PartitionLog(TopicSettings(1_000_000))
    called: list[str] = []
    stops: list[Callable[[], None]] = []

    def first() -> None:
        called.append("first")
        stops[1]()

    stops += [log.watch(first), log.watch(lambda: called.append("second"))]
    log.wake()
    assert called == ["first"]
