"""ConnectionFactory: creates the connections of a client from its config.

TLS and SASL are imported only if the config needs them.
"""

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from kctl.client.clock import FOREVER_MS, SystemClock
from kctl.client.cluster import Node
from kctl.client.config import ClientConfig
from kctl.client.events import EventSink, Target
from kctl.client.network.connect_errors import LoginWait
from kctl.client.network.connection import Connection
from kctl.client.network.handshake import Handshake
from kctl.client.network.progress import ListenerNotes
from kctl.client.network.transport import PlainTransport, TlsTransport, Transport
from kctl.client.runtime import Address, Entropy, Lookup, Resolver, SocketOptions

if TYPE_CHECKING:
    from ssl import SSLContext

    from kctl.client.network.fetched_tokens import FetchedTokens
    from kctl.client.network.kerberos_tickets import KerberosTickets
    from kctl.client.security.sasl import SaslMechanism
    from kctl.client.security.tls.settings import RenewedContext

MAX_FRAME_BYTES = 100 * 1024 * 1024
"""Maximum size of a response without records, as Kafka's socket.request.max.bytes."""


class ConnectionFactory:
    def __init__(
        self,
        config: ClientConfig,
        entropy: Entropy,
        events: EventSink,
        *,
        sni: str | None = None,
        watches_certificate_requests: bool = False,
    ) -> None:
        """Args:
        sni: server name for TLS, in place of the name that is connected to.
        watches_certificate_requests: whether TLS channels detect that the server requests a client certificate.
        """
        self._config = config
        self._entropy = entropy
        self._events = events
        self._sni = sni
        self._notes = ListenerNotes()
        self._tls: RenewedContext | None = None
        if config.uses_tls:
            from kctl.client.security.tls import settings

            self._tls = settings.RenewedContext(config)
            if watches_certificate_requests:
                from kctl.client.security.tls.channel import watch_certificate_requests

                watch_certificate_requests(self._tls.context)
        self._tokens = self._fetched_tokens()
        self._tickets = self._kerberos_tickets()
        self._fetched = self._tickets or self._tokens
        if config.uses_sasl:
            self._mechanism("")  # invalid credentials raise here and not in a network thread

    def read_files(self, host: str, resolver: Resolver, on_done: Callable[[], None]) -> Lookup | None:
        """If needed, read changed certificates and get a token or ticket for `host` in a helper thread."""
        works = [] if self._tls is None or not self._tls.has_files else [self._tls.refresh]
        if self._fetched is not None:
            self._fetched.refresh_with(resolver)
            works.append(partial(self._fetched.get_for, host))

        def work() -> None:
            for each in works:
                each()

        return resolver.run(work, on_done) if works else None

    def get_login(self, host: str, resolver: Resolver, on_done: Callable[[], None]) -> Lookup | None:
        """If needed, get a token or ticket for `host` in a helper thread."""
        fetched = self._fetched
        return None if fetched is None else resolver.run(partial(fetched.get_for, host), on_done)

    @property
    def waits_for(self) -> LoginWait | None:
        """Part of the authentication for which the work of `read_files` may wait."""
        if self._fetched is None:
            return None
        return LoginWait.TOKEN if self._tickets is None else LoginWait.TICKET

    def advance(self, now_ms: int, on_done: Callable[[], None]) -> None:
        if self._fetched is not None:
            self._fetched.advance(now_ms, on_done)

    def next_deadline_at_ms(self) -> int:
        return FOREVER_MS if self._fetched is None else self._fetched.next_deadline_at_ms()

    def connection(
        self,
        channel: int,
        node: Node,
        address: Address,
        *,
        attempt: int,
        started_at_ms: int,
        instead: str | None = None,
    ) -> Connection:
        """Return a connection to `address`, in state TCP.

        Args: instead: other security protocol to test, without credentials and certificate check.
        """
        return Connection(
            channel,
            Target(attempt, node.node_id, node.host, node.port, str(address)),
            self._transport(node.host) if instead is None else self._other_transport(node.host, instead),
            Handshake(self._new_mechanism(node.host) if instead is None else None),
            client_id=self._config.client_id,
            max_frame_bytes=MAX_FRAME_BYTES,
            request_timeout_ms=self._config.request_timeout_ms,
            started_at_ms=started_at_ms,
            events=self._events,
            jitter=lambda: self._entropy.token_bytes(1)[0] / 255,
            notes=self._notes if instead is None else ListenerNotes(),
        )

    def _transport(self, host: str) -> Transport:
        return PlainTransport() if self._tls is None else self._tls_transport(host, self._tls.context)

    def _other_transport(self, host: str, protocol: str) -> Transport:
        if not protocol.endswith("SSL"):
            return PlainTransport()
        from kctl.client.security.tls import TlsSettings

        return self._tls_transport(host, TlsSettings.from_config(self._config).context(verify=False))

    def _tls_transport(self, host: str, context: "SSLContext") -> Transport:
        from kctl.client.security.tls import TlsChannel

        return TlsTransport(TlsChannel(context, self._sni or host))

    def _new_mechanism(self, host: str) -> "Callable[[], SaslMechanism] | None":
        return partial(self._mechanism, host) if self._config.uses_sasl else None

    def _mechanism(self, host: str) -> "SaslMechanism":
        from kctl.client.security.sasl import mechanism_from_config

        tokens = None if self._tokens is None else self._tokens.current
        contexts = None if self._tickets is None else self._tickets.context
        return mechanism_from_config(self._config, self._entropy, host, token_source=tokens, context_source=contexts)

    def _fetched_tokens(self) -> "FetchedTokens | None":
        if not self._config.uses_sasl or self._config.sasl_mechanism != "OAUTHBEARER":
            return None
        from kctl.client.network.fetched_tokens import fetched_tokens  # wanted for this login alone

        return fetched_tokens(self._config, SystemClock())

    def _kerberos_tickets(self) -> "KerberosTickets | None":
        if not self._config.uses_sasl or self._config.sasl_mechanism != "GSSAPI":
            return None
        from kctl.client.network.kerberos_tickets import kerberos_tickets  # wanted for this login alone

        return kerberos_tickets(self._config, SystemClock())


def socket_options(config: ClientConfig) -> SocketOptions:
    """Return the socket options. Buffer sizes that are not configured are -1, so that the system may adjust them."""
    kind = type(config)
    return SocketOptions(
        user_timeout_ms=config.request_timeout_ms,
        send_buffer_bytes=config.send_buffer_bytes if config.is_given(kind.send_buffer_bytes) else -1,
        receive_buffer_bytes=config.receive_buffer_bytes if config.is_given(kind.receive_buffer_bytes) else -1,
    )
