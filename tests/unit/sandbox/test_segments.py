"""Segments of a log: a new one begins by size or time of records; cutting and compaction keep their bounds right."""

from kctl.sandbox.log import PartitionLog
from kctl.sandbox.settings import TopicSettings
from tests.unit.sandbox.scenario import WALL_MS, batch

SETTINGS = TopicSettings(max_message_bytes=10_000)


def _filled(settings: TopicSettings, *after_ms: int) -> PartitionLog:
    log = PartitionLog(settings)
    for stamp_ms in after_ms:
        log.append(batch(b"v", keys=[b"k"], timestamps_ms=[WALL_MS - 1_000_000 + stamp_ms]), 0, WALL_MS)
    return log


def _bounds(log: PartitionLog) -> list[int]:
    return [one.base_offset for one in log.segments]


def test_segment_ends_when_a_record_is_newer_than_its_first_by_more_than_segment_ms() -> None:
    assert _bounds(_filled(SETTINGS._replace(segment_ms=100), 0, 100, 201, 50, 302)) == [0, 2, 4]


def test_segment_of_a_compacted_log_ends_by_max_compaction_lag_ms_too() -> None:
    settings = SETTINGS._replace(segment_ms=100, max_compaction_lag_ms=10)
    assert _bounds(_filled(settings, 0, 50)) == [0]
    assert _bounds(_filled(settings._replace(is_compacted=True), 0, 50)) == [0, 1]


def test_segment_ends_when_it_would_exceed_segment_bytes() -> None:
    size_bytes = len(batch(b"v", keys=[b"k"]))
    assert _bounds(_filled(SETTINGS._replace(segment_bytes=2 * size_bytes), 0, 0, 0)) == [0, 2]
    assert _bounds(_filled(SETTINGS._replace(segment_bytes=1), 0, 0)) == [0, 1]


def test_segments_follow_records_that_are_deleted_and_cut() -> None:
    log = _filled(SETTINGS._replace(segment_bytes=1), 0, 0, 0, 0)
    log.delete_records(2)
    assert _bounds(log) == [2, 3]
    log.cut(3)
    assert (_bounds(log), [one.size_bytes > 0 for one in log.segments]) == ([2], [True])


def test_segments_below_the_clean_end_are_joined_up_to_a_size() -> None:
    log = _filled(SETTINGS._replace(segment_bytes=1), 0, 0, 0, 0)
    one_bytes = len(log.batches[0].data)
    assert log.segments.merged(3, 2 * one_bytes) == [0, 2, 3]
    assert log.segments.merged(3, 10 * one_bytes) == [0, 3]
