"""Metadata, DescribeCluster, FindCoordinator: who is there, and topics that come into being."""

from kctl.client.broker_errors import ErrorCode
from kctl.client.protocol.api.cluster import DescribeClusterRequest, DescribeClusterResponse
from kctl.client.protocol.api.find_coordinator import FindCoordinatorRequest, FindCoordinatorResponse
from kctl.client.protocol.api.metadata import (
    MetadataRequest,
    MetadataRequestTopic,
    MetadataResponse,
    MetadataResponseTopic,
)
from kctl.sandbox.settings import ClusterSettings
from tests.unit.sandbox.scenario import Scenario


def _ask(scenario: Scenario, *names: str, version: int = 12, create: bool = True) -> list[MetadataResponseTopic]:
    topics = [MetadataRequestTopic(name=name) for name in names]
    request = MetadataRequest(topics=topics, allow_auto_topic_creation=create)
    return scenario.connect().call(request, MetadataResponse, version).topics


def test_nodes_topics_and_leaders() -> None:
    scenario = Scenario(nodes=3, topics={"t": 3})
    scenario.sandbox.move_leader("t", 2, 1)
    response = scenario.connect().call(MetadataRequest(topics=None), MetadataResponse)
    assert [(node.node_id, node.host, node.port) for node in response.brokers] == [
        (number, f"10.0.0.{number}", 9092) for number in (1, 2, 3)
    ]
    (topic,) = response.topics
    assert (topic.name, topic.topic_id, topic.error_code) == ("t", scenario.topic_id("t"), ErrorCode.NONE)
    assert [(part.partition_index, part.leader_id, part.leader_epoch) for part in topic.partitions] == [
        (0, 1, 0), (1, 2, 0), (2, 1, 1),
    ]  # fmt: skip
    assert response.cluster_id == "kctl-sandbox-000000000"


def test_no_topics_and_all_topics_are_told_apart() -> None:
    scenario = Scenario(topics={"t": 1})
    client = scenario.connect()
    for version, topics, expected in ((0, [], 1), (1, [], 0), (1, None, 1), (13, [], 0), (13, None, 1)):
        request = MetadataRequest(topics=topics)
        assert len(client.call(request, MetadataResponse, version).topics) == expected


def test_a_topic_comes_into_being_with_the_second_look() -> None:
    scenario = Scenario()
    assert [topic.error_code for topic in _ask(scenario, "new")] == [ErrorCode.UNKNOWN_TOPIC_OR_PARTITION]
    assert [topic.error_code for topic in _ask(scenario, "new")] == [ErrorCode.NONE]


def test_topics_come_into_being_only_where_both_sides_allow_it() -> None:
    scenario = Scenario()
    for _ in range(2):
        assert _ask(scenario, "new", create=False)[0].error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    closed = Scenario(settings=ClusterSettings(auto_create_topics_enable=False))
    for _ in range(2):
        assert _ask(closed, "new")[0].error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert _ask(scenario, "a b")[0].error_code == ErrorCode.INVALID_TOPIC_EXCEPTION


def test_topics_by_id() -> None:
    scenario = Scenario(topics={"t": 1})
    topics = [MetadataRequestTopic(topic_id=topic_id, name=None) for topic_id in (scenario.topic_id("t"), b"\1" * 16)]
    found, unknown = scenario.connect().call(MetadataRequest(topics=topics), MetadataResponse).topics
    assert (found.name, found.error_code) == ("t", ErrorCode.NONE)
    assert (unknown.name, unknown.error_code) == (None, ErrorCode.UNKNOWN_TOPIC_ID)


def test_advertised_address_may_differ_from_the_served_one() -> None:
    scenario = Scenario(nodes=2)
    scenario.sandbox.advertise(2, "elsewhere.invalid", 1)
    response = scenario.connect().call(DescribeClusterRequest(), DescribeClusterResponse)
    assert [(node.broker_id, node.host, node.port) for node in response.brokers] == [
        (1, "10.0.0.1", 9092), (2, "elsewhere.invalid", 1),
    ]  # fmt: skip


def test_a_broker_is_no_controller() -> None:
    response = Scenario().connect().call(DescribeClusterRequest(endpoint_type=2), DescribeClusterResponse)
    assert response.error_code == ErrorCode.MISMATCHED_ENDPOINT_TYPE


def test_a_group_has_one_coordinator_whoever_is_asked() -> None:
    scenario = Scenario(nodes=3)
    found = []
    for node_id in (1, 2, 3):
        request = FindCoordinatorRequest(coordinator_keys=[f"group-{number}" for number in range(20)])
        response = scenario.connect(node_id).call(request, FindCoordinatorResponse)
        found.append([coordinator.node_id for coordinator in response.coordinators])
    assert found[0] == found[1] == found[2]
    assert sorted(dict.fromkeys(found[0])) == [1, 2, 3]


def test_share_groups_have_no_coordinator_here() -> None:
    request = FindCoordinatorRequest(key_type=2, coordinator_keys=["k"])
    (answer,) = Scenario().connect().call(request, FindCoordinatorResponse).coordinators
    assert answer.error_code == ErrorCode.INVALID_REQUEST
