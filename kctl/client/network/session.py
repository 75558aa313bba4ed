"""SaslSession: the lifetime of a connection's authentication, and its renewal (KIP-368). No I/O.

After the end of the session, a connection may only send SaslHandshake, or the broker closes it. SASL is therefore
repeated after the requests in flight, and requests of callers wait in the meantime.

Source: Java's SaslClientAuthenticator. Differs: Java renews when the next request is sent; this client renews by time,
    so no request waits for a renewal after a pause.
"""

from collections.abc import Callable

from kctl.client.clock import FOREVER_MS
from kctl.client.network.states import ConnectionState

RENEW_FROM, RENEW_UNTIL = 0.85, 0.95
"""Range of the part of the lifetime after which to renew, at random, so that many clients do not renew together."""
LEAST_RENEWAL_MS = 1_050
"""Minimum time between renewals; Kafka rejects a renewal within 1s. Shorter sessions cannot be renewed."""


class SaslSession:
    def __init__(self) -> None:
        self.renew_at_ms = self._hold_at_ms = FOREVER_MS
        self.state: ConnectionState | None = None
        """Step of the running renewal; None without one."""

    @property
    def is_renewing(self) -> bool:
        return self.state is not None

    def holds(self, now_ms: int) -> bool:
        """Return whether requests of callers wait for a renewal."""
        return self.state is not None or now_ms >= self._hold_at_ms

    def began(self, lifetime_ms: int, asked_at_ms: int, jitter: Callable[[], float], now_ms: int) -> None:
        """Record a successful authentication.

        Args:
            lifetime_ms: lifetime from the broker; 0 if it lasts as long as the connection.
            asked_at_ms: time at which the last request was sent; the broker counts from a later time.
            jitter: returns a random number from 0 to 1.
            now_ms: time of the broker's last response.
        """
        self.state = None
        self.renew_at_ms = self._hold_at_ms = FOREVER_MS
        if lifetime_ms > 0:
            part = RENEW_FROM + (RENEW_UNTIL - RENEW_FROM) * jitter()
            self._hold_at_ms = min(FOREVER_MS, asked_at_ms + int(lifetime_ms * part))
            self.renew_at_ms = max(self._hold_at_ms, now_ms + LEAST_RENEWAL_MS)

    def is_due(self, now_ms: int) -> bool:
        return self.state is None and now_ms >= self.renew_at_ms
