"""Leaders: the node that leads a partition according to the metadata, or the reason why there is none.

It requests newer metadata if needed, and has the backoff of topics whose metadata is an error that is not retriable.
"""

from collections.abc import Collection, Iterable, Mapping

from kctl.client.backoff import ExponentialBackoff
from kctl.client.broker_errors import ErrorCode, broker_error
from kctl.client.cluster import NO_TOPIC_ID, Cluster, NamedLeader, Node, PartitionInfo, TopicPartition
from kctl.client.cluster_client import ClusterClient
from kctl.client.errors import AdvertisedAddressError, BrokerError, KafkaError
from kctl.client.protocol.api.fetch import NodeEndpoint
from kctl.client.protocol.schema import Request
from kctl.client.requests.retry import RetryPause
from kctl.client.wording import counted


class Leaders:
    def __init__(self, client: ClusterClient) -> None:
        self._client = client
        self._denials: dict[str, RetryPause] = {}
        """Backoff of each topic whose metadata is an error that no retry fixes."""

    def find(self, topic_partition: TopicPartition) -> PartitionInfo | None:
        """Return the partition if its leader is known; otherwise request newer metadata and return None."""
        cluster = self._client.metadata.cluster
        info = cluster.partition(*topic_partition)
        if info is None or cluster.node(info.leader_id) is None:
            self.refresh()
            return None
        if self._denials:
            self._denials.pop(topic_partition.topic, None)
        return info

    def denied(self, topic: str, backoff: ExponentialBackoff, now_ms: int) -> int:
        """Record an error in a topic's metadata that is not retriable; return when its partitions may retry.

        All partitions retry at the same time, so the application gets their common error once.
        """
        pause = self._denials.setdefault(topic, RetryPause(backoff))
        if now_ms >= pause.until_ms:
            pause.failed(now_ms)
        return pause.until_ms

    def refresh(self, *, elsewhere: bool = False) -> None:
        """Request newer metadata. Args: elsewhere: whether to use another broker, because a response was stale."""
        self._client.metadata.request_update(elsewhere=elsewhere)

    def why_none(self, topic_partition: TopicPartition) -> KafkaError | None:
        """Return the reason why `find` returns None; None before the first metadata of the topic."""
        if not self._client.metadata.cluster.nodes:  # rebootstrapping: the error of that
            return self._client.last_error()
        topic, partition = topic_partition
        found = self._client.metadata.cluster.topics.get(topic)
        if found is None:
            return None
        if found.error is not None:
            return found.error
        info = found.partitions.get(partition)
        if info is None:
            return missing_partition(topic_partition, len(found.partitions))
        return info.error or no_leader(topic_partition)

    def topic_id(self, topic: str) -> bytes:
        found = self._client.metadata.cluster.topics.get(topic)
        return NO_TOPIC_ID if found is None else found.topic_id

    def is_the_one(self, topic: str, topic_id: bytes) -> bool:
        """Return whether the topic has this id; if not, request newer metadata.

        A group may know a recreated topic earlier or later than the metadata.
        """
        known = self.topic_id(topic)
        if topic_id in (NO_TOPIC_ID, known) or known == NO_TOPIC_ID:
            return True
        self.refresh()
        return False

    def name_of(self, node_id: int) -> str:
        node = self._client.metadata.cluster.node(node_id)
        return f"broker {node_id}" if node is None else str(node)

    def learn(
        self, named: Mapping[TopicPartition, NamedLeader], endpoints: Iterable[NodeEndpoint]
    ) -> Collection[TopicPartition]:
        """Apply the leaders in a response; return the partitions with a newer leader."""
        if not named:
            return ()
        nodes = [Node(each.node_id, each.host, each.port, each.rack) for each in endpoints]
        return frozenset(self._client.learn_leaders(named, nodes))

    def has_node(self, node_id: int) -> bool:
        return self._client.metadata.cluster.node(node_id) is not None

    def is_ready(self, node_id: int) -> bool:
        """Return whether a request can be sent to the node; if not, connect."""
        return self._client.network.ready(node_id)

    def is_connected(self, node_id: int) -> bool:
        return self._client.network.is_ready(node_id)

    def has_connection(self, node_id: int) -> bool:
        """Return whether the node is connected, even if its SASL session is being renewed."""
        return self._client.network.versions(node_id) is not None

    def speaks(self, node_id: int, request: type[Request], at_least: int) -> bool:
        return self._client.network.supports(node_id, request, at_least)

    @property
    def cluster(self) -> Cluster:
        return self._client.metadata.cluster

    @property
    def version(self) -> int:
        return self._client.metadata.version

    def not_ready_reason(self, node_id: int, error: KafkaError | None) -> str:
        leader = f"leader {self.name_of(node_id)}"
        if isinstance(error, AdvertisedAddressError):
            return str(error)  # contains the broker, like the reason if metadata cannot be fetched
        return f"connecting to {leader}" if error is None else f"{leader} cannot be reached: {error}"

    def hanging(self, topic_partition: TopicPartition) -> tuple[str, KafkaError | None] | None:
        """Return the name of an unconnected leader and the state of its connection; None if connected or unknown."""
        info = self._client.metadata.cluster.partition(*topic_partition)
        if info is None or self.is_connected(info.leader_id) or not self.has_node(info.leader_id):
            return None
        return self.name_of(info.leader_id), self._client.network.status.unfinished(info.leader_id)

    def why_not_ready(self, node_id: int) -> KafkaError | None:
        return self._client.network.status.node_error(node_id)


def no_leader(topic_partition: TopicPartition) -> BrokerError:
    return broker_error(ErrorCode.LEADER_NOT_AVAILABLE, f"find the leader of {topic_partition}")


def missing_partition(topic_partition: TopicPartition, count: int) -> BrokerError:
    has = f"the topic has {counted(count, 'partition')}"
    error = broker_error(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"find {topic_partition}", has)
    error.hint = "use partition numbers from 0"
    return error


def no_leader_reason(error: KafkaError | None) -> str:
    if error is None:
        return "waiting for metadata"
    is_leaderless = isinstance(error, BrokerError) and error.code == ErrorCode.LEADER_NOT_AVAILABLE
    return "no leader" if is_leaderless else str(error)
