"""A token endpoint of OAuth client credentials on loopback: gives the unsecured tokens that test brokers accept."""

import json
import threading
from base64 import b64decode
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer

from kctl.client.clock import SystemClock
from kctl.client.security.sasl.oauthbearer import unsecured_token

CLIENT_ID, CLIENT_SECRET = "kctl", "canary-4471"


class TokenEndpoint:
    """Attributes: url; given: how many tokens were given; lifetime_s: of the next ones."""

    def __init__(self, lifetime_s: int) -> None:
        self.url = ""
        self.given = 0
        self.lifetime_s = lifetime_s

    def token(self) -> str:
        """Return a new token for the test brokers' user."""
        options = {"unsecuredLoginStringClaim_sub": "carol", "unsecuredLoginLifetimeSeconds": str(self.lifetime_s)}
        return unsecured_token(options, SystemClock().wall_ms())


@contextmanager
def running_endpoint(lifetime_s: int = 3600) -> Iterator[TokenEndpoint]:
    """Serve tokens while the block runs."""
    endpoint = TokenEndpoint(lifetime_s)

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["Content-Length"]))
            login = b64decode(self.headers["Authorization"].removeprefix("Basic ")).decode()
            if login == f"{CLIENT_ID}:{CLIENT_SECRET}":
                endpoint.given += 1
                self._answer(200, {"access_token": endpoint.token(), "expires_in": endpoint.lifetime_s})
            else:
                self._answer(401, {"error": "invalid_client", "error_description": "who are you?"})

        def _answer(self, status: int, content: dict[str, object]) -> None:
            body = json.dumps(content).encode()
            self.send_response(status)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:
            pass

    server = HTTPServer(("127.0.0.1", 0), Handler)
    endpoint.url = f"http://127.0.0.1:{server.server_port}/token"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield endpoint
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
