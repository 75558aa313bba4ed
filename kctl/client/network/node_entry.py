"""NodeEntry: one node of a client with its connection, or the attempt at one. Written by the network client alone."""

from kctl.client.cluster import Node
from kctl.client.network.connection import Connection
from kctl.client.network.node_attempt import NodeAttempt


class NodeEntry:
    """What the client holds of one node."""

    __slots__ = ("attempt", "connection", "is_dedicated", "is_member", "is_wanted", "node", "throttled_until_ms")

    def __init__(self, node: Node, *, is_dedicated: bool = False) -> None:
        self.node = node
        self.attempt: NodeAttempt | None = None
        self.connection: Connection | None = None
        """The connection that is ready, if any."""
        self.is_dedicated = is_dedicated
        """A connection of its own for one purpose: never chosen for anything else, and no matter of the list."""
        self.is_member = not is_dedicated
        """False once the node left the list; it goes when its last request is answered."""
        self.is_wanted = False
        """Whether a caller needs this very node, so that losing a race is no reason to hang up."""
        self.throttled_until_ms = 0
