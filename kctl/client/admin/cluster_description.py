"""The cluster described: its id, its nodes, its controller. Shown by tests/sim/admin."""

from typing import NamedTuple

from kctl.client.admin.call import Call, any_node
from kctl.client.broker_errors import broker_error
from kctl.client.cluster import Node
from kctl.client.protocol.api.describe_cluster import DescribeClusterRequest, DescribeClusterResponse


class ClusterDescription(NamedTuple):
    """A cluster as one of its nodes describes it; `controller_id` is NO_NODE where that is not told."""

    cluster_id: str
    controller_id: int
    nodes: tuple[Node, ...]


def describe_cluster(call: Call) -> ClusterDescription:
    """Return the cluster's id, nodes by id, and controller."""
    response = call.ask(any_node, lambda _: DescribeClusterRequest(), DescribeClusterResponse)
    if response.error_code:
        raise broker_error(response.error_code, "DescribeCluster", response.error_message)
    nodes = [Node(broker.broker_id, broker.host, broker.port, broker.rack) for broker in response.brokers]
    return ClusterDescription(response.cluster_id, response.controller_id, tuple(sorted(nodes)))
