"""Commands to a sandbox that runs: the Unix socket, who may use it, and what does not fit into a line."""

import os
import socket
import stat
import threading
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from kctl.cli.sandbox_control import new_socket, running_sandboxes
from kctl.sandbox import Fault, Sandbox, control_socket
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
    assert tell(tmp_path / "s", ["lead", "t", "0", "7"], PATIENCE_S) == "lead: no broker 7: use 1 to 2"
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


@pytest.mark.parametrize("target", ["killed", "nowhere"])
def test_a_link_is_left_alone(tmp_path: Path, target: str) -> None:
    with socket.socket(socket.AF_UNIX) as killed:
        killed.bind(str(tmp_path / "killed"))
    (tmp_path / "s").symlink_to(tmp_path / target)
    with Sandbox(nodes=1).serve() as served, pytest.raises(OSError, match="in use"):
        served.serve_commands(tmp_path / "s")
    assert (tmp_path / "s").is_symlink()
    assert sorted(each.name for each in tmp_path.iterdir()) == ["killed", "s"]


def test_sandbox_without_a_writable_directory_has_no_control_socket(monkeypatch: pytest.MonkeyPatch) -> None:
    """In a container with a read-only file system."""

    def refuse() -> str:
        raise FileNotFoundError("No usable temporary directory found")

    monkeypatch.setattr("tempfile.gettempdir", refuse)
    assert new_socket({}) is None
    assert running_sandboxes({}) == {}


def test_control_socket_is_left_out_if_its_directory_is_read_only(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert new_socket({"XDG_RUNTIME_DIR": str(tmp_path)}) is not None
    monkeypatch.setattr("os.access", lambda _, mode: mode != os.W_OK)
    assert new_socket({"XDG_RUNTIME_DIR": str(tmp_path)}) is None


def test_a_socket_that_does_not_listen_yet_is_not_removed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`kctl sandbox status` removes sockets of killed sandboxes while another sandbox starts."""
    environ = {"XDG_RUNTIME_DIR": str(tmp_path)}
    path = new_socket(environ)
    assert path is not None
    listen = socket.socket.listen
    started = []

    class Started(socket.socket):
        def listen(self, backlog: int = 1, /) -> None:
            if self.family == socket.AF_UNIX:
                started.append(running_sandboxes(environ))
            listen(self, backlog)

    with Sandbox(nodes=1).serve() as served:
        monkeypatch.setattr("kctl.sandbox.control_socket.socket.socket", Started)
        served.serve_commands(path)
        monkeypatch.undo()
        assert list(running_sandboxes(environ)) == [path]
    assert started == [{}]


def test_a_socket_that_replaces_that_of_a_killed_process_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two sandboxes find the socket of a killed process; one replaces it before the other does."""
    with socket.socket(socket.AF_UNIX) as killed:
        killed.bind(str(tmp_path / "s"))
    is_left_over = control_socket._is_left_over
    found: list[bool] = []

    def find(path: Path) -> bool:
        found.append(is_left_over(path))
        if len(found) == 1:
            (tmp_path / "s").unlink()
            fast.serve_commands(tmp_path / "s")
            assert found == [True, False], "the fast one found no file"
            return True
        return found[-1]

    with Sandbox(nodes=1).serve() as fast, Sandbox(nodes=1).serve() as slow:
        monkeypatch.setattr(control_socket, "_is_left_over", find)
        with pytest.raises(OSError, match="in use"):
            slow.serve_commands(tmp_path / "s")
        monkeypatch.undo()
        assert tell(tmp_path / "s", ["start", "1", "freeze"], PATIENCE_S) is None
        assert fast.sandbox.cluster.nodes[1].faults.is_frozen
        assert [each.name for each in tmp_path.iterdir()] == ["s"]


def test_a_file_that_has_replaced_the_socket_stays(tmp_path: Path) -> None:
    with Sandbox(nodes=1).serve() as served:
        served.serve_commands(tmp_path / "s")
        (tmp_path / "s").unlink()
        (tmp_path / "s").write_text("mine")
    assert (tmp_path / "s").read_text() == "mine"


def test_a_response_that_drips_costs_one_timeout(tmp_path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(tmp_path / "s"))
        listening.listen()
        is_over = threading.Event()

        def drip() -> None:
            peer, _ = listening.accept()
            with peer, suppress(OSError):
                while not is_over.wait(0.05):
                    peer.sendall(b"x")

        thread = threading.Thread(target=drip, daemon=True)
        thread.start()
        with pytest.raises(TimeoutError):
            tell(tmp_path / "s", ["clear"], 0.5)
        is_over.set()
        thread.join()


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
