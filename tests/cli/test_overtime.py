"""A response that takes longer to decode and to show than the API timeout ends the command with 17, by the timeout."""

import socket
import struct
import threading
from collections.abc import Iterator

import pytest

from kctl.client.protocol.api.api_versions import ApiVersionsRequest
from kctl.client.protocol.api.metadata import MetadataRequest
from tests.cli.processes import kctl

pytestmark = pytest.mark.process

TOPICS = 150_000
"""Several seconds of work."""


def _compact(data: bytes) -> bytes:
    assert len(data) < 127
    return bytes([len(data) + 1]) + data


def _uvarint(number: int) -> bytes:
    data = bytearray()
    while number > 127:
        data.append(number & 127 | 128)
        number >>= 7
    return bytes([*data, number])


def _metadata() -> bytes:
    """Return the body of a Metadata response, version 12, with one broker."""
    parts = [
        struct.pack(">Bi", 0, 0),
        b"\2",
        struct.pack(">i", 1),
        _compact(b"127.0.0.1"),
        struct.pack(">i", 9),
        b"\0\0",
    ]
    parts += [_compact(b"cluster"), struct.pack(">i", 1), _uvarint(TOPICS + 1)]
    for number in range(TOPICS):
        parts += [b"\0\0", _compact(b"topic-%07d" % number), struct.pack(">QQ", number, 1), b"\0\1\0\0\0\0\0"]
    return b"".join([*parts, b"\0"])


def _answer(request: bytes, metadata: bytes) -> bytes:
    api_key, _, correlation_id = struct.unpack_from(">hhi", request)
    if api_key == MetadataRequest.API_KEY:
        return struct.pack(">i", correlation_id) + metadata
    assert api_key == ApiVersionsRequest.API_KEY
    spoken = b"".join(struct.pack(">hhhB", *each, 0) for each in ((18, 0, 3), (3, 0, 12)))
    return struct.pack(">ihB", correlation_id, 0, 3) + spoken + b"\0\0\0\0\0"


@pytest.fixture(scope="module")
def bootstrap() -> Iterator[str]:
    """Serve a cluster with far too many topics."""
    metadata = _metadata()

    def serve(connection: socket.socket) -> None:
        with connection, connection.makefile("rb") as stream:
            while len(size := stream.read(4)) == 4:
                answer = _answer(stream.read(int.from_bytes(size, "big")), metadata)
                try:
                    connection.sendall(len(answer).to_bytes(4, "big") + answer)
                except OSError:  # it has left
                    return

    def accept() -> None:
        while True:
            try:
                connection, _ = listener.accept()
            except OSError:
                return
            threading.Thread(target=serve, args=(connection,), daemon=True).start()

    with socket.create_server(("127.0.0.1", 0)) as listener:
        threading.Thread(target=accept, daemon=True).start()
        yield f"127.0.0.1:{listener.getsockname()[1]}"
        listener.shutdown(socket.SHUT_RDWR)


@pytest.mark.parametrize("output", ["table", pytest.param("json", marks=pytest.mark.nightly), "jsonl"])
def test_topics_list_of_a_huge_response_ends_at_the_api_timeout(bootstrap: str, output: str) -> None:
    ended = kctl("topics", "list", "-b", bootstrap, "--api-timeout", "400ms", "--output", output)
    assert ended.code == 17, ended.stderr
    assert ended.stdout == b""
    assert "timed out after " in ended.stderr
    assert "(--api-timeout" in ended.stderr


def test_topics_list_of_a_huge_response_is_whole_where_there_is_time(bootstrap: str) -> None:
    ended = kctl("topics", "list", "-b", bootstrap, "--api-timeout", "300s", "--output", "jsonl", "-q")
    assert ended.code == 0, ended.stderr
    assert ended.stdout.count(b"\n") == TOPICS
