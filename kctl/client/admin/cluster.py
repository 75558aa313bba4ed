from collections.abc import Mapping, Sequence
from typing import NamedTuple

from kctl.client.admin.call import Call, Results, any_node
from kctl.client.broker_errors import broker_error
from kctl.client.cluster import NO_NODE, NO_TOPIC_ID, Node, TopicId, TopicInfo
from kctl.client.cluster_client import ClusterClient
from kctl.client.errors import KafkaError, RemoteProtocolError
from kctl.client.metadata import nodes_in
from kctl.client.network.in_flight import Answer
from kctl.client.protocol.api.api_versions import ApiVersionsRequest, ApiVersionsResponse
from kctl.client.protocol.api.cluster import (
    DescribeClusterRequest,
    DescribeClusterResponse,
    DescribeQuorumRequest,
    DescribeQuorumResponse,
    ReplicaState,
)
from kctl.client.protocol.api.metadata import MetadataResponse
from kctl.client.protocol.versions import NodeVersions
from kctl.client.requests.items import each_once
from kctl.client.requests.quorum import FIRST_VERSION_WITH_FENCED, METADATA_TOPIC, quorum_request
from kctl.client.requests.topics import described_topics, metadata_request
from kctl.version import VERSION


class ClusterDescription(NamedTuple):
    """A cluster as one of its brokers describes it.

    Attributes:
        controller_id: the controller in a cluster with ZooKeeper. It is NO_NODE on KRaft, where brokers report any
            broker that forwards requests (KIP-590); `Admin.describe_quorum` returns the leader of the controllers.
        fenced_nodes: registered brokers without heartbeats (KIP-1073), if reported (from Kafka 4.0 on).
    """

    cluster_id: str
    controller_id: int
    nodes: tuple[Node, ...]
    fenced_nodes: tuple[Node, ...] = ()


def cluster_request(versions: NodeVersions | None) -> DescribeClusterRequest:
    is_able = versions is not None and versions.supports(DescribeClusterRequest, FIRST_VERSION_WITH_FENCED)
    return DescribeClusterRequest(include_fenced_brokers=is_able)


def describe_cluster(call: Call) -> ClusterDescription:
    node_ids: list[int] = []

    def route(client: ClusterClient) -> int | None:
        node_id = any_node(client)
        node_ids[:] = [] if node_id is None else [node_id]
        return node_id

    answer = call.answer_of(
        route,
        lambda _: cluster_request(call.client.network.versions(node_ids[0])),
        DescribeClusterResponse,
        is_for_any=True,
    )
    response = answer.response
    assert isinstance(response, DescribeClusterResponse)
    if response.error_code:
        raise broker_error(response.error_code, "describe the cluster", response.error_message)
    brokers = [(f"broker {each.broker_id}", each) for each in response.brokers]
    nodes: dict[bool, list[Node]] = {False: [], True: []}
    for broker in each_once(brokers, None, "DescribeCluster", call.name_of(answer.node_id)).values():
        if isinstance(broker, KafkaError):
            raise broker
        nodes[broker.is_fenced].append(Node(broker.broker_id, broker.host, broker.port, broker.rack))
    has_quorum = call.client.network.supports(answer.node_id, DescribeQuorumRequest)
    controller_id = NO_NODE if has_quorum else response.controller_id
    return ClusterDescription(
        response.cluster_id, controller_id, tuple(sorted(nodes[False])), tuple(sorted(nodes[True]))
    )


class Feature(NamedTuple):
    """A feature.

    Attributes:
        level: level in the cluster; 0 if the feature is off.
        lowest, highest: range of levels that the responding broker supports.
    """

    name: str
    level: int
    lowest: int
    highest: int


def describe_features(call: Call) -> list[Feature]:
    request = ApiVersionsRequest(client_software_name="kctl", client_software_version=VERSION)
    response = call.ask(any_node, lambda _: request, ApiVersionsResponse)
    if response.error_code:
        raise broker_error(response.error_code, "describe features")
    levels = {each.name: each.max_version_level for each in response.finalized_features}
    supported = {each.name: (each.min_version, each.max_version) for each in response.supported_features}
    names = sorted(levels.keys() | supported.keys())
    return [Feature(name, levels.get(name, 0), *supported.get(name, (0, levels.get(name, 0)))) for name in names]


class MetadataView(NamedTuple):
    """Brokers, and topics by name, in the metadata of one broker."""

    nodes: tuple[Node, ...]
    topics: Mapping[str, TopicInfo]


def metadata_views(call: Call, node_ids: Sequence[int], topics: Sequence[str] | None) -> Results[int, MetadataView]:
    answers = call.ask_nodes({node_id: lambda _: metadata_request(topics) for node_id in node_ids})
    found = {node_id: _view(call, answer) for node_id, answer in answers.items()}
    return Results(
        {node_id: view for node_id, view in found.items() if not isinstance(view, KafkaError)},
        {node_id: error for node_id, error in found.items() if isinstance(error, KafkaError)},
    )


def _view(call: Call, answer: Answer | KafkaError) -> MetadataView | KafkaError:
    if isinstance(answer, KafkaError):
        return answer
    assert isinstance(answer.response, MetadataResponse)
    topics = described_topics(answer.response, call.name_of(answer.node_id))
    if isinstance(topics, KafkaError):
        return topics
    view = answer.response
    return MetadataView(nodes_in(view), {topic.name: topic for topic in topics})


class QuorumReplica(NamedTuple):
    """A controller or broker with a replica of the metadata log.

    Attributes:
        is_voter: whether it votes in leader elections; other replicas are observers.
        lag: number of missing records; -1 if unknown.
        last_fetch_at_ms, last_caught_up_at_ms: times by the leader's clock; -1 if not reported.
        directory_id: id of the metadata log directory; empty before Kafka 3.9 and without kraft.version 1.
    """

    node_id: int
    is_voter: bool
    log_end_offset: int
    lag: int
    last_fetch_at_ms: int
    last_caught_up_at_ms: int
    directory_id: TopicId = TopicId(NO_TOPIC_ID)


class QuorumDescription(NamedTuple):
    """The KRaft quorum as its leader describes it."""

    leader_id: int
    leader_epoch: int
    high_watermark: int
    replicas: tuple[QuorumReplica, ...]


def describe_quorum(call: Call) -> QuorumDescription:
    while True:
        response = call.ask(any_node, lambda _: quorum_request(), DescribeQuorumResponse)
        parts = [part for each in response.topics for part in each.partitions]
        code = response.error_code or next((part.error_code for part in parts if part.error_code), 0)
        if not code:
            break
        call.pause(broker_error(code, "describe the quorum", response.error_message))
    if len(parts) != 1:
        raise RemoteProtocolError(
            f"the DescribeQuorum response contains {len(parts)} partitions of {METADATA_TOPIC} instead of 1",
            api="DescribeQuorum",
        )
    [part] = parts
    end = max((each.log_end_offset for each in part.current_voters if each.replica_id == part.leader_id), default=-1)

    def replica(state: ReplicaState, *, is_voter: bool) -> QuorumReplica:
        lag = max(0, end - state.log_end_offset) if end >= 0 and state.log_end_offset >= 0 else -1
        return QuorumReplica(
            state.replica_id,
            is_voter,
            state.log_end_offset,
            lag,
            state.last_fetch_timestamp,
            state.last_caught_up_timestamp,
            TopicId(state.replica_directory_id),
        )

    replicas = [
        *(replica(each, is_voter=True) for each in part.current_voters),
        *(replica(each, is_voter=False) for each in part.observers),
    ]
    return QuorumDescription(part.leader_id, part.leader_epoch, part.high_watermark, tuple(replicas))
