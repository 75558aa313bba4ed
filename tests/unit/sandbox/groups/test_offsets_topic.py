"""The topic __consumer_offsets: made by the first look-up of a group, written by commits, members and transactions."""

import pytest

from kctl.client.broker_errors import ErrorCode
from kctl.client.protocol.api.find_coordinator import FindCoordinatorRequest, FindCoordinatorResponse
from kctl.client.protocol.api.metadata import MetadataRequest, MetadataRequestTopic, MetadataResponse
from kctl.client.records import BatchReader
from kctl.sandbox.groups.offset_records import GroupMetadataValue, OffsetCommitValue, commit_value, group_value
from kctl.sandbox.groups.offsets import CommittedOffset
from kctl.sandbox.groups.offsets_topic import OFFSETS_TOPIC
from kctl.sandbox.settings import ClusterSettings
from tests.unit.sandbox.groups.members import bench_of, stable_group
from tests.unit.sandbox.producer_side import ProducerSide
from tests.unit.sandbox.scenario import Scenario

AT = {("t", 0): CommittedOffset(7, -1, "")}


def look_up(scenario: Scenario, key_type: int = 0) -> None:
    request = FindCoordinatorRequest(key_type=key_type, coordinator_keys=["g"])
    scenario.connect().call(request, FindCoordinatorResponse, 4)


def records_of(scenario: Scenario, group_id: str) -> list[tuple[bytes, bytes | None]]:
    index = scenario.cluster.groups.topic.index_of(group_id)
    log = scenario.cluster.topics[OFFSETS_TOPIC].partitions[index].log
    data = b"".join(one.data for one in log.batches if not one.header.is_control)
    return [(one.key or b"", one.value) for records in BatchReader(data) for one in records]


def test_first_look_up_of_a_group_makes_an_internal_topic() -> None:
    scenario = Scenario(nodes=4)
    look_up(scenario, key_type=1)
    assert OFFSETS_TOPIC not in scenario.cluster.topics
    look_up(scenario)
    (topic,) = scenario.connect().call(MetadataRequest(topics=None), MetadataResponse, 12).topics
    assert (topic.name, topic.is_internal, len(topic.partitions)) == (OFFSETS_TOPIC, True, 50)
    assert [one.replica_nodes for one in topic.partitions[:2]] == [[1, 2, 3], [2, 3, 4]]
    assert scenario.cluster.topics[OFFSETS_TOPIC].properties["cleanup.policy"] == "compact"


def test_metadata_that_may_create_topics_makes_it_as_a_look_up_does() -> None:
    scenario = Scenario()
    request = MetadataRequest(topics=[MetadataRequestTopic(name=OFFSETS_TOPIC)])
    scenario.connect().call(request, MetadataResponse, 12)
    assert len(scenario.cluster.topics[OFFSETS_TOPIC].partitions) == 50


def test_cluster_without_partitions_for_it_has_no_such_topic() -> None:
    scenario = Scenario(topics={"t": 1}, settings=ClusterSettings(offsets_topic_num_partitions=0))
    look_up(scenario)
    scenario.cluster.groups.commit("g", AT)
    assert list(scenario.cluster.topics) == ["t"]
    assert scenario.cluster.groups.offsets["g"] == AT


@pytest.mark.parametrize(
    ("group_id", "index"), [("g", 3), ("group", 47), ("a-group-with-a-long-name", 49), ("\U0001f600", 49), ("", 0)]
)
def test_group_is_where_java_places_it(group_id: str, index: int) -> None:
    assert Scenario().cluster.groups.topic.index_of(group_id) == index


def test_group_whose_hash_is_the_least_of_all_is_in_the_first_partition() -> None:
    assert Scenario().cluster.groups.topic.index_of("polygenelubricants") == 0


def test_coordinator_leads_the_partition_of_its_group_and_takes_it_along() -> None:
    scenario = Scenario(nodes=3)
    look_up(scenario)
    groups = scenario.cluster.groups
    partition = scenario.cluster.topics[OFFSETS_TOPIC].partitions[groups.topic.index_of("g")]
    assert partition.leader_id == groups.node_of("g").node_id
    other = partition.leader_id % 3 + 1
    scenario.sandbox.move_coordinator("g", other)
    assert (partition.leader_id, groups.node_of("g").node_id) == (other, other)


def test_coordinator_moves_with_the_leader_of_its_log_and_so_do_the_groups_beside_it() -> None:
    scenario = bench_of(3)
    (member,) = stable_group(scenario, None)
    groups = scenario.cluster.groups
    index = groups.topic.index_of("g")
    beside = next(name for name in map(str, range(999)) if groups.topic.index_of(name) == index)
    old = groups.node_of("g")
    scenario.sandbox.move_leader(OFFSETS_TOPIC, index, old.node_id % 3 + 1)
    assert groups.node_of("g").node_id == groups.node_of(beside).node_id == old.node_id % 3 + 1
    assert (groups.error("g", old), groups.error("g", groups.node_of("g"))) == (ErrorCode.NOT_COORDINATOR, 0)
    assert member.heartbeat() is ErrorCode.NOT_COORDINATOR


def test_group_has_no_coordinator_while_its_log_has_no_leader() -> None:
    scenario = bench_of(3)
    stable_group(scenario, None)
    groups = scenario.cluster.groups
    index, old = groups.topic.index_of("g"), groups.node_of("g")
    scenario.sandbox.elect_late(OFFSETS_TOPIC, index, old.node_id, ms=500)
    assert groups.lookup_error("g") is ErrorCode.COORDINATOR_NOT_AVAILABLE
    assert groups.error("g", old) is ErrorCode.NOT_COORDINATOR
    scenario.scheduler.advance(500)
    assert (groups.lookup_error("g"), groups.error("g", old)) == (0, 0)


def test_deleting_the_topic_loses_all_groups_until_a_look_up_makes_it_again() -> None:
    scenario = bench_of()
    (member,) = stable_group(scenario, None)
    assert member.commit() is ErrorCode.NONE
    scenario.cluster.delete_topic(OFFSETS_TOPIC)
    assert member.heartbeat() is ErrorCode.NOT_COORDINATOR
    assert (scenario.cluster.groups.offsets, scenario.scheduler.pending) == ({}, 0)
    look_up(scenario)
    assert member.heartbeat() is ErrorCode.UNKNOWN_MEMBER_ID
    assert records_of(scenario, "g") == []


def test_commit_is_written_and_deleting_its_group_writes_tombstones() -> None:
    scenario = bench_of()
    (member,) = stable_group(scenario, None)
    assert member.commit() is ErrorCode.NONE
    member.leave()
    scenario.cluster.groups.delete("g")
    kinds = [(key[1], value is not None) for key, value in records_of(scenario, "g")]
    assert kinds == [(2, True), (2, True), (1, True), (2, True), (1, False), (2, False)]
    assert records_of(scenario, "g")[-2][0] == b"\0\1\0\1g\0\1t\0\0\0\0"


def test_offsets_of_a_topic_that_is_deleted_are_deleted_in_writing() -> None:
    scenario = Scenario(topics={"t": 1})
    scenario.cluster.groups.commit("g", AT)
    scenario.cluster.delete_topic("t")
    assert [value is None for _, value in records_of(scenario, "g")] == [False, True]


@pytest.mark.parametrize("commit", [True, False])
def test_offsets_of_a_transaction_are_stable_once_its_marker_is_written(commit: bool) -> None:
    scenario = Scenario(topics={"t": 1})
    producer = ProducerSide(scenario.connect())
    producer.init()
    producer.commit_offset(5)
    index = scenario.cluster.groups.topic.index_of("g")
    log = scenario.cluster.topics[OFFSETS_TOPIC].partitions[index].log
    assert (log.last_stable_offset, log.end_offset) == (0, 1)
    producer.end(commit=commit)
    assert (log.last_stable_offset, log.end_offset, len(log.aborted)) == (2, 2, int(not commit))


def test_values_are_in_the_versions_of_kafka_4() -> None:
    assert commit_value(OffsetCommitValue(offset=5, metadata="m"))[:2] == b"\0\4"
    assert (
        group_value(GroupMetadataValue(generation=3)) == b"\0\3\0\0\0\0\0\3\xff\xff\xff\xff" + b"\xff" * 8 + b"\0\0\0\0"
    )
