"""AdvertisedAddresses: distinguishes brokers that are down from brokers with an unreachable advertised address.

Addresses of bootstrap servers, and addresses to which a connection worked, are trusted. For another address, the first
failure is attributed to the broker's advertised listener, until the address works or is no longer advertised, even
after a rebootstrap.
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
"""Errors that a wrong address causes. Certificate and authentication errors have other causes."""


def advertised_hint(cause: KafkaError) -> str:
    if isinstance(cause, DnsError):
        return "fix advertised.listeners of the broker, or make its host name resolve"
    if isinstance(cause, WrongPeerError):
        return "fix advertised.listeners of the broker"
    return "start the broker if it is down. Otherwise, fix advertised.listeners or make the address reachable"


class AdvertisedAddresses:
    """Trusted addresses of one client, and the errors of other addresses.

    Args: unresolved_ms: time after which a name that does not resolve is not retried; -1 for no limit.
    """

    def __init__(self, unresolved_ms: int = -1) -> None:
        self._unresolved_ms = unresolved_ms
        self._unresolved_since_ms: dict[tuple[str, int], int] = {}
        self._trusted: dict[tuple[str, int], None] = {}
        self._errors: dict[int, AdvertisedAddressError] = {}

    def learn(self, nodes: Sequence[Node]) -> None:
        """Record the addresses of the current nodes; bootstrap servers have negative ids."""
        self._trusted |= {(node.host, node.port): None for node in nodes if node.node_id < 0}
        advertised = {node.node_id: (node.host, node.port) for node in nodes if node.node_id >= 0}
        if advertised:
            kept = self._errors.items()
            self._errors = {i: error for i, error in kept if advertised.get(i) == (error.host, error.port)}

    def worked(self, node: Node) -> None:
        self._trusted[node.host, node.port] = None
        self._unresolved_since_ms.pop((node.host, node.port), None)
        self._errors.pop(node.node_id, None)

    def attribute(self, node: Node, error: KafkaError, now_ms: int) -> KafkaError:
        """Return the error of an attempt; it becomes an AdvertisedAddressError if the address may be its cause."""
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
        return self._errors.get(node_id)

    @property
    def errors(self) -> list[AdvertisedAddressError]:
        return list(self._errors.values())
