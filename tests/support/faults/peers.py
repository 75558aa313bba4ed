"""One context manager for each thing that may wait behind an address; each yields `host:port`.

Everything runs on loopback and ends with its context: no thread and no socket is left.
"""

import contextlib
import socket
import struct
import threading
from collections.abc import Callable, Iterator

from kctl.client.protocol.api.api_versions import ApiVersion, ApiVersionsRequest, ApiVersionsResponse
from kctl.client.protocol.api.metadata import MetadataRequest
from kctl.client.protocol.api.sasl import SaslHandshakeRequest
from kctl.client.protocol.framing import FrameReader, decode_request, encode_response
from kctl.client.protocol.schema import Request
from tests.support.bounds import bound

Peer = Callable[[], contextlib.AbstractContextManager[str]]


def _name(sock: socket.socket) -> str:
    host, port = sock.getsockname()[:2]
    return f"{host}:{port}"


@contextlib.contextmanager
def blackhole() -> Iterator[str]:
    """A port whose SYNs are dropped: its queue of length zero is filled by one plug connection."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen(0)
        plugs = []
        try:
            for _ in range(3):
                plug = socket.socket()
                plug.setblocking(False)
                with contextlib.suppress(BlockingIOError):
                    plug.connect(listener.getsockname())
                plugs.append(plug)
            yield _name(listener)
        finally:
            for plug in plugs:
                plug.close()


@contextlib.contextmanager
def refused() -> Iterator[str]:
    """A port that is taken but on which nothing listens."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        yield _name(taken)


@contextlib.contextmanager
def silent() -> Iterator[str]:
    """A listener that accepts (the kernel does) and never says a word."""
    with socket.create_server(("127.0.0.1", 0), backlog=1024) as listener:
        yield _name(listener)


@contextlib.contextmanager
def talking(talk: Callable[[socket.socket], None]) -> Iterator[str]:
    """A listener that runs `talk` on each connection, one thread each; a broken connection ends it quietly."""
    stop = threading.Event()
    threads: list[threading.Thread] = []
    open_sockets: list[socket.socket] = []

    def serve(connection: socket.socket) -> None:
        with connection, contextlib.suppress(OSError):
            talk(connection)

    def accept(listener: socket.socket) -> None:
        while not stop.is_set():
            try:
                connection, _ = listener.accept()
            except TimeoutError:
                continue
            except OSError:
                return
            connection.settimeout(60)
            open_sockets.append(connection)
            thread = threading.Thread(target=serve, args=(connection,), daemon=True)
            thread.start()
            threads.append(thread)

    with socket.create_server(("127.0.0.1", 0), backlog=1024) as listener:
        listener.settimeout(0.1)
        acceptor = threading.Thread(target=accept, args=(listener,), daemon=True)
        acceptor.start()
        try:
            yield _name(listener)
        finally:
            stop.set()
            acceptor.join()
            for connection in open_sockets:
                with contextlib.suppress(OSError):
                    connection.shutdown(socket.SHUT_RDWR)
            for thread in threads:
                thread.join(bound(5))


def closes_at_once() -> contextlib.AbstractContextManager[str]:
    """Accepts and closes in order (FIN)."""
    return talking(lambda _: None)


def resets() -> contextlib.AbstractContextManager[str]:
    """Accepts and resets (RST) when the first bytes come."""

    def talk(connection: socket.socket) -> None:
        connection.recv(1)
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))

    return talking(talk)


def greets(greeting: bytes) -> contextlib.AbstractContextManager[str]:
    """Says `greeting` unasked and then listens, as SSH and SMTP servers do."""

    def talk(connection: socket.socket) -> None:
        connection.sendall(greeting)
        while connection.recv(4096):
            pass

    return talking(talk)


def answers(answer: bytes, *, close: bool = True) -> contextlib.AbstractContextManager[str]:
    """Waits for the first bytes, says `answer`, and closes, as HTTP and TLS servers do on nonsense."""

    def talk(connection: socket.socket) -> None:
        connection.recv(65536)
        connection.sendall(answer)
        if close:
            connection.shutdown(socket.SHUT_WR)
        while connection.recv(65536):
            pass

    return talking(talk)


def closes_after_bytes() -> contextlib.AbstractContextManager[str]:
    """Reads something and closes without a word, as a plaintext broker does on a TLS ClientHello."""

    def talk(connection: socket.socket) -> None:
        connection.recv(65536)
        connection.shutdown(socket.SHUT_WR)
        while connection.recv(65536):
            pass

    return talking(talk)


def only_versions() -> contextlib.AbstractContextManager[str]:
    """Answers ApiVersions as a broker does and then nothing more, though it goes on reading."""

    def talk(connection: socket.socket) -> None:
        frames = FrameReader(1 << 20)
        while data := connection.recv(65536):
            for frame in frames.feed(data):
                request = decode_request(frame)
                if request.api_key == ApiVersionsRequest.API_KEY:
                    connection.sendall(encode_response(_broker_versions(), request.version, request.correlation_id))

    return talking(talk)


def _broker_versions() -> ApiVersionsResponse:
    spoken: tuple[type[Request], ...] = (ApiVersionsRequest, MetadataRequest, SaslHandshakeRequest)
    ranges = [(each.API_KEY, *each.VALID_VERSIONS) for each in spoken]
    keys = [ApiVersion(api_key=key, min_version=first, max_version=last) for key, first, last in ranges]
    return ApiVersionsResponse(api_keys=keys)


TLS_ALERT = bytes.fromhex("15030300020250")
HTTP_ANSWER = b"HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n"
SSH_GREETING = b"SSH-2.0-OpenSSH_9.2p1\r\n"
SMTP_GREETING = b"220 mail.example ESMTP\r\n"
AMQP_ANSWER = b"AMQP\x00\x00\x09\x01"
REDIS_ANSWER = b"-ERR unknown command '', with args beginning with: \r\n"
HUGE_FRAME = struct.pack(">i", 0x7FFFFFFF) + b"\0" * 28
NEGATIVE_FRAME = struct.pack(">i", -2) + b"\0" * 28
