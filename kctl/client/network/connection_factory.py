"""ConnectionFactory: what every connection of a client has in common, from its config.

Imports TLS and SASL only where the config asks for them. Shown by tests/unit/network/test_network_client.py.
"""

from typing import TYPE_CHECKING

from kctl.client.cluster import Node
from kctl.client.config import ClientConfig
from kctl.client.events import EventSink, Target
from kctl.client.network.connection import Connection
from kctl.client.network.handshake import Handshake
from kctl.client.network.transport import PlainTransport, TlsTransport, Transport
from kctl.client.seams import Address, Entropy

if TYPE_CHECKING:
    from ssl import SSLContext

    from kctl.client.security.sasl import SaslMechanism

MAX_FRAME_BYTES = 100 * 1024 * 1024
"""Largest answer that is accepted, as Kafka's socket.request.max.bytes; larger only if fetch.max.bytes asks for it."""


class ConnectionFactory:
    """Makes connections that are not dialled yet."""

    def __init__(
        self,
        config: ClientConfig,
        entropy: Entropy,
        events: EventSink,
        *,
        sni: str | None = None,
        watches_certificate_requests: bool = False,
    ) -> None:
        """
        Args:
            sni: the name to ask TLS peers for, instead of the one that was dialled.
            watches_certificate_requests: whether channels notice that the peer asks for a client certificate.
        """
        self._config = config
        self._entropy = entropy
        self._events = events
        self._sni = sni
        fetch_max_bytes: int = config.values.get("fetch.max.bytes", 0)
        self._max_frame_bytes = max(MAX_FRAME_BYTES, fetch_max_bytes)
        self._tls_context: SSLContext | None = None
        if config.uses_tls:
            from kctl.client.security.tls import TlsSettings

            self._tls_context = TlsSettings.from_config(config).context()
            if watches_certificate_requests:
                from kctl.client.security.tls.certificate_requests import watch_certificate_requests

                watch_certificate_requests(self._tls_context)
        self._mechanism("")  # credentials that make no sense are refused here, not later on a network thread

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

        Args: instead: another security protocol than the configured one, to find out whether the peer speaks it; no
            credentials are sent and no certificate is checked then.
        """
        return Connection(
            channel,
            Target(attempt, node.node_id, node.host, node.port, str(address)),
            self._transport(node.host) if instead is None else self._other_transport(node.host, instead),
            Handshake(self._mechanism(node.host) if instead is None else None),
            client_id=self._config.client_id,
            max_frame_bytes=self._max_frame_bytes,
            started_at_ms=started_at_ms,
            events=self._events,
        )

    def _transport(self, host: str) -> Transport:
        return PlainTransport() if self._tls_context is None else self._tls(host, self._tls_context)

    def _other_transport(self, host: str, protocol: str) -> Transport:
        if not protocol.endswith("SSL"):
            return PlainTransport()
        from kctl.client.security.tls import TlsSettings

        return self._tls(host, TlsSettings.from_config(self._config).context(verify=False))

    def _tls(self, host: str, context: "SSLContext") -> Transport:
        from kctl.client.security.tls import TlsChannel

        return TlsTransport(TlsChannel(context, self._sni or host))

    def _mechanism(self, host: str) -> "SaslMechanism | None":
        if not self._config.uses_sasl:
            return None
        from kctl.client.security.sasl import mechanism_from_config

        return mechanism_from_config(self._config, self._entropy, host)
