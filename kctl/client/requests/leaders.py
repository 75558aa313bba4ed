"""Leaders: which node to ask about a partition, and why there may be none.

Reads the metadata and asks for newer when what it finds is not enough; owns no partition state.
"""

from collections.abc import Collection, Iterable, Mapping

from kctl.client.broker_errors import ErrorCode, broker_error
from kctl.client.cluster import NO_TOPIC_ID, Cluster, NamedLeader, Node, PartitionInfo, TopicPartition
from kctl.client.cluster_client import ClusterClient
from kctl.client.errors import AdvertisedAddressError, BrokerError, KafkaError
from kctl.client.protocol.api.fetch import NodeEndpoint
from kctl.client.protocol.schema import Request
from kctl.client.wording import counted


class Leaders:
    """Who leads what, by the metadata of one client."""

    def __init__(self, client: ClusterClient) -> None:
        self._client = client

    def find(self, topic_partition: TopicPartition) -> PartitionInfo | None:
        """Return the partition with its leader; None when there is none, and newer metadata is then asked for."""
        cluster = self._client.metadata.cluster
        info = cluster.partition(*topic_partition)
        if info is None or cluster.node(info.leader_id) is None:
            self.refresh()
            return None
        return info

    def refresh(self, *, elsewhere: bool = False) -> None:
        """Ask for newer metadata: an answer showed that ours is stale; `elsewhere`: after a refresh, too."""
        self._client.metadata.request_update(elsewhere=elsewhere)

    def why_none(self, topic_partition: TopicPartition) -> KafkaError | None:
        """Return why `find` finds nothing; None while no metadata of the topic has arrived yet."""
        if not self._client.metadata.cluster.nodes:  # starting again from the bootstrap servers: what keeps us from it?
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
        """Return whether what has this name is that topic; newer metadata is asked for where it is another one.

        A group may know of a topic that was recreated before the metadata does, or after it.
        """
        known = self.topic_id(topic)
        if topic_id in (NO_TOPIC_ID, known) or known == NO_TOPIC_ID:
            return True
        self.refresh()
        return False

    def name_of(self, node_id: int) -> str:
        """Return `host:port (id n)` of a broker."""
        node = self._client.metadata.cluster.node(node_id)
        return f"node {node_id}" if node is None else str(node)

    def learn(
        self, named: Mapping[TopicPartition, NamedLeader], endpoints: Iterable[NodeEndpoint]
    ) -> Collection[TopicPartition]:
        """Apply the leaders that a broker names instead of itself; return the partitions with a newer leader."""
        if not named:
            return ()
        nodes = [Node(each.node_id, each.host, each.port, each.rack) for each in endpoints]
        return frozenset(self._client.learn_leaders(named, nodes))

    def has_node(self, node_id: int) -> bool:
        """Return whether the node is part of the cluster, as far as is known."""
        return self._client.metadata.cluster.node(node_id) is not None

    def is_ready(self, node_id: int) -> bool:
        """Return whether a request can be sent to the node now; starts to connect where it cannot."""
        return self._client.network.ready(node_id)

    def is_connected(self, node_id: int) -> bool:
        """Return whether a request can be sent to the node now, and do nothing about it."""
        return self._client.network.is_ready(node_id)

    def has_connection(self, node_id: int) -> bool:
        """Return whether the node is connected; while its SASL session is renewed no request can be sent to it."""
        return self._client.network.versions(node_id) is not None

    def speaks(self, node_id: int, request: type[Request], at_least: int) -> bool:
        """Return whether the node has that version of an API or a later one."""
        return self._client.network.supports(node_id, request, at_least)

    @property
    def cluster(self) -> Cluster:
        """The snapshot of the metadata that `find` reads."""
        return self._client.metadata.cluster

    @property
    def version(self) -> int:
        """The number of metadata updates so far."""
        return self._client.metadata.version

    def not_ready_reason(self, node_id: int, error: KafkaError | None) -> str:
        """Return why a request to the node has to wait."""
        leader = f"leader {self.name_of(node_id)}"
        if isinstance(error, AdvertisedAddressError):
            return str(error)  # names the broker, as the reason does when metadata cannot be fetched for this
        return f"connecting to {leader}" if error is None else f"{leader} cannot be reached: {error}"

    def hanging(self, topic_partition: TopicPartition) -> tuple[str, KafkaError | None] | None:
        """Return the leader that is not connected, and what its connection waits for so far; None with a connection."""
        info = self._client.metadata.cluster.partition(*topic_partition)
        if info is None or self.is_connected(info.leader_id) or not self.has_node(info.leader_id):
            return None
        return self.name_of(info.leader_id), self._client.network.status.unfinished(info.leader_id)

    def why_not_ready(self, node_id: int) -> KafkaError | None:
        """Return why the last connection to the node failed, or None."""
        return self._client.network.status.node_error(node_id)


def no_leader(topic_partition: TopicPartition) -> BrokerError:
    """Return the error for a partition without a leader."""
    return broker_error(ErrorCode.LEADER_NOT_AVAILABLE, f"find the leader of {topic_partition}")


def missing_partition(topic_partition: TopicPartition, count: int) -> BrokerError:
    """Return the error for a partition number that the topic does not have."""
    has = f"the topic has {counted(count, 'partition')}"
    error = broker_error(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"find {topic_partition}", has)
    error.hint = "partitions are numbered from 0"
    return error


def no_leader_reason(error: KafkaError | None) -> str:
    """Return in few words why no leader is known."""
    if error is None:
        return "waiting for metadata"
    is_leaderless = isinstance(error, BrokerError) and error.code == ErrorCode.LEADER_NOT_AVAILABLE
    return "no leader" if is_leaderless else str(error)
