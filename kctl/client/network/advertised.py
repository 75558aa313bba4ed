"""AdvertisedAddresses: distinguishes a broker that is down from one whose advertised address never worked from here.

Knows which places were given as bootstrap servers or have carried a connection. The first failure at any other place is
the fault of what the broker advertises, and is remembered until the place works or is not advertised any more, even
where the client starts again from its bootstrap servers meanwhile.
"""

from collections.abc import Sequence

from kctl.client.cluster import Node
from kctl.client.errors import (
    AdvertisedAddressError,
    ConnectionLost,
    ConnectionRefused,
    ConnectTimeout,
    DnsError,
    KafkaError,
    LoginServerUnavailable,
    WrongPeerError,
)

_OF_THE_ADDRESS = (DnsError, ConnectionRefused, ConnectionLost, ConnectTimeout, WrongPeerError)
"""What a wrong address leads to; certificates and all that concerns a login are their own causes."""


def advertised_hint(cause: KafkaError) -> str:
    """Return one thing to try about an address that a broker advertises and that has never worked from here."""
    if isinstance(cause, DnsError):
        return "fix advertised.listeners of that broker, or make the name resolve here"
    if isinstance(cause, WrongPeerError):
        return "fix advertised.listeners of that broker"
    return "start that broker if it is down; if not, fix its advertised.listeners, or make the address reachable"


class AdvertisedAddresses:
    """The places of one client that are beyond doubt, and the errors at the others.

    Args: unresolved_ms: how long a name may not resolve until its error is not retriable; -1: for ever.
    """

    def __init__(self, unresolved_ms: int = -1) -> None:
        self._unresolved_ms = unresolved_ms
        self._unresolved_since_ms: dict[tuple[str, int], int] = {}
        self._trusted: dict[tuple[str, int], None] = {}
        self._errors: dict[int, AdvertisedAddressError] = {}

    def learn(self, nodes: Sequence[Node]) -> None:
        """Take note of the nodes to talk to: bootstrap entries (negative ids), or what metadata advertises."""
        self._trusted |= {(node.host, node.port): None for node in nodes if node.node_id < 0}
        advertised = {node.node_id: (node.host, node.port) for node in nodes if node.node_id >= 0}
        if advertised:
            kept = self._errors.items()
            self._errors = {i: error for i, error in kept if advertised.get(i) == (error.host, error.port)}

    def worked(self, node: Node) -> None:
        """Take note that a connection to the node was ready."""
        self._trusted[node.host, node.port] = None
        self._unresolved_since_ms.pop((node.host, node.port), None)
        self._errors.pop(node.node_id, None)

    def attribute(self, node: Node, error: KafkaError, now_ms: int) -> KafkaError:
        """Return the error of a failed attempt, with the blame on the advertised address where that is due."""
        if (node.host, node.port) in self._trusted or not isinstance(error, _OF_THE_ADDRESS):
            return error
        if isinstance(error, LoginServerUnavailable):
            return error
        blamed = AdvertisedAddressError(node.node_id, error, hint=advertised_hint(error))
        if isinstance(error, DnsError):
            since_ms = self._unresolved_since_ms.setdefault((node.host, node.port), now_ms)
            blamed.retriable = blamed.retriable and not 0 <= self._unresolved_ms <= now_ms - since_ms
        else:
            self._unresolved_since_ms.pop((node.host, node.port), None)
        self._errors[node.node_id] = blamed
        return blamed

    def error(self, node_id: int) -> AdvertisedAddressError | None:
        """Return what is wrong with the address of a broker, if it never worked."""
        return self._errors.get(node_id)

    @property
    def errors(self) -> list[AdvertisedAddressError]:
        """Every such error, by the order of the first failures."""
        return list(self._errors.values())
