"""Retention of one log: by time and size, entire segments, never uncommitted records."""

import pytest

from kctl.sandbox.log import PartitionLog
from kctl.sandbox.settings import TopicSettings
from tests.unit.sandbox.scenario import WALL_MS, batch

SETTINGS = TopicSettings(max_message_bytes=10_000, segment_bytes=1)


def _filled(**changed: int) -> PartitionLog:
    log = PartitionLog(SETTINGS._replace(**changed))  # type: ignore[arg-type]  # fields by name
    for age_ms in (3_000, 2_000, 1_000):
        log.append(batch(b"v", timestamps_ms=[WALL_MS - age_ms]), 0, WALL_MS)
    return log


@pytest.mark.parametrize(
    ("changed", "start"),
    [
        ({}, 0),
        ({"retention_ms": 3_000}, 0),
        ({"retention_ms": 2_999}, 1),
        ({"retention_ms": 1_500}, 2),
        ({"retention_ms": 0}, 3),
        ({"retention_bytes": 200}, 0),
        ({"retention_bytes": 130}, 1),
        ({"retention_bytes": 0}, 3),
    ],
)
def test_segments_that_are_too_old_or_too_much_are_deleted(changed: dict[str, int], start: int) -> None:
    log = _filled(**changed)
    log.expire(WALL_MS, high_watermark=3)
    assert (log.start_offset, log.end_offset) == (start, 3)
    log.append(batch(b"v"), 0, WALL_MS)
    assert log.segments.active_offset == 3


def test_records_that_are_not_committed_are_kept() -> None:
    log = _filled(retention_ms=0)
    log.expire(WALL_MS, high_watermark=2)
    assert log.start_offset == 2
