"""HttpClient: HTTP requests to schema registries and token endpoints, with the timeouts of a Kafka client.

Limits the time and size of responses. It blocks, so the network thread must not use it.
"""

import errno
import http.client
import io
import json
import socket
import ssl
import threading
from base64 import b64decode
from collections.abc import Callable, Mapping
from ipaddress import ip_address
from typing import Any, NamedTuple, Protocol
from urllib.parse import SplitResult, urlsplit

from kctl.client.clock import Clock, Timer, duration_text
from kctl.client.errors import (
    ApiTimeout,
    ConfigError,
    ConnectionLost,
    ConnectionRefused,
    ConnectTimeout,
    DnsError,
    KafkaError,
    RequestTimeout,
    TlsError,
    TransportError,
    WrongPeerError,
)
from kctl.client.masking import without_secrets
from kctl.client.runtime import Address, Lookup, Resolver
from kctl.client.wording import one_line, place_text

MOST_RESPONSE_BYTES = 32 * 1024 * 1024
_PORTS = {"http": 80, "https": 443}
_PIECE_BYTES = 64 * 1024
_OVERHEAD_BYTES = 256 * 1024
"""Maximum size of status, headers, and chunk sizes of a response."""
MOST_ERROR_BYTES = 64 * 1024
"""Size of an error's body that is used for the message. The rest is dropped."""
MOST_JSON_VALUES = 2_000_000
"""Maximum number of values in a document. Python needs about 100 bytes for each value."""
_UNREACHABLE = {errno.EHOSTUNREACH: "host unreachable", errno.ENETUNREACH: "network unreachable"}


class HttpResponse(NamedTuple):
    """Response of a server. Header names are lower case."""

    status: int
    reason: str
    headers: Mapping[str, str]
    body: bytes


class HttpLimits(NamedTuple):
    connect_timeout_ms: int
    request_timeout_ms: int
    response_bytes: int = MOST_RESPONSE_BYTES


class PlainLogin(NamedTuple):
    """Whether a login may be sent over http to other machines, and the property that allows it."""

    setting: str
    is_allowed: bool


NO_PLAIN_LOGIN = PlainLogin("", is_allowed=False)


class Connection(Protocol):
    """Socket methods that HttpClient uses. Calls raise TimeoutError after `settimeout` seconds."""

    def settimeout(self, value: float) -> None: ...

    def connect(self, address: tuple[str, int], /) -> None: ...

    def send(self, data: memoryview, /) -> int: ...

    def recv_into(self, buffer: memoryview, /) -> int: ...

    def close(self) -> None: ...


class HttpClient:
    """Client for HTTP servers, with one persistent connection to each. Not thread-safe.

    Args:
        context: creates the TLS context, for the first https URL.
    """

    def __init__(
        self, clock: Clock, resolver: Resolver, limits: HttpLimits, context: Callable[[], ssl.SSLContext]
    ) -> None:
        self._clock = clock
        self._resolver = resolver
        self._limits = limits
        self._make_context = context
        self._context: ssl.SSLContext | None = None
        self._idle: dict[tuple[str, str, int], Connection] = {}
        self._is_closed = False

    def request(
        self,
        method: str,
        url: str,
        timer: Timer,
        *,
        setting: str,
        body: bytes | None = None,
        headers: Mapping[str, str] | None = None,
        plain_login: PlainLogin = NO_PLAIN_LOGIN,
    ) -> HttpResponse:
        """Send a request and return the response, regardless of its status.

        Args:
            url: http or https, without credentials, which belong in `headers`.
            setting: Kafka property that contains the URL, for errors.
            plain_login: whether a login may be sent over http, and the property that allows it.

        Raises:
            ConfigError: the URL is invalid, or a login would be sent over http.
            TransportError: no connection (DNS, refused, TLS, connect timeout), connection lost, or not an HTTP server.
            RequestTimeout, ApiTimeout: no complete response in time.
        """
        parts = http_url(url)
        if "Authorization" in (headers or {}):
            check_plain_login(parts, setting, plain_login)
        exchange = _Exchange(self._clock, self._limits, timer, parts, setting)
        place = parts.scheme, exchange.host, exchange.port
        used = self._idle.pop(place, None)
        if used is not None:
            try:
                return self._exchange(exchange, used, method, body, headers or {})
            except ConnectionLost:  # servers may close idle connections
                if exchange.has_response_begun:  # the server has handled the request
                    raise
        return self._exchange(exchange, self._connect(exchange), method, body, headers or {})

    def close(self) -> None:
        """Close all connections. Connections of current and later requests are closed at the end of the request."""
        self._is_closed = True
        for connection in self._idle.values():
            connection.close()
        self._idle.clear()

    def _exchange(
        self,
        exchange: "_Exchange",
        connection: Connection,
        method: str,
        body: bytes | None,
        headers: Mapping[str, str],
    ) -> HttpResponse:
        is_reusable = False
        try:
            response, is_reusable = exchange.run(connection, method, body, headers)
            return response if response.status < 300 else _without_login(response, headers.get("Authorization", ""))
        finally:
            if is_reusable and not self._is_closed:
                self._idle[exchange.parts.scheme, exchange.host, exchange.port] = connection
            else:
                connection.close()

    # --- connections ------------------------------------------------------------------------------------------------

    def _connect(self, exchange: "_Exchange") -> Connection:
        timer = exchange.timer.sub(self._limits.connect_timeout_ms)
        addresses = self._look_up(exchange, timer)
        failed: KafkaError | None = None
        for number, address in enumerate(addresses):
            timer.update()
            share = Timer.until(self._clock, timer.now_ms + timer.remaining_ms // (len(addresses) - number))
            try:
                return self._dial(exchange, address, share)
            except TransportError as e:
                failed = e
        assert failed is not None
        raise failed

    def _look_up(self, exchange: "_Exchange", timer: Timer) -> list[Address]:
        lookup = self._looked_up(exchange.host, exchange.port, timer)
        if not lookup.done:
            raise exchange.located("dns", "", self._too_slow(exchange, "no DNS response", timer))
        if lookup.error is not None:
            raise exchange.located("dns", "", DnsError(lookup.error, hint=exchange.unreachable_hint))
        return lookup.addresses

    def _looked_up(self, host: str, port: int, timer: Timer) -> Lookup:
        done = threading.Event()
        lookup = self._resolver.lookup(host, port, done.set)
        done.wait(timer.remaining_ms / 1000)
        return lookup

    def _open(self, family: socket.AddressFamily) -> Connection:
        return socket.socket(family, socket.SOCK_STREAM)

    def _secured(self, connection: Connection, context: ssl.SSLContext, host: str) -> Connection:
        assert isinstance(connection, socket.socket)
        return context.wrap_socket(connection, server_hostname=host)

    def _dial(self, exchange: "_Exchange", address: Address, timer: Timer) -> Connection:
        connection = self._open(socket.AF_INET6 if address.is_ipv6 else socket.AF_INET)
        phase = "tcp"
        try:
            _set_timeout(connection, timer)
            connection.connect((address.ip, address.port))
            if exchange.parts.scheme == "http":
                return connection
            phase = "tls"
            _set_timeout(connection, timer)
            return self._secured(connection, self._tls(), exchange.host)
        except OSError as e:
            connection.close()
            raise exchange.located(phase, str(address), self._refused(exchange, phase, e, timer)) from None
        except BaseException:
            connection.close()
            raise

    def _tls(self) -> ssl.SSLContext:
        if self._context is None:
            self._context = self._make_context()
        return self._context

    def _too_slow(self, exchange: "_Exchange", what: str, timer: Timer) -> ConnectTimeout:
        timer.update()
        limit_ms, limit = self._limits.connect_timeout_ms, "socket.connection.setup.timeout.ms"
        whole = exchange.timer
        if timer.deadline_at_ms >= whole.deadline_at_ms and whole.timeout_ms != limit_ms:  # equal: a login
            limit_ms, limit = whole.timeout_ms, "default.api.timeout.ms"
        text = f"{what} within {duration_text(limit_ms)} ({limit})"
        return ConnectTimeout(text, limit_ms=limit_ms, elapsed_ms=timer.elapsed_ms, hint=exchange.unreachable_hint)

    def _refused(self, exchange: "_Exchange", phase: str, error: OSError, timer: Timer) -> TransportError:
        if isinstance(error, TimeoutError):
            what = "no TCP connection" if phase == "tcp" else "the TLS handshake did not finish"
            return self._too_slow(exchange, what, timer)
        if isinstance(error, ssl.SSLError):
            return TlsError(
                f"TLS handshake failed: {_reason_of(error)}", hint="check ssl.truststore.location and the host name"
            )
        if isinstance(error, ConnectionRefusedError):
            return ConnectionRefused("connection refused", hint=exchange.unreachable_hint)
        if phase == "tls" or isinstance(error, ConnectionResetError | BrokenPipeError):
            return ConnectionLost("the server closed the connection")
        text = _UNREACHABLE.get(error.errno or 0, error.strerror or str(error))
        return ConnectionRefused(text, hint=exchange.unreachable_hint)


class _Exchange:
    def __init__(self, clock: Clock, limits: HttpLimits, timer: Timer, parts: SplitResult, setting: str) -> None:
        self.timer = timer
        self.parts = parts
        self.host = parts.hostname or ""
        self.port = parts.port or _PORTS[parts.scheme]
        self.has_response_begun = False
        """True after the first byte of the response."""
        self.unreachable_hint = f"check {setting} and that the server runs"
        self._clock = clock
        self._limits = limits

    def located(self, phase: str, address: str, error: TransportError) -> TransportError:
        error.args = (f"{place_text(self.host, self.port)}: {error}",)
        error.phase, error.host, error.port, error.address = phase, self.host, self.port, address
        return error

    def run(
        self, connection: Connection, method: str, body: bytes | None, headers: Mapping[str, str]
    ) -> tuple[HttpResponse, bool]:
        self.timer.update()
        limit = self.timer.sub(self._limits.request_timeout_ms)
        try:
            left = memoryview(self._head(method, body, headers) + (body or b""))
            while left:
                _set_timeout(connection, limit)
                left = left[connection.send(left) :]
            reading = _Reading(connection, limit, self._limits.response_bytes + _OVERHEAD_BYTES, self._on_received)
            response = http.client.HTTPResponse(reading, method=method)  # type: ignore[arg-type]  # reads from makefile() alone
            with response:  # Python 3.14 reports responses that are left to the garbage collector
                response.begin()
                content = self._body(response)
        except TimeoutError:
            raise self._timeout(limit, method) from None
        except _ResponseTooLarge:
            most = self._limits.response_bytes
            raise self.located(
                "ready", "", WrongPeerError(f"the HTTP response is larger than the limit of {most} bytes")
            ) from None
        except http.client.IncompleteRead:
            raise self.located("ready", "", ConnectionLost("the server closed the connection")) from None
        except http.client.RemoteDisconnected:
            raise self.located("ready", "", ConnectionLost("the server closed the connection")) from None
        except (http.client.HTTPException, ValueError) as e:
            what = one_line(str(e) or type(e).__name__)[:80]
            raise self.located("ready", "", WrongPeerError(f"the server is not an HTTP server ({what})")) from None
        except OSError:
            raise self.located("ready", "", ConnectionLost("the server closed the connection")) from None
        named = {name.lower(): value for name, value in response.getheaders()}
        return HttpResponse(response.status, response.reason, named, content), not response.will_close

    def _on_received(self) -> None:
        self.has_response_begun = True

    def _head(self, method: str, body: bytes | None, headers: Mapping[str, str]) -> bytes:
        path = self.parts.path or "/"
        target = f"{path}?{self.parts.query}" if self.parts.query else path
        lines = [f"{method} {target} HTTP/1.1", f"Host: {place_text(self.host, self.port)}", "User-Agent: kctl"]
        if body is not None:
            lines.append(f"Content-Length: {len(body)}")
        lines += [f"{name}: {value}" for name, value in headers.items()]
        if any("\r" in line or "\n" in line for line in lines):
            raise ConfigError("a URL or an HTTP credential contains a line feed")
        return ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1", "replace")

    def _body(self, response: http.client.HTTPResponse) -> bytes:
        most = self._limits.response_bytes
        if response.length is not None and response.length > most:
            text = f"the HTTP response of {response.length} bytes is larger than the limit of {most} bytes"
            raise self.located("ready", "", WrongPeerError(text))
        content = bytearray()
        while piece := response.read(_PIECE_BYTES):
            content += piece
            if len(content) > most:
                raise self.located(
                    "ready", "", WrongPeerError(f"the HTTP response is larger than the limit of {most} bytes")
                )
        if response.length:  # read() does not detect it
            raise self.located("ready", "", ConnectionLost("the server closed the connection"))
        return bytes(content)

    def _timeout(self, limit: Timer, method: str) -> KafkaError:
        self.timer.update()
        limit.update()
        what = f"waiting for the response from {self.host}:{self.port} to {method} {one_line(self.parts.path)[:200]}"
        if limit.deadline_at_ms >= self.timer.deadline_at_ms:
            return ApiTimeout(what, timeout_ms=self.timer.timeout_ms, elapsed_ms=self.timer.elapsed_ms)
        return RequestTimeout(what, timeout_ms=self._limits.request_timeout_ms, elapsed_ms=limit.elapsed_ms)


class _ResponseTooLarge(Exception):
    """The response exceeds its limit, regardless of its headers."""


class _Reading(io.RawIOBase):
    """Receiving side of a connection as a file. Reads end at the deadline.

    Args:
        most_bytes: size limit including headers and framing.
    """

    def __init__(self, connection: Connection, timer: Timer, most_bytes: int, on_received: Callable[[], None]) -> None:
        self._connection = connection
        self._timer = timer
        self._left_bytes = most_bytes
        self._on_received = on_received

    def makefile(self, _mode: str) -> io.BufferedReader:
        return io.BufferedReader(self)

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]  # BufferedReader gives a memoryview
        _set_timeout(self._connection, self._timer)
        count = self._connection.recv_into(buffer)
        self._left_bytes -= count
        if self._left_bytes < 0:
            raise _ResponseTooLarge
        if count:
            self._on_received()
        return count


def read_json(body: bytes) -> Any:
    """Parse JSON.

    Raises: ValueError, RecursionError: invalid, nested too deeply, or too many values.
    """
    if body.count(b",") + body.count(b"{") + body.count(b"[") > MOST_JSON_VALUES:
        raise ValueError(f"the JSON text has more than {MOST_JSON_VALUES} values")
    return json.loads(body)


def http_url(url: str) -> SplitResult:
    """Return the parts of a URL.

    Raises: ConfigError: the URL is not http or https, or has no host.
    """
    try:
        parts = urlsplit(url)
        is_valid = parts.scheme in _PORTS and bool(parts.hostname) and parts.port != 0
    except ValueError:
        is_valid = False
    if not is_valid or any(ord(char) <= 0x20 for char in url):
        raise ConfigError("invalid URL: use an http or https URL with a host and a port, such as http://registry:8081")
    return parts


def check_plain_login(parts: SplitResult, setting: str, plain_login: PlainLogin) -> None:
    """Raise ConfigError if a login would be sent over http to another machine without permission."""
    host = parts.hostname or ""
    try:
        is_local = ip_address(host).is_loopback
    except ValueError:
        is_local = host == "localhost"
    if parts.scheme == "http" and not is_local and not plain_login.is_allowed:
        allowing = plain_login.setting
        ways = f"use https, or set {allowing}=true" if allowing else "use https"
        raise ConfigError(f"{setting}: cannot send credentials to {host} over plain HTTP: {ways}", key=setting)


def _without_login(response: HttpResponse, authorization: str) -> HttpResponse:
    """Mask the login in an error response, because some servers repeat it."""
    scheme, _, given = authorization.partition(" ")
    secrets = [given or scheme]  # AWS's containers have tokens without a scheme
    if scheme == "Basic":
        user_info = b64decode(given).decode("utf-8", "surrogateescape")
        secrets += [user_info, user_info.partition(":")[2]]
    text = without_secrets(response.body[:MOST_ERROR_BYTES].decode("utf-8", "surrogateescape"), secrets)
    body = text.encode("utf-8", "surrogateescape")
    return response._replace(body=body, reason=without_secrets(response.reason, secrets))


def _set_timeout(connection: Connection, timer: Timer) -> None:
    timer.update()
    if timer.is_expired:
        raise TimeoutError
    connection.settimeout(timer.remaining_ms / 1000)


def _reason_of(error: ssl.SSLError) -> str:
    if isinstance(error, ssl.SSLCertVerificationError):
        return error.verify_message.lower()
    return (error.reason or str(error)).lower().replace("_", " ")
