"""Followers in time: their logs, the high watermark, in-sync replicas, and records missing on a new leader."""

from typing import Any

from kctl.sandbox import ClusterSettings, Fault
from kctl.sandbox.partition import Partition
from tests.unit.sandbox.scenario import WALL_MS, Scenario, batch


def replicated(**settings: Any) -> tuple[Scenario, Partition]:
    scenario = Scenario(
        nodes=3, settings=ClusterSettings(default_replication_factor=3)._replace(**settings), topics={"t": 1}
    )
    return scenario, scenario.sandbox.cluster.topics["t"].partitions[0]


def append(partition: Partition, *values: bytes) -> None:
    partition.log.append(batch(*values), partition.leader_epoch, WALL_MS)


def test_without_a_delay_all_replicas_have_everything_at_once() -> None:
    _, partition = replicated()
    append(partition, b"a", b"b")
    assert [partition.end_offset_on(node) for node in (1, 2, 3)] == [2, 2, 2]
    assert (partition.high_watermark, partition.in_sync) == (2, [1, 2, 3])


def test_followers_are_late_and_what_they_have_is_committed() -> None:
    scenario, partition = replicated(replication_delay_ms=50)
    append(partition, b"a")
    scenario.scheduler.advance(30)
    append(partition, b"b")
    scenario.scheduler.advance(19)
    assert (partition.end_offset_on(1), partition.end_offset_on(2), partition.high_watermark) == (2, 0, 0)
    scenario.scheduler.advance(1)
    assert (partition.end_offset_on(2), partition.high_watermark) == (1, 1)
    scenario.scheduler.advance(30)
    assert (partition.end_offset_on(3), partition.high_watermark) == (2, 2)


def test_a_new_leader_lacks_what_it_had_not_copied_and_the_old_one_follows_it() -> None:
    scenario, partition = replicated(replication_delay_ms=50)
    append(partition, b"a")
    scenario.scheduler.advance(50)
    append(partition, b"lost")
    scenario.scheduler.advance(10)
    scenario.sandbox.move_leader("t", 0, 2)
    assert (partition.log.end_offset, partition.high_watermark) == (1, 1)
    append(partition, b"c", b"d")
    scenario.scheduler.advance(49)
    assert (partition.end_offset_on(1), partition.high_watermark) == (1, 1), "the copy of what is lost does not count"
    scenario.scheduler.advance(1)
    assert (partition.end_offset_on(1), partition.high_watermark) == (3, 3)


def test_a_follower_that_lags_is_in_sync_until_its_time_is_over() -> None:
    scenario, partition = replicated(replica_lag_time_max_ms=1000)
    append(partition, b"a")
    scenario.sandbox.lag_follower("t", 0, 3)
    append(partition, b"b")
    scenario.scheduler.advance(999)
    assert (partition.in_sync, partition.high_watermark) == ([1, 2, 3], 1)
    scenario.scheduler.advance(1)
    assert (partition.in_sync, partition.high_watermark) == ([1, 2], 2)
    scenario.sandbox.release_follower("t", 0, 3)
    assert (partition.in_sync, partition.end_offset_on(3)) == ([1, 2, 3], 2)


def test_a_follower_that_lacks_nothing_stays_in_sync_until_it_does() -> None:
    scenario, partition = replicated(replica_lag_time_max_ms=1000)
    scenario.sandbox.lag_follower("t", 0, 3)
    scenario.scheduler.advance(5000)
    assert partition.in_sync == [1, 2, 3]
    append(partition, b"a")
    assert partition.in_sync == [1, 2]


def test_a_follower_that_went_on_and_lags_again_has_its_whole_time_again() -> None:
    scenario, partition = replicated(replica_lag_time_max_ms=1000)
    scenario.sandbox.lag_follower("t", 0, 3)
    scenario.scheduler.advance(900)
    scenario.sandbox.release_follower("t", 0, 3)
    scenario.sandbox.lag_follower("t", 0, 3)
    append(partition, b"a")
    scenario.scheduler.advance(900)
    assert partition.in_sync == [1, 2, 3]
    scenario.scheduler.advance(100)
    assert partition.in_sync == [1, 2]


def test_the_high_watermark_stands_while_too_few_are_in_sync() -> None:
    """KIP-966."""
    scenario, partition = replicated(min_insync_replicas=3)
    append(partition, b"a")
    scenario.sandbox.hold_follower("t", 0, 3)
    append(partition, b"b")
    assert (partition.in_sync, partition.high_watermark) == ([1, 2], 1)
    scenario.sandbox.release_follower("t", 0, 3)
    assert partition.high_watermark == 2


def test_a_frozen_node_copies_nothing_and_catches_up_when_it_goes_on() -> None:
    scenario, partition = replicated(replica_lag_time_max_ms=1000)
    scenario.sandbox.start_fault(2, Fault.FREEZE)
    append(partition, b"a")
    assert (partition.end_offset_on(2), partition.high_watermark) == (0, 0)
    scenario.sandbox.stop_fault(2, Fault.FREEZE)
    assert (partition.end_offset_on(2), partition.high_watermark) == (1, 1)


def test_a_leader_that_stands_still_is_not_copied_from() -> None:
    scenario, partition = replicated(replication_delay_ms=50)
    append(partition, b"a")
    scenario.sandbox.start_fault(partition.leader_id, Fault.FREEZE)
    scenario.scheduler.advance(500)
    assert partition.high_watermark == 0
    scenario.sandbox.heal()
    scenario.scheduler.advance(50)
    assert partition.high_watermark == 1


def test_a_follower_that_goes_on_gets_nothing_from_a_leader_that_stands_still() -> None:
    scenario, partition = replicated()
    scenario.sandbox.start_fault(3, Fault.FREEZE)
    append(partition, b"a")
    scenario.sandbox.start_fault(1, Fault.FREEZE)
    scenario.sandbox.stop_fault(3, Fault.FREEZE)
    assert partition.end_offset_on(3) == 0
    scenario.sandbox.stop_fault(1, Fault.FREEZE)
    assert partition.end_offset_on(3) == 1


def test_lagging_follower_stays_behind_after_its_node_is_healed() -> None:
    scenario, partition = replicated()
    scenario.sandbox.lag_follower("t", 0, 2)
    scenario.sandbox.start_fault(2, Fault.FREEZE)
    append(partition, b"a")
    scenario.sandbox.heal()
    assert partition.end_offset_on(2) == 0
    scenario.sandbox.release_follower("t", 0, 2)
    assert partition.end_offset_on(2) == 1


def test_an_old_leader_that_stands_still_lags_behind_the_new_one() -> None:
    scenario, partition = replicated()
    scenario.sandbox.start_fault(1, Fault.FREEZE)
    scenario.sandbox.move_leader("t", 0, 2)
    append(partition, b"a")
    assert (partition.end_offset_on(1), partition.high_watermark) == (0, 0)


def test_a_follower_that_comes_back_has_what_was_committed_without_it() -> None:
    scenario, partition = replicated(replication_delay_ms=50)
    append(partition, b"a")
    scenario.sandbox.hold_follower("t", 0, 2)
    scenario.sandbox.hold_follower("t", 0, 3)
    assert partition.high_watermark == 1
    scenario.sandbox.release_follower("t", 0, 2)
    scenario.sandbox.move_leader("t", 0, 2)
    assert (partition.log.end_offset, partition.high_watermark) == (1, 1)
