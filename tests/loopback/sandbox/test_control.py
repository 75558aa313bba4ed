"""Commands to a sandbox that runs: the Unix socket, who may use it, and what does not fit into a line."""

import os
import socket
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from kctl.sandbox import Fault, Sandbox
from kctl.sandbox.control_socket import MAX_LINE_BYTES, tell
from kctl.sandbox.server import ServedSandbox
from tests.support.bounds import bound

PATIENCE_S = bound(60.0)


@pytest.fixture
def served(tmp_path: Path) -> Iterator[ServedSandbox]:
    with Sandbox(nodes=2, topics={"t": 1}).serve() as served:
        served.serve_commands(tmp_path / "s")
        yield served


def test_a_command_is_carried_out_before_it_is_answered(served: ServedSandbox, tmp_path: Path) -> None:
    assert tell(tmp_path / "s", ["start", "2", "freeze"], PATIENCE_S) is None
    assert served.sandbox.cluster.nodes[2].faults.is_frozen
    assert tell(tmp_path / "s", ["heal"], PATIENCE_S) is None
    assert not served.sandbox.cluster.nodes[2].faults.is_frozen


def test_a_refusal_says_why(served: ServedSandbox, tmp_path: Path) -> None:
    assert tell(tmp_path / "s", ["lead", "t", "0", "7"], PATIENCE_S) == "lead: no node 7; there are 1 to 2"
    assert not served.sandbox.cluster.nodes[1].faults.active


def test_only_its_user_may_connect_and_the_file_goes_with_it(tmp_path: Path) -> None:
    with Sandbox(nodes=1).serve() as served:
        served.serve_commands(tmp_path / "s")
        assert stat.S_IMODE(os.stat(tmp_path / "s").st_mode) == 0o600
    assert not (tmp_path / "s").exists()
    with pytest.raises(FileNotFoundError):
        tell(tmp_path / "s", ["heal"], PATIENCE_S)


def test_a_path_that_exists_is_left_alone(served: ServedSandbox, tmp_path: Path) -> None:
    (tmp_path / "other").write_text("mine")
    with pytest.raises(OSError, match="in use"):
        served.serve_commands(tmp_path / "other")
    assert (tmp_path / "other").read_text() == "mine"


def test_the_socket_of_a_killed_process_is_replaced(tmp_path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as killed:
        killed.bind(str(tmp_path / "s"))
        killed.listen()
    with Sandbox(nodes=1).serve() as served:
        served.serve_commands(tmp_path / "s")
        assert tell(tmp_path / "s", ["heal"], PATIENCE_S) is None


def test_the_socket_of_a_running_sandbox_is_left_alone(served: ServedSandbox, tmp_path: Path) -> None:
    with Sandbox(nodes=1).serve() as other, pytest.raises(OSError, match="in use"):
        other.serve_commands(tmp_path / "s")
    assert tell(tmp_path / "s", ["heal"], PATIENCE_S) is None


def test_several_commands_on_one_connection(served: ServedSandbox, tmp_path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as sock:
        sock.settimeout(PATIENCE_S)
        sock.connect(str(tmp_path / "s"))
        sock.sendall(b"start 1 refuse\nnope\nstart 2 re")
        answers = b""
        while answers.count(b"\n") < 2:
            answers += sock.recv(4096)
        assert answers.startswith(b"ok\nerror: unknown command 'nope'")
        sock.sendall(b"fuse\n")
        assert sock.recv(4096) == b"ok\n"
    assert [node.faults.active for node in served.sandbox.cluster.nodes.values()] == [(Fault.REFUSE,)] * 2


def _is_ended(sock: socket.socket) -> bool:
    try:
        return sock.recv(1) == b""
    except ConnectionResetError:
        return True


def test_an_endless_line_ends_the_connection_and_nothing_else(served: ServedSandbox, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="one line of at most"):
        tell(tmp_path / "s", ["x" * MAX_LINE_BYTES], PATIENCE_S)
    with socket.socket(socket.AF_UNIX) as sock:
        sock.settimeout(PATIENCE_S)
        sock.connect(str(tmp_path / "s"))
        sock.sendall(b"x" * (MAX_LINE_BYTES + 1))
        assert _is_ended(sock)
    assert tell(tmp_path / "s", ["heal"], PATIENCE_S) is None
    assert served.open_connections == 0
