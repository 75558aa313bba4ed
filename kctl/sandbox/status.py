"""The state of a sandbox that runs, as plain values: nodes with their faults and partitions, topics, groups.

Shown by tests/cli/test_sandbox_status.py.
"""

import os

from kctl.sandbox.sandbox import Sandbox


def status_of(sandbox: Sandbox) -> dict[str, object]:
    """Return the state."""
    cluster = sandbox.cluster
    partitions = [part for topic in cluster.topics.values() for part in topic.partitions.values()]
    return {
        "pid": os.getpid(),
        "bootstrap": sandbox.bootstrap,
        "topics": len(cluster.topics),
        "groups": sum(len(list(cluster.groups.on(node))) for node in cluster.nodes.values()),
        "nodes": [
            {
                "node_id": node.node_id,
                "address": f"{node.host}:{node.port}",
                "leaders": sum(part.leader_id == node.node_id for part in partitions),
                "faults": [fault.value for fault in node.faults.active],
            }
            for node in cluster.nodes.values()
        ],
    }
