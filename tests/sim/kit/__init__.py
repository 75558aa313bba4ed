"""The scenario kit of tests/sim: a simulated cluster, its clients, and runs that leave nothing behind.

def app(cluster: SimCluster) -> None:
    with cluster.producer() as producer:
        producer.send("t", b"1")

assert run(app, topics={"t": 1}).values(0) == [b"1"]

`SimCluster` is a sandbox and the public clients that use it; `GroupCluster` holds the members of a group to own each
partition alone; `ScriptedCluster` is a network client, or a prober, among nodes that answer by a script. All take a
`Hub` of tests/sim/virtual. The clusters of the chaos runs are `SimNodes` with a plan and a history.
"""

from tests.sim.kit.cluster import SimCluster, dotted, drain, run, run_with_admin, settle

__all__ = ["SimCluster", "dotted", "drain", "run", "run_with_admin", "settle"]
