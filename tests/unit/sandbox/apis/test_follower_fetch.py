"""Racks: the leader redirects to a follower in the rack, and followers respond. Source: KIP-392."""

import pytest

from kctl.client.broker_errors import ErrorCode
from kctl.client.protocol.api.fetch import FetchPartition, FetchRequest, FetchResponse, FetchTopic, PartitionData
from kctl.sandbox.settings import ClusterSettings
from tests.unit.sandbox.scenario import WALL_MS, Scenario, batch

RACKS = ["a", "b", "b"]


def _bench(settings: ClusterSettings | None = None) -> Scenario:
    scenario = Scenario(nodes=3, settings=settings, racks=RACKS)
    scenario.sandbox.create_topic("t", 1, replication_factor=3)
    scenario.cluster.topics["t"].partitions[0].log.append(batch(b"a", b"b"), 0, WALL_MS)
    return scenario


def _fetch(
    scenario: Scenario,
    node_id: int,
    rack: str,
    offset: int = 0,
    *,
    version: int = 12,
    epoch: int = -1,
    wait_ms: int = 0,
) -> PartitionData:
    asked = FetchPartition(
        partition=0, fetch_offset=offset, partition_max_bytes=1000, current_leader_epoch=epoch if version > 8 else -1
    )
    topic = FetchTopic(topic="t", topic_id=scenario.topic_id("t"), partitions=[asked])
    request = FetchRequest(rack_id=rack, min_bytes=1, max_wait_ms=wait_ms, topics=[topic])
    return scenario.connect(node_id).call(request, FetchResponse, version).responses[0].partitions[0]


def test_the_leader_names_a_follower_in_the_rack_of_the_consumer() -> None:
    data = _fetch(_bench(), 1, "b", wait_ms=500)
    assert (data.error_code, data.preferred_read_replica, data.records) == (ErrorCode.NONE, 3, b"")
    assert data.high_watermark == 2


@pytest.mark.parametrize("rack", ["", "a", "c"])
def test_the_leader_serves_its_own_rack_and_those_that_have_no_replica(rack: str) -> None:
    data = _fetch(_bench(), 1, rack)
    assert (data.preferred_read_replica, bool(data.records)) == (-1, True)


def test_without_a_selector_the_leader_serves_all() -> None:
    data = _fetch(_bench(ClusterSettings(replica_selector_class="")), 1, "b")
    assert (data.preferred_read_replica, bool(data.records)) == (-1, True)


@pytest.mark.parametrize("offset", [-1, 3])
def test_nobody_is_sent_away_for_an_offset_that_is_not_there(offset: int) -> None:
    assert _fetch(_bench(), 1, "b", offset).error_code == ErrorCode.OFFSET_OUT_OF_RANGE


def test_nobody_is_sent_to_a_follower_that_is_held_back() -> None:
    scenario = _bench()
    scenario.sandbox.hold_follower("t", 0, 3)
    assert _fetch(scenario, 1, "b").preferred_read_replica == 2
    scenario.sandbox.hold_follower("t", 0, 2)
    assert _fetch(scenario, 1, "b").preferred_read_replica == -1
    scenario.sandbox.release_follower("t", 0, 3)
    assert _fetch(scenario, 1, "b").preferred_read_replica == 3


def test_a_follower_answers_up_to_where_it_stands() -> None:
    scenario = _bench()
    scenario.sandbox.hold_follower("t", 0, 2)
    partition = scenario.cluster.topics["t"].partitions[0]
    partition.log.append(batch(b"c"), 0, WALL_MS)
    data = _fetch(scenario, 2, "b")
    assert (data.high_watermark, len(data.records or b""), data.preferred_read_replica) == (
        2, len(partition.log.batches[0].data), -1,
    )  # fmt: skip
    assert _fetch(scenario, 2, "b", 2).records == b""
    assert _fetch(scenario, 2, "b", 3).error_code == ErrorCode.OFFSET_OUT_OF_RANGE
    scenario.sandbox.release_follower("t", 0, 2)
    assert _fetch(scenario, 2, "b", 3).error_code == ErrorCode.NONE


def test_a_follower_tells_old_consumers_that_it_does_not_lead() -> None:
    scenario = _bench()
    codes = [_fetch(scenario, 2, "", version=version).error_code for version in (10, 11)]
    assert codes == [ErrorCode.NOT_LEADER_OR_FOLLOWER, ErrorCode.NONE]


def test_a_follower_fences_and_a_node_without_the_partition_refuses() -> None:
    scenario = _bench()
    scenario.sandbox.move_leader("t", 0, 2)
    assert _fetch(scenario, 1, "a", epoch=0).error_code == ErrorCode.FENCED_LEADER_EPOCH
    assert _fetch(scenario, 1, "a", epoch=1).error_code == ErrorCode.NONE
    scenario.sandbox.create_topic("t2", 1, replication_factor=1)
    asked = FetchPartition(partition=0, current_leader_epoch=5, partition_max_bytes=1000)
    request = FetchRequest(topics=[FetchTopic(topic="t2", partitions=[asked])])
    owner = scenario.cluster.topics["t2"].partitions[0].leader_id
    other = scenario.connect(owner % 3 + 1).call(request, FetchResponse, 12)
    assert other.responses[0].partitions[0].error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER
