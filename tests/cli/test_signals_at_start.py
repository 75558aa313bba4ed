"""Signals at random moments of the start: each ends the command, also where Python compiles every module.

Without .pyc files a third of the start is compilation, in which Python drops what a signal handler raises.
"""

import os
import signal
import subprocess
import sys
import threading
from collections import Counter
from contextlib import suppress
from pathlib import Path
from random import Random

import pytest

from tests.cli.processes import BOUND_S, KCTL, environment

AT_A_TIME = 4
ALIVE_S = 20
"""Who lives so long after the signal has lost it: the command has nothing to close."""
LATEST_S = 1.5
"""After kctl has its handlers: by then it has started on any machine that is not overloaded."""
LOOK_S = 0.002


def catches_signals(process: "subprocess.Popen[bytes]") -> bool:
    """Return whether kctl has its handlers; Python alone leaves SIGTERM to the system."""
    status = Path(f"/proc/{process.pid}/status").read_text()
    caught = next(line.split()[1] for line in status.splitlines() if line.startswith("SigCgt:"))
    return bool(int(caught, 16) >> (signal.SIGTERM - 1) & 1)


def end_at(delay_s: float, number: signal.Signals) -> str:
    """Start a command that would follow for ever, signal it after so long, and return how it ended."""
    process = subprocess.Popen(
        [*KCTL, "consume", "t", "-g", "g", "-b", "127.0.0.1:9"],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        env=environment({"PYTHONDONTWRITEBYTECODE": "1", "PYTHONPYCACHEPREFIX": "/nonexistent"}),
    )
    try:
        while not catches_signals(process):
            with suppress(subprocess.TimeoutExpired):
                process.wait(LOOK_S)
        with suppress(subprocess.TimeoutExpired):
            process.wait(delay_s)
        process.send_signal(number)
        _, stderr = process.communicate(timeout=ALIVE_S)
    except subprocess.TimeoutExpired:
        return "lost"
    finally:
        process.kill()
        process.communicate(timeout=BOUND_S)
    is_handled = process.returncode == 128 + number and b"Traceback" not in stderr
    return "handled" if is_handled else f"{process.returncode}: {stderr.decode()[-2000:]}"


def ends(count: int, seed: int) -> Counter[str]:
    """Return how many processes ended how."""
    random, found, lock = Random(seed), Counter[str](), threading.Lock()
    moments = [(random.uniform(0, LATEST_S), random.choice([signal.SIGINT, signal.SIGTERM])) for _ in range(count)]

    def work() -> None:
        while True:
            with lock:
                if not moments:
                    return
                moment = moments.pop()
            ended = end_at(*moment)
            with lock:
                found[ended] += 1

    threads = [threading.Thread(target=work) for _ in range(min(AT_A_TIME, os.cpu_count() or 1))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    sys.stderr.write(f"signals at the start: {dict(found)}\n")
    return found


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="this system does not show who catches signals")
@pytest.mark.parametrize(
    "count", [pytest.param(4, marks=pytest.mark.slow), pytest.param(400, marks=pytest.mark.nightly)]
)
def test_signal_at_a_random_moment_of_the_start_ends_the_command(count: int) -> None:
    found = ends(count, seed=count)
    assert found == {"handled": count}
