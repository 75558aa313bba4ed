"""Conversation: requests of a probe to a ready broker, one by one. No I/O.

1. Metadata without topics: cluster id, brokers, and the controller of a cluster with ZooKeeper. KRaft brokers report
any broker that forwards requests. 2. DescribeConfigs of a broker that cannot exist. The error contains the id of the
responding broker, which brokers before Kafka 4.4 report nowhere else; without permission, the id stays unknown. 3.
Coordinator of a group, if given, and its partition of __consumer_offsets. 4. Fenced brokers, which Metadata leaves out,
and the replicas of all partitions, to find missing brokers. 5. Leader of the KRaft controllers. Brokers forward the
request, so there may be no response.
"""

import re
from collections import Counter
from collections.abc import Callable, Sequence

from kctl.client.broker_errors import ErrorCode
from kctl.client.cluster import NO_NODE, Node, TopicPartition
from kctl.client.errors import KafkaError
from kctl.client.events import Phase
from kctl.client.network import connect_errors
from kctl.client.network.connection import Connection
from kctl.client.network.in_flight import Answer
from kctl.client.probe.report import AddressReport, ClusterView, CoordinatorReport, ReplicaReport
from kctl.client.protocol.api.api_versions import ApiVersionsRequest
from kctl.client.protocol.api.cluster import (
    DescribeClusterRequest,
    DescribeClusterResponse,
    DescribeQuorumRequest,
    DescribeQuorumResponse,
)
from kctl.client.protocol.api.configs import DescribeConfigsRequest, DescribeConfigsResource, DescribeConfigsResponse
from kctl.client.protocol.api.find_coordinator import FindCoordinatorResponse
from kctl.client.protocol.api.metadata import MetadataRequest, MetadataResponse
from kctl.client.protocol.schema import Request, Response
from kctl.client.requests.find_coordinator import KeyType, coordinators_in, find_coordinator
from kctl.client.requests.quorum import FIRST_VERSION_WITH_FENCED, quorum_request
from kctl.client.requests.retry import FIND_COORDINATOR
from kctl.client.requests.topics import described_topics, metadata_request

_NO_CONTROLLER = {ErrorCode.REQUEST_TIMED_OUT, ErrorCode.NOT_CONTROLLER, ErrorCode.NOT_LEADER_OR_FOLLOWER}
_BROKER = 4
_NO_SUCH_BROKER = "-2"
_EXPECTED_ID = re.compile(r"expected (\d+)")
_NEWEST_WITHOUT_NAME = 2
"""Last version of ApiVersions without the client's software; the handshake has already sent the software."""
COORDINATOR_PATIENCE_MS = 5000
"""Time to wait for a coordinator if there is none yet."""
QUORUM_PATIENCE_MS = 5000
"""Time to wait for a broker that forwards a request to the controllers."""
_AGAIN_AFTER_MS = 250
_OFFSETS_TOPIC = "__consumer_offsets"


class Conversation:
    def __init__(
        self,
        report: AddressReport,
        connection: Connection,
        on_brokers: Callable[[Sequence[Node]], None],
        group: str | None,
        *,
        wants_fenced: bool = False,
        wants_replicas: bool = False,
    ) -> None:
        self.coordinator: CoordinatorReport | None = None
        self.replicas: ReplicaReport | None = None
        self.again_at_ms: int | None = None
        """Time of the next query for a missing coordinator; None without a pause."""
        self._patient_until_ms: int | None = None
        self._report = report
        self._connection = connection
        self._on_brokers = on_brokers
        self._group = group
        self._asked: Request | None = None
        """Last request."""
        self._questions: list[Request] = [metadata_request([])]
        if wants_fenced and connection.versions is not None:
            versions = connection.versions
            if versions.supports(DescribeClusterRequest, FIRST_VERSION_WITH_FENCED):
                self._questions.append(DescribeClusterRequest(include_fenced_brokers=True))
        resource = DescribeConfigsResource(resource_type=_BROKER, resource_name=_NO_SUCH_BROKER, configuration_keys=[])
        self._questions.append(DescribeConfigsRequest(resources=[resource]))
        if group is not None:
            self._questions.append(find_coordinator(KeyType.GROUP, [group], connection.versions))
            self._questions.append(metadata_request([_OFFSETS_TOPIC]))
        if wants_replicas:
            self._questions.append(metadata_request(None))
        self._questions.append(quorum_request())

    def check_pause(self, now_ms: int) -> bool:
        """End a pause whose time is over; return whether the next request must wait."""
        if self.again_at_ms is not None and now_ms >= self.again_at_ms:
            self.again_at_ms = None
        return self.again_at_ms is not None

    def ask_next(self, now_ms: int, deadline_at_ms: int) -> bool:
        """Send the next supported request; return False if none is left.

        Raises: WrongPeerError: the server has no Metadata, so it is not a broker.
        """
        versions = self._connection.versions
        assert versions is not None
        while self._questions:
            question = self._questions.pop(0)
            if not versions.supports(type(question)):
                if isinstance(question, MetadataRequest):
                    raise connect_errors.controller(self._report.target)
                continue
            version = versions.choose(type(question))
            if isinstance(question, DescribeQuorumRequest):
                deadline_at_ms = min(deadline_at_ms, now_ms + QUORUM_PATIENCE_MS)
            self._asked = question
            self._connection.send(
                question, version, now_ms=now_ms, deadline_at_ms=deadline_at_ms, on_done=_answers_come_from_receive
            )
            return True
        return False

    def on_answer(self, response: Response, elapsed_ms: int, now_ms: int) -> None:
        if isinstance(response, MetadataResponse):
            if self._report.view is None:
                self._on_metadata(response, elapsed_ms)
            elif isinstance(self._asked, MetadataRequest) and self._asked.topics is None:
                self.replicas = _replicas(response)
            elif self.coordinator is not None:
                self.coordinator = _with_partition(self.coordinator, response)
        elif isinstance(response, DescribeClusterResponse):
            self._on_cluster(response)
        elif isinstance(response, DescribeQuorumResponse):
            self._on_controller(_quorum_leader(response))
        elif isinstance(response, DescribeConfigsResponse):
            self._report.answers_as = _own_id(response)
        elif isinstance(response, FindCoordinatorResponse):
            self._on_coordinator(_coordinator(response, self._group or ""), now_ms)

    def on_expired(self) -> bool:
        """Return whether the conversation can end without the pending response."""
        if isinstance(self._asked, MetadataRequest):
            return self._asked.topics is None
        return isinstance(self._asked, DescribeQuorumRequest)

    def _on_cluster(self, response: DescribeClusterResponse) -> None:
        assert self._report.view is not None
        fenced = tuple(Node(b.broker_id, b.host, b.port, b.rack) for b in response.brokers if b.is_fenced)
        self._report.view = self._report.view._replace(fenced=fenced)
        self._on_brokers(fenced)

    def _on_controller(self, node_id: int | None) -> None:
        assert self._report.view is not None
        self._report.view = self._report.view._replace(controller_id=node_id)

    def _on_coordinator(self, found: CoordinatorReport, now_ms: int) -> None:
        """Record the coordinator. After a temporary error, query again: the first query creates the topic."""
        self.coordinator = found
        if self._patient_until_ms is None:
            self._patient_until_ms = now_ms + COORDINATOR_PATIENCE_MS
        if found.error is not None and FIND_COORDINATOR.is_retried(found.error) and now_ms < self._patient_until_ms:
            self.again_at_ms = min(now_ms + _AGAIN_AFTER_MS, self._patient_until_ms)
            self._questions.insert(0, find_coordinator(KeyType.GROUP, [found.group_id], self._connection.versions))

    def _on_metadata(self, response: MetadataResponse, elapsed_ms: int) -> None:
        brokers = tuple(Node(b.node_id, b.host, b.port, b.rack) for b in response.brokers)
        versions = self._connection.versions
        has_quorum = versions is not None and versions.supports(DescribeQuorumRequest)
        controller_id = NO_NODE if has_quorum else response.controller_id  # until the controllers respond
        self._report.view = ClusterView(response.cluster_id, controller_id, brokers)
        self._report.phases_ms[Phase.METADATA] = elapsed_ms
        self._report.phase = Phase.READY
        self._on_brokers(brokers)


def ask_versions(connection: Connection, now_ms: int, deadline_at_ms: int) -> None:
    """Send ApiVersions again, to which any broker responds, and which changes nothing."""
    versions = connection.versions
    assert versions is not None
    version = min(versions.choose(ApiVersionsRequest), _NEWEST_WITHOUT_NAME)
    connection.send(
        ApiVersionsRequest(),
        version,
        now_ms=now_ms,
        deadline_at_ms=deadline_at_ms,
        on_done=_answers_come_from_receive,
    )


def ask_mechanisms(connection: Connection, now_ms: int, deadline_at_ms: int) -> bool:
    from kctl.client.protocol.api.sasl import SaslHandshakeRequest  # deferred import

    versions = connection.versions
    if versions is None or not versions.supports(SaslHandshakeRequest):
        return False
    connection.send(
        SaslHandshakeRequest(mechanism=""),
        versions.choose(SaslHandshakeRequest),
        now_ms=now_ms,
        deadline_at_ms=deadline_at_ms,
        on_done=_answers_come_from_receive,
    )
    return True


def mechanisms_of(response: Response) -> tuple[str, ...]:
    from kctl.client.protocol.api.sasl import SaslHandshakeResponse

    return tuple(response.mechanisms) if isinstance(response, SaslHandshakeResponse) else ()


def _answers_come_from_receive(_: Answer) -> None:
    """Do nothing, because the caller passes the response on."""


def _own_id(response: DescribeConfigsResponse) -> int | None:
    for result in response.results:
        if result.error_code == ErrorCode.INVALID_REQUEST:
            match = _EXPECTED_ID.search(result.error_message or "")
            return int(match[1]) if match else None
    return None


def _replicas(response: MetadataResponse) -> ReplicaReport | None:
    topics = described_topics(response)
    if isinstance(topics, KafkaError):
        return None
    parts = {TopicPartition(topic.name, number): info for topic in topics for number, info in topic.partitions.items()}
    return ReplicaReport(
        len(parts),
        Counter(info.leader_id for info in parts.values() if info.leader_id != NO_NODE),
        Counter(node_id for info in parts.values() for node_id in info.replicas),
        tuple(sorted(tp for tp, info in parts.items() if len(info.isr) < len(info.replicas))),
    )


def _quorum_leader(response: DescribeQuorumResponse) -> int | None:
    """Return the leader of the controllers; NO_NODE if there is none, None without permission."""
    parts = [part for topic in response.topics for part in topic.partitions]
    codes = {response.error_code, *(part.error_code for part in parts)} - {ErrorCode.NONE}
    if not codes and len(parts) == 1:
        return parts[0].leader_id
    return NO_NODE if codes & _NO_CONTROLLER else None


def _coordinator(response: FindCoordinatorResponse, group: str) -> CoordinatorReport:
    found = coordinators_in(response, KeyType.GROUP, [group])[group]
    return CoordinatorReport(group, found, None) if isinstance(found, Node) else CoordinatorReport(group, None, found)


def _with_partition(report: CoordinatorReport, response: MetadataResponse) -> CoordinatorReport:
    partitions = response.topics[0].partitions if response.topics else []
    if not partitions:
        return report
    number = group_hash(report.group_id) % len(partitions)
    leaders = {partition.partition_index: partition.leader_id for partition in partitions}
    return report._replace(partition=number, leader_id=leaders.get(number, NO_NODE))


def group_hash(group_id: str) -> int:
    """Return the hash by which brokers choose a group's partition: Java's string hash, made positive.

    The minimum integer, which has no positive counterpart, becomes 0.
    """
    units = group_id.encode("utf-16-be")
    found = 0
    for high, low in zip(units[::2], units[1::2], strict=True):
        found = (31 * found + (high << 8 | low)) & 0xFFFFFFFF
    if found == 1 << 31:
        return 0
    return found if found < 1 << 31 else (1 << 32) - found
