"""Absent brokers: fenced brokers, and unregistered brokers that have replicas.

Metadata lists neither. Before Kafka 4.0 no response lists fenced brokers: only their replicas are known.
"""

from collections import Counter
from collections.abc import Iterable
from typing import NamedTuple

from kctl.client.admin import Admin, ClusterDescription
from kctl.client.broker_errors import ErrorCode, broker_error
from kctl.client.cluster import Node
from kctl.client.errors import KafkaError
from kctl.client.wording import counted


class AbsentBroker(NamedTuple):
    """A fenced or unregistered broker.

    Attributes:
        node: address of a fenced broker; None if the broker is not registered.
        replicas: number of its replicas in topics that this client may describe.
    """

    node_id: int
    node: Node | None
    replicas: int

    @property
    def state(self) -> str:
        """Return `missing` if the broker is not registered, otherwise `fenced`."""
        return "missing" if self.node is None else "fenced"

    def error(self) -> KafkaError:
        code = ErrorCode.BROKER_ID_NOT_REGISTERED if self.node is None else ErrorCode.BROKER_NOT_AVAILABLE
        return broker_error(code, f"use broker {self.node_id}", str(self))

    def __str__(self) -> str:
        replicas = counted(self.replicas, "replica")
        if self.node is not None:
            return f"broker {self.node_id} is fenced and has {replicas}"
        return f"broker {self.node_id} is not registered and has {replicas}"


def absent_brokers(described: ClusterDescription, replicas: Iterable[int]) -> list[AbsentBroker]:
    """Return the absent brokers, sorted by ID.

    Args: replicas: the broker ID of each replica in the cluster.
    """
    has = Counter(replicas)
    fenced = {node.node_id: node for node in described.fenced_nodes}
    absent = (has.keys() | fenced.keys()) - {node.node_id for node in described.nodes}
    return [AbsentBroker(node_id, fenced.get(node_id), has[node_id]) for node_id in sorted(absent)]


def find_absent(admin: Admin, described: ClusterDescription) -> list[AbsentBroker]:
    """Return the absent brokers, sorted by ID. Raises: KafkaError: topics cannot be listed."""
    topics = admin.list_topics(include_internal=True).values()
    return absent_brokers(
        described, [each for of in topics for info in of.partitions.values() for each in info.replicas]
    )
