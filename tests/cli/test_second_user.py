"""Another user of the same machine: what that user finds of kctl, and what kctl does with files of that user."""

import os
import socket
import stat
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from kctl.cli.exit_codes import ExitCode
from kctl.cli.private_file import open_private
from kctl.pipeline.session_folders import PREFIX, remove_abandoned
from kctl.sandbox import Sandbox
from tests.cli.processes import address_of, kctl, running
from tests.support.second_user import USER_ID, as_second_user, foreign_folder, shared_folder

pytestmark = pytest.mark.process

PATIENT = {"KCTL_COMPLETION_TIMEOUT_MS": "20000"}
NO_SANDBOX = "no running sandbox found for this user"


@pytest.fixture
def shared() -> Iterator[Path]:
    with shared_folder() as folder:
        yield folder


@pytest.fixture
def sockets(shared: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of the sockets of sandboxes, in the shared one."""
    monkeypatch.delenv("XDG_RUNTIME_DIR", raising=False)
    monkeypatch.setenv("TMPDIR", str(shared))
    monkeypatch.setattr("tempfile.tempdir", None)
    return shared / f"kctl-{os.getuid()}"


def connect(path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as sock:
        sock.connect(str(path))


def test_sandbox_takes_no_commands_of_another_user(shared: Path, sockets: Path) -> None:
    named = shared / "named"
    with (
        running("sandbox", "start", "--port", "0", "--nodes", "1", "--control", str(named)) as first,
        running("sandbox", "start", "--port", "0", "--nodes", "1") as second,
    ):
        assert address_of(first) != address_of(second)
        [control] = sockets.iterdir()
        for path in (named, control):
            connect(path)
            with pytest.raises(PermissionError):
                as_second_user(lambda path=path: connect(path))  # type: ignore[misc]  # bound defaults
            with pytest.raises(PermissionError):
                as_second_user(lambda path=path: path.unlink())  # type: ignore[misc]  # as above
        with pytest.raises(PermissionError):
            as_second_user(lambda: os.listdir(sockets))
        assert [each.name for each in shared.iterdir() if each.name.startswith(".")] == []


@pytest.mark.parametrize("kind", ["folder", "link"])
def test_folder_of_sockets_of_another_user_is_not_used(kind: str, shared: Path, sockets: Path) -> None:
    folder = foreign_folder(shared / "foreign" if kind == "link" else sockets)
    if kind == "link":
        as_second_user(lambda: sockets.symlink_to(folder))

    def listen() -> socket.socket:
        sock = socket.socket(socket.AF_UNIX)
        sock.bind(str(folder / "1.sandbox"))
        sock.listen()
        return sock

    with listen():
        os.chown(folder / "1.sandbox", USER_ID, USER_ID)
        with running("sandbox", "start", "--port", "0", "--nodes", "1") as process:
            assert address_of(process)
            assert [each.name for each in folder.iterdir()] == ["1.sandbox"]
            for words in (("status",), ("fault", "clear")):
                ended = kctl("sandbox", *words)
                assert (ended.code, NO_SANDBOX in ended.stderr) == (ExitCode.USAGE, True), ended.stderr


def test_socket_of_another_user_is_not_replaced(shared: Path) -> None:
    def leave() -> None:
        with socket.socket(socket.AF_UNIX) as killed:
            killed.bind(str(shared / "s"))

    as_second_user(leave)
    with Sandbox(nodes=1).serve() as served, pytest.raises(OSError, match="in use"):
        served.serve_commands(shared / "s")
    assert (shared / "s").stat().st_uid == USER_ID


@pytest.mark.parametrize(
    "answer",
    [b'{"bootstrap": 1, "nodes": []}', b'{"bootstrap": "h:1", "nodes": [{}]}', b"[" * 100_000, b"\xff", b"{}", b"7"],
    ids=["number", "node", "deep", "bytes", "empty", "no object"],
)
def test_socket_of_another_user_that_is_named_is_no_sandbox(answer: bytes, shared: Path) -> None:
    path = shared / "s"
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(path))
        listening.listen()

        def respond() -> None:
            for _ in range(2):
                peer, _ = listening.accept()
                with peer:
                    peer.recv(100)
                    peer.sendall(answer + b"\n")

        thread = threading.Thread(target=respond, daemon=True)
        thread.start()
        ended = kctl("sandbox", "status", "--control", str(path))
        assert (ended.code, "cannot connect to a sandbox at" in ended.stderr) == (ExitCode.USAGE, True), ended.stderr
        told = kctl("sandbox", "fault", "clear", "--control", str(path))
        thread.join()
        assert told.code == ExitCode.USAGE, told.stderr


@pytest.mark.parametrize("where", ["shared", "foreign"])
@pytest.mark.parametrize("kind", ["file", "link", "pipe"])
def test_private_file_is_no_file_of_another_user(kind: str, where: str, shared: Path) -> None:
    """A folder of the other user has no sticky bit, so that the kernel does not protect its files."""
    folder = shared if where == "shared" else foreign_folder(shared / "foreign")
    path, victim = folder / "trace.jsonl", folder / "victim"

    def plant() -> None:
        if kind == "pipe":
            os.mkfifo(path)
        elif kind == "link":
            victim.touch()
            path.symlink_to(victim)
        else:
            path.touch()
        if kind != "link":
            path.chmod(0o666)

    as_second_user(plant)
    reader = os.open(path, os.O_RDONLY | os.O_NONBLOCK) if kind == "pipe" else None
    with pytest.raises(OSError, match=r"belongs to another user|not followed|Permission denied"):
        open_private(str(path))
    ended = kctl("topics", "list", "-b", "127.0.0.1:1", "--trace-file", str(path))
    assert ended.code == ExitCode.USAGE, ended.stderr
    if reader is None:
        assert path.stat().st_size == 0
        assert kind == "link" or stat.S_IMODE(path.stat().st_mode) == 0o666
    else:
        assert os.read(reader, 10) == b""
        os.close(reader)


@pytest.mark.parametrize("whose", ["own", "foreign"])
def test_names_for_completion_are_not_shared(whose: str, shared: Path) -> None:
    cache = shared / "cache" if whose == "own" else foreign_folder(shared / "cache")
    environ = {"XDG_CACHE_HOME": str(cache), **PATIENT}
    with Sandbox(nodes=1, topics={"secret": 1}).serve() as served:
        arguments = ("__complete", "topics", f"kctl consume -b {served.bootstrap} ")
        assert kctl(*arguments, environ=environ).stdout == b"secret\n"
    [kept] = cache.rglob(f"names/{'?' * 32}")
    with pytest.raises(PermissionError):
        as_second_user(kept.read_bytes)
    if whose == "foreign":

        def replace() -> None:
            (cache / "kctl").rename(cache / "old")
            kept.parent.mkdir(parents=True)
            kept.write_text("planted\n")
            kept.chmod(0o600)

        as_second_user(replace)
        assert kctl(*arguments, environ=environ | {"KCTL_COMPLETION_TIMEOUT_MS": "3000"}).stdout == b""


def test_project_profile_of_another_user_is_not_read(shared: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    planted, own = shared / ".kctl.toml", shared / "own"
    as_second_user(lambda: planted.write_text('current = "p"\n[profiles.p]\n"bootstrap.servers" = "evil.example:1"\n'))
    own.mkdir()
    monkeypatch.chdir(own)
    ended = kctl("topics", "list", "--api-timeout", "1s")
    assert "evil.example" not in ended.stderr
    assert kctl("__complete", "profiles", "kctl -C ", environ=PATIENT).stdout == b""


def test_session_folder_of_another_user_is_left_alone(shared: Path) -> None:
    planted, linked = shared / f"{PREFIX}abcdefgh", shared / f"{PREFIX}linkedxx"
    own = shared / "own"
    own.mkdir()
    (own / "file").touch()

    def plant() -> None:
        planted.mkdir()
        (planted / "link").symlink_to(own)
        linked.symlink_to(own)

    as_second_user(plant)
    assert remove_abandoned(shared) == []
    assert planted.exists()
    assert (own / "file").exists()
