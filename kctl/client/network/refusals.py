"""Refusals: connection errors that end calls before their deadline.

BootstrapRefusal has the rule of `bootstrap.refused.timeout.ms`: before any response, all bootstrap servers refuse
connections, do not resolve, or use another security protocol. Acceptance has other refusals (credentials, certificate,
a server that is not Kafka). Before the first response, they are most likely errors of the configuration. Later they
concern one node, which is retried after a backoff.
"""

from collections.abc import Iterable, Sequence

from kctl.client.errors import (
    AuthenticationError,
    ConnectionRefused,
    DnsError,
    KafkaError,
    SaslRequired,
    TlsNotAnswered,
    TransportError,
)
from kctl.client.network.cluster_connection_states import ClusterConnectionStates
from kctl.client.network.nodes import NodeEntry
from kctl.client.network.states import NodeState

_MISMATCHES = (TlsNotAnswered, SaslRequired)
"""Errors of servers with another security protocol. A restarting server can also cause such an error once."""
_MISMATCH_TIMES = 2
"""Number of consecutive mismatches of each server after which the call fails."""


class BootstrapRefusal:
    """Rule about the errors of bootstrap servers.

    Args: timeout_ms: bootstrap.refused.timeout.ms; -1 to try until the call ends.
    """

    def __init__(self, states: ClusterConnectionStates, timeout_ms: int) -> None:
        self._states = states
        self._timeout_ms = timeout_ms
        self._started_at_ms: int | None = None
        """Time since which all servers refuse."""
        self._error: TransportError | None = None
        self._last: dict[int, KafkaError] = {}
        """Last error of each server; a running attempt does not clear it."""
        self._mismatches: dict[int, int] = {}
        """Number of consecutive mismatches by server; an error that is not retriable counts as enough."""

    def clear(self) -> None:
        self._started_at_ms = self._error = None
        self._last.clear()
        self._mismatches.clear()

    def error(self, node_ids: Iterable[int], now_ms: int) -> TransportError | None:
        """Return the error if all servers have refused for the whole timeout; always the same object."""
        if self._timeout_ms < 0 or self._error is not None:
            return self._error
        servers = tuple(node_ids)
        for node_id in servers:
            self._note(node_id)
        errors = [self._last.get(node_id) for node_id in servers]
        refusals = [error for error in errors if isinstance(error, TransportError) and _is_refusal(error)]
        if not refusals or len(refusals) < len(errors):
            self._started_at_ms = None
            return None
        if self._started_at_ms is None:
            self._started_at_ms = now_ms
        if all(self._mismatches.get(node_id, 0) >= _MISMATCH_TIMES for node_id in servers):
            self._error = self._error_of(refusals, f"after {_MISMATCH_TIMES} attempts")
        elif now_ms - self._started_at_ms >= self._timeout_ms:
            self._error = self._error_of(refusals, f"for {self._timeout_ms / 1000:g}s")
        return self._error

    def _note(self, node_id: int) -> None:
        error = self._states.error(node_id)
        if error is None or error is self._last.get(node_id):
            return
        self._last[node_id] = error
        if isinstance(error, _MISMATCHES):
            self._mismatches[node_id] = self._mismatches.get(node_id, 0) + 1
        else:
            self._mismatches[node_id] = 0 if error.retriable else _MISMATCH_TIMES

    def _error_of(self, refusals: Sequence[TransportError], how_long: str) -> TransportError:
        first = min(refusals, key=lambda error: error.retriable)  # a certificate says more than a closed connection
        others = f" (and {len(refusals) - 1} more)" if len(refusals) > 1 else ""
        text = f"no bootstrap server accepted a connection {how_long}: {first}{others}"
        how = "use bootstrap.refused.timeout.ms=-1 to retry until the call times out"
        return type(first)(text, hint=f"{first.hint}, or {how}" if first.hint else how)


def _is_refusal(error: TransportError) -> bool:
    return not error.retriable or isinstance(error, (ConnectionRefused, DnsError, *_MISMATCHES))


class Acceptance:
    def __init__(self, states: ClusterConnectionStates) -> None:
        self._states = states
        self.is_given = False
        """Whether any node has responded to a request."""
        self._is_given_by_broker = False

    @property
    def is_final(self) -> bool:
        return self._is_given_by_broker

    def answered(self, node_id: int) -> None:
        """Record that a node responded to a request; bootstrap servers have negative ids."""
        self.is_given = True
        self._is_given_by_broker = self._is_given_by_broker or node_id >= 0

    def fatal_error(self, members: Sequence[NodeEntry]) -> KafkaError | None:
        """Return the refusal that ends calls early, if any.

        Before any response, rejected credentials of one node are enough. Other refusals count if all nodes refuse, even
        after a response of a bootstrap server, whose address may differ.
        """
        if self._is_given_by_broker or any(entry.connection is not None for entry in members):
            return None
        node_ids = [entry.node.node_id for entry in members]
        refused = [node_id for node_id in node_ids if self._states.state(node_id) is NodeState.REFUSED]
        errors = [error for error in map(self._states.error, refused) if error is not None]
        credentials = [error for error in errors if isinstance(error, AuthenticationError)]
        if credentials and not self.is_given:
            return credentials[0]
        return errors[0] if errors and len(refused) == len(node_ids) else None
