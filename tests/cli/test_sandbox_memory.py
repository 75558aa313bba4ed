"""A sandbox keeps its memory bounded, whatever a client sends and does not read."""

import os
import select
import socket
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack

import pytest

from kctl.client.protocol.api.metadata import MetadataRequest
from tests.cli.processes import BOUND_S, address_of, kctl, running
from tests.support.frames import encode_request

QUIET_S = 2
"""A socket that takes nothing for so long has a reader that waits."""
ENDLESS_BYTES = 8 * 1024 * 1024
MOST_GROWTH_BYTES = 32 * 1024 * 1024
UNFINISHED_BYTES = 30 * 1024 * 1024
CONNECTIONS = 16
MOST_HELD_BYTES = 340 * 1024 * 1024


@pytest.fixture
def sandbox() -> "Iterator[subprocess.Popen[bytes]]":
    with running("sandbox", "start", "--nodes", "1", "--port", "0", "--topic", "t:200") as process:
        yield process


def place_of(process: "subprocess.Popen[bytes]") -> tuple[str, int]:
    host, port = address_of(process).rsplit(":", 1)
    return host, int(port)


def resident_bytes(process: "subprocess.Popen[bytes]") -> int:
    with open(f"/proc/{process.pid}/statm", "rb") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def pour(connection: socket.socket, data: bytes, most_bytes: int) -> int:
    """Send the data again and again until nobody takes it, or the connection ends; return how much was taken."""
    connection.setblocking(False)
    taken = 0
    while taken < most_bytes and select.select([], [connection], [], QUIET_S)[1]:
        try:
            taken += connection.send(data[taken % len(data) :])
        except OSError:
            break
    return taken


def test_client_that_pipelines_requests_and_reads_nothing_has_to_wait(sandbox: "subprocess.Popen[bytes]") -> None:
    address = place_of(sandbox)
    before_bytes = resident_bytes(sandbox)
    requests = encode_request(MetadataRequest(topics=None), 9, 1, "c") * 4096
    with socket.create_connection(address, BOUND_S) as connection:
        assert pour(connection, requests, ENDLESS_BYTES) < ENDLESS_BYTES
        assert kctl("topics", "list", "-b", f"{address[0]}:{address[1]}").code == 0, "others are served meanwhile"
        assert resident_bytes(sandbox) - before_bytes < MOST_GROWTH_BYTES


def test_unfinished_frames_are_bounded_and_given_back(sandbox: "subprocess.Popen[bytes]") -> None:
    address = place_of(sandbox)
    piece = bytes(1 << 20)
    for _ in range(2):  # what the first connections held is used again
        with ExitStack() as stack:
            for _ in range(CONNECTIONS):
                connection = stack.enter_context(socket.create_connection(address, BOUND_S))
                connection.sendall((50_000_000).to_bytes(4, "big"))
                pour(connection, piece, UNFINISHED_BYTES)
            assert resident_bytes(sandbox) < MOST_HELD_BYTES
        assert kctl("topics", "list", "-b", f"{address[0]}:{address[1]}").code == 0
