"""Bytes of frames on a connection: plain, or inside TLS. No I/O."""

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from kctl.client.security.tls import TlsChannel


class Transport(Protocol):
    """Both directions of a connection."""

    channel: "TlsChannel | None"
    """TLS channel, if any."""

    @property
    def is_secured(self) -> bool:
        """Whether application bytes may be sent and received."""
        ...

    @property
    def is_closed_by_peer(self) -> bool:
        """Whether the server has sent TLS close_notify; TCP may still be open."""
        ...

    @property
    def detail(self) -> str:
        """Negotiated TLS parameters, for users; empty without TLS."""
        ...

    def start(self) -> bytes:
        """Return the first bytes to send after TCP is connected."""
        ...

    def receive(self, data: bytes | memoryview) -> tuple[bytes | memoryview, bytes]:
        """Return the received application bytes, and bytes to send back."""
        ...

    def check(self) -> None:
        """Raise an error that followed the bytes of `receive`, if it ends the transport."""
        ...

    def wrap(self, data: bytes) -> bytes:
        """Return application bytes as they are sent."""
        ...

    def alert(self) -> bytes:
        """Return the bytes to send after a failure: a TLS alert with the reason."""
        ...


class PlainTransport:
    is_secured = True
    is_closed_by_peer = False
    detail = ""
    channel: "TlsChannel | None" = None

    def start(self) -> bytes:
        return b""

    def receive(self, data: bytes | memoryview) -> tuple[bytes | memoryview, bytes]:
        return data, b""

    def check(self) -> None:
        pass

    def wrap(self, data: bytes) -> bytes:
        return data

    def alert(self) -> bytes:
        return b""


class TlsTransport:
    """Bytes inside a TLS channel; a failure raises TlsError or TlsClosed."""

    def __init__(self, channel: "TlsChannel") -> None:
        self.channel: TlsChannel | None = channel
        self._channel = channel
        self.is_secured = False

    @property
    def is_closed_by_peer(self) -> bool:
        return self._channel.is_closed_by_peer

    @property
    def detail(self) -> str:
        return f"{self._channel.version} {self._channel.cipher}" if self.is_secured else ""

    def start(self) -> bytes:
        self.is_secured = self._channel.handshake()
        return self._channel.pending_out()

    def receive(self, data: bytes | memoryview) -> tuple[bytes | memoryview, bytes]:
        self._channel.receive(bytes(data))
        if not self.is_secured:
            self.is_secured = self._channel.handshake()
        plain = self._channel.read() if self.is_secured else b""
        return plain, self._channel.pending_out()

    def check(self) -> None:
        self._channel.check()

    def wrap(self, data: bytes) -> bytes:
        self._channel.write(data)
        return self._channel.pending_out()

    def alert(self) -> bytes:
        return self._channel.pending_out()
