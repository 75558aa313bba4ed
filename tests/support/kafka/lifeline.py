"""Processes that cannot outlive the tests: started under a watcher, frozen, thawed, killed by process group.

Owns child processes and the pipe to the watcher (tests/support/kafka/watcher.py). Knows nothing of Kafka. Why not
PR_SET_PDEATHSIG: it fires when the *thread* that forked ends, and it leaves folders behind.
"""

import atexit
import os
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from functools import cache
from pathlib import Path

from tests.support.bounds import bound
from tests.support.freezing import freeze

WATCHER = Path(__file__).with_name("watcher.py")
STOP_TIMEOUT_S = bound(20)


class Watcher:
    """The pipe to one watcher process, shared by all children of this test process."""

    def __init__(self) -> None:
        command = [sys.executable, "-I", "-S", str(WATCHER)]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, text=True, start_new_session=True)
        atexit.register(self._end)

    def tell(self, verb: str, kind: str, name: object) -> None:
        """Send one line, at once."""
        pipe = self._process.stdin
        assert pipe is not None
        pipe.write(f"{verb} {kind} {name}\n")
        pipe.flush()

    def _end(self) -> None:
        self._process.communicate(timeout=STOP_TIMEOUT_S)


@cache
def watcher() -> Watcher:
    """Return the watcher of this process, started at first use."""
    return Watcher()


def make_folder(name: str) -> Path:
    """Return a new temporary folder that is gone when the tests are, unless removed before."""
    folder = Path(tempfile.mkdtemp(prefix=f"kctl-{name}-"))
    watcher().tell("watch", "folder", folder)
    return folder


def remove_folder(folder: Path) -> None:
    """Remove what `make_folder` made."""
    shutil.rmtree(folder, ignore_errors=True)
    watcher().tell("forget", "folder", folder)


class ServerProcess:
    """One long-running child with its log, alone in a process group."""

    def __init__(self, name: str, log_path: Path) -> None:
        self.name = name
        self.log_path = log_path
        self._process: subprocess.Popen[bytes] | None = None

    def start(self, command: Sequence[str], prepare: Sequence[Sequence[str]] = ()) -> None:
        """Start `command` after all of `prepare` succeeded; returns at once, output goes to the log.

        The shell waits for a word before it begins, so nothing runs that the watcher does not know yet.
        """
        steps = [f"{shlex.join(step)} </dev/null" for step in prepare]
        script = " && ".join(["read -r _", *steps, f"exec {shlex.join(command)} </dev/null"])
        with self.log_path.open("ab") as log:
            process = subprocess.Popen(
                ["/bin/sh", "-c", script], stdin=subprocess.PIPE, stdout=log, stderr=log, start_new_session=True
            )
        self._process = process
        watcher().tell("watch", "group", process.pid)
        assert process.stdin is not None
        with process.stdin as gate:
            gate.write(b"go\n")

    @property
    def pid(self) -> int:
        """The id of the process and of its group.

        Raises:
            ProcessLookupError: it was never started, or was reaped.
        """
        if self._process is None:
            raise ProcessLookupError(f"{self.name} is not running")
        return self._process.pid

    @property
    def exit_status(self) -> int | None:
        """None while it runs; negative: the signal that ended it."""
        return None if self._process is None else self._process.poll()

    @property
    def was_started(self) -> bool:
        """True from `start` to `kill` or `stop`, also when it ended by itself meanwhile."""
        return self._process is not None

    @property
    def is_running(self) -> bool:
        return self._process is not None and self._process.poll() is None

    def freeze(self) -> None:
        """Stop its clock (SIGSTOP): connections stay open, nothing is answered."""
        freeze(self.pid)

    def thaw(self) -> None:
        """Let it run on (SIGCONT)."""
        os.killpg(self.pid, signal.SIGCONT)

    def kill(self) -> None:
        """End it without a farewell (SIGKILL); does nothing when it is not running."""
        self._end(signal.SIGKILL)

    def stop(self) -> None:
        """Ask it to shut down in order (SIGTERM); after a while kill it."""
        self._end(signal.SIGTERM)

    def log_tail(self, lines: int = 30) -> str:
        """Return the telling lines at the end of its log: errors and warnings if there are any."""
        text = self.log_path.read_text(errors="replace") if self.log_path.exists() else ""
        every = [line[:300] for line in text.splitlines()]
        telling = [line for line in every if " INFO " not in line and not line.startswith("\t")]
        return "\n".join((telling or every)[-lines:])

    def _end(self, number: signal.Signals) -> None:
        process = self._process
        if process is None:
            return
        if process.poll() is None:
            os.killpg(process.pid, number)
            os.killpg(process.pid, signal.SIGCONT)  # a frozen one hears SIGTERM only when it runs on
            try:
                process.wait(STOP_TIMEOUT_S)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait(STOP_TIMEOUT_S)
        watcher().tell("forget", "group", process.pid)
        self._process = None
