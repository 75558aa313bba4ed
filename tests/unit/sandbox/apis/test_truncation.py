"""Leader epochs as clients see them: where one ends, where a log parts from what a client has read. Source: KIP-320."""

import pytest

from kctl.client.broker_errors import ErrorCode
from kctl.client.protocol.api.fetch import FetchPartition, FetchRequest, FetchResponse, FetchTopic, PartitionData
from kctl.client.protocol.api.partition_offsets import (
    EpochEndOffset,
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsResponse,
    ListOffsetsTopic,
    OffsetForLeaderEpochRequest,
    OffsetForLeaderEpochResponse,
    OffsetForLeaderPartition,
    OffsetForLeaderTopic,
)
from tests.unit.sandbox.scenario import WALL_MS, Scenario, batch


def _bench() -> Scenario:
    """Epoch 0 wrote offsets 0 to 3, of which 2 and 3 were lost; epoch 1 wrote 2 to 4, epoch 2 wrote 5."""
    scenario = Scenario(nodes=2)
    scenario.sandbox.create_topic("t", 1, replication_factor=2)
    partition = scenario.cluster.topics["t"].partitions[0]

    def append(count: int) -> None:
        for _ in range(count):
            records = batch(b"v", timestamps_ms=[WALL_MS + partition.log.end_offset])
            partition.log.append(records, partition.leader_epoch, WALL_MS)

    append(4)
    scenario.sandbox.move_leader("t", 0, 2, end_offset=2)
    append(3)
    scenario.sandbox.move_leader("t", 0, 1)
    append(1)
    return scenario


def _end(scenario: Scenario, epoch: int, current: int = -1, *, node_id: int = 1, partition: int = 0) -> EpochEndOffset:
    asked = OffsetForLeaderPartition(partition=partition, leader_epoch=epoch, current_leader_epoch=current)
    request = OffsetForLeaderEpochRequest(topics=[OffsetForLeaderTopic(topic="t", partitions=[asked])])
    return scenario.connect(node_id).call(request, OffsetForLeaderEpochResponse, 4).topics[0].partitions[0]


@pytest.mark.parametrize(("epoch", "end"), [(0, (0, 2)), (1, (1, 5)), (2, (2, 6)), (3, (-1, -1)), (-1, (-1, -1))])
def test_the_end_of_an_epoch(epoch: int, end: tuple[int, int]) -> None:
    found = _end(_bench(), epoch, 2)
    assert (found.error_code, (found.leader_epoch, found.end_offset)) == (ErrorCode.NONE, end)


def test_who_does_not_say_where_an_epoch_ends() -> None:
    scenario = _bench()
    codes = [
        _end(scenario, 0, 1).error_code,
        _end(scenario, 0, 3).error_code,
        _end(scenario, 0, 2, node_id=2).error_code,
        _end(scenario, 0, 1, node_id=2).error_code,
        _end(scenario, 0, 2, partition=9).error_code,
    ]
    assert codes == [
        ErrorCode.FENCED_LEADER_EPOCH,
        ErrorCode.UNKNOWN_LEADER_EPOCH,
        ErrorCode.NOT_LEADER_OR_FOLLOWER,
        ErrorCode.FENCED_LEADER_EPOCH,
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    ]


def _fetch(scenario: Scenario, offset: int, last_epoch: int, max_wait_ms: int = 500) -> PartitionData:
    asked = FetchPartition(
        partition=0,
        fetch_offset=offset,
        last_fetched_epoch=last_epoch,
        partition_max_bytes=1000,
        current_leader_epoch=2,
    )
    request = FetchRequest(max_wait_ms=max_wait_ms, min_bytes=1, topics=[FetchTopic(topic="t", partitions=[asked])])
    return scenario.connect().call(request, FetchResponse, 12).responses[0].partitions[0]


@pytest.mark.parametrize(
    ("offset", "epoch", "parts_at"), [(4, 0, (0, 2)), (3, 0, (0, 2)), (6, 1, (1, 5)), (9, 2, (2, 6))]
)
def test_a_fetch_behind_what_was_lost_is_told_where_the_logs_part(
    offset: int, epoch: int, parts_at: tuple[int, int]
) -> None:
    data = _fetch(_bench(), offset, epoch)
    assert (data.error_code, data.records) == (ErrorCode.NONE, b"")
    assert (data.diverging_epoch.epoch, data.diverging_epoch.end_offset) == parts_at


@pytest.mark.parametrize(("offset", "epoch"), [(0, -1), (2, 0), (1, 0), (5, 1), (3, 1)])
def test_a_fetch_that_agrees_is_served(offset: int, epoch: int) -> None:
    data = _fetch(_bench(), offset, epoch)
    assert (data.diverging_epoch.epoch, bool(data.records)) == (-1, True)


def test_epochs_that_nobody_knows_and_offsets_that_are_gone() -> None:
    scenario = _bench()
    scenario.sandbox.delete_records("t", 0, 3)
    codes = [_fetch(scenario, 5, 3).error_code, _fetch(scenario, 2, 0).error_code]
    assert codes == [ErrorCode.OFFSET_OUT_OF_RANGE] * 2


@pytest.mark.parametrize(("timestamp", "expected"), [(-1, (6, 2)), (-2, (0, 0)), (-3, (5, 2)), (WALL_MS + 3, (3, 1))])
def test_offsets_are_told_with_the_epoch_of_their_record(timestamp: int, expected: tuple[int, int]) -> None:
    asked = ListOffsetsPartition(partition_index=0, timestamp=timestamp)
    request = ListOffsetsRequest(topics=[ListOffsetsTopic(name="t", partitions=[asked])])
    found = _bench().connect().call(request, ListOffsetsResponse, 9).topics[0].partitions[0]
    assert (found.offset, found.leader_epoch) == expected
