"""Scenario kit of tests/sim: a simulated cluster, its clients, and runs that leave nothing behind.

    def app(cluster: SimCluster) -> None:
        with cluster.producer() as producer:
            producer.send("t", b"1")

    assert run(app, topics={"t": 1}).values(0) == [b"1"]

`SimCluster` is a sandbox with public clients. `GroupCluster` checks that each partition has one owner in a group.
`ScriptedCluster` is a network client or a prober with scripted nodes. All use a `Hub` of tests/sim/virtual. The
clusters of chaos runs are `SimNodes` with a plan and a history.
"""

from tests.sim.kit.cluster import SimCluster, dotted, drain, run, run_with_admin, settle

__all__ = ["SimCluster", "dotted", "drain", "run", "run_with_admin", "settle"]
