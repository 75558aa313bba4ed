"""`kctl users`: created, changed and deleted, with the password from everywhere and in no output."""

import json
import os
from pathlib import Path

import pytest

from kctl.cli.exit_codes import ExitCode
from kctl.sandbox import ClusterSettings, Sandbox
from tests.cli.access_scene import access
from tests.cli.processes import Ended, end, kctl, running

__all__ = ["access"]

CANARY = "canary-d41d8cd98f"


@pytest.fixture
def password_file(tmp_path: Path) -> str:
    path = tmp_path / "password"
    path.write_text(f"{CANARY}\n")
    return str(path)


def listed(access: str) -> list[tuple[str, str, int]]:
    found = json.loads(kctl("users", "list", "-b", access, "--output", "json").stdout)["rows"]
    return [(row["user"], row["mechanism"], row["iterations"]) for row in found]


def is_silent_about_it(ended: Ended) -> bool:
    return CANARY not in ended.stdout.decode() + ended.stderr


def test_user_is_created_changed_and_deleted(access: str, password_file: str, tmp_path: Path) -> None:
    trace = tmp_path / "trace"
    words = ("--password-file", password_file, "-b", access, "--trace", "--trace-file", str(trace))
    ended = kctl("users", "create", "ann", *words)
    assert (ended.code, ended.stdout.count(b" created\n"), is_silent_about_it(ended)) == (0, 2, True)
    assert CANARY not in trace.read_text()
    assert listed(access) == [("ann", "SCRAM-SHA-256", 4096), ("ann", "SCRAM-SHA-512", 4096)]
    more = ("--mechanism", "SCRAM-SHA-512", "--iterations", "8192")
    assert kctl("users", "alter", "ann", "--password-file", password_file, *more, "-b", access).code == 0
    assert listed(access) == [("ann", "SCRAM-SHA-256", 4096), ("ann", "SCRAM-SHA-512", 8192)]
    shown = kctl("users", "delete", "ann", "-b", access)
    assert (shown.code, shown.stdout.count(b"would be deleted")) == (0, 2)
    assert kctl("users", "delete", "ann", "--mechanism", "SCRAM-SHA-256", "--yes", "-b", access).code == 0
    assert listed(access) == [("ann", "SCRAM-SHA-512", 8192)]
    again = kctl("users", "alter", "ann", "--password-file", password_file, "-b", access)
    assert again.stdout.count(b" changed\n") == 1
    assert kctl("users", "delete", "ann", "--execute", "-b", access).code == 0
    assert listed(access) == []


@pytest.mark.process  # a password is read from a descriptor
def test_password_comes_from_a_variable_stdin_or_a_pipe(access: str, tmp_path: Path) -> None:
    ended = kctl("users", "create", "a", "--password-from", "env:PW", "-b", access, environ={"PW": CANARY})
    assert (ended.code, is_silent_about_it(ended)) == (0, True)
    ended = kctl("users", "create", "b", "--password-file", "-", "-b", access, stdin=f"{CANARY}\r\n".encode())
    assert (ended.code, is_silent_about_it(ended)) == (0, True)
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with running("users", "create", "c", "--password-file", str(pipe), "-b", access) as process:
        with pipe.open("w") as writer:
            writer.write(CANARY)
        assert end(process).code == 0
    assert {user for user, _, _ in listed(access)} == {"a", "b", "c"}


@pytest.mark.parametrize("is_opened", [False, True])
def test_pipe_without_an_end_is_given_up_at_the_api_timeout(access: str, tmp_path: Path, is_opened: bool) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    kept = os.open(pipe, os.O_RDWR) if is_opened else None
    ended = kctl("users", "create", "a", "--password-file", str(pipe), "--api-timeout", "500ms", "-b", access)
    if kept is not None:
        os.close(kept)
    assert ended.code == ExitCode.API_TIMEOUT
    assert "timed out after 0.5s (--api-timeout)" in ended.stderr
    assert listed(access) == []


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"", "the password is empty"),
        (b"\n", "the password is empty"),
        (f"{CANARY}\nmore\n".encode(), "must be a single line"),
        (b"\xff\xfe", "is not valid UTF-8"),
        (b"x" * 1025, "longer than 1024 bytes"),
        (b"x" * 2_000_000, "is larger than"),
    ],
)
def test_file_that_is_no_password_is_refused(access: str, tmp_path: Path, content: bytes, says: str) -> None:
    path = tmp_path / "password"
    path.write_bytes(content)
    ended = kctl("users", "create", "a", "--password-file", str(path), "-b", access)
    assert (ended.code, ended.stdout, says in ended.stderr) == (ExitCode.USAGE, b"", True), ended
    assert is_silent_about_it(ended)
    assert listed(access) == []


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("create", "a", "--password-file", "/nonexistent"), "cannot read /nonexistent: No such file"),
        (("create", "a", "--password-file", "/"), "cannot read /: Is a directory"),
        (("create", "a", "--password-from", "env:NOT_SET"), "$NOT_SET is not set"),
        (("create", "a", "--password-from", "secret"), "unknown reference: use"),
        (("create", "a", "--password-from", "env:A", "--password-file", "b"), "cannot be combined"),
        (("create", "a"), "no terminal found"),
        (("create", "a", "--iterations", "1"), "use 4096 to 16384"),
        (("create", "a", "--mechanism", "PLAIN"), "'PLAIN' is not one of SCRAM-SHA-256, SCRAM-SHA-512"),
    ],
)
def test_mistake_is_named(access: str, words: tuple[str, ...], says: str) -> None:
    ended = kctl("users", *words, "-b", access)
    assert (ended.code, ended.stdout) == (ExitCode.USAGE, b"")
    assert says in ended.stderr


def test_users_that_exist_or_do_not(access: str, password_file: str) -> None:
    password = ("--password-file", password_file, "-b", access)
    assert kctl("users", "alter", "ann", *password).code == ExitCode.UNKNOWN_RESOURCE
    assert kctl("users", "create", "ann", "--dry-run", *password).stdout.count(b"would be created") == 2
    assert kctl("users", "delete", "ann", "--yes", "-b", access).code == ExitCode.UNKNOWN_RESOURCE
    assert kctl("users", "list", "ann", "-b", access).code == ExitCode.UNKNOWN_RESOURCE
    assert listed(access) == []
    assert kctl("users", "create", "ann", *password).code == 0
    ended = kctl("users", "create", "ann", *password)
    assert (ended.code, "cannot create user 'ann': it already exists" in ended.stderr) == (ExitCode.USAGE, True)


def test_principal_without_rights_is_refused(password_file: str) -> None:
    with Sandbox(nodes=1, settings=ClusterSettings(authorizer=True)).serve() as served:
        for words in (("list",), ("create", "a", "--password-file", password_file), ("delete", "a", "--yes")):
            assert kctl("users", *words, "-b", served.bootstrap).code == ExitCode.NOT_AUTHORIZED


def test_variable_that_is_not_utf_8_is_no_password(access: str) -> None:
    ended = kctl("users", "create", "x", "--password-from", "env:PW", "-b", access, environ={"PW": f"{CANARY}\udcff"})
    assert (ended.code, is_silent_about_it(ended)) == (ExitCode.USAGE, True)
    assert "--password-from: the password is not valid UTF-8" in ended.stderr
