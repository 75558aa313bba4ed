"""Listener of one node: connections with layers for faults, TLS, SASL, and the protocol."""

from collections import deque
from typing import TYPE_CHECKING, NamedTuple

from kctl.client.runtime import Entropy
from kctl.sandbox.cluster import Cluster, ClusterNode
from kctl.sandbox.connection import BrokerConnection
from kctl.sandbox.faults import OnConnect
from kctl.sandbox.faulty_wire import FaultyWire
from kctl.sandbox.identity import Identity, SaslUsers
from kctl.sandbox.runtime import Endpoint, Wire

if TYPE_CHECKING:
    import ssl

_REMEMBERED = 1_000


class ListenerSecurity(NamedTuple):
    tls: "ssl.SSLContext | None" = None
    users: SaslUsers | None = None

    @property
    def protocol(self) -> str:
        channel = "PLAINTEXT" if self.tls is None else "SSL"
        return channel if self.users is None else f"SASL_{channel}"


class NodeListener:
    def __init__(self, cluster: Cluster, node: ClusterNode, security: ListenerSecurity, entropy: Entropy) -> None:
        self.cluster = cluster
        self.node = node
        self.refused: deque[str] = deque(maxlen=_REMEMBERED)
        """Reasons of connections that the broker closed, the latest last."""
        self.security = security
        """Security of new connections."""
        self._entropy = entropy
        self._connections: dict[BrokerConnection, FaultyWire] = {}
        node.faults.on_change(self._faults_changed)

    def on_connect(self) -> OnConnect:
        return self.node.faults.on_connect

    def _new_identity(self) -> Identity:
        cluster = self.cluster
        max_session_ms = cluster.settings.connections_max_reauth_ms
        return Identity(self.security.users, cluster.scram_users, self._entropy, cluster.scheduler, max_session_ms)

    def accept(self, wire: Wire) -> Endpoint:
        made: list[BrokerConnection] = []

        def protocol(inner_wire: Wire) -> Endpoint:
            made.append(BrokerConnection(self, inner_wire, self._new_identity()))
            return made[0]

        def tls(outer_wire: Wire) -> Endpoint:
            from kctl.sandbox.tls import TlsEnd

            assert self.security.tls is not None
            return TlsEnd(self.security.tls, outer_wire, protocol, self.refused.append)

        outermost = FaultyWire(self.node.faults, wire, protocol if self.security.tls is None else tls)
        self._connections[made[0]] = outermost
        return outermost

    def forget(self, connection: BrokerConnection, why: str) -> None:
        """Remove a closed connection.

        Args:
            why: reason for `refused`. Empty if the client closed the connection.
        """
        self._connections.pop(connection, None)
        if why:
            self.refused.append(why)

    @property
    def open_connections(self) -> int:
        return len(self._connections)

    def _faults_changed(self) -> None:
        if not self.node.faults.is_frozen:
            for connection, wire in list(self._connections.items()):
                wire.thaw()
                connection.thaw()
