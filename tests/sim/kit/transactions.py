"""Transactions on a simulated cluster of either transaction.version: the producer, its calls, and what readers see."""

from collections.abc import Callable, Mapping

import pytest

from kctl.client.cluster import TopicPartition
from kctl.client.consumer.consumer import Consumer
from kctl.client.consumer.group.events import GroupMetadata
from kctl.client.producer import Producer
from kctl.sandbox import ClusterSettings, Fault
from tests.sim.kit.cluster import SimCluster, run

NAME = "copier"
T0 = TopicPartition("t", 0)
GROUP = GroupMetadata("g")
"""Somebody who commits offsets without being a member."""
VERSIONS = pytest.mark.parametrize("version", [1, 2])
HANGS = [Fault.FREEZE, Fault.SILENCE]
TIMEOUTS_MS = [0, 100, 1000, 5000]


def run_version(
    version: int, app: Callable[[SimCluster], None], *, topics: Mapping[str, int] | None = None
) -> SimCluster:
    """Run an application on a cluster with that transaction.version."""
    return run(app, topics=topics, settings=ClusterSettings(transaction_version=version))


def transactional(
    cluster: SimCluster, properties: Mapping[str, object] | None = None, *, is_ready: bool = True
) -> Producer:
    """Return a producer with a transactional.id, initialised unless told otherwise."""
    producer = cluster.producer({"transactional.id": NAME, **(properties or {})})
    if is_ready:
        producer.init_transactions()
    return producer


def seen(cluster: SimCluster, topic: str = "t", *, isolation: str = "read_committed") -> list[bytes | None]:
    """Return the values that a consumer reads from start to end."""
    with Consumer({"bootstrap.servers": cluster.bootstrap, "isolation.level": isolation}, cluster.runtime) as consumer:
        partitions = [TopicPartition(topic, info.partition) for info in consumer.partitions_for(topic)]
        consumer.assign(partitions)
        consumer.seek_to_beginning()
        ends = consumer.end_offsets(partitions)
        values: list[bytes | None] = []
        while any(consumer.position(partition) < ends[partition] for partition in partitions):
            values += [record.value for record in consumer.poll(timeout=1)]
        return values


def committed(cluster: SimCluster, partition: TopicPartition = T0, group_id: str = "g") -> int | None:
    """Return the offset that the group has committed."""
    with Consumer({"bootstrap.servers": cluster.bootstrap, "group.id": group_id}, cluster.runtime) as consumer:
        found = consumer.committed([partition])[partition]
        return None if found is None else found.offset


def coordinator(cluster: SimCluster, name: str = NAME) -> int:
    """Return the node that coordinates the transactional id."""
    return cluster.sandbox.cluster.transactions.node_of(name).node_id


def make(producer: Producer, call: str, timeout_ms: int) -> None:
    """Make a call by its short name."""
    timeout = timeout_ms / 1000
    if call == "init":
        producer.init_transactions(timeout)
    elif call == "offsets":
        producer.send_offsets_to_transaction({T0: 7}, GROUP, timeout)
    elif call == "commit":
        producer.commit_transaction(timeout)
    else:
        producer.abort_transaction(timeout)
