"""State of a run without its producers: hub, network, sandbox, sent records, and the phase.

Writes facts that only the cluster knows into the history. Actors and faults act on it.
"""

from typing import Any, NamedTuple

from kctl.client.cluster import TopicPartition
from kctl.client.producer.record import Headers
from kctl.client.protocol.schema import Response
from kctl.client.records import BatchReader
from kctl.sandbox import Sandbox
from kctl.sandbox.call import Call
from kctl.sandbox.log import PartitionLog
from kctl.sandbox.partition import NO_LEADER, Partition
from kctl.sandbox.settings import ClusterSettings
from tests.sim.chaos.chaos_cluster import ChaosCluster, Phase
from tests.sim.chaos.consumer_cluster import BOOTSTRAP
from tests.sim.chaos.history import CLUSTER
from tests.sim.chaos.plan import NODES
from tests.sim.chaos_producer.coverage import ProducerCoverage
from tests.sim.chaos_producer.plan import PARTITIONS, ProducerPlan
from tests.sim.virtual import Hub

__all__ = ["BOOTSTRAP", "Phase", "ProducerCluster", "Sent", "id_of"]


class Sent(NamedTuple):
    """A record as it was handed to `send`, with what the producer says it has made of it."""

    key: bytes | None
    headers: Headers
    partition: int | None
    timestamp_ms: int


def id_of(value: bytes | None) -> str:
    """Return which record a value belongs to."""
    return (value or b"nothing").split(b" ")[0].decode()


class ProducerCluster(ChaosCluster):
    """The cluster of one run with producers."""

    plan: ProducerPlan
    coverage: ProducerCoverage

    def __init__(self, hub: Hub, plan: ProducerPlan) -> None:
        settings = ClusterSettings(
            transaction_version=plan.cluster.transaction_version,
            transaction_marker_delay_ms=plan.cluster.markers_ms,
            default_replication_factor=plan.cluster.replicas,
            min_insync_replicas=plan.cluster.min_insync,
            replica_lag_time_max_ms=plan.cluster.lag_ms,
            replication_delay_ms=plan.cluster.replication_ms,
            auto_create_topics_enable=False,
            offsets_topic_num_partitions=0,  # readers go by the topics of the cluster
        )
        sandbox = Sandbox(nodes=NODES, settings=settings)
        for topic, count in PARTITIONS.items():
            sandbox.cluster.create_topic(topic, count)
        super().__init__(hub, plan, sandbox, ProducerCoverage())
        self.replies.on_request(self._note_request)
        self.sent: dict[str, Sent] = {}
        """Accepted records by name."""

    def _note_request(self, call: Call, request: Any, response: Response | None) -> None:
        self.coverage.asked(type(request).NAME, call.node.node_id, (call.client_id or "").split(".")[0])

    # --- logs -------------------------------------------------------------------------------------------------------

    def partition(self, tp: TopicPartition) -> Partition:
        """Return what the cluster has of a partition."""
        return self.sandbox.cluster.topics[tp.topic].partitions[tp.partition]

    def end(self, tp: TopicPartition) -> int:
        """Return where a partition ends."""
        return self.partition(tp).log.end_offset

    def start(self, tp: TopicPartition) -> int:
        """Return where a partition starts."""
        return self.partition(tp).log.start_offset

    def records(self, tp: TopicPartition) -> list[list[Any]]:
        """Return offset and name of every record in a log, including open and aborted transactions."""
        data = b"".join(stored.data for stored in self.partition(tp).log.batches)
        if not data:
            return []
        reader = BatchReader(data, topic=tp.topic, partition=tp.partition, fetch_offset=0, aborted=None)
        return [[record.offset, id_of(record.value)] for record in reader.records(1_000_000)]

    def trim(self, tp: TopicPartition, before_offset: int) -> None:
        raise AssertionError("no plan of producers has retention")

    def cut(self, tp: TopicPartition, node_id: int, count: int) -> None:
        raise AssertionError("no plan of producers has unclean elections")

    def delete_topic(self, topic: str) -> None:
        raise AssertionError("no plan of producers deletes topics")

    def create_topic(self, topic: str) -> None:
        """Nothing was deleted."""

    def add_partitions(self, topic: str, count: int, most: int) -> None:
        """Let `t`, the one topic, have more partitions, up to `most` in all."""
        del topic
        partitions = self.sandbox.cluster.topics["t"].partitions
        for index in range(len(partitions), min(most, len(partitions) + count)):
            replicas = tuple((index + step) % NODES + 1 for step in range(self.plan.cluster.replicas))
            log = PartitionLog(partitions[0].log.settings)
            made = partitions[index] = Partition("t", index, replicas, log, is_late=partitions[0].is_late)
            self.sandbox.cluster.replication.follow(made)
        self.history.event(CLUSTER, "partitions", ["t", len(partitions)])

    def elect_where_nobody_leads(self) -> None:
        """End all late elections."""
        for tp in self.partitions():
            partition = self.partition(tp)
            if partition.leader_id == NO_LEADER:
                self.elect(tp, partition.in_sync[0])

    def elect(self, tp: TopicPartition, node_id: int) -> None:
        """Let a node lead; what only the old leader had is lost."""
        before = self.end(tp)
        self.sandbox.move_leader(*tp, node_id)
        if self.end(tp) < before:
            self.history.event(CLUSTER, "cut", [*tp, self.end(tp)])
