"""Client credentials: the token endpoint's responses, good and bad."""

import json
import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from urllib.parse import quote

import pytest

from kctl.client.clock import SystemClock, Timer
from kctl.client.config import ClientConfig
from kctl.client.errors import AuthenticationError, ConnectionLost, KafkaError, WrongPeerError
from kctl.client.http import HttpClient, HttpLimits
from kctl.client.network.fetched_tokens import fetched_tokens
from kctl.client.network.resolver import ThreadResolver
from kctl.client.oauth import AccessToken, ClientCredentials, fetch_token
from tests.support.bounds import bound
from tests.support.faults import peers

CLOCK = SystemClock()


@contextmanager
def endpoint(status: int, body: bytes) -> Iterator[tuple[str, list[tuple[str, bytes]]]]:
    """Serve one response; yields the URL, and of each request its Authorization and body."""
    seen: list[tuple[str, bytes]] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            seen.append((self.headers["Authorization"], self.rfile.read(int(self.headers["Content-Length"]))))
            self.send_response(status)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:
            pass

    server = HTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.handle_request, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/token", seen
    finally:
        thread.join(bound(10))
        server.server_close()


def token(url: str, *, scope: str | None = None, is_url_encoded: bool = False, secret: str = "s&cret") -> AccessToken:
    http = HttpClient(CLOCK, ThreadResolver(), HttpLimits(5000, 5000), ssl.create_default_context)
    wanted = ClientCredentials(url, "me:", secret, scope, is_url_encoded)
    try:
        return fetch_token(http, wanted, Timer(CLOCK, 10_000), setting="a.url")
    finally:
        http.close()


def test_token_is_fetched_by_id_and_secret() -> None:
    with endpoint(200, b'{"access_token":"abc","expires_in":3600,"token_type":"Bearer"}') as (url, seen):
        assert token(url, scope="a b") == AccessToken("abc", 3_600_000)
    assert seen == [("Basic bWU6OnMmY3JldA==", b"grant_type=client_credentials&scope=a+b")]
    assert "abc" not in repr(AccessToken("abc", 1))
    assert "s&cret" not in repr(ClientCredentials(url, "me", "s&cret"))


def test_id_and_secret_are_url_encoded_where_wanted() -> None:
    with endpoint(200, b'{"access_token":"abc"}') as (url, seen):
        assert token(url, is_url_encoded=True).lifetime_ms is None
    assert seen[0][0] == "Basic bWUlM0E6cyUyNmNyZXQ="


@pytest.mark.parametrize(
    ("status", "body", "kind", "text"),
    [
        (
            401,
            b'{"error":"invalid_client","error_description":"no\\nsuch client"}',
            AuthenticationError,
            "no.x0asuch client",
        ),
        (400, b'{"error":"invalid_scope"}', AuthenticationError, "invalid_scope"),
        (500, b"<html>", ConnectionLost, "HTTP 500"),
        (429, b'{"error":"slow_down"}', ConnectionLost, "slow_down"),
        (200, b"<html>", WrongPeerError, "no access_token"),
        (200, b'{"access_token":5}', WrongPeerError, "no access_token"),
        (200, b'{"access_token":""}', WrongPeerError, "no access_token"),
    ],
)
def test_refusal_or_wrong_response_is_an_error(status: int, body: bytes, kind: type[KafkaError], text: str) -> None:
    with endpoint(status, body) as (url, _), pytest.raises(kind, match=text) as raised:
        token(url)
    assert "s&cret" not in str(raised.value)


@pytest.mark.parametrize("is_url_encoded", [True, False])
@pytest.mark.parametrize("secret", ["s&cret", 'can"ary', "can\\ary", "canäry"])
def test_refusal_that_repeats_the_secret_is_an_error_without_it(secret: str, is_url_encoded: bool) -> None:
    words = {"error_description": f"wrong {secret}, {quote(secret, safe='')}"}
    with endpoint(401, json.dumps(words).encode()) as (url, _), pytest.raises(AuthenticationError) as raised:
        token(url, is_url_encoded=is_url_encoded, secret=secret)
    assert ": wrong ***, ***" in str(raised.value)


def test_endpoint_that_cannot_be_reached_leads_to_its_property() -> None:
    given = {
        "bootstrap.servers": "a:1",
        "security.protocol": "SASL_PLAINTEXT",
        "sasl.mechanism": "OAUTHBEARER",
        "sasl.oauthbearer.method": "oidc",
        "sasl.oauthbearer.client.id": "me",
        "sasl.oauthbearer.client.secret": "s&cret",
    }
    with peers.refused() as place:
        config = ClientConfig.parse({**given, "sasl.oauthbearer.token.endpoint.url": f"http://{place}/token"})
        tokens = fetched_tokens(config, CLOCK)
        assert tokens is not None
        tokens.get()
    with pytest.raises(ConnectionLost, match=f"cannot get an OAUTHBEARER token: {place}: connection refused") as raised:
        tokens.current()
    assert raised.value.hint.startswith("check sasl.oauthbearer.token.endpoint.url")
