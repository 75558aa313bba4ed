"""State of a running sandbox as plain values."""

import os

from kctl.sandbox.cluster import ClusterNode
from kctl.sandbox.sandbox import Sandbox


def status_of(sandbox: Sandbox) -> dict[str, object]:
    cluster = sandbox.cluster
    partitions = [part for topic in cluster.topics.values() for part in topic.partitions.values()]
    return {
        "pid": os.getpid(),
        "bootstrap": sandbox.bootstrap,
        "topics": len(cluster.topics),
        "groups": sum(len(list(cluster.groups.on(node))) for node in cluster.nodes.values()),
        "nodes": [
            _node_status(node, sum(part.leader_id == node.node_id for part in partitions))
            for node in cluster.nodes.values()
        ],
    }


def _node_status(node: ClusterNode, leaders: int) -> dict[str, object]:
    return {
        "node_id": node.node_id,
        "address": f"{node.host}:{node.port}",
        "leaders": leaders,
        "faults": [fault.value for fault in node.faults.active],
    }
