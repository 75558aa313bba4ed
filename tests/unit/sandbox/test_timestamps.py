"""Offsets by time."""

import pytest

from kctl.sandbox.log import PartitionLog
from kctl.sandbox.settings import TopicSettings
from kctl.sandbox.timestamps import first_at_or_after, greatest
from tests.unit.sandbox.scenario import WALL_MS, batch


@pytest.fixture
def log() -> PartitionLog:
    log = PartitionLog(TopicSettings(max_message_bytes=10_000))
    log.append(batch(b"a", b"b", timestamps_ms=[100, 300]), 0, WALL_MS)
    log.append(batch(b"c", b"d", b"e", timestamps_ms=[200, 400, 400]), 0, WALL_MS)
    return log


@pytest.mark.parametrize(
    ("timestamp_ms", "expected"),
    [(0, (0, 100)), (100, (0, 100)), (101, (1, 300)), (301, (3, 400)), (400, (3, 400)), (401, (-1, -1))],
)
def test_the_first_record_not_older(log: PartitionLog, timestamp_ms: int, expected: tuple[int, int]) -> None:
    assert first_at_or_after(log, timestamp_ms) == expected


def test_the_greatest_timestamp_is_the_first_of_its_kind(log: PartitionLog) -> None:
    assert greatest(log) == (3, 400)
    assert greatest(PartitionLog(log.settings)) == (-1, -1)


def test_deleted_records_are_not_found(log: PartitionLog) -> None:
    log.delete_records(1)
    assert first_at_or_after(log, 0) == (1, 300)


def test_with_log_append_time_all_records_have_the_time_of_their_batch() -> None:
    log = PartitionLog(TopicSettings(max_message_bytes=10_000, is_log_append_time=True))
    log.append(batch(b"a", b"b", timestamps_ms=[1, 2]), 0, WALL_MS)
    assert first_at_or_after(log, 50) == (0, WALL_MS)
