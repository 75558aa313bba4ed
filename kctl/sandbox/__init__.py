"""An in-process Kafka cluster with faults, served on sockets or in virtual time.

    from kctl.sandbox import Fault, Sandbox

    with Sandbox(nodes=3, topics={"t": 3}).serve() as served:
        ...                                  # served.bootstrap is what any Kafka client connects to

sandbox.py is the front; cluster.py the state; connection.py the protocol; apis/ one file an API; faults.py what can be
wrong; server.py runs it on sockets, sim/ in virtual time.
"""

from kctl.sandbox.faults import Fault
from kctl.sandbox.node import ListenerSecurity
from kctl.sandbox.sandbox import Sandbox
from kctl.sandbox.settings import ClusterSettings

__all__ = ["ClusterSettings", "Fault", "ListenerSecurity", "Sandbox"]
