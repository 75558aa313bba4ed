"""Endpoints that are no object store, or fail at first: no empty export, and a second attempt within --api-timeout."""

import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from kctl.pipeline.job_errors import StoreError
from kctl.pipeline.locations import StoreUrl
from kctl.pipeline.targets import read_export

URL = StoreUrl("s3://bucket/x")
PAGE = b"<html><body>Please log in.</body></html>"
NOTHING = b'<?xml version="1.0"?><ListBucketResult><Name>bucket</Name><KeyCount>0</KeyCount></ListBucketResult>'
Serve = Callable[[list[tuple[int, bytes]]], list[str]]


@pytest.fixture
def serve(monkeypatch: pytest.MonkeyPatch) -> Iterator[Serve]:
    """Answer requests with these statuses and contents, the last one again and again; note the requests."""
    servers: list[ThreadingHTTPServer] = []

    def started(answers: list[tuple[int, bytes]]) -> list[str]:
        seen: list[str] = []

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                seen.append(f"{self.command} {self.path}")
                status, content = answers.pop(0) if len(answers) > 1 else answers[0]
                if self.command == "HEAD" and content == NOTHING:
                    status = 404
                self.send_response(status)
                self.send_header("Content-Length", str(len(content)))
                self.send_header("Last-Modified", "Wed, 21 Oct 2015 07:28:00 GMT")
                self.send_header("ETag", '"x"')
                self.end_headers()
                if self.command != "HEAD":
                    self.wfile.write(content)

            do_HEAD = do_GET

            def log_message(self, *_arguments: object) -> None:
                """Log nothing."""

        servers.append(ThreadingHTTPServer(("127.0.0.1", 0), Handler))
        threading.Thread(target=servers[-1].serve_forever, daemon=True).start()
        monkeypatch.setenv("AWS_ENDPOINT_URL", f"http://127.0.0.1:{servers[-1].server_port}")
        for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
            monkeypatch.setenv(name, "key")
        monkeypatch.setenv("AWS_REGION", "us-east-1")
        return seen

    yield started
    for each in servers:
        each.shutdown()
        each.server_close()


def test_page_instead_of_a_list_is_no_empty_bucket(serve: Serve) -> None:
    serve([(200, PAGE)])
    with pytest.raises(StoreError, match=r"s3://bucket/x: the endpoint is not an object store"):
        read_export(URL, {})


def test_list_of_nothing_is_an_empty_bucket(serve: Serve) -> None:
    serve([(200, NOTHING)])
    assert read_export(URL, {}) == []


def test_store_that_fails_once_is_asked_again_where_the_api_timeout_is_the_shorter_one(serve: Serve) -> None:
    seen = serve([(503, b""), (200, NOTHING)])
    assert read_export(URL, {"default.api.timeout.ms": "20000", "request.timeout.ms": "30000"}) == []
    assert [each.partition(" ")[0] for each in seen] == ["GET", "GET", "HEAD"]
