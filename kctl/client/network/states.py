"""The two state tables of the network: what a connection and a node may become.

Every transition of either lives here; a step that the table lacks is a bug and raises. Nothing here knows sockets or
time.
"""

from enum import Enum
from typing import TypeVar


class ConnectionState(Enum):
    """One TCP connection to one address."""

    TCP = "tcp"
    """SYN sent, nothing heard."""
    TLS = "tls"
    """Handshake under way."""
    APIVERSIONS = "apiversions"
    """Asked the peer what it speaks."""
    SASL_HANDSHAKE = "sasl handshake"
    """Proposed a mechanism."""
    SASL_AUTHENTICATE = "sasl authenticate"
    """Exchanging tokens."""
    READY = "ready"
    """Carries requests."""
    CLOSED = "closed"


class NodeState(Enum):
    """One node, over all its addresses and attempts."""

    DISCONNECTED = "disconnected"
    """No connection; it may be backing off."""
    CONNECTING = "connecting"
    """DNS to SASL, under the connection setup timeout."""
    READY = "ready"
    """One connection carries requests."""
    REFUSED = "refused"
    """It refused the client, or is not Kafka; dialled again after a longer back-off."""


CONNECTION_TRANSITIONS: dict[ConnectionState, tuple[ConnectionState, ...]] = {
    ConnectionState.TCP: (ConnectionState.TLS, ConnectionState.APIVERSIONS, ConnectionState.CLOSED),
    ConnectionState.TLS: (ConnectionState.APIVERSIONS, ConnectionState.CLOSED),
    ConnectionState.APIVERSIONS: (
        ConnectionState.APIVERSIONS,  # once more, with a version that an older peer knows
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
    """Return `new` when the table allows it after `old`; anything else is a bug of ours and raises ValueError."""
    if new not in table[old]:
        raise ValueError(f"no transition from {old.name} to {new.name}")
    return new
