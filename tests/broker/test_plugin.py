"""The pytest plugin: what a missing tool means, where logs go, and that a killed pytest leaves no broker."""

import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conformance.foreign.client import PROJECT
from tests.support.bounds import bound
from tests.support.kafka.requirements import have
from tests.support.kafka.toolchain import find_tool
from tests.support.kafka.waiting import wait_until

pytestmark = pytest.mark.nightly

GONE_WITHIN_MS = bound(20_000)
RUN_TIMEOUT_S = bound(180)

HANGING = """
import os, signal, threading
signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background job inherits "ignore"
def test_hangs(kafka_newest):
    words = f"{kafka_newest.folder} {kafka_newest.node(1).process.pid}"
    with open(os.environ["TOLD"] + ".new", "w") as told:
        told.write(words)
    os.rename(os.environ["TOLD"] + ".new", os.environ["TOLD"])
    threading.Event().wait()
"""
FAILING = """
def test_fails(kafka_newest):
    raise AssertionError(kafka_newest.folder)
"""
USING = """
def test_uses(kafka_newest):
    pass
"""


def pytest_command(folder: Path, test: str) -> list[str]:
    """Return the command that runs `test` as a pytest session of its own."""
    (folder / "test_inner.py").write_text(test)
    options = ["-q", "-ra", "-p", "tests.support.kafka.plugin", "-p", "no:cacheprovider", "--rootdir", str(folder)]
    return [sys.executable, "-m", "pytest", *options, str(folder / "test_inner.py")]


def environment(**changes: str) -> dict[str, str]:
    """Return this environment without CI, changed."""
    inherited = {key: value for key, value in os.environ.items() if key != "CI"}
    return inherited | {"PYTHONPATH": str(PROJECT)} | changes


def run(command: list[str], env: dict[str, str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, env=env, capture_output=True, text=True, timeout=RUN_TIMEOUT_S)


def need_java() -> None:
    have(lambda: find_tool("java", "openjdk-17-jdk-headless"))


def test_without_java_a_test_is_skipped_with_the_reason(tmp_path: Path) -> None:
    bare = environment(PATH=str(tmp_path), KCTL_CACHE=str(tmp_path / "cache"))
    done = run(pytest_command(tmp_path, USING), bare)
    assert done.returncode == 0
    assert "1 skipped" in done.stdout
    assert "java is not installed (Debian: apt-get install openjdk-17-jdk-headless)" in done.stdout


def test_without_java_on_ci_a_test_fails(tmp_path: Path) -> None:
    bare = environment(PATH=str(tmp_path), KCTL_CACHE=str(tmp_path / "cache"), CI="true")
    done = run(pytest_command(tmp_path, USING), bare)
    assert done.returncode == 1
    assert "CI must have everything: java is not installed" in done.stdout


def test_a_failed_session_keeps_its_logs_and_prints_where(tmp_path: Path) -> None:
    need_java()
    (tmp_path / "tmp").mkdir()
    done = run(pytest_command(tmp_path, FAILING), environment(TMPDIR=str(tmp_path / "tmp")))
    assert done.returncode == 1
    kept = re.search(r"broker logs kept: (.+)", done.stdout)
    assert kept is not None
    assert "Kafka Server started" in Path(kept[1], "node-1.log").read_text()
    left = sorted(path.name for path in (tmp_path / "tmp").iterdir())
    assert left == ["kctl-broker-logs", "kctl-ports"]


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT], ids=lambda number: number.name)
def test_a_pytest_ended_by_a_signal_leaves_no_broker_and_no_folder(tmp_path: Path, number: signal.Signals) -> None:
    need_java()
    told = tmp_path / "told"
    command = pytest_command(tmp_path, HANGING)
    with subprocess.Popen(command, env=environment(TOLD=str(told)), stdout=subprocess.DEVNULL) as process:
        wait_until(lambda: told.exists() or process.poll() is not None, RUN_TIMEOUT_S * 1000, "the broker of pytest")
        folder, pid = told.read_text().split()
        assert Path("/proc", pid).exists()
        assert Path(folder).exists()
        process.send_signal(number)
        try:
            process.wait(GONE_WITHIN_MS / 1000)
        finally:
            process.kill()
    wait_until(lambda: not is_running(pid), GONE_WITHIN_MS, f"end of broker {pid}")
    wait_until(lambda: not Path(folder).exists(), GONE_WITHIN_MS, f"removal of {folder}")


def is_running(pid: str) -> bool:
    """True while the process exists and is no zombie (in a bare container nobody may reap orphans)."""
    try:
        return Path("/proc", pid, "stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False
