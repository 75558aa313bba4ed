"""A command inside the test's process that hangs, or leaves something behind, fails its test."""

import os
import signal
import socket
import threading
from collections.abc import Callable

import pytest

from tests.cli.isolation import Hung, isolated
from tests.cli.processes import BOUND_S, INSTALLED, kctl


def test_command_that_does_not_end_is_interrupted_at_the_bound() -> None:
    with pytest.raises(Hung, match=r"did not end within 0\.05 s"), isolated(0.05):
        threading.Event().wait()


def test_socket_that_is_left_open_is_reported_with_its_maker() -> None:
    left: list[socket.socket] = []
    with pytest.raises(AssertionError, match=r"test_isolation\.py"), isolated(BOUND_S):
        left.append(socket.socket())
    left[0].close()


def test_thread_that_is_left_running_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tests.cli.isolation.ENDING_S", 0.05)
    is_over = threading.Event()
    with pytest.raises(AssertionError, match="left-behind"), isolated(BOUND_S):
        threading.Thread(target=is_over.wait, name="left-behind").start()
    is_over.set()


@pytest.mark.parametrize(
    ("change", "restore", "name"),
    [
        (
            lambda: signal.signal(signal.SIGTERM, signal.SIG_IGN),
            lambda: signal.signal(signal.SIGTERM, signal.SIG_DFL),
            "signals",
        ),
        (lambda: os.environ.update(LEFT="1"), lambda: os.environ.pop("LEFT"), "environ"),
        (lambda: socket.setdefaulttimeout(1), lambda: socket.setdefaulttimeout(None), "socket"),
    ],
    ids=["signal handler", "variable", "default of sockets"],
)
def test_state_that_is_not_restored_is_reported(
    change: Callable[[], object], restore: Callable[[], object], name: str
) -> None:
    with pytest.raises(AssertionError, match=f"'{name}'"), isolated(BOUND_S):
        change()
    restore()


@pytest.mark.skipif(INSTALLED is not None, reason="an installed kctl is a process")
def test_kctl_runs_in_this_process_without_the_variables_of_its_caller(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("subprocess.Popen", None)
    monkeypatch.setenv("KCTL_BOOTSTRAP_SERVERS", "127.0.0.1:1")
    ended = kctl("topics", "list")
    assert (ended.code, "bootstrap.servers is not set" in ended.stderr) == (2, True), ended


@pytest.mark.process
def test_kctl_of_a_marked_test_is_a_process(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("subprocess.Popen", None)
    with pytest.raises(TypeError):
        kctl("--version")
