"""Nothing outlives the tests, and two test processes never share a port."""

import os
import signal
import subprocess
import sys
from pathlib import Path

from tests.support.bounds import bound
from tests.support.kafka.lifeline import ServerProcess, make_folder, remove_folder
from tests.support.kafka.waiting import wait_until
from tests.support.ports import BLOCK_SIZE, lease_ports

PROJECT = Path(__file__).parents[2]
GONE_WITHIN_MS = bound(20_000)

TEST_PROCESS = """
import sys, threading
from tests.support.kafka.lifeline import ServerProcess, make_folder
folder = make_folder("lifeline")
server = ServerProcess("sleeper", folder / "log")
server.start(["sleep", "1000"])
if "freeze" in sys.argv:
    server.freeze()
print(folder, server.pid, flush=True)
if "end" not in sys.argv:
    threading.Event().wait(1000)
"""

LEASING_PROCESS = """
import sys
from tests.support.ports import BLOCK_SIZE, lease_ports
leases = [lease_ports() for _ in range(20)]
print(*(lease.take() for lease in leases for _ in range(BLOCK_SIZE)), flush=True)
sys.stdin.read()
"""


def run_python(program: str, *arguments: str) -> subprocess.Popen[str]:
    """Start `program` as another test process."""
    command = [sys.executable, "-c", program, *arguments]
    environment = os.environ | {"PYTHONPATH": str(PROJECT)}
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment)


def is_alive(pid: int) -> bool:
    """True while it runs; a zombie does not (in a bare container nobody may reap orphans)."""
    stat = Path(f"/proc/{pid}/stat")
    try:
        return stat.read_text().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


def assert_all_is_gone(words: str) -> None:
    folder, pid = words.split()
    wait_until(lambda: not is_alive(int(pid)), GONE_WITHIN_MS, f"end of process {pid}")
    wait_until(lambda: not Path(folder).exists(), GONE_WITHIN_MS, f"removal of {folder}")


def test_a_killed_test_process_leaves_nothing() -> None:
    with run_python(TEST_PROCESS) as process:
        assert process.stdout is not None
        words = process.stdout.readline()
        assert is_alive(int(words.split()[1]))
        process.send_signal(signal.SIGKILL)
    assert_all_is_gone(words)


def test_a_killed_test_process_leaves_no_frozen_server() -> None:
    with run_python(TEST_PROCESS, "freeze") as process:
        assert process.stdout is not None
        words = process.stdout.readline()
        process.send_signal(signal.SIGKILL)
    assert_all_is_gone(words)


def test_a_test_process_that_ends_without_cleaning_up_leaves_nothing() -> None:
    with run_python(TEST_PROCESS, "end") as process:
        words, _ = process.communicate(timeout=GONE_WITHIN_MS / 1000)
    assert process.returncode == 0
    assert_all_is_gone(words)


def test_a_failed_preparation_is_seen_and_the_command_never_runs() -> None:
    folder = make_folder("prepare")
    server = ServerProcess("server", folder / "log")
    server.start(["touch", str(folder / "started")], prepare=[["sh", "-c", "echo no luck; exit 3"]])
    wait_until(lambda: not server.is_running, GONE_WITHIN_MS, "end of the shell")
    assert server.exit_status == 3
    assert server.log_tail() == "no luck"
    server.kill()
    assert not (folder / "started").exists()
    remove_folder(folder)
    assert not folder.exists()


def test_stop_ends_a_frozen_process_in_order() -> None:
    folder = make_folder("stop")
    server = ServerProcess("server", folder / "log")
    server.start(["sh", "-c", "trap 'echo bye; exit 0' TERM; echo up; while :; do sleep 0.05; done"])
    wait_until(lambda: server.log_tail() == "up", GONE_WITHIN_MS, "its first word")
    server.freeze()
    server.stop()
    assert server.log_tail().endswith("bye")
    remove_folder(folder)


def test_two_processes_never_hold_the_same_port() -> None:
    with run_python(LEASING_PROCESS) as first, run_python(LEASING_PROCESS) as second:
        assert first.stdout is not None
        assert second.stdout is not None
        ports = [*map(int, first.stdout.readline().split()), *map(int, second.stdout.readline().split())]
        lease = lease_ports()
        ports += [lease.take() for _ in range(BLOCK_SIZE)]
        lease.release()
        first.communicate("")
        second.communicate("")
    assert len(ports) == len(set(ports)) == 41 * BLOCK_SIZE
