"""Logins: tokens and tickets for a probe, which helper threads get.

A connection that waits for a login reads no further bytes, so a login server that does not respond delays only it.
"""

from collections.abc import Callable, Iterable

from kctl.client.errors import KafkaError, RemoteProtocolError
from kctl.client.events import Phase
from kctl.client.network import connect_errors
from kctl.client.network.connection_factory import ConnectionFactory
from kctl.client.probe.attempts import ProbeAttempt
from kctl.client.runtime import Lookup, Received, Resolver

MOST_HELD_BYTES = 65_536
"""Maximum number of bytes kept for a connection with a pending login: a list of mechanisms."""


class Logins:
    """Args: on_done: called, in another thread, when a login is available or has failed."""

    def __init__(self, factory: ConnectionFactory, resolver: Resolver, on_done: Callable[[], None]) -> None:
        self._factory = factory
        self._resolver = resolver
        self._on_done = on_done
        self._by_host: dict[str, Lookup | None] = {}

    def begin(self, host: str) -> None:
        """Start to get the login for `host`; a valid login is kept."""
        found = self._by_host.get(host)
        if found is None or found.done:
            self._by_host[host] = self._factory.get_login(host, self._resolver, self._on_done)

    def holds(self, attempt: ProbeAttempt, data: bytes | memoryview) -> bool:
        """Keep the bytes if their handling needs a pending login; return whether they were kept.

        Raises: RemoteProtocolError: there are more bytes than possible before a login.
        """
        connection = attempt.connection
        if connection.progress.phase is not Phase.SASL or not self._is_waiting(attempt):
            return False
        if len(attempt.held) + len(data) > MOST_HELD_BYTES:
            error = RemoteProtocolError(
                f"the server sent more than {MOST_HELD_BYTES} bytes in response to SaslHandshake"
            )
            raise connect_errors.bad_bytes(connection.target, Phase.SASL, error)
        attempt.held += data
        return True

    def released(self, attempts: Iterable[ProbeAttempt]) -> list[Received]:
        """Return the kept bytes of connections whose login has been obtained or has failed."""
        found = []
        for attempt in attempts:
            if attempt.held and not self._is_waiting(attempt):
                found.append(Received(attempt.connection.channel, attempt.held))
                attempt.held = b""
        return found

    def expired(self, attempt: ProbeAttempt, limit_ms: int, elapsed_ms: int) -> KafkaError | None:
        if not attempt.held:
            return None
        target, waits_for = attempt.connection.target, self._factory.waits_for
        return connect_errors.expired(target, Phase.SASL, limit_ms, elapsed_ms, waits_for=waits_for)

    def _is_waiting(self, attempt: ProbeAttempt) -> bool:
        login = None if attempt.is_retry else self._by_host.get(attempt.connection.target.host)
        return login is not None and not login.done
