"""TLS layer of a broker connection."""

import ssl
from collections.abc import Callable

from kctl.client.errors import RemoteProtocolError, TlsClosed, TlsError
from kctl.client.security.tls import TlsChannel
from kctl.sandbox.runtime import Endpoint, Wire

_NO_TLS = b"\x15\x03\x03\x00\x02\x02\x50"
"""Alert that Kafka's brokers send if the first bytes are not TLS."""
_HANDSHAKE = b"\x16"


class TlsEnd:
    """Layer between transport and broker connection: an `Endpoint` for the transport, a `Wire` for the connection."""

    def __init__(
        self,
        context: ssl.SSLContext,
        wire: Wire,
        make_inner: Callable[[Wire], Endpoint],
        on_refused: Callable[[str], None],
    ) -> None:
        self._channel = TlsChannel(context, server_side=True)
        self._wire = wire
        self._on_refused = on_refused
        self._has_begun = False
        self._inner = make_inner(self)

    def receive(self, data: bytes) -> None:
        if not self._has_begun and data[:1] != _HANDSHAKE:
            self._wire.write(_NO_TLS)
            self._on_refused(f"the first bytes are not TLS: {data[:16]!r}")
            self._end()
            return
        self._has_begun = True
        try:
            self._channel.receive(data)
            plain = self._channel.read() if self._channel.handshake() else b""
            self._flush()
            if plain:
                self._inner.receive(plain)
            self._channel.check()
        except (TlsError, TlsClosed, RemoteProtocolError) as error:
            self._flush()
            self._on_refused(str(error))
            self._end()
            return
        if self._channel.is_closed_by_peer:
            self._end()

    def _end(self) -> None:
        self._inner.disconnected()
        self._wire.close()

    def writable(self) -> None:
        self._inner.writable()

    def disconnected(self) -> None:
        self._inner.disconnected()

    @property
    def is_full(self) -> bool:
        return self._wire.is_full

    @property
    def is_gone(self) -> bool:
        return self._wire.is_gone

    def write(self, data: bytes) -> None:
        self._channel.write(data)
        self._flush()

    def close(self) -> None:
        self._channel.shutdown()
        self._flush()
        self._wire.close()

    def reset(self) -> None:
        self._wire.reset()

    def pause_reading(self, is_paused: bool) -> None:
        self._wire.pause_reading(is_paused)

    def _flush(self) -> None:
        out = self._channel.pending_out()
        if out:
            self._wire.write(out)
