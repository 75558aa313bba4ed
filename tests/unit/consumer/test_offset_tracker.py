"""OffsetTracker: contiguous offsets of records that are done out of order, its bound, and revoked partitions."""

import random
import threading

import pytest

from kctl.client import ConsumerRecord, OffsetTracker, TopicPartition
from kctl.testing import record

T0, T1 = TopicPartition("t", 0), TopicPartition("t", 1)


def offsets(tracker: OffsetTracker) -> dict[TopicPartition, int]:
    return {tp: each.offset for tp, each in tracker.offsets().items()}


def test_offset_waits_for_the_first_record_that_is_not_done() -> None:
    tracker = OffsetTracker()
    records = [record(b"v", topic="t", partition=0, offset=offset) for offset in (5, 6, 9)]
    for each in records:
        tracker.add(each)
    assert (offsets(tracker), tracker.unfinished()) == ({}, 3)
    tracker.done(records[1])
    tracker.done(records[2])
    assert (offsets(tracker), tracker.unfinished([T0])) == ({}, 1)
    tracker.done(records[0])
    assert (offsets(tracker), tracker.unfinished()) == ({T0: 10}, 0)


def test_partitions_advance_apart() -> None:
    tracker = OffsetTracker()
    first, second = record(b"v", topic="t", offset=1), record(b"v", topic="t", partition=1, offset=7)
    tracker.add(first)
    tracker.add(second)
    tracker.done(second)
    assert (offsets(tracker), tracker.unfinished([T0]), tracker.unfinished([T1])) == ({T1: 8}, 1, 0)


def test_records_behind_an_unfinished_one_count_for_the_limit() -> None:
    tracker = OffsetTracker(limit=3)
    records = [record(b"v", topic="t", offset=offset) for offset in range(3)]
    for each in records:
        assert not tracker.is_full
        tracker.add(each)
    tracker.done(records[1])
    tracker.done(records[2])
    assert tracker.is_full
    tracker.done(records[0])
    assert not tracker.is_full


def test_records_that_come_again_after_a_seek_must_be_done_again() -> None:
    tracker = OffsetTracker()
    records = [record(b"v", topic="t", offset=offset) for offset in range(4)]
    for each in records:
        tracker.add(each)
    for each in records[:2]:
        tracker.done(each)
    assert offsets(tracker) == {T0: 2}
    tracker.add(records[1])
    assert (offsets(tracker), tracker.unfinished()) == ({}, 1)
    tracker.done(records[3])
    tracker.done(records[1])
    assert (offsets(tracker), tracker.unfinished()) == ({T0: 2}, 0)


def test_revoked_partitions_are_forgotten_and_late_results_ignored() -> None:
    tracker = OffsetTracker()
    late, kept = record(b"v", topic="t", offset=1), record(b"v", topic="t", partition=1, offset=1)
    tracker.add(late)
    tracker.add(kept)
    tracker.on_partitions_revoked([T0])
    tracker.done(late)
    tracker.done(kept)
    assert (offsets(tracker), tracker.unfinished()) == ({T1: 2}, 0)


def test_late_result_of_a_truncated_record_does_not_count_for_the_one_in_its_place() -> None:
    tracker = OffsetTracker()
    truncated, replaced = (ConsumerRecord.of("t", 0, 5, value=b"v", leader_epoch=epoch) for epoch in (3, 4))
    tracker.add(truncated)
    tracker.add(replaced)
    tracker.done(truncated)
    assert (offsets(tracker), tracker.unfinished()) == ({}, 1)
    tracker.done(replaced)
    assert (offsets(tracker), tracker.unfinished()) == ({T0: 6}, 0)


def test_workers_in_any_order_leave_no_gap() -> None:
    tracker = OffsetTracker()
    records = [record(b"v", topic="t", partition=offset % 3, offset=offset) for offset in range(3000)]
    for each in records:
        tracker.add(each)
    random.Random(4).shuffle(records)
    shares = [records[first::4] for first in range(4)]

    def work(share: list) -> None:  # type: ignore[type-arg]
        for each in share:
            tracker.done(each)

    threads = [threading.Thread(target=work, args=(share,)) for share in shares]
    for thread in threads:
        thread.start()
    assert tracker.wait_done(timeout=60)
    for thread in threads:
        thread.join()
    assert offsets(tracker) == {
        TopicPartition("t", 0): 2998,
        TopicPartition("t", 1): 2999,
        TopicPartition("t", 2): 3000,
    }


def test_wait_ends_at_its_timeout_and_with_forgotten_partitions() -> None:
    tracker = OffsetTracker()
    tracker.add(record(b"v", topic="t", offset=1))
    assert tracker.wait_done([T1], timeout=0)
    assert not tracker.wait_done([T0], timeout=0)
    tracker.forget([T0])
    assert tracker.wait_done(timeout=0)


@pytest.mark.parametrize("limit", [0, -1])
def test_limit_below_one_is_rejected(limit: int) -> None:
    with pytest.raises(ValueError, match="limit must be at least 1"):
        OffsetTracker(limit)


def test_other_values_than_records_are_rejected() -> None:
    with pytest.raises(TypeError, match="record must be a Record"):
        OffsetTracker().done(T0)  # type: ignore[arg-type]
