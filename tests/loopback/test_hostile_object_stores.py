"""Object stores that send more than was asked for, or list without an end: memory and time are bounded all the same."""

import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import ClassVar

import pytest

from kctl.cli.failures import CommandError
from kctl.cli.probe.report import stored
from kctl.pipeline.job_errors import StoreError, StoreTimeoutError
from kctl.pipeline.locations import StoreUrl
from kctl.pipeline.object_store import store as object_store
from kctl.pipeline.object_store.store import ObjectStore, StoreTimeouts

URL = StoreUrl("s3://bucket/x")
LIMITS = StoreTimeouts(request_ms=2000, connect_ms=2000, api_ms=1000)
SIZE, BLOCK = 1000, b"\n" * 65536
MOST_SENT_BYTES = 64 * 1024 * 1024
"""More than what is in buffers of sockets, and far less than a store sends until the API timeout."""
OBJECT = "<Contents><Key>x/{}.json</Key><LastModified>2015-10-21T07:28:00Z</LastModified><Size>1</Size></Contents>"


class Answers(BaseHTTPRequestHandler):
    """A body of `length` bytes for a range of 1000, and pages of `objects` objects, each of which names a next one."""

    length = objects = pages = sent_bytes = 0

    def do_GET(self) -> None:
        kind = type(self)
        if "list-type" not in self.path:
            self._begin(206, kind.length, "Content-Range", f"bytes 0-{SIZE - 1}/{SIZE}")
            try:
                for _ in range(0, kind.length, len(BLOCK)):
                    self.wfile.write(BLOCK)
                    kind.sent_bytes += len(BLOCK)
            except OSError:
                return
            return
        kind.pages += 1
        objects = "".join(OBJECT.format(kind.pages * kind.objects + number) for number in range(kind.objects))
        text = f"<NextContinuationToken>{kind.pages}</NextContinuationToken>{objects}"
        page = f"<ListBucketResult><Name>b</Name><IsTruncated>true</IsTruncated>{text}</ListBucketResult>".encode()
        self._begin(200, len(page), "Content-Type", "application/xml")
        self.wfile.write(page)

    def do_HEAD(self) -> None:
        self._begin(404, 0, "Content-Type", "text/plain")

    def _begin(self, status: int, length: int, name: str, value: str) -> None:
        self.send_response(status)
        headers = {"Last-Modified": "Wed, 21 Oct 2015 07:28:00 GMT", "ETag": '"x"', "Content-Length": str(length)}
        for each in (*headers.items(), (name, value)):
            self.send_header(*each)
        self.end_headers()

    def log_message(self, *_arguments: object) -> None:
        """Log nothing."""


Serve = Callable[..., type[Answers]]


@pytest.fixture
def serve(monkeypatch: pytest.MonkeyPatch) -> Iterator[Serve]:
    """Answer requests, as the attributes of Answers say."""
    servers: list[ThreadingHTTPServer] = []

    def started(base: type[Answers] = Answers, **attributes: object) -> type[Answers]:
        kind = type("Kind", (base,), attributes)
        servers.append(ThreadingHTTPServer(("127.0.0.1", 0), kind))
        threading.Thread(target=servers[-1].serve_forever, daemon=True).start()
        monkeypatch.setenv("AWS_ENDPOINT_URL", f"http://127.0.0.1:{servers[-1].server_port}")
        for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
            monkeypatch.setenv(name, "key")
        monkeypatch.setenv("AWS_REGION", "us-east-1")
        return kind

    yield started
    for each in servers:
        each.shutdown()
        each.server_close()


@pytest.mark.parametrize("length", [SIZE + 1, 20 * len(BLOCK), 2**40])
def test_body_that_is_longer_than_its_range_is_refused_and_not_read_to_its_end(serve: Serve, length: int) -> None:
    kind = serve(length=length)
    with pytest.raises(StoreError, match=f"x/a: the store sent more than the requested {SIZE} bytes"):
        ObjectStore(URL, LIMITS).open("a", SIZE).read(SIZE)
    assert kind.sent_bytes < MOST_SENT_BYTES


def test_list_of_empty_pages_ends_at_the_api_timeout(serve: Serve) -> None:
    kind = serve(objects=0)
    limits = LIMITS._replace(request_ms=60_000, api_ms=4000)  # a busy machine sends a page within 3 s
    with pytest.raises(StoreTimeoutError, match="x: the store did not list an object within 4s"):
        list(ObjectStore(URL, limits).list())
    assert kind.pages > 1


def test_list_without_an_end_is_refused(serve: Serve, monkeypatch: pytest.MonkeyPatch) -> None:
    serve(objects=10)
    monkeypatch.setattr(object_store, "MOST_OBJECTS", 200)
    with pytest.raises(StoreError, match="x has more than 200 objects"):
        list(ObjectStore(URL, LIMITS).list())


def test_folder_of_too_many_probe_files_is_refused(serve: Serve, monkeypatch: pytest.MonkeyPatch) -> None:
    serve(objects=10)
    monkeypatch.setattr(stored, "MOST_FILES", 200)
    with pytest.raises(CommandError, match="x: the directory has more than 200 JSON files"):
        stored.stored_files(URL, {})


class Content(Answers):
    """An object of `length` bytes, of which each request gets the range that it asks for."""

    requests: ClassVar[list[tuple[int, int]]] = []

    def do_GET(self) -> None:
        start, end = map(int, self.headers["Range"].removeprefix("bytes=").split("-"))
        self.requests.append((start, end + 1))
        self._begin(206, end + 1 - start, "Content-Range", f"bytes {start}-{end}/{self.length}")
        self.wfile.write(bytes(position % 251 for position in range(start, end + 1)))


def test_object_is_read_to_its_end_by_one_request(serve: Serve, monkeypatch: pytest.MonkeyPatch) -> None:
    size = 100_000
    requests: list[tuple[int, int]] = []
    serve(Content, length=size, requests=requests)
    whole = bytes(position % 251 for position in range(size))
    with ObjectStore(URL, LIMITS).open("a", size) as opened:
        assert opened.read() == whole
        assert opened.read() == b""
    assert requests == [(0, size)]
    requests.clear()
    with ObjectStore(URL, LIMITS).open("a", size) as opened:
        opened.seek(size - 20_000)
        assert opened.read() == whole[-20_000:]
    assert requests == [(size - 20_000, size)]
    requests.clear()
    monkeypatch.setattr(object_store, "LARGEST_READ_BYTES", size - 1)
    with (
        ObjectStore(URL, LIMITS).open("a", size) as opened,
        pytest.raises(StoreError, match=rf"x/a: cannot read {size} bytes in one request: the limit is {size - 1}"),
    ):
        opened.read()
    assert requests == []


class Refusals(Answers):
    """Every answer is one status, and its text is the request's own."""

    status = 400

    def do_GET(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"] or 0))
        text = f"{self.path} {self.headers}".encode()
        self._begin(type(self).status, len(text), "Content-Type", "text/plain")
        if self.command != "HEAD":
            self.wfile.write(text)

    do_PUT = do_POST = do_DELETE = do_HEAD = do_GET


CALLS: dict[str, Callable[[ObjectStore], object]] = {
    "create": lambda store: store.create("a", b"x"),
    "put": lambda store: store.put("a", b"x"),
    "read": lambda store: store.read("a"),
    "read_range": lambda store: store.read_range("a", 0, 1),
    "head": lambda store: store.head("a"),
    "list": lambda store: list(store.list()),
    "copy": lambda store: store.copy("a", "b"),
    "delete": lambda store: store.delete("a"),
}


@pytest.mark.parametrize("status", [400, 403, 409, 412])
@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_refusal_is_a_store_error_without_what_the_request_had(
    serve: Serve, monkeypatch: pytest.MonkeyPatch, status: int, call: Callable[[ObjectStore], object]
) -> None:
    serve(Refusals, status=status)
    names = ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN")
    for name in names:
        monkeypatch.setenv(name, "canary")
    with pytest.raises(StoreError) as raised:
        call(ObjectStore(URL, LIMITS))
    assert "canary" not in str(raised.value)
