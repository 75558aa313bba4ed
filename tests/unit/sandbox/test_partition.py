"""Who leads, who follows and how far, and what an election loses."""

import pytest

from kctl.client.broker_errors import ErrorCode
from kctl.client.protocol.api.metadata import MetadataRequest, MetadataResponse
from kctl.sandbox.leader_epochs import EpochEnd
from kctl.sandbox.log import OffsetOutOfRange, PartitionLog
from kctl.sandbox.partition import NO_LEADER, Partition
from kctl.sandbox.settings import TopicSettings
from tests.unit.sandbox.scenario import WALL_MS, Scenario, batch


def _partition() -> Partition:
    return Partition("t", 0, (1, 2, 3), PartitionLog(TopicSettings(1_000_000)))


def _append(partition: Partition, *values: bytes, producer: tuple[int, int, int] = (-1, -1, -1)) -> int:
    records = batch(*values, producer=producer)
    return partition.log.append(records, partition.leader_epoch, WALL_MS).base_offset


def test_each_election_raises_the_epoch_and_batches_carry_it() -> None:
    partition = _partition()
    for node_id in (2, 3, 1):
        _append(partition, b"v")
        partition.elect(node_id)
    _append(partition, b"v")
    assert [one.header.leader_epoch for one in partition.log.batches] == [0, 1, 2, 3]
    assert partition.log.epochs.end_of(1, partition.log.end_offset) == EpochEnd(1, 2)


@pytest.mark.parametrize(("end_offset", "left"), [(6, 6), (5, 3), (4, 3), (3, 3), (2, 2), (0, 0), (None, 6)])
def test_an_unclean_election_loses_whole_batches(end_offset: int | None, left: int) -> None:
    partition = _partition()
    _append(partition, b"a", b"b")
    _append(partition, b"c")
    _append(partition, b"d", b"e", b"f")
    partition.elect(2, end_offset)
    assert partition.log.end_offset == left
    assert partition.log.epochs.end_of(1, partition.log.end_offset) == EpochEnd(1, left)
    assert _append(partition, b"g") == left
    assert partition.log.is_contiguous()


@pytest.mark.parametrize("end_offset", [-1, 2])
def test_an_election_knows_the_log(end_offset: int) -> None:
    partition = _partition()
    _append(partition, b"a")
    with pytest.raises(OffsetOutOfRange):
        partition.elect(2, end_offset)
    assert (partition.leader_id, partition.leader_epoch) == (1, 0)


def test_a_producer_repeats_what_was_lost() -> None:
    partition = _partition()
    _append(partition, b"a", producer=(7, 0, 0))
    _append(partition, b"b", producer=(7, 0, 1))
    partition.elect(2, 1)
    assert _append(partition, b"a", producer=(7, 0, 0)) == 0
    assert _append(partition, b"b", producer=(7, 0, 1)) == 1
    assert partition.log.end_offset == 2


def test_a_follower_that_is_held_back_is_out_of_sync_and_loses_the_rest_when_it_leads() -> None:
    partition = _partition()
    _append(partition, b"a")
    partition.hold(3)
    _append(partition, b"b")
    assert (partition.in_sync, partition.end_offset_on(3), partition.end_offset_on(2)) == ([1, 2], 1, 2)
    partition.elect(3)
    assert (partition.log.end_offset, partition.in_sync) == (1, [1, 2, 3])


def test_a_follower_catches_up() -> None:
    partition = _partition()
    partition.hold(2)
    partition.hold(2)
    _append(partition, b"a")
    woken: list[int] = []
    partition.log.watch(lambda: woken.append(partition.end_offset_on(2)))
    partition.release(2)
    partition.release(2)
    assert woken == [1]


@pytest.mark.parametrize("node_id", [1, 4])
def test_only_followers_are_held(node_id: int) -> None:
    with pytest.raises(ValueError, match=f"broker {node_id} is not a follower of t-0"):
        _partition().hold(node_id)


def test_a_partition_without_a_leader_gets_one_in_time() -> None:
    scenario = Scenario(nodes=2, topics={"t": 1})
    scenario.sandbox.elect_late("t", 0, 2, ms=400)

    def told() -> tuple[int, int, int]:
        (topic,) = scenario.connect().call(MetadataRequest(topics=None), MetadataResponse, 12).topics
        return topic.partitions[0].error_code, topic.partitions[0].leader_id, topic.partitions[0].leader_epoch

    scenario.scheduler.advance(399)
    assert told() == (ErrorCode.LEADER_NOT_AVAILABLE, NO_LEADER, 1)
    scenario.scheduler.advance(1)
    assert told() == (ErrorCode.NONE, 2, 2)


def test_a_late_election_does_not_undo_a_later_one() -> None:
    scenario = Scenario(nodes=3, topics={"t": 1})
    scenario.sandbox.elect_late("t", 0, 2, ms=400)
    scenario.sandbox.move_leader("t", 0, 3)
    scenario.scheduler.advance(400)
    assert scenario.cluster.topics["t"].partitions[0].leader_id == 3
