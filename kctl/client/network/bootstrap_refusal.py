"""BootstrapRefusal: when all bootstrap servers refuse connections or do not resolve, a call fails before its deadline.

Owns the rule of `bootstrap.refused.timeout.ms`. Asked while no server has answered a request yet.
Shown by tests/sim/network/test_refused_bootstrap.py.
"""

from collections.abc import Iterable

from kctl.client.errors import ConnectionRefused, DnsError, TransportError
from kctl.client.network.cluster_connection_states import ClusterConnectionStates


class BootstrapRefusal:
    """Looks at the errors of the bootstrap servers; sends nothing.

    Args: timeout_ms: bootstrap.refused.timeout.ms; -1: they are tried as long as the call lasts.
    """

    def __init__(self, states: ClusterConnectionStates, timeout_ms: int) -> None:
        self._states = states
        self._timeout_ms = timeout_ms
        self._since_ms: int | None = None
        """Since when all of them have refused."""
        self._error: TransportError | None = None

    def clear(self) -> None:
        """Start again: a new call of the user is a new chance."""
        self._since_ms = self._error = None

    def error(self, node_ids: Iterable[int], now_ms: int) -> TransportError | None:
        """Return the error of servers that have all refused for the whole timeout, the same object each time."""
        if self._timeout_ms < 0 or self._error is not None:
            return self._error
        errors = [self._states.error(node_id) for node_id in node_ids]
        refusals = [error for error in errors if isinstance(error, ConnectionRefused | DnsError)]
        if not refusals or len(refusals) < len(errors):
            self._since_ms = None
            return None
        if self._since_ms is None:
            self._since_ms = now_ms
        if now_ms - self._since_ms < self._timeout_ms:
            return None
        first = refusals[0]
        others = f" (and {len(refusals) - 1} more)" if len(refusals) > 1 else ""
        text = f"no bootstrap server accepted a connection for {self._timeout_ms / 1000:g}s: {first}{others}"
        how = "bootstrap.refused.timeout.ms=-1 (--no-fail-fast) tries as long as the call lasts"
        self._error = type(first)(text, hint=f"{first.hint}; {how}" if first.hint else how)
        return self._error
