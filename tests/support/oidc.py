"""An OpenID Connect provider on loopback: signed tokens, and the keys that brokers check them by."""

import json
import threading
from base64 import b64decode, urlsafe_b64encode
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from cryptography.hazmat.primitives.asymmetric.padding import PKCS1v15
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey, generate_private_key
from cryptography.hazmat.primitives.hashes import SHA256

from kctl.client.clock import SystemClock

CLIENT_ID, CLIENT_SECRET = "kctl", "canary-8812"
AUDIENCE = "kafka-of-the-tests"


class OidcProvider:
    """Attributes:
    given: how many tokens the endpoint gave.
    lifetime_s: of the next ones.
    statuses: what the endpoint answers first, instead of tokens.
    """

    def __init__(self) -> None:
        self.base = ""
        self.given = 0
        self.lifetime_s = 3600
        self.audience = AUDIENCE
        self.statuses: list[int] = []
        self._key = generate_private_key(65537, 2048)
        self._other_key = generate_private_key(65537, 2048)

    @property
    def token_url(self) -> str:
        return f"{self.base}/token"

    @property
    def keys_url(self) -> str:
        return f"{self.base}/jwks"

    def token(
        self,
        *,
        audience: str | None = None,
        issuer: str | None = None,
        lifetime_s: int | None = None,
        is_forged: bool = False,
    ) -> str:
        """Return a signed token. Args: is_forged: by another key than that of the key set."""
        now_s = SystemClock().wall_ms() // 1000
        claims = {
            "sub": "carol",
            "iss": issuer or self.base,
            "aud": audience or self.audience,
            "iat": now_s - 5,
            "exp": now_s + (self.lifetime_s if lifetime_s is None else lifetime_s),
        }
        body = f"{_base64url({'alg': 'RS256', 'typ': 'JWT', 'kid': 'first'})}.{_base64url(claims)}"
        key = self._other_key if is_forged else self._key
        return f"{body}.{_unpadded(key.sign(body.encode(), PKCS1v15(), SHA256()))}"

    def keys(self) -> dict[str, object]:
        """Return the key set (RFC 7517)."""
        return {"keys": [_public_of(self._key)]}


def _public_of(key: RSAPrivateKey) -> dict[str, str]:
    numbers = key.public_key().public_numbers()
    modulus, exponent = (_unpadded(n.to_bytes((n.bit_length() + 7) // 8)) for n in (numbers.n, numbers.e))
    return {"kty": "RSA", "use": "sig", "alg": "RS256", "kid": "first", "n": modulus, "e": exponent}


def _base64url(content: object) -> str:
    return _unpadded(json.dumps(content).encode())


def _unpadded(data: bytes) -> str:
    return urlsafe_b64encode(data).rstrip(b"=").decode()


@contextmanager
def running_provider() -> Iterator[OidcProvider]:
    """Serve tokens and keys while the block runs."""
    provider = OidcProvider()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self._answer(200, provider.keys())

        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["Content-Length"]))
            login = b64decode(self.headers["Authorization"].removeprefix("Basic ")).decode()
            if provider.statuses:
                self._answer(provider.statuses.pop(0), {"error": "temporarily_unavailable"})
            elif login != f"{CLIENT_ID}:{CLIENT_SECRET}":
                self._answer(401, {"error": "invalid_client", "error_description": "unknown client"})
            else:
                provider.given += 1
                self._answer(200, {"access_token": provider.token(), "expires_in": provider.lifetime_s})

        def _answer(self, status: int, content: dict[str, object]) -> None:
            body = json.dumps(content).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    provider.base = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield provider
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
