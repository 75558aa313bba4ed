"""The cluster described: its id, its nodes, its controller. Shown by tests/sim/admin."""

from typing import NamedTuple

from kctl.client.admin.call import Call, any_node
from kctl.client.broker_errors import broker_error
from kctl.client.cluster import Node
from kctl.client.errors import KafkaError
from kctl.client.protocol.api.describe_cluster import DescribeClusterRequest, DescribeClusterResponse
from kctl.client.requests.items import each_once


class ClusterDescription(NamedTuple):
    """A cluster as one of its nodes describes it; `controller_id` is NO_NODE where the broker does not report it."""

    cluster_id: str
    controller_id: int
    nodes: tuple[Node, ...]


def describe_cluster(call: Call) -> ClusterDescription:
    """Return the cluster's id, nodes by id, and controller."""
    answer = call.answer_of(any_node, lambda _: DescribeClusterRequest(), DescribeClusterResponse)
    response = answer.response
    assert isinstance(response, DescribeClusterResponse)
    if response.error_code:
        raise broker_error(response.error_code, "DescribeCluster", response.error_message)
    brokers = [(f"broker {each.broker_id}", each) for each in response.brokers]
    nodes = []
    for broker in each_once(brokers, None, "DescribeCluster", call.name_of(answer.node_id)).values():
        if isinstance(broker, KafkaError):
            raise broker
        nodes.append(Node(broker.broker_id, broker.host, broker.port, broker.rack))
    return ClusterDescription(response.cluster_id, response.controller_id, tuple(sorted(nodes)))
