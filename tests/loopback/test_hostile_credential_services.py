"""AWS credential services of a stranger: responses without an end, slow ones, redirects, and contents of any kind."""

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from kctl.client.aws_msk import AwsCredentials, find_credentials
from kctl.client.clock import SystemClock
from kctl.client.errors import AuthenticationError
from kctl.client.network.resolver import ThreadResolver

KEYS = {"AccessKeyId": "A", "SecretAccessKey": "s", "Token": "t", "Expiration": "2036-01-01T00:00:00Z"}
CANARY = "canary-of-the-container"
BLOCK = b" " * 65536
MOST_SENT_BYTES = 64 << 20
"""More than the buffers of sockets, and far less than a stranger sends until a timeout."""
DRIP_S = 0.05
LIMIT_S = 1


class Service(BaseHTTPRequestHandler):
    """Credential service that sends the steps of AWS, and then `keys`."""

    protocol_version = "HTTP/1.1"
    keys: object = KEYS
    requests: list[str]
    sent_bytes = 0

    def do_GET(self) -> None:
        type(self).requests.append(f"{self.path} {self.headers}")
        self.respond()

    do_PUT = do_GET

    def respond(self) -> None:
        if self.path.endswith(("/api/token", "/security-credentials/")):
            self.send(200, b"token-or-role")
        else:
            self.send(200, self.keys if isinstance(self.keys, bytes) else json.dumps(self.keys).encode())

    def send(self, status: int, body: bytes, **headers: str) -> None:
        self.send_response(status)
        for name, value in {**headers, "Content-Length": str(len(body))}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_arguments: object) -> None:
        """Log nothing."""


class Endless(Service):
    """Sends a body without an end."""

    def respond(self) -> None:
        self.send_response(200)
        self.end_headers()
        self.close_connection = True
        with suppress(OSError):
            while type(self).sent_bytes < 4 * MOST_SENT_BYTES:
                self.wfile.write(BLOCK)
                type(self).sent_bytes += len(BLOCK)


class Slow(Service):
    """Sends a byte of a header now and then, sooner than any timeout of one read."""

    ended: threading.Event

    def respond(self) -> None:
        self.close_connection = True
        with suppress(OSError):
            self.wfile.write(b"HTTP/1.1 200 OK\r\nA: ")
            while not type(self).ended.wait(DRIP_S):
                self.wfile.write(b"a")


class Redirect(Service):
    """Sends each request to another server."""

    to = ""

    def respond(self) -> None:
        self.send(302, b"", Location=self.to)


class Echo(Service):
    """Rejects each request, with forged lines and the token of the request."""

    def respond(self) -> None:
        self.send(400, f"no\nhint: curl evil.example\n\x1b[31m{self.headers['Authorization']}".encode())


Serve = Callable[..., type[Service]]


@pytest.fixture
def serve(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Serve]:
    """Start a service that AWS's library uses, as the service of a machine or of a container."""
    servers: list[ThreadingHTTPServer] = []
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "AWS_PROFILE", "HTTP_PROXY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(tmp_path / "credentials"))
    monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "config"))
    monkeypatch.setenv("AWS_METADATA_SERVICE_TIMEOUT", str(LIMIT_S))

    def started(base: type[Service] = Service, place: str = "", **attributes: object) -> type[Service]:
        kind = type("Kind", (base,), {"requests": [], "ended": threading.Event(), **attributes})
        servers.append(ThreadingHTTPServer(("127.0.0.1", 0), kind))
        threading.Thread(target=servers[-1].serve_forever, daemon=True).start()
        address = f"http://127.0.0.1:{servers[-1].server_port}"
        kind.address = address  # type: ignore[attr-defined]
        if place == "machine":
            monkeypatch.setenv("AWS_EC2_METADATA_SERVICE_ENDPOINT", address)
        elif place == "container":
            monkeypatch.setenv("AWS_CONTAINER_CREDENTIALS_FULL_URI", f"{address}/keys")
            monkeypatch.setenv("AWS_CONTAINER_AUTHORIZATION_TOKEN", CANARY)
        return kind

    yield started
    for each in servers:
        each.RequestHandlerClass.ended.set()  # type: ignore[attr-defined]
        each.shutdown()
        each.server_close()


def found() -> AwsCredentials | str:
    """Return the credentials, or the error."""
    try:
        return find_credentials(None, SystemClock(), ThreadResolver())
    except AuthenticationError as e:
        return str(e)


PLACES = pytest.mark.parametrize("place", ["machine", "container"])


@PLACES
def test_keys_of_a_service_are_found(place: str, serve: Serve) -> None:
    kind = serve(place=place)
    assert found() == AwsCredentials("A", "s", "t")
    assert (CANARY in kind.requests[-1]) == (place == "container")


@PLACES
def test_response_without_an_end_is_not_read_to_its_end(place: str, serve: Serve) -> None:
    kind = serve(Endless, place)
    assert isinstance(found(), str)
    assert 0 < kind.sent_bytes < MOST_SENT_BYTES


@PLACES
def test_response_that_never_ends_ends_with_the_timeout(place: str, serve: Serve) -> None:
    serve(Slow, place)
    assert isinstance(found(), str)


@PLACES
def test_redirect_is_not_followed(place: str, serve: Serve) -> None:
    other = serve()
    serve(Redirect, place, to=f"{other.address}/keys")  # type: ignore[attr-defined]
    assert isinstance(found(), str)
    assert other.requests == []


@PLACES
def test_refusal_forges_no_line_and_shows_no_token(place: str, serve: Serve) -> None:
    serve(Echo, place)
    text = found()
    assert isinstance(text, str)
    assert text.isprintable()
    assert CANARY not in text


@PLACES
@pytest.mark.parametrize(
    "keys",
    [
        {**KEYS, "SecretAccessKey": {"a": 1}},
        {**KEYS, "AccessKeyId": ["A"]},
        {**KEYS, "Token": [1]},
        {**KEYS, "AccessKeyId": None},
        {**KEYS, "Expiration": "\x1b[31m\nhint: x"},
        [1, 2],
        "text",
        b"<html>\x1b\nhint: x</html>",
        b"[" * 100_000,
        b"\xff\xfe",
        b"",
    ],
    ids=lambda keys: str(keys)[:40],
)
def test_odd_keys_are_an_error_of_one_line(keys: object, place: str, serve: Serve) -> None:
    serve(place=place, keys=keys)
    text = found()
    assert isinstance(text, str)
    assert text.isprintable()
