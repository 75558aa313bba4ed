"""States of connections and nodes, with all their transitions. Any other transition is a bug and raises ValueError."""

from enum import Enum
from typing import TypeVar


class ConnectionState(Enum):
    TCP = "tcp"
    """SYN sent, no response yet."""
    TLS = "tls"
    """TLS handshake is running."""
    APIVERSIONS = "apiversions"
    """ApiVersions sent."""
    SASL_HANDSHAKE = "sasl handshake"
    """Mechanism proposed."""
    SASL_AUTHENTICATE = "sasl authenticate"
    """Tokens are exchanged."""
    READY = "ready"
    """Accepts requests."""
    CLOSED = "closed"


class NodeState(Enum):
    DISCONNECTED = "disconnected"
    """No connection; may be backing off."""
    CONNECTING = "connecting"
    """Attempt from DNS to SASL, within the connection setup timeout."""
    READY = "ready"
    """One connection accepts requests."""
    REFUSED = "refused"
    """The node refused the client, or is not a Kafka broker; it is retried after a longer backoff."""


CONNECTION_TRANSITIONS: dict[ConnectionState, tuple[ConnectionState, ...]] = {
    ConnectionState.TCP: (ConnectionState.TLS, ConnectionState.APIVERSIONS, ConnectionState.CLOSED),
    ConnectionState.TLS: (ConnectionState.APIVERSIONS, ConnectionState.CLOSED),
    ConnectionState.APIVERSIONS: (
        ConnectionState.APIVERSIONS,  # again, with a version that an older peer knows
        ConnectionState.SASL_HANDSHAKE,
        ConnectionState.READY,
        ConnectionState.CLOSED,
    ),
    ConnectionState.SASL_HANDSHAKE: (ConnectionState.SASL_AUTHENTICATE, ConnectionState.CLOSED),
    ConnectionState.SASL_AUTHENTICATE: (
        ConnectionState.SASL_AUTHENTICATE,  # the next token
        ConnectionState.READY,
        ConnectionState.CLOSED,
    ),
    ConnectionState.READY: (ConnectionState.CLOSED,),
    ConnectionState.CLOSED: (),
}

NODE_TRANSITIONS: dict[NodeState, tuple[NodeState, ...]] = {
    NodeState.DISCONNECTED: (NodeState.CONNECTING,),
    NodeState.CONNECTING: (NodeState.READY, NodeState.DISCONNECTED, NodeState.REFUSED),
    NodeState.READY: (NodeState.DISCONNECTED, NodeState.REFUSED),
    NodeState.REFUSED: (NodeState.CONNECTING, NodeState.DISCONNECTED),
}

S = TypeVar("S", ConnectionState, NodeState)


def moved(table: dict[S, tuple[S, ...]], old: S, new: S) -> S:
    """Return `new`. Raises: ValueError: the table has no transition from `old` to `new`, which is a bug."""
    if new not in table[old]:
        raise ValueError(f"no transition from {old.name} to {new.name}")
    return new
