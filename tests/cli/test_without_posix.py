"""Commands on a system without fcntl, resource, timers, signals, users, and calls that Windows lacks."""

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from kctl.sandbox import Sandbox
from kctl.sandbox.server import ServedSandbox
from tests.cli.processes import BOUND_S, ROOT, environment

pytestmark = pytest.mark.process
PROGRAM = Path(__file__).with_name("without_posix.py")
POSIX = {
    "getuid", "geteuid", "fchmod", "setitimer", "ITIMER_REAL", "SIGALRM", "SIGHUP", "SIGTSTP", "poll", "flock",
    "O_NONBLOCK", "O_NOFOLLOW", "O_NOCTTY", "O_CLOEXEC", "set_blocking", "AF_UNIX", "tcgetpgrp",
}  # fmt: skip
OF_MODULES = {"os", "signal", "select", "socket"}
MODULES = {"fcntl", "resource", "termios"}


def run(*arguments: str, stdin: bytes = b"", extra: dict[str, str] | None = None) -> tuple[int, str, str]:
    """Return exit code, stdout and stderr of a run."""
    done = subprocess.run(
        [sys.executable, str(PROGRAM), *arguments],
        input=stdin,
        capture_output=True,
        timeout=BOUND_S,
        env=environment(extra),
        check=False,
    )
    return done.returncode, done.stdout.decode(), done.stderr.decode()


@pytest.fixture(scope="module")
def served() -> Iterator[ServedSandbox]:
    with Sandbox(nodes=1, topics={"t": 1}).serve() as served:
        yield served


def test_records_are_produced_and_consumed(served: ServedSandbox) -> None:
    code, stdout, stderr = run("produce", "t", "-b", served.bootstrap, stdin=b"one\ntwo\n")
    assert (code, stdout) == (0, ""), stderr
    assert run("consume", "t", "-o", "start", "-e", "-b", served.bootstrap)[:2] == (0, "one\ntwo\n")
    group = ("consume", "t", "-g", "g", "-o", "start", "-e", "-b", served.bootstrap)
    assert run(*group)[:2] == (0, "one\ntwo\n")
    code, stdout, stderr = run("groups", "lag", "g", "-b", served.bootstrap, "--output", "json")
    assert (code, '"lag":0' in stdout.replace(" ", "")) == (0, True), stderr


@pytest.mark.parametrize(
    "line",
    [
        "--version", "--help", "explain 12", "completion bash", "probe -q", "topics list", "topics create u -p 1",
        "topics describe t", "topics alter t -p 2", "configs show topic t", "groups list --output json",
        "cluster describe", "why topic t", "doctor", "api Metadata",
    ],
)  # fmt: skip
def test_command_has_no_traceback(served: ServedSandbox, line: str) -> None:
    code, stdout, stderr = run(*line.split(), extra={"KCTL_BOOTSTRAP_SERVERS": served.bootstrap})
    assert "Traceback" not in stderr
    assert "which is a bug" not in stderr
    assert (code in (0, 3), stdout != "") == (True, True), (code, stderr)


def test_files_are_read_and_written(served: ServedSandbox, tmp_path: Path) -> None:
    extra = {"XDG_CONFIG_HOME": str(tmp_path)}
    code, _, stderr = run("profile", "create", "here", "-b", served.bootstrap, extra=extra)
    assert code == 0, stderr
    assert run("topics", "list", "--profile", "here", extra=extra)[0] == 0
    properties = tmp_path / "client.properties"
    properties.write_text(f"bootstrap.servers={served.bootstrap}\n")
    assert run("topics", "list", "--command-config", str(properties))[0] == 0
    kept = tmp_path / "undelivered.jsonl"
    code, _, stderr = run("produce", "t", "-b", served.bootstrap, "--undelivered", str(kept), stdin=b"three\n")
    assert code == 0, stderr


def _posix_names(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text())):
        match node:
            case ast.Attribute(value=ast.Name(id=module), attr=name) if module in OF_MODULES and name in POSIX:
                yield name
            case ast.Import(names=names):
                yield from {each.name for each in names} & MODULES
            case ast.ImportFrom(module=module) if module in MODULES:
                yield module


def test_only_one_module_names_posix() -> None:
    found = {str(path.relative_to(ROOT)) for path in (ROOT / "kctl").rglob("*.py") if any(_posix_names(path))}
    assert {name for name in found if not name.startswith("kctl/pipeline/")} == {"kctl/posix.py"}


def test_sandbox_without_unix_sockets_is_an_error(tmp_path: Path) -> None:
    code, stdout, stderr = run("sandbox", "status", "--control", str(tmp_path / "s"))
    assert (code, stdout, "Traceback" in stderr) == (2, "", False), stderr
    assert "the system has no Unix sockets" in stderr
