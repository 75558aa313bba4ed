"""Every API in every advertised version: a request gets a response of that version."""

from typing import Any

import pytest

from kctl.client.protocol.api.api_versions import ApiVersionsRequest, ApiVersionsResponse
from kctl.client.protocol.api.committed_offsets import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopic,
    OffsetFetchRequestTopics,
)
from kctl.client.protocol.api.configs import AlterConfigsRequest
from kctl.client.protocol.api.configs import AlterConfigsRequestAlterConfigsResource as AlterConfigsResource
from kctl.client.protocol.api.consumer_groups import ConsumerGroupDescribeRequest, ConsumerGroupHeartbeatRequest
from kctl.client.protocol.api.fetch import FetchPartition, FetchRequest, FetchTopic
from kctl.client.protocol.api.find_coordinator import FindCoordinatorRequest
from kctl.client.protocol.api.group_membership import (
    HeartbeatRequest,
    JoinGroupRequest,
    JoinGroupRequestProtocol,
    LeaveGroupRequest,
    MemberIdentity,
    SyncGroupRequest,
    SyncGroupRequestAssignment,
)
from kctl.client.protocol.api.groups import DeleteGroupsRequest, DescribeGroupsRequest
from kctl.client.protocol.api.log_dirs import (
    AlterReplicaLogDir,
    AlterReplicaLogDirsRequest,
    AlterReplicaLogDirTopic,
    DescribableLogDirTopic,
    DescribeLogDirsRequest,
)
from kctl.client.protocol.api.metadata import MetadataRequest, MetadataRequestTopic
from kctl.client.protocol.api.partition_offsets import (
    DeleteRecordsPartition,
    DeleteRecordsRequest,
    DeleteRecordsTopic,
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsTopic,
    OffsetForLeaderEpochRequest,
    OffsetForLeaderPartition,
    OffsetForLeaderTopic,
)
from kctl.client.protocol.api.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from kctl.client.protocol.api.reassignments import ElectLeadersRequest, TopicPartitions
from kctl.client.protocol.api.share_group_offsets import (
    DescribeShareGroupOffsetsRequest,
    DescribeShareGroupOffsetsRequestGroup,
    DescribeShareGroupOffsetsRequestTopic,
)
from kctl.client.protocol.api.share_groups import ShareGroupDescribeRequest
from kctl.client.protocol.api.streams_groups import StreamsGroupDescribeRequest
from kctl.client.protocol.api.topics import (
    CreatableTopic,
    CreateTopicsRequest,
    DeleteTopicsRequest,
    DeleteTopicState,
    DescribeTopicPartitionsRequest,
)
from kctl.client.protocol.api.topics import TopicRequest as PartitionedTopic
from kctl.client.protocol.api.transaction_states import (
    DescribeProducersRequest,
    DescribeTransactionsRequest,
    TopicRequest,
    WritableTxnMarker,
    WritableTxnMarkerTopic,
    WriteTxnMarkersRequest,
)
from kctl.client.protocol.api.transactions import (
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnTopic,
    AddPartitionsToTxnTransaction,
    TxnOffsetCommitRequest,
    TxnOffsetCommitRequestPartition,
    TxnOffsetCommitRequestTopic,
)
from kctl.client.protocol.schema import Request
from kctl.sandbox.apis import HANDLERS, api_versions
from kctl.sandbox.apis.describe_log_dirs import LOG_DIR
from tests.unit.sandbox.scenario import Scenario, batch

EVERY_VERSION = [(key, version) for key, api in HANDLERS.items() for version in range(api.first, api.last + 1)]


def content_request(scenario: Scenario, key: int, version: int) -> Request:
    """Return a request whose response has content, in this version."""
    topic_id = scenario.topic_id("t")
    names = {
        0: {"topic_id": topic_id} if version >= 13 else {"name": "t"},
        1: {"topic_id": topic_id} if version >= 13 else {"topic": "t"},
        8: {"topic_id": topic_id} if version >= 10 else {"name": "t"},
        9: {"topic_id": topic_id} if version >= 10 else {"name": "t"},
    }
    named: Any = names.get(key, {})
    match key:
        case 0:
            data = [PartitionProduceData(index=index, records=batch(b"v")) for index in (0, 1, 9)]
            return ProduceRequest(acks=1, topic_data=[TopicProduceData(**named, partition_data=data)])
        case 1:
            asked = [FetchPartition(partition=index, partition_max_bytes=1000) for index in (0, 1, 9)]
            return FetchRequest(topics=[FetchTopic(**named, partitions=asked)])
        case 2:
            stamps = [ListOffsetsPartition(partition_index=index, timestamp=-2) for index in (0, 1, 9)]
            return ListOffsetsRequest(topics=[ListOffsetsTopic(name="t", partitions=stamps)])
        case 3:
            return MetadataRequest(topics=[MetadataRequestTopic(name="t"), MetadataRequestTopic(name="new")])
        case 8:
            commits = [OffsetCommitRequestPartition(partition_index=0, committed_offset=3)]
            return OffsetCommitRequest(group_id="g", topics=[OffsetCommitRequestTopic(**named, partitions=commits)])
        case 9 if version < 8:
            return OffsetFetchRequest(group_id="g", topics=[OffsetFetchRequestTopic(name="t", partition_indexes=[0])])
        case 9:
            topics = [OffsetFetchRequestTopics(**named, partition_indexes=[0])]
            return OffsetFetchRequest(groups=[OffsetFetchRequestGroup(group_id="g", topics=topics)])
        case 10:
            keys: Any = {"coordinator_keys": ["g"]} if version >= 4 else {"key": "g"}
            return FindCoordinatorRequest(**keys)
        case 19:
            return CreateTopicsRequest(topics=[CreatableTopic(name="n", num_partitions=1, replication_factor=1)])
        case 20:
            if version < 6:
                return DeleteTopicsRequest(topic_names=["t", "none"])
            return DeleteTopicsRequest(topics=[DeleteTopicState(name="t"), DeleteTopicState(name="none")])
    return _further_request(key, version)


def _further_request(key: int, version: int) -> Request:
    """Return a request about epochs or groups, with content only if the response needs it."""
    match key:
        case 11:
            offers = [JoinGroupRequestProtocol(name="range")]
            return JoinGroupRequest(group_id="g", session_timeout_ms=10_000, protocol_type="consumer", protocols=offers)
        case 12:
            return HeartbeatRequest(group_id="g", member_id="m")
        case 13 if version < 3:
            return LeaveGroupRequest(group_id="g", member_id="m")
        case 13:
            return LeaveGroupRequest(group_id="g", members=[MemberIdentity(member_id="m")])
        case 14:
            given = [SyncGroupRequestAssignment(member_id="m", assignment=b"a")]
            return SyncGroupRequest(group_id="g", member_id="m", assignments=given)
        case 15:
            return DescribeGroupsRequest(groups=["g", "h"])
        case 23:
            epochs = [OffsetForLeaderPartition(partition=index) for index in (0, 1, 9)]
            return OffsetForLeaderEpochRequest(topics=[OffsetForLeaderTopic(topic="t", partitions=epochs)])
        case 42:
            return DeleteGroupsRequest(groups_names=["g", "h"])
        case 43:
            return ElectLeadersRequest(topic_partitions=[TopicPartitions(topic="t", partitions=[0, 1, 9])])
        case 68:
            return ConsumerGroupHeartbeatRequest(
                group_id="g",
                member_id="m",
                rebalance_timeout_ms=1_000,
                subscribed_topic_names=["t"],
                topic_partitions=[],
            )
        case 69:
            return ConsumerGroupDescribeRequest(group_ids=["g", "h"])
    return _share_request(key) or _configs_request(key) or _transactions_request(key, version)


def _configs_request(key: int) -> Request | None:
    match key:
        case 33:
            resource = AlterConfigsResource(resource_type=2, resource_name="t", configs=[])
            return AlterConfigsRequest(resources=[resource])
        case 34:
            moved = [AlterReplicaLogDirTopic(name="t", partitions=[0, 1, 9])]
            return AlterReplicaLogDirsRequest(dirs=[AlterReplicaLogDir(path=LOG_DIR, topics=moved)])
        case 75:
            return DescribeTopicPartitionsRequest(topics=[PartitionedTopic(name="t"), PartitionedTopic(name="new")])
    return None


def _share_request(key: int) -> Request | None:
    match key:
        case 77:
            return ShareGroupDescribeRequest(group_ids=["g", "h"])
        case 89:
            return StreamsGroupDescribeRequest(group_ids=["g", "h"])
        case 90:
            asked_topics = [DescribeShareGroupOffsetsRequestTopic(topic_name="t", partitions=[0, 9])]
            return DescribeShareGroupOffsetsRequest(
                groups=[DescribeShareGroupOffsetsRequestGroup(group_id="g", topics=asked_topics)]
            )
    return None


def _transactions_request(key: int, version: int) -> Request:
    match key:
        case 21:
            records = [DeleteRecordsPartition(partition_index=index, offset=-1) for index in (0, 1, 9)]
            return DeleteRecordsRequest(topics=[DeleteRecordsTopic(name="t", partitions=records)])
        case 24 if version < 4:
            named = [AddPartitionsToTxnTopic(name="t", partitions=[0, 1])]
            return AddPartitionsToTxnRequest(v3_and_below_transactional_id="tx", v3_and_below_topics=named)
        case 24:
            named = [AddPartitionsToTxnTopic(name="t", partitions=[0, 1])]
            asked = [AddPartitionsToTxnTransaction(transactional_id="tx", topics=named)]
            return AddPartitionsToTxnRequest(transactions=asked)
        case 27:
            ended = [WritableTxnMarkerTopic(name="t", partition_indexes=[0, 1, 9])]
            return WriteTxnMarkersRequest(markers=[WritableTxnMarker(producer_id=7, topics=ended)])
        case 28:
            offsets = [TxnOffsetCommitRequestPartition(partition_index=index) for index in (0, 1)]
            topics = [TxnOffsetCommitRequestTopic(name="t", partitions=offsets)]
            return TxnOffsetCommitRequest(transactional_id="tx", group_id="g", topics=topics)
        case 35:
            return DescribeLogDirsRequest(topics=[DescribableLogDirTopic(topic="t", partitions=[0])])
        case 61:
            return DescribeProducersRequest(topics=[TopicRequest(name="t", partition_indexes=[0, 1, 9])])
        case 65:
            return DescribeTransactionsRequest(transactional_ids=["tx", "other"])
    request: Request = HANDLERS[key].request()
    if "error_code" not in {each.name for each in request.RESPONSE.FIELDS}:  # errors are per item: request one
        for each in request.FIELDS:
            if each.is_array and each.is_in(version):
                setattr(request, each.name, ["t" if isinstance(each.kind, str) else each.kind()])
    return request


@pytest.mark.parametrize(("key", "version"), EVERY_VERSION)
@pytest.mark.parametrize("node_id", [1, 2])
def test_is_answered(key: int, version: int, node_id: int) -> None:
    scenario = Scenario(nodes=2, topics={"t": 2})
    client = scenario.connect(node_id)
    request = content_request(scenario, key, version)
    correlation_id = client.send(request, version)
    scenario.scheduler.advance(0)
    client.take(request.RESPONSE, version, correlation_id)
    assert not scenario.sandbox.listeners[node_id].refused


def test_apis_are_advertised_in_the_order_of_their_keys() -> None:
    advertised = [each.api_key for each in api_versions.response().api_keys]
    try:
        api_versions.offer(reversed(HANDLERS.values()))
        assert [each.api_key for each in api_versions.response().api_keys] == advertised == sorted(advertised)
    finally:
        api_versions.offer(HANDLERS.values())


def test_exactly_these_are_advertised() -> None:
    response = Scenario().connect().call(ApiVersionsRequest(), ApiVersionsResponse, 0)
    advertised = {api.api_key: (api.min_version, api.max_version) for api in response.api_keys}
    spoken = {key: (api.first, api.last) for key, api in HANDLERS.items()}
    assert advertised.pop(0) == (0, spoken.pop(0)[1])
    assert advertised == spoken
