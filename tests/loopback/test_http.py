"""HttpClient against real sockets: responses, reused connections, and slow, silent, wrong or hostile servers."""

import asyncio
import re
import socket
import ssl
import sys
import threading
from base64 import b64encode
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from kctl.client.aio.bridge import run
from kctl.client.aio.http import AwaitedHttpClient
from kctl.client.aio.surroundings import async_runtime
from kctl.client.clock import SystemClock, Timer
from kctl.client.errors import (
    ApiTimeout,
    ConfigError,
    ConnectionLost,
    ConnectionRefused,
    ConnectTimeout,
    DnsError,
    KafkaError,
    RequestTimeout,
    TransportError,
    WrongPeerError,
)
from kctl.client.http import HttpClient, HttpLimits, HttpResponse, read_json
from kctl.client.network.resolver import ThreadResolver
from tests.support.bounds import bound
from tests.support.faults.peers import refused
from tests.support.kafka.certificates import Certificates, make_certificates
from tests.support.kafka.requirements import have

CLOCK = SystemClock()
UNREACHABLE_HINT = "check a.url and that the server runs"
OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"


@contextmanager
def server(*answers: bytes | Callable[[socket.socket], None]) -> Iterator[tuple[int, list[bytes]]]:
    """Serve one connection after the other; each request gets the next answer. Yields the port and the requests."""
    requests: list[bytes] = []
    left = list(answers)
    listener = socket.create_server(("127.0.0.1", 0))

    def serve() -> None:
        while left:
            try:
                connection, _ = listener.accept()
            except OSError:
                return
            with connection:
                while left and (data := connection.recv(65536)):
                    requests.append(data)
                    answer = left.pop(0)
                    try:
                        if callable(answer):
                            answer(connection)
                            break
                        connection.sendall(answer)
                    except OSError:
                        break

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    try:
        yield listener.getsockname()[1], requests
    finally:
        left.clear()
        listener.shutdown(socket.SHUT_RDWR)
        listener.close()
        thread.join(bound(10))


OPEN: list[HttpClient] = []


@pytest.fixture(autouse=True, params=["blocking", "awaited"])
def client_class(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Each test runs with the client of threads and with the client of event loops."""
    monkeypatch.setattr(sys.modules[__name__], "is_awaited", request.param == "awaited")
    yield
    while OPEN:
        OPEN.pop().close()


is_awaited = False


class OnEventLoop(AwaitedHttpClient):
    """Client whose requests are awaited, one event loop for each."""

    def request(self, *args: Any, **kwargs: Any) -> HttpResponse:
        watched: set[int] = set()

        async def main() -> HttpResponse:
            try:
                return await run(partial(AwaitedHttpClient.request, self, *args, **kwargs))
            finally:
                watched.update(asyncio.get_running_loop()._selector.get_map())  # type: ignore[attr-defined]

        try:
            return asyncio.run(main())
        finally:
            assert len(watched) == 1, "the event loop watches sockets that nobody awaits"


def client(
    *, connect_ms: int = 5000, request_ms: int = 5000, most_bytes: int = 1000, trusted: Path | None = None
) -> HttpClient:
    limits = HttpLimits(connect_ms, request_ms, most_bytes)
    given = CLOCK, ThreadResolver(), limits, partial(ssl.create_default_context, cafile=trusted)
    http = OnEventLoop(*given, async_runtime()[1]) if is_awaited else HttpClient(*given)
    OPEN.append(http)
    return http


def ask(http: HttpClient, port: int, *, host: str = "127.0.0.1", timeout_ms: int = 10_000, path: str = "/a") -> bytes:
    return http.request("GET", f"http://{host}:{port}{path}", Timer(CLOCK, timeout_ms), setting="a.url").body


def test_request_and_response() -> None:
    with server(b"HTTP/1.1 404 Not here\r\nX-A: b\r\nContent-Length: 3\r\n\r\nabc") as (port, requests):
        http = client()
        url = f"http://localhost:{port}/a?b=c"
        response = http.request("POST", url, Timer(CLOCK, 5000), setting="a.url", body=b"x", headers={"X-B": "d"})
        http.close()
    assert response == (404, "Not here", {"x-a": "b", "content-length": "3"}, b"abc")
    assert requests[0].startswith(b"POST /a?b=c HTTP/1.1\r\nHost: localhost:")
    assert b"X-B: d\r\n" in requests[0]
    assert requests[0].endswith(b"\r\n\r\nx")


@pytest.mark.parametrize(
    "authorization", ["Basic " + b64encode(b"me:canary-1").decode(), "Bearer canary-1.x", "Bearer x", ""]
)
def test_error_that_repeats_the_login_is_returned_without_it(authorization: str) -> None:
    def repeat(status: bytes) -> bytes:
        content = b"you are me:canary-1 as " + authorization.encode()
        return b"HTTP/1.1 %s canary-1\r\nContent-Length: %d\r\n\r\n%s" % (status, len(content), content)

    with server(repeat(b"401"), repeat(b"200")) as (port, _):
        http, url = client(), f"http://127.0.0.1:{port}/"
        refused = http.request(
            "GET", url, Timer(CLOCK, 10_000), setting="a.url", headers={"Authorization": authorization}
        )
        accepted = http.request(
            "GET", url, Timer(CLOCK, 10_000), setting="a.url", headers={"Authorization": authorization}
        )
    assert authorization.encode() in accepted.body
    if authorization.startswith("Basic"):
        assert (refused.body, refused.reason) == (b"you are *** as Basic ***", "***")
    if authorization == "Bearer canary-1.x":
        assert refused.body == b"you are me:canary-1 as Bearer ***"


@pytest.mark.parametrize("text", [r"a\"\u0026\/\\b", r"a\u0022&/\u005cb", r"a\"\u0026/\u005Cb"])
def test_error_that_repeats_the_login_as_json_is_returned_without_it(text: str) -> None:
    content = b'{"message":"wrong %s!"}' % text.encode()
    login = "Basic " + b64encode(b'me:a"&/\\b').decode()
    with server(b"HTTP/1.1 401 no\r\nContent-Length: %d\r\n\r\n%s" % (len(content), content)) as (port, _):
        http, url = client(), f"http://127.0.0.1:{port}/"
        refused = http.request("GET", url, Timer(CLOCK, 10_000), setting="a.url", headers={"Authorization": login})
    assert refused.body == b'{"message":"wrong ***!"}'


def test_connection_is_used_again_and_replaced_where_the_server_closed_it() -> None:
    def answer_and_close(connection: socket.socket) -> None:
        connection.sendall(OK)

    with server(OK, answer_and_close, OK) as (port, requests):
        http = client()
        assert [ask(http, port) for _ in range(3)] == [b"ok"] * 3
        http.close()
    assert len(requests) == 3


def test_connection_of_a_request_that_outlives_close_is_closed() -> None:
    ends: list[bytes] = []
    http = client()

    def close_and_answer(connection: socket.socket) -> None:
        http.close()
        connection.sendall(OK)
        connection.settimeout(bound(5))
        ends.append(connection.recv(1))

    with server(close_and_answer, OK) as (port, _):
        assert [ask(http, port) for _ in range(2)] == [b"ok"] * 2
    assert (ends, http._idle) == ([b""], {})


@pytest.mark.parametrize("begun", [b"H", b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\no"])
def test_request_whose_response_broke_off_is_not_sent_again(begun: bytes) -> None:
    def break_off(connection: socket.socket) -> None:
        connection.sendall(begun)

    with server(OK, break_off, OK) as (port, requests):
        http = client()
        assert ask(http, port) == b"ok"
        with pytest.raises(TransportError, match=f"127.0.0.1:{port}: "):
            http.request("POST", f"http://127.0.0.1:{port}/a", Timer(CLOCK, 5000), setting="a.url", body=b"x")
        http.close()
    assert [request.split()[0] for request in requests] == [b"GET", b"POST"]


def test_chunked_response_is_read_whole() -> None:
    with server(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n1\r\nd\r\n0\r\n\r\n") as (port, _):
        assert ask(client(), port) == b"abcd"


def drip(connection: socket.socket) -> None:
    """Send a header a byte at a time, without end."""
    try:
        connection.sendall(b"HTTP/1.1 200 OK\r\nX: ")
        stop = threading.Event()
        while not stop.wait(0.02):
            connection.sendall(b"x")
    except OSError:
        return


def silent(connection: socket.socket) -> None:
    """Send nothing until the client leaves."""
    connection.recv(1)


@pytest.mark.parametrize("answer", [drip, silent])
def test_slow_or_silent_server_ends_by_the_request_timeout(answer: Callable[[socket.socket], None]) -> None:
    with server(answer) as (port, _), pytest.raises(RequestTimeout, match=r"request.timeout.ms.*127\.0\.0\.1"):
        ask(client(request_ms=200), port)


def sip(connection: socket.socket) -> None:
    """Read the request a piece at a time."""
    stop = threading.Event()
    while not stop.wait(0.02) and connection.recv(65536):
        pass


def test_server_that_reads_slowly_ends_by_the_request_timeout() -> None:
    http, timer, body = client(request_ms=1000), Timer(CLOCK, 60_000), bytes(16_000_000)
    with server(sip) as (port, _), pytest.raises(RequestTimeout) as raised:
        http.request("POST", f"http://127.0.0.1:{port}/", timer, setting="a.url", body=body)
    assert raised.value.elapsed_ms < bound(2500)


def test_api_timeout_ends_a_request_before_its_own() -> None:
    with server(silent) as (port, _), pytest.raises(ApiTimeout, match=r"default.api.timeout.ms"):
        ask(client(), port, timeout_ms=200)


@pytest.mark.parametrize(
    ("answer", "kind"),
    [
        (b"SSH-2.0-x\r\n", WrongPeerError),
        (b"\x15\x03\x01\x00\x02\x02\x46", WrongPeerError),
        (b"HTTP/1.1 200 OK\r\n" + b"X: y\r\n" * 200 + b"\r\n", WrongPeerError),
        (b"HTTP/1.1 200 OK\r\nX: " + b"y" * 70_000 + b"\r\n\r\n", WrongPeerError),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 999999999\r\n\r\n", WrongPeerError),
        (b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n" + b"x" * 5000, WrongPeerError),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n", ConnectionLost),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nabc", ConnectionLost),
        (b"", ConnectionLost),
    ],
)
def test_hostile_response_is_an_error_with_the_address(answer: bytes, kind: type[KafkaError]) -> None:
    def send_and_close(connection: socket.socket) -> None:
        connection.sendall(answer)

    with server(send_and_close) as (port, _), pytest.raises(kind, match=rf"127\.0\.0\.1:{port}: "):
        ask(client(), port)


def test_port_where_nothing_listens_leads_to_the_property_of_the_url() -> None:
    with (
        refused() as address,
        pytest.raises(ConnectionRefused, match=f"{re.escape(address)}: connection refused") as raised,
    ):
        ask(client(), int(address.rpartition(":")[2]))
    assert (raised.value.phase, raised.value.address) == ("tcp", address)
    assert raised.value.hint == UNREACHABLE_HINT


def test_name_that_does_not_exist_leads_to_the_property_of_the_url() -> None:
    with pytest.raises(DnsError, match=r"nothing\.invalid:80: ") as raised:
        ask(client(), 80, host="nothing.invalid")
    assert (raised.value.phase, raised.value.hint) == ("dns", UNREACHABLE_HINT)


@pytest.mark.parametrize(
    ("connect_ms", "api_ms", "limit"),
    [
        (300, 10_000, r"within 300ms \(socket.connection.setup.timeout.ms\)"),
        (10_000, 300, r"within 300ms \(default.api.timeout.ms\)"),
        (300, 300, r"within 300ms \(socket.connection.setup.timeout.ms\)"),
    ],
)
def test_tls_handshake_that_hangs_names_the_timeout_that_ended_it(connect_ms: int, api_ms: int, limit: str) -> None:
    with server(silent) as (port, _), pytest.raises(ConnectTimeout, match=limit) as raised:
        client(connect_ms=connect_ms).request(
            "GET", f"https://127.0.0.1:{port}/", Timer(CLOCK, api_ms), setting="a.url"
        )
    assert raised.value.phase == "tls"


@pytest.mark.parametrize(
    ("connect_ms", "api_ms", "limit"),
    [
        (300, 10_000, r"within 300ms \(socket.connection.setup.timeout.ms\)"),
        (10_000, 300, r"within 300ms \(default.api.timeout.ms\)"),
    ],
)
def test_connection_that_hangs_names_the_timeout_that_ended_it(connect_ms: int, api_ms: int, limit: str) -> None:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen(0)
        port = listener.getsockname()[1]
        plugs = [socket.socket() for _ in range(3)]
        try:
            for plug in plugs:
                plug.setblocking(False)
                plug.connect_ex(("127.0.0.1", port))
            with pytest.raises(ConnectTimeout, match=limit) as raised:
                ask(client(connect_ms=connect_ms), port, timeout_ms=api_ms)
        finally:
            for plug in plugs:
                plug.close()
    assert (raised.value.phase, raised.value.hint) == ("tcp", UNREACHABLE_HINT)


def test_line_feed_in_a_header_is_refused() -> None:
    with server(OK) as (port, requests), pytest.raises(ConfigError, match="line feed"):
        client().request(
            "GET", f"http://127.0.0.1:{port}/", Timer(CLOCK, 1000), setting="a.url", headers={"A": "b\r\nC: d"}
        )
    assert requests == []


def test_plaintext_server_of_an_https_url() -> None:
    with server(b"HTTP/1.1 400 Bad Request\r\n\r\n") as (port, _), pytest.raises(KafkaError) as raised:
        client().request("GET", f"https://127.0.0.1:{port}/", Timer(CLOCK, 5000), setting="a.url")
    assert type(raised.value).__name__ == "TlsError"


@pytest.fixture(scope="module")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Certificates:
    folder = tmp_path_factory.mktemp("certificates")
    return have(lambda: make_certificates(folder))


def test_large_request_and_response_over_tls_on_one_connection(certificates: Certificates) -> None:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificates.broker)
    size, received = 3_000_000, []

    def respond(connection: socket.socket) -> None:
        with context.wrap_socket(connection, server_side=True) as secured, secured.makefile("rwb") as stream:
            for _ in range(2):
                while stream.readline() != b"\r\n":
                    pass
                received.append(stream.read(size))
                stream.write(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % size + b"y" * size)
                stream.flush()

    with socket.create_server(("127.0.0.1", 0)) as listener:
        serving = threading.Thread(target=lambda: respond(listener.accept()[0]))
        serving.start()
        http = client(most_bytes=size, trusted=certificates.ca)
        url = f"https://localhost:{listener.getsockname()[1]}/"
        for _ in range(2):
            given = http.request("POST", url, Timer(CLOCK, bound(20_000)), setting="a.url", body=b"x" * size)
            assert given.body == b"y" * size
        http.close()
        serving.join(bound(10))
    assert received == [b"x" * size] * 2


BEGIN = b"HTTP/1.1 200 OK\r\n"
ENDLESS = {
    "chunk of a negative size": BEGIN + b"Transfer-Encoding: chunked\r\n\r\n-1\r\n",
    "chunk of a huge size": BEGIN + b"Transfer-Encoding: chunked\r\n\r\nFFFFFFFFFF\r\n",
    "no size": BEGIN + b"\r\n",
    "headers": BEGIN + b"X: " + b"x" * 60_000 + b"\r\n",
    "trailers": BEGIN + b"Transfer-Encoding: chunked\r\n\r\n0\r\n",
    "interim responses": b"HTTP/1.1 100 Continue\r\n\r\n",
}


@pytest.mark.parametrize("head", ENDLESS.values(), ids=ENDLESS)
def test_response_is_bounded_whatever_its_framing_says(head: bytes) -> None:
    """The peer sends three times as much as a response may have."""
    with server(head + b"X: yyyyyyyyyyy\r\n" * 60_000) as (port, _), pytest.raises(WrongPeerError):
        ask(client(), port)


@pytest.mark.parametrize("body", [b"[" + b"{}," * 1_000_001 + b"{}]", b"[" + b"0," * 2_000_001 + b"0]"])
def test_json_of_too_many_values_is_refused_before_it_is_read(body: bytes) -> None:
    with pytest.raises(ValueError, match="more than 2000000 values"):
        read_json(body)
    assert read_json(b"[{},0]") == [{}, 0]
