"""Delta tables in a store that refuses or is busy: named by the cause, after attempts until the timeout."""

import re
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from kctl.pipeline.job_errors import StoreUnreachableError
from kctl.pipeline.locations import DeltaTable
from kctl.pipeline.targets import open_target
from tests.support.faults.peers import refused

TABLE = DeltaTable("s3://bucket/t")
PROPERTIES = {"default.api.timeout.ms": "2000", "request.timeout.ms": "1000"}


class Busy(BaseHTTPRequestHandler):
    """Answers everything with 503."""

    requests = 0

    def do_GET(self) -> None:
        type(self).requests += 1
        self.send_response(503)
        self.send_header("Content-Length", "4")
        self.end_headers()
        self.wfile.write(b"busy")

    do_HEAD = do_GET

    def log_message(self, format: str, *args: object) -> None:
        """Log nothing."""


@pytest.fixture(autouse=True)
def _credentials(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "any")
    monkeypatch.setenv("AWS_REGION", "us-east-1")
    monkeypatch.delenv("AWS_ENDPOINT_URL_S3", raising=False)


@pytest.fixture
def busy(monkeypatch: pytest.MonkeyPatch) -> Iterator[type[Busy]]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Busy)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    monkeypatch.setenv("AWS_ENDPOINT_URL", f"http://127.0.0.1:{server.server_port}")
    yield Busy
    server.shutdown()
    thread.join()
    server.server_close()


def test_table_in_a_store_that_answers_with_503_is_tried_until_the_api_timeout(busy: type[Busy]) -> None:
    with pytest.raises(
        StoreUnreachableError, match=r"^delta:s3://bucket/t: the object store responded 503 .*retries\)$"
    ):
        open_target(TABLE, PROPERTIES).read()
    assert busy.requests > 1


def test_table_in_a_store_that_refuses_connections_is_named_by_that(monkeypatch: pytest.MonkeyPatch) -> None:
    with refused() as address:
        monkeypatch.setenv("AWS_ENDPOINT_URL", f"http://{address}")
        with pytest.raises(
            StoreUnreachableError,
            match=rf"cannot connect to the object store at {re.escape(address)} \(\d+ retries\)$",
        ):
            open_target(TABLE, PROPERTIES).read()
