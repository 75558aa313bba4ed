"""In-process Kafka cluster with injected faults, served on sockets or in virtual time.

    from kctl.sandbox import Fault, Sandbox

    with Sandbox(nodes=3, topics={"t": 3}).serve() as served:
        ...                                  # any Kafka client can connect to served.bootstrap

sandbox.py is the public class, cluster.py the state, connection.py the protocol, and faults.py the faults. apis/ has
one file for each API. server.py serves the cluster on sockets, sim/ in virtual time.
"""

from kctl.sandbox.faults import Fault
from kctl.sandbox.node import ListenerSecurity
from kctl.sandbox.sandbox import Sandbox
from kctl.sandbox.settings import ClusterSettings

__all__ = ["ClusterSettings", "Fault", "ListenerSecurity", "Sandbox"]
