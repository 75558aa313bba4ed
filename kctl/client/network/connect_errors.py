"""Errors of connection attempts, by phase and event. No I/O.

Users read these texts, so each states an observation and one hint.
"""

import errno
from collections.abc import Sequence
from enum import Enum

from kctl.client.clock import duration_text
from kctl.client.errors import (
    ConnectionLost,
    ConnectionRefused,
    ConnectTimeout,
    KafkaError,
    RemoteProtocolError,
    SaslRequired,
    TlsNotAnswered,
    TransportError,
    UnsupportedVersionError,
    WrongPeerError,
)
from kctl.client.events import Phase, Target
from kctl.client.protocol.api.metadata import MetadataRequest
from kctl.client.protocol.versions import NodeVersions

_TLS_ALERT = 0x15
_TLS_HANDSHAKE = 0x16
_TLS_MAJOR = 3
"""First byte of the version in every TLS record."""
_SHOWN_BYTES = 32
_SIZE_BYTES = 4

_GREETINGS: tuple[tuple[bytes, str], ...] = (
    (b"HTTP/", "an HTTP server"),
    (b"SSH-", "an SSH server"),
    (b"AMQP", "an AMQP broker"),
    (b"-ERR", "a Redis server"),
    (b"-NOAUTH", "a Redis server"),
    (b"220", "an SMTP or FTP server"),
    (b"+OK", "a POP3 server"),
    (b"* OK", "an IMAP server"),
    (b"<", "a web or XML server"),
)


def name_peer(first_bytes: bytes) -> str:
    """Describe a server by its first bytes, for example as `an HTTP server ("HTTP/1.1 400 Bad Request")`."""
    if is_tls(first_bytes):
        return f"a TLS listener (TLS record {first_bytes[:7].hex(' ')})"
    for greeting, name in _GREETINGS:
        if first_bytes.startswith(greeting):
            line = first_bytes.splitlines()[0][:64].decode("ascii", "backslashreplace")
            return f'{name} ("{_printable(line)}")'
    shown = f"first bytes {first_bytes[:_SHOWN_BYTES].hex(' ')}"
    if len(first_bytes) < _SIZE_BYTES:
        return f"not a Kafka broker ({shown})"
    size = int.from_bytes(first_bytes[:_SIZE_BYTES], signed=True)
    return f"not a Kafka broker (frame size {size} bytes, {shown})"


def may_be_answer(first_bytes: bytes, correlation_id: int) -> bool:
    """Return whether a response may begin with `first_bytes`: a short frame with the request's correlation id."""
    start = bytes(1), correlation_id.to_bytes(4, signed=True)
    return start[0].startswith(first_bytes[:1]) and start[1].startswith(first_bytes[_SIZE_BYTES : _SIZE_BYTES + 4])


def is_tls(first_bytes: bytes) -> bool:
    return len(first_bytes) >= 3 and first_bytes[0] in (_TLS_ALERT, _TLS_HANDSHAKE) and first_bytes[1] == _TLS_MAJOR


def _printable(text: str) -> str:
    return "".join(c if c.isprintable() else f"\\x{ord(c):02x}" for c in text)


_PHASES = [phase.value for phase in Phase]
_HUNG_UP = (errno.ECONNRESET, errno.EPIPE)
_UNREACHABLE = {
    errno.EHOSTUNREACH: "host unreachable",
    errno.ENETUNREACH: "network unreachable",
    errno.EADDRNOTAVAIL: "no local address can reach the server",
    errno.EACCES: "the operating system denied the connection",
    errno.EPERM: "the operating system denied the connection",
}
_WAITED_FOR = {
    Phase.DNS: ("no DNS response", "check the DNS resolver of this machine"),
    Phase.TCP: ("no SYN-ACK", "check that the host is up and that no firewall drops packets"),
    Phase.TLS: (
        "connected, but the TLS handshake did not finish",
        "check that the port uses TLS and that the server is not overloaded",
    ),
    Phase.APIVERSIONS: (
        "connected, but no ApiVersions response",
        "check that the port is a Kafka port and that the broker responds",
    ),
    Phase.SASL: ("SASL authentication did not finish", "check the authentication backend of the broker"),
}


class LoginWait(Enum):
    """Reason why authentication is not ready before a connection: text and hint."""

    TOKEN = "no OAUTHBEARER token", "check the token endpoint or the token callback"
    TICKET = "no Kerberos ticket", "check that the KDC in krb5.conf resolves and responds"


_CLOSED_HINTS = {
    Phase.TCP: "check for a proxy without a backend, a connection quota, or a firewall",
    Phase.TLS: "try security.protocol=PLAINTEXT (or SASL_PLAINTEXT)",
    Phase.APIVERSIONS: "check for a proxy without a backend, a connection quota, or a TLS port",
    Phase.SASL: "try another sasl.mechanism",
}


def expired(
    target: Target,
    phase: Phase,
    limit_ms: int,
    elapsed_ms: int,
    limit: str = "socket.connection.setup.timeout.ms",
    *,
    waits_for: LoginWait | None = None,
) -> TransportError:
    """Return the error of an attempt that took longer than `limit_ms`, the value of the property `limit`."""
    what, hint = _WAITED_FOR[phase] if waits_for is None else waits_for.value
    text = f"{what} within {duration_text(limit_ms)} ({limit})"
    return located(target, phase, ConnectTimeout(text, limit_ms=limit_ms, elapsed_ms=elapsed_ms, hint=hint))


def unfinished(
    target: Target, phase: Phase, limit_ms: int, elapsed_ms: int, *, waits_for: LoginWait | None = None
) -> TransportError:
    """Return the error for a caller whose deadline passed while the attempt to connect was running."""
    what, hint = _WAITED_FOR[phase] if waits_for is None else waits_for.value
    text = f"{what} yet (socket.connection.setup.timeout.ms {duration_text(limit_ms)})"
    return located(target, phase, ConnectTimeout(text, limit_ms=limit_ms, elapsed_ms=elapsed_ms, hint=hint))


def lost(
    target: Target, phase: Phase, elapsed_ms: int, error: OSError | None, received: bytes, waiting: str = ""
) -> TransportError:
    """Return the error of a connection that the server or the system ended.

    Args:
        error: None if the server closed the connection without an error.
        received: bytes of an incomplete frame.
        waiting: API of the caller's oldest request without a response, if any.
    """
    if phase is not Phase.READY and received:
        return wrong_peer(target, phase, received)
    if phase is Phase.TCP:
        return located(target, phase, _not_connected(elapsed_ms, error))
    ended = _closed(phase, elapsed_ms, error)
    if waiting:
        ended = ConnectionLost(f"{ended} before its response to {waiting}", hint=ended.hint)
    return located(target, phase, ended)


def closed_on_first_request(target: Target, api: str) -> TransportError:
    text = f"the server responded to ApiVersions, but closed the connection on the first request ({api})"
    return located(target, Phase.READY, SaslRequired(text, hint="use SASL, which the listener probably requires"))


def no_word_in_tls(target: Target, elapsed_ms: int, error: OSError | None) -> TransportError:
    """Return the error of a server that closed the connection at the start of TLS, as plaintext brokers do."""
    lost = _closed(Phase.TLS, elapsed_ms, error)
    if error is not None and error.errno not in _HUNG_UP:
        return located(target, Phase.TLS, lost)
    text = f"{lost} during the TLS handshake: probably a plaintext listener"
    return located(target, Phase.TLS, TlsNotAnswered(text, hint=lost.hint))


def wrong_peer(target: Target, phase: Phase, first_bytes: bytes) -> TransportError:
    hint = "use security.protocol=SSL (or SASL_SSL)" if is_tls(first_bytes) else "check the port"
    return located(target, phase, WrongPeerError(f"the server is {name_peer(first_bytes)}", hint=hint))


def bad_bytes(target: Target, phase: Phase, error: RemoteProtocolError) -> KafkaError:
    """Return the error of invalid bytes. Before a connection is ready, the server may not be a Kafka broker."""
    if phase is not Phase.READY and error.first_bytes:
        return wrong_peer(target, phase, error.first_bytes)
    error.args = (f"{target}: {error}",)
    return error


def broken(target: Target, error: KafkaError) -> TransportError:
    """Return a retriable error for the loss of a connection that the broker had accepted. Its cause is `error`."""
    lost = located(target, Phase.READY, ConnectionLost(f"connection closed: {error}"))
    lost.__cause__ = error
    return lost


def not_spoken(target: Target, error: UnsupportedVersionError, versions: NodeVersions) -> KafkaError:
    """Return the error of a node that lacks an API. A node without Metadata is a KRaft controller."""
    if error.api == MetadataRequest.NAME and MetadataRequest.API_KEY not in versions.ranges:
        return controller(target)
    error.args = (f"{target}: {error}",)
    return error


def controller(target: Target) -> TransportError:
    text = "the server is a KRaft controller, which does not support Metadata requests"
    return located(target, Phase.METADATA, WrongPeerError(text, hint="connect to a broker listener"))


def located(target: Target, phase: Phase, error: TransportError) -> TransportError:
    error.args = (f"{target}: {error} [phase {phase.value}]",)
    error.phase, error.host, error.port, error.address = phase.value, target.host, target.port, target.address
    return error


def furthest_first(errors: Sequence[KafkaError]) -> list[KafkaError]:
    """Sort errors of several nodes by phase, latest first, because such a node is nearest to a working one.

    In one phase, errors that are not retriable come first, timeouts last.
    """
    return sorted(errors, key=_distance)


def _distance(error: KafkaError) -> tuple[int, bool, bool]:
    reached = _PHASES.index(error.phase) if isinstance(error, TransportError) and error.phase else len(_PHASES)
    return -reached, error.retriable, not isinstance(error, ConnectTimeout)


def _not_connected(elapsed_ms: int, error: OSError | None) -> TransportError:
    code = 0 if error is None else error.errno or 0
    if code == errno.ECONNREFUSED:
        text = f"connection refused (RST after {elapsed_ms} ms)"
        return ConnectionRefused(text, hint="check the port and that the server runs")
    if code in _HUNG_UP:
        return _closed(Phase.TCP, elapsed_ms, error)
    if code in _UNREACHABLE:
        return ConnectionRefused(_UNREACHABLE[code], hint="check the routing, VPN, and firewall")
    if code == errno.ETIMEDOUT:
        text = f"the operating system stopped the connection attempt after {elapsed_ms} ms"
        return ConnectTimeout(text, limit_ms=elapsed_ms, elapsed_ms=elapsed_ms)
    return ConnectionRefused("the connection attempt failed" if error is None else error.strerror or str(error))


def _closed(phase: Phase, elapsed_ms: int, error: OSError | None) -> TransportError:
    if error is not None and error.errno == errno.ETIMEDOUT:
        return ConnectionLost(
            "the server did not acknowledge sent data", hint="check that the server is up and reachable"
        )
    if error is not None and error.errno not in _HUNG_UP:
        return ConnectionLost(error.strerror or str(error))
    how = "closed" if error is None else "reset"
    when = "" if phase is Phase.READY else f" after {elapsed_ms} ms"
    return ConnectionLost(f"the server {how} the connection{when}", hint=_CLOSED_HINTS.get(phase, ""))
