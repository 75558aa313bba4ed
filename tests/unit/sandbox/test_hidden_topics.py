"""Topics that a client may not describe: responses about groups, offsets, and transactions do not show them."""

from typing import Any

import pytest

from kctl.client.acls import AclOperation, AclPermission, AclResourceType, AclRule, PatternType
from kctl.client.broker_errors import ErrorCode
from kctl.client.protocol.api.consumer_groups import (
    ConsumerGroupDescribeRequest,
    ConsumerGroupDescribeResponse,
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
)
from kctl.client.protocol.api.share_group_offsets import (
    DescribeShareGroupOffsetsRequest,
    DescribeShareGroupOffsetsRequestGroup,
    DescribeShareGroupOffsetsRequestTopic,
    DescribeShareGroupOffsetsResponse,
)
from kctl.client.protocol.api.share_groups import (
    ShareGroupDescribeRequest,
    ShareGroupDescribeResponse,
    ShareGroupHeartbeatRequest,
    ShareGroupHeartbeatResponse,
)
from kctl.client.protocol.api.streams_groups import (
    StreamsGroupDescribeRequest,
    StreamsGroupDescribeResponse,
    StreamsGroupHeartbeatRequest,
    StreamsGroupHeartbeatRequestSubtopology,
    StreamsGroupHeartbeatRequestTopology,
    StreamsGroupHeartbeatResponse,
    TopicInfo,
)
from kctl.client.protocol.api.topics import DeleteTopicsRequest, DeleteTopicsResponse, DeleteTopicState
from kctl.client.protocol.api.transaction_states import (
    DescribeTransactionsRequest,
    DescribeTransactionsResponse,
    TopicData,
    TransactionState,
)
from kctl.sandbox.access.demands import DEMANDS
from kctl.sandbox.call import Call
from kctl.sandbox.identity import Identity
from kctl.sandbox.settings import ClusterSettings
from tests.unit.sandbox.scenario import Client, NotRandom, Scenario

TOPIC, GROUP = AclResourceType.TOPIC, AclResourceType.GROUP
HIDDEN = "The group has described topic(s) that the client is not authorized to describe."


def rule(kind: AclResourceType, name: str) -> AclRule:
    return AclRule(kind, name, PatternType.LITERAL, "User:ANONYMOUS", "*", AclOperation.ALL, AclPermission.ALLOW)


@pytest.fixture
def scenario() -> Scenario:
    scenario = Scenario(topics={"t": 1, "u": 1}, settings=ClusterSettings(authorizer=True, super_users=("User:admin",)))
    for each in (rule(GROUP, "g"), rule(TOPIC, "t"), rule(TOPIC, "u")):
        scenario.cluster.authorizer.create(each)
    return scenario


def hide(scenario: Scenario) -> None:
    scenario.cluster.authorizer.delete([rule(TOPIC, "u")])


def check(before: Any, after: Any, message: str = HIDDEN) -> None:
    """Check that the group had members, and that an error is left."""
    assert (before.error_code, len(before.members)) == (0, 1)
    assert after == type(after)(group_id="g", error_code=ErrorCode.TOPIC_AUTHORIZATION_FAILED, error_message=message)


def test_consumer_group_with_a_hidden_topic_is_an_error(scenario: Scenario) -> None:
    client = scenario.connect()
    join = ConsumerGroupHeartbeatRequest(
        group_id="g", member_id="m", rebalance_timeout_ms=60_000, subscribed_topic_names=["t", "u"], topic_partitions=[]
    )
    assert client.call(join, ConsumerGroupHeartbeatResponse).error_code == 0

    def described() -> Any:
        return client.call(ConsumerGroupDescribeRequest(group_ids=["g"]), ConsumerGroupDescribeResponse).groups[0]

    before = described()
    hide(scenario)
    check(before, described())


def test_regular_expression_matches_no_hidden_topic(scenario: Scenario) -> None:
    hide(scenario)
    join = ConsumerGroupHeartbeatRequest(
        group_id="g", member_id="m", rebalance_timeout_ms=60_000, subscribed_topic_regex=".*", topic_partitions=[]
    )
    response = scenario.connect().call(join, ConsumerGroupHeartbeatResponse)
    assert response.assignment is not None
    assert [each.topic_id for each in response.assignment.topic_partitions] == [scenario.topic_id("t")]


def test_topic_with_a_name_and_an_id_is_not_deleted(scenario: Scenario) -> None:
    hide(scenario)
    both = DeleteTopicState(name="u", topic_id=scenario.topic_id("t"))
    response = scenario.connect().call(DeleteTopicsRequest(topics=[both]), DeleteTopicsResponse)
    assert [each.error_code for each in response.responses] == [ErrorCode.INVALID_REQUEST]
    assert {"t", "u"} <= set(scenario.cluster.topics)


def share_group(scenario: Scenario) -> Client:
    client = scenario.connect()
    join = ShareGroupHeartbeatRequest(group_id="g", member_id="m", subscribed_topic_names=["t", "u"])
    assert client.call(join, ShareGroupHeartbeatResponse).error_code == 0
    return client


def test_share_group_with_a_hidden_topic_is_an_error(scenario: Scenario) -> None:
    client = share_group(scenario)

    def described() -> Any:
        return client.call(ShareGroupDescribeRequest(group_ids=["g"]), ShareGroupDescribeResponse).groups[0]

    before = described()
    hide(scenario)
    check(before, described())


@pytest.mark.parametrize("lists_topics", [True, False])
def test_share_offsets_of_a_hidden_topic_are_errors_if_it_was_listed(scenario: Scenario, lists_topics: bool) -> None:
    client = share_group(scenario)
    hide(scenario)
    wanted = [DescribeShareGroupOffsetsRequestTopic(topic_name=name, partitions=[0]) for name in ("t", "u")]
    group = DescribeShareGroupOffsetsRequestGroup(group_id="g", topics=wanted if lists_topics else None)
    response = client.call(DescribeShareGroupOffsetsRequest(groups=[group]), DescribeShareGroupOffsetsResponse)
    found = {topic.topic_name: topic.partitions[0].error_code for topic in response.groups[0].topics}
    denied = {"u": ErrorCode.TOPIC_AUTHORIZATION_FAILED} if lists_topics else {}
    assert found == {"t": 0, **denied}


PLACES: dict[str, dict[str, Any]] = {
    "source": {"source_topics": ["u"]},
    "sink": {"source_topics": ["t"], "repartition_sink_topics": ["u"]},
    "repartition": {"source_topics": ["t"], "repartition_source_topics": [TopicInfo(name="u")]},
    "changelog": {"source_topics": ["t"], "state_changelog_topics": [TopicInfo(name="u")]},
}


@pytest.mark.parametrize("place", PLACES)
def test_streams_group_with_a_hidden_topic_is_an_error_and_no_member_joins_with_one(
    scenario: Scenario, place: str
) -> None:
    client = scenario.connect()
    part = StreamsGroupHeartbeatRequestSubtopology(subtopology_id="0", **PLACES[place])

    def joined(member_id: str) -> int:
        topology = StreamsGroupHeartbeatRequestTopology(subtopologies=[part])
        join = StreamsGroupHeartbeatRequest(
            group_id="g", member_id=member_id, rebalance_timeout_ms=60_000, topology=topology
        )
        return client.call(join, StreamsGroupHeartbeatResponse).error_code

    def described() -> Any:
        return client.call(StreamsGroupDescribeRequest(group_ids=["g"]), StreamsGroupDescribeResponse).groups[0]

    assert joined("m") == 0
    before = described()
    hide(scenario)
    assert joined("n") == ErrorCode.TOPIC_AUTHORIZATION_FAILED
    check(before, described(), "The described group uses topics that the client is not authorized to describe.")


def test_described_transaction_has_only_topics_that_may_be_described(scenario: Scenario) -> None:
    hide(scenario)
    cluster = scenario.cluster
    anonymous = Identity(None, cluster.scram_users, NotRandom(), scenario.scheduler)
    call = Call(cluster.nodes[1], cluster, anonymous, 0, "test", lambda _: None)
    topics = [TopicData(topic=name, partitions=[0]) for name in ("t", "u")]
    response = DescribeTransactionsResponse(transaction_states=[TransactionState(transactional_id="x", topics=topics)])
    censor = DEMANDS["DescribeTransactions"].censor
    assert censor is not None
    censor(call, DescribeTransactionsRequest(transactional_ids=["x"]), response)
    assert [each.topic for each in response.transaction_states[0].topics] == ["t"]
