"""`kctl why --serve`: what a scraper gets, and what a hostile one does not."""

import os
import re
import signal
import socket
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress

import pytest

from kctl.cli.why.serve import MOST_CONNECTIONS, MetricsServer
from tests.cli.processes import BOUND_S, end, kctl, running

URL = re.compile(rb"serving http://127\.0\.0\.1:(\d+)/metrics until Ctrl-C")


@contextmanager
def serving(*words: str) -> Iterator[int]:
    """Run the command and return its port; Ctrl-C ends it."""
    with running(*words, "--serve", ":0") as process:
        assert process.stderr is not None
        found = URL.search(process.stderr.readline())
        assert found is not None
        yield int(found[1])
        process.send_signal(signal.SIGINT)
        assert end(process).code == 130


def ask(port: int, data: bytes) -> bytes:
    with socket.create_connection(("127.0.0.1", port), timeout=BOUND_S) as peer:
        peer.sendall(data)
        chunks = []
        while chunk := peer.recv(65536):
            chunks.append(chunk)
        return b"".join(chunks)


def scrape(port: int) -> bytes:
    return ask(port, b"GET /metrics HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")


def test_scraper_gets_findings_and_phases(bootstrap: str) -> None:
    with serving("why", "cluster", "-b", bootstrap) as port:
        while b"\nkctl_why_up 1\n" not in (page := scrape(port)):
            pass
        head, _, body = page.partition(b"\r\n\r\n")
        assert head.startswith(b"HTTP/1.1 200 OK\r\nContent-Type: text/plain; version=0.0.4")
        assert f"Content-Length: {len(body)}".encode() in head
        assert b"kctl_why_complete 1" in body
        assert b'phase="tcp"} ' in body
        assert ask(port, b"HEAD /metrics HTTP/1.0\r\n\r\n").partition(b"\r\n\r\n")[2] == b""


@pytest.mark.parametrize(
    ("data", "status"),
    [
        (b"GET / HTTP/1.1\r\n\r\n", b"404"),
        (b"POST /metrics HTTP/1.1\r\n\r\n", b"405"),
        (b"\x16\x03\x01\x02\x00\r\n\r\n", b"400"),
        (b"GET /metrics\r\n\r\n", b"400"),
        (b"GET /metrics HTTP/1.1\r\nX: " + b"x" * 100_000, b"431"),
        (b"GET /" + b"x" * 100_000, b"431"),
    ],
)
def test_wrong_request_is_refused(bootstrap: str, data: bytes, status: bytes) -> None:
    with serving("why", "cluster", "-b", bootstrap) as port:
        assert ask(port, data).startswith(b"HTTP/1.1 " + status + b" ")
        assert scrape(port).startswith(b"HTTP/1.1 200 ")


def test_silent_connections_keep_no_one_out(bootstrap: str) -> None:
    with serving("why", "cluster", "-b", bootstrap) as port, ExitStack() as stack:
        for _ in range(MOST_CONNECTIONS * 2):
            stack.enter_context(socket.create_connection(("127.0.0.1", port)))
        assert scrape(port).startswith(b"HTTP/1.1 200 ")


def test_busy_port_and_malformed_address_are_usage_errors(bootstrap: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        ended = kctl("why", "cluster", "-b", bootstrap, "--serve", f":{port}")
    assert ended.code == 2
    assert f"cannot listen on 127.0.0.1:{port} (--serve): Address already in use\n" in ended.stderr
    for address in ("9400x", ":70000", "host", ":-1"):
        assert kctl("why", "cluster", "-b", bootstrap, "--serve", address).code == 2


def test_connections_that_are_kept_open_are_bounded() -> None:
    server = MetricsServer("127.0.0.1", 0, lambda: "")
    try:
        with ExitStack() as stack:
            before = len(os.listdir("/proc/self/fd"))
            peers = [
                stack.enter_context(socket.create_connection(("127.0.0.1", server.port), timeout=BOUND_S))
                for _ in range(60)
            ]
            for peer in peers[:-MOST_CONNECTIONS]:
                with suppress(ConnectionResetError):
                    assert peer.recv(1) == b""
            assert len(os.listdir("/proc/self/fd")) - before == 60 + MOST_CONNECTIONS
    finally:
        server.close()


@pytest.mark.parametrize(
    ("listening", "host", "status"),
    [
        ("127.0.0.1", "127.0.0.1:9400", b"200"),
        ("127.0.0.1", "LocalHost", b"200"),
        ("127.0.0.1", "[::1]:9400", b"200"),
        ("127.0.0.1", "evil.example:9400", b"421"),
        ("127.0.0.1", "127.0.0.1.evil.example", b"421"),
        ("127.0.0.1", "", b"421"),
        ("127.0.0.1", "127.0.0.1]", b"421"),
        ("127.0.0.1", "[::1", b"200"),
        ("127.0.0.1", "evil.example@localhost", b"421"),
        ("127.0.0.1", "evil.example#@localhost", b"421"),
        ("0.0.0.0", "kctl.monitoring:9400", b"200"),
    ],
)
def test_page_at_a_loopback_address_is_not_for_pages_of_a_browser(
    listening: str, host: str, status: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    server = MetricsServer(listening, 0, lambda: "groups 1\n")
    try:
        answer = ask(server.port, f"GET /metrics HTTP/1.1\r\nHost: {host}\r\n\r\n".encode())
    finally:
        server.close()
    assert caplog.records == []  # asyncio logs what a task raises
    assert answer.split(b" ")[1] == status
    assert (b"groups" in answer) == (status == b"200")
