"""Which contents are signed on their way into S3: those that go without TLS, unless the environment says otherwise."""

import ssl
import threading
from collections.abc import Callable, Iterator
from hashlib import sha256
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from kctl.pipeline.job_errors import StoreUnreachableError
from kctl.pipeline.locations import StoreUrl
from kctl.pipeline.object_store.store import ObjectStore, StoreTimeouts
from tests.support.kafka.certificates import Certificates, make_certificates
from tests.support.kafka.requirements import have

CONTENT = b"records"
SIGNED, UNSIGNED = sha256(CONTENT).hexdigest(), "UNSIGNED-PAYLOAD"
Serve = Callable[[str], list[str]]


@pytest.fixture(scope="module")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Certificates:
    folder = tmp_path_factory.mktemp("certificates")
    return have(lambda: make_certificates(folder))


@pytest.fixture
def serve(monkeypatch: pytest.MonkeyPatch, certificates: Certificates) -> Iterator[Serve]:
    """Take puts by http or https as the endpoint of S3, and note how each says that its content is signed."""
    servers: list[ThreadingHTTPServer] = []

    def started(scheme: str) -> list[str]:
        seen: list[str] = []

        class Handler(BaseHTTPRequestHandler):
            def do_PUT(self) -> None:
                self.rfile.read(int(self.headers["Content-Length"]))
                seen.append(self.headers["x-amz-content-sha256"])
                self.send_response(200)
                self.send_header("Content-Length", "0")
                self.send_header("ETag", '"x"')
                self.end_headers()

            def log_message(self, *_arguments: object) -> None:
                """Log nothing."""

        servers.append(ThreadingHTTPServer(("127.0.0.1", 0), Handler))
        if scheme == "https":
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(certificates.broker)
            servers[-1].socket = context.wrap_socket(servers[-1].socket, server_side=True)
        threading.Thread(target=servers[-1].serve_forever, daemon=True).start()
        environment = {"AWS_ENDPOINT_URL": f"{scheme}://127.0.0.1:{servers[-1].server_port}", "AWS_REGION": "us-east-1"}
        login = dict.fromkeys(("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"), "key")
        for name, value in {**environment, **login, "SSL_CERT_FILE": str(certificates.ca)}.items():
            monkeypatch.setenv(name, value)
        for name in ("AWS_UNSIGNED_PAYLOAD", "SSL_CERT_DIR"):
            monkeypatch.delenv(name, raising=False)
        return seen

    yield started
    for each in servers:
        each.shutdown()
        each.server_close()


@pytest.mark.parametrize(
    ("scheme", "setting", "header"),
    [
        ("https", None, UNSIGNED),
        ("https", "true", UNSIGNED),
        ("https", "false", SIGNED),
        ("http", None, SIGNED),
        ("http", "true", UNSIGNED),
    ],
)
def test_content_is_signed_without_tls_or_by_the_environment(
    serve: Serve, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, scheme: str, setting: str | None, header: str
) -> None:
    seen = serve(scheme)
    if setting is not None:
        monkeypatch.setenv("AWS_UNSIGNED_PAYLOAD", setting)
    store, path = ObjectStore(StoreUrl("s3://bucket/x")), tmp_path / "file"
    path.write_bytes(CONTENT)
    store.put("put", CONTENT)
    store.create("created", CONTENT)
    store.upload("uploaded", path)
    assert seen == [header] * 3


def test_server_that_is_not_trusted_gets_no_content(
    serve: Serve, monkeypatch: pytest.MonkeyPatch, certificates: Certificates
) -> None:
    seen = serve("https")
    monkeypatch.setenv("SSL_CERT_FILE", str(certificates.stranger_ca))
    with pytest.raises(StoreUnreachableError):
        ObjectStore(StoreUrl("s3://bucket/x"), StoreTimeouts(1000, 1000, 1000)).put("put", CONTENT)
    assert seen == []
