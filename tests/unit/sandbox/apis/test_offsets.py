"""ListOffsets, OffsetCommit, OffsetFetch."""

import pytest

from kctl.client.broker_errors import ErrorCode
from kctl.client.protocol.api.committed_offsets import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
    OffsetCommitResponse,
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopic,
    OffsetFetchResponse,
)
from kctl.client.protocol.api.partition_offsets import (
    ListOffsetsPartition,
    ListOffsetsPartitionResponse,
    ListOffsetsRequest,
    ListOffsetsResponse,
    ListOffsetsTopic,
)
from tests.unit.sandbox.scenario import WALL_MS, Scenario, batch


def _look_up(scenario: Scenario, timestamp: int, version: int = 11, epoch: int = -1) -> ListOffsetsPartitionResponse:
    asked = ListOffsetsPartition(partition_index=0, timestamp=timestamp, current_leader_epoch=epoch)
    request = ListOffsetsRequest(topics=[ListOffsetsTopic(name="t", partitions=[asked])])
    return scenario.connect().call(request, ListOffsetsResponse, version).topics[0].partitions[0]


def _filled() -> Scenario:
    scenario = Scenario(nodes=2, topics={"t": 1})
    log = scenario.cluster.topics["t"].partitions[0].log
    log.append(batch(b"a", b"b", timestamps_ms=[100, 300]), 0, WALL_MS)
    log.append(batch(b"c", timestamps_ms=[200]), 0, WALL_MS)
    log.delete_records(1)
    return scenario


@pytest.mark.parametrize(
    ("timestamp", "expected"),
    [(-2, (1, -1, 0)), (-1, (3, -1, 0)), (-3, (1, 300, 0)), (-4, (1, -1, 0)), (150, (1, 300, 0)), (301, (-1, -1, -1))],
)
def test_list_offsets_answers_each_special_timestamp(timestamp: int, expected: tuple[int, int, int]) -> None:
    found = _look_up(_filled(), timestamp)
    assert (found.offset, found.timestamp, found.leader_epoch) == expected


@pytest.mark.parametrize(("timestamp", "version"), [(-3, 6), (-4, 7), (-5, 8), (-6, 10)])
def test_list_offsets_refuses_timestamps_of_later_versions(timestamp: int, version: int) -> None:
    assert _look_up(_filled(), timestamp, version).error_code == ErrorCode.UNSUPPORTED_VERSION
    assert _look_up(_filled(), timestamp, version + 1).error_code == ErrorCode.NONE


def test_leaders_and_epochs() -> None:
    scenario = _filled()
    assert _look_up(scenario, -1, epoch=5).error_code == ErrorCode.UNKNOWN_LEADER_EPOCH
    scenario.sandbox.move_leader("t", 0, 2)
    assert _look_up(scenario, -1).error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER


def _commit(scenario: Scenario, node_id: int, group_id: str, partition: int = 0, **more: object) -> int:
    commit = OffsetCommitRequestPartition(
        partition_index=partition, committed_offset=42, committed_leader_epoch=3, committed_metadata="note"
    )
    topics = [OffsetCommitRequestTopic(name="t", partitions=[commit])]
    request = OffsetCommitRequest(group_id=group_id, topics=topics)
    for name, value in more.items():
        setattr(request, name, value)
    response = scenario.connect(node_id).call(request, OffsetCommitResponse, 9)
    return response.topics[0].partitions[0].error_code


def test_committed_offset_is_fetched_by_both_forms_of_the_request() -> None:
    scenario = Scenario(nodes=2, topics={"t": 2})
    node_id = scenario.cluster.groups.node_of("g").node_id
    assert _commit(scenario, node_id, "g") == ErrorCode.NONE
    topics = [OffsetFetchRequestTopic(name="t", partition_indexes=[0, 1])]
    old = scenario.connect(node_id).call(OffsetFetchRequest(group_id="g", topics=topics), OffsetFetchResponse, 7)
    assert [
        (found.committed_offset, found.committed_leader_epoch, found.metadata) for found in old.topics[0].partitions
    ] == [(42, 3, "note"), (-1, -1, "")]
    groups = [OffsetFetchRequestGroup(group_id="g", topics=None), OffsetFetchRequestGroup(group_id="g", topics=[])]
    new = scenario.connect(node_id).call(OffsetFetchRequest(groups=groups), OffsetFetchResponse, 9)
    assert [[part.partition_index for topic in group.topics for part in topic.partitions] for group in new.groups] == [
        [0],
        [],
    ]


def test_commits_that_are_refused() -> None:
    scenario = Scenario(nodes=2, topics={"t": 1})
    node_id = scenario.cluster.groups.node_of("g").node_id
    assert _commit(scenario, 3 - node_id, "g") == ErrorCode.NOT_COORDINATOR
    assert _commit(scenario, node_id, "g", partition=1) == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert _commit(scenario, node_id, "g", generation_id_or_member_epoch=1) == ErrorCode.GROUP_ID_NOT_FOUND
    assert not scenario.cluster.groups.offsets


@pytest.mark.parametrize("version", [1, 2, 7, 9])
def test_the_wrong_coordinator_says_so(version: int) -> None:
    scenario = Scenario(nodes=2, topics={"t": 1})
    client = scenario.connect(3 - scenario.cluster.groups.node_of("g").node_id)
    if version < 8:
        topics = [OffsetFetchRequestTopic(name="t", partition_indexes=[0])]
        response = client.call(OffsetFetchRequest(group_id="g", topics=topics), OffsetFetchResponse, version)
        code = response.error_code if version > 1 else response.topics[0].partitions[0].error_code
    else:
        request = OffsetFetchRequest(groups=[OffsetFetchRequestGroup(group_id="g")])
        code = client.call(request, OffsetFetchResponse, version).groups[0].error_code
    assert code == ErrorCode.NOT_COORDINATOR
