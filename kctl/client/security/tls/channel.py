from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from kctl.client.errors import RemoteProtocolError, TlsClosed, TlsError

if TYPE_CHECKING:
    import ssl

    from kctl.client.security.tls.certificates import PeerCertificate

READ_BYTES = 16_384
"""Size of a read: the maximum content of a TLS record."""
FIRST_BYTES = 64
_RECORD_TYPES = range(20, 25)
_RECORD_MAJOR_VERSION = 3
_HOOK = "_msg_callback"
"""Undocumented hook of CPython (`SSLContext._msg_callback`, since 3.8); ssl has no API for this."""
_MARK = "kctl_certificate_asked"
_HANDSHAKE = 22
_CERTIFICATE_REQUEST = 13


class TlsChannel:
    """One side of a TLS connection.

    After `handshake`, `receive` and `read`, `write`, `shutdown`, and errors (which cause alerts), the caller sends the
    bytes of `pending_out`.
    """

    def __init__(self, context: "ssl.SSLContext", server_hostname: str = "", server_side: bool = False) -> None:
        """Args: server_hostname: host that the certificate must have, also sent as SNI; unused on the server side.
        Raises: TlsError: the name is not a valid host name.
        """
        import ssl

        # Names in certificates have no trailing dot, and addresses no zone.
        self.host = server_hostname.partition("%")[0].removesuffix(".")
        self._incoming = ssl.MemoryBIO()
        self._outgoing = ssl.MemoryBIO()
        name = None if server_side else self.host or None
        if name is None and context.check_hostname:
            raise TlsError(f"{server_hostname!r} is not a valid host name for certificates")
        try:
            self._tls = context.wrap_bio(self._incoming, self._outgoing, server_side, name)
        except (ValueError, TypeError) as e:
            raise TlsError(f"{self.host!r} is not a valid host name for certificates: {e}") from None
        self._first_bytes = b""
        self._failure: TlsError | TlsClosed | None = None
        self.is_established = False
        self.is_closed_by_peer = False

    # --- bytes of the network -----------------------------------------------------------------------------------------

    def receive(self, data: "bytes | bytearray | memoryview") -> None:
        """Accept bytes of the peer. Raises: RemoteProtocolError: the bytes are not TLS; it has `first_bytes`."""
        if len(self._first_bytes) < FIRST_BYTES and not self.is_established:
            self._first_bytes += bytes(data[: FIRST_BYTES - len(self._first_bytes)])
            self._check_first_bytes()
        self._incoming.write(data)

    def pending_out(self) -> bytes:
        return self._outgoing.read() if self._outgoing.pending else b""

    # --- bytes of the application -------------------------------------------------------------------------------------

    def handshake(self) -> bool:
        """Continue the handshake; return whether it is complete.

        Raises: TlsError, TlsClosed: the handshake failed, with a class for each cause; the channel cannot be used
            further.
        """
        if not self.is_established:
            self.is_established = self._attempt(self._tls.do_handshake)
        return self.is_established

    def read(self) -> bytes:
        """Return the received application bytes, if any. Raises: TlsError: a record is damaged, or an alert arrived."""
        import ssl

        if self._failure is not None:
            raise self._failure
        parts: list[bytes] = []
        while True:
            try:
                part = self._tls.read(READ_BYTES)
            except ssl.SSLWantReadError:
                break
            except ssl.SSLZeroReturnError:
                self.is_closed_by_peer = True
                break
            except ssl.SSLError as e:
                failure = self._fail(e)
                if parts:
                    break  # these bytes are complete and authentic; the next read raises
                raise failure from e
            if not part:
                self.is_closed_by_peer = True
                break
            parts.append(part)
        return parts[0] if len(parts) == 1 else b"".join(parts)

    def check(self) -> None:
        """Raise the error that `read` found after the bytes that it returned."""
        if self._failure is not None:
            raise self._failure

    def write(self, data: "bytes | bytearray | memoryview") -> None:
        """Encrypt `data`. Raises: TlsError: the handshake is not complete, or the channel has failed."""
        if not self.is_established:
            raise TlsError("cannot write before the TLS handshake is complete")
        if data:
            self._attempt(lambda: self._tls.write(data))

    def shutdown(self) -> None:
        """Send a close notification to the peer; errors are ignored."""
        import ssl

        if self.is_established and self._failure is None:
            try:
                self._tls.unwrap()
            except ssl.SSLError:
                return  # the peer's notification is not awaited

    # --- what was agreed ----------------------------------------------------------------------------------------------

    @property
    def version(self) -> str:
        """TLS version, such as `TLSv1.3`; empty before the handshake is complete."""
        return self._tls.version() or "" if self.is_established else ""

    @property
    def cipher(self) -> str:
        """Cipher suite, such as `TLS_AES_256_GCM_SHA384`; empty before the handshake is complete."""
        cipher = self._tls.cipher() if self.is_established else None
        return cipher[0] if cipher else ""

    @property
    def is_certificate_asked(self) -> bool | None:
        """Whether the peer has requested a client certificate; None if unknown."""
        if getattr(self._tls.context, _HOOK, None) is None:
            return None
        return bool(vars(self._tls).get(_MARK, False))

    def peer_chain(self) -> "tuple[PeerCertificate, ...]":
        from kctl.client.security.tls.certificates import presented_chain

        return presented_chain(self._tls)

    # --- failures -----------------------------------------------------------------------------------------------------

    def _attempt(self, step: Callable[[], object]) -> bool:
        import ssl

        if self._failure is not None:
            raise self._failure
        try:
            step()
        except ssl.SSLWantReadError:
            return False
        except ssl.SSLError as e:
            raise self._fail(e) from e
        return True

    def _fail(self, error: "ssl.SSLError") -> TlsError | TlsClosed:
        from kctl.client.security.tls.failures import tls_error

        self._failure = tls_error(error, self.host, self.peer_chain())
        if isinstance(self._failure, TlsClosed) and not self.is_established:
            self._failure.hint = "check the port, or try security.protocol PLAINTEXT"
        return self._failure

    def _check_first_bytes(self) -> None:
        first = self._first_bytes
        if first and (first[0] not in _RECORD_TYPES or (len(first) > 1 and first[1] != _RECORD_MAJOR_VERSION)):
            raise RemoteProtocolError("the server does not use TLS", first_bytes=first)


def watch_certificate_requests(context: "ssl.SSLContext") -> None:
    """Record whether peers request a certificate. Only probes use it, because the hook is called for every record."""
    if hasattr(context, _HOOK):
        setattr(context, _HOOK, _note)


def _note(tls: Any, direction: str, _version: object, content_type: Any, message_type: Any, _data: bytes) -> None:
    if direction == "read" and content_type == _HANDSHAKE and message_type == _CERTIFICATE_REQUEST:
        vars(tls)[_MARK] = True
