"""GoogleFront: Google Cloud Storage's XML API before moto's S3, as a process that can be killed while the data stays.

No emulator has the whole XML API, which obstore uses. It is S3's with other headers, by Google's documentation, so this
translates what differs and refuses what it does not know: `x-goog-if-generation-match: 0` writes an object unless there
is one, and the response is 412 where there is, as from Google's own storage-testbench; `x-goog-copy-source`; 404 for
the deletion of what does not exist. Nothing is signed, as with anonymous access.
"""

import http.client
import itertools
import json
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlsplit

from tests.support.s3.front import StoreFront
from tests.support.s3.server import ACCESS_KEY

AUTHORIZATION = (
    f"AWS4-HMAC-SHA256 Credential={ACCESS_KEY}/20260101/us-east-1/s3/aws4_request, SignedHeaders=, Signature="
)
"""moto takes any signature, and nothing without one."""
RENAMED = {"x-goog-copy-source": "x-amz-copy-source"}
PASSED = ("range", "content-type", "content-md5", "if-match", "if-none-match")
PARAMETERS = {"list-type", "prefix", "delimiter", "continuation-token", "max-keys", "start-after"}
PARAMETERS |= {"uploads", "uploadId", "partNumber"}
HOP = ("transfer-encoding", "connection", "content-length", "server", "date")


class GoogleFront(StoreFront):
    """Serves the buckets of an S3 server as Google's; a context manager."""

    module = __name__

    @property
    def environment(self) -> dict[str, str]:
        """What a process needs in its environment to use it."""
        key = {"gcs_base_url": self.endpoint, "disable_oauth": True}
        names = ("client_email", "private_key", "private_key_id")
        return {
            "GOOGLE_SERVICE_ACCOUNT_KEY": json.dumps({**key, **dict.fromkeys(names, "")}),
            "GOOGLE_ALLOW_HTTP": "true",
        }


class _Refused(Exception):
    def __init__(self, status: int, code: str) -> None:
        self.status, self.code = status, code


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    target_port = 0
    generations = itertools.count(1)

    def handle_any(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        try:
            headers = self._headers()
            if self.command == "DELETE" and "uploadId" not in self.path and self._ask("HEAD", {})[0] == 404:
                raise _Refused(404, "NoSuchKey")
            status, answered, content = self._ask(self.command, headers, body)
        except _Refused as e:
            text = f"<?xml version='1.0' encoding='UTF-8'?><Error><Code>{e.code}</Code></Error>"
            status, answered, content = e.status, {"Content-Type": "application/xml"}, text.encode()
        self.send_response_only(status)
        for name, value in answered.items():
            if name.lower() not in HOP and not name.lower().startswith("x-amz"):
                self.send_header(name, value)
        if status == 200 and self.command == "PUT":
            self.send_header("x-goog-generation", str(next(self.generations)))
        length = answered.get("Content-Length", "0") if self.command == "HEAD" else str(len(content))
        self.send_header("Content-Length", length)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(content)

    do_GET = do_PUT = do_HEAD = do_POST = do_DELETE = handle_any

    def _headers(self) -> dict[str, str]:
        """Return the headers for S3. Raises: _Refused: something that this does not know."""
        if unknown := parse_qs(urlsplit(self.path).query, keep_blank_values=True).keys() - PARAMETERS:
            raise _Refused(501, f"NotImplemented-{min(unknown)}")
        headers = {}
        for name, value in self.headers.items():
            if name.lower() == "x-goog-if-generation-match":
                if value != "0":
                    raise _Refused(501, "NotImplemented-generation")
                headers["If-None-Match"] = "*"
            elif name.lower() in RENAMED:
                headers[RENAMED[name.lower()]] = value
            elif name.lower().startswith("x-"):
                raise _Refused(501, f"NotImplemented-{name}")
            elif name.lower() in PASSED:
                headers[name] = value
        return headers

    def _ask(self, method: str, headers: dict[str, str], body: bytes = b"") -> tuple[int, dict[str, str], bytes]:
        there = http.client.HTTPConnection("127.0.0.1", self.target_port)
        try:
            there.request(method, self.path, body, {**headers, "Authorization": AUTHORIZATION})
            answer = there.getresponse()
            return answer.status, dict(answer.getheaders()), answer.read()
        finally:
            there.close()

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing."""


class _Server(ThreadingHTTPServer):
    def handle_error(self, request: object, client_address: object) -> None:
        """Say nothing: the client, or the server behind this, has gone away."""


if __name__ == "__main__":
    _Handler.target_port = int(sys.argv[2])
    _Server(("127.0.0.1", int(sys.argv[1])), _Handler).serve_forever()
