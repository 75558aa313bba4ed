"""Jobs as processes of their own that can be signalled and killed, and the processes that descend from one.

A job runs alone in a process group, with a temporary folder of its own, so that what it leaves behind can be seen.
"""

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from tests.cli.processes import environment
from tests.support.bounds import bound
from tests.support.freezing import freeze
from tests.support.kafka.waiting import wait_until

WAIT_MS = bound(600_000)
"""For what a job does, or all of it: half a minute takes ten times as long on a loaded machine."""
_SMALL_STEPS = """
import sys
from kctl.pipeline.jobs import export_rounds, mirror
assert export_rounds.ROUND_TASKS > 6 and mirror.COMMIT_ROWS > 200
export_rounds.ROUND_TASKS = 6
mirror.COMMIT_ROWS = 200
from kctl.cli.app import main
sys.exit(main())
"""


class JobProcess:
    """`kctl pipeline` with some arguments, in a session of its own.

    Attributes:
        temporary: its folder for temporary files.
        started: the processes that it had started when it was signalled.
    """

    def __init__(self, scratch: Path, *arguments: str, takes_small_steps: bool = False) -> None:
        """Start it.

        Args:
            scratch: where its temporary folder and what it says go; of no other job that is running.
            takes_small_steps: rounds of an export have six ranges for each task at once, and transactions of a mirror
                200 records: more of them for less work.
        """
        self.temporary = scratch / "temporary"
        self.temporary.mkdir(parents=True, exist_ok=True)
        self._said = scratch / "stderr"
        self.started: set[int] = set()
        program = ["-c", _SMALL_STEPS] if takes_small_steps else ["-m", "kctl"]
        with self._said.open("wb") as said:
            self.process = subprocess.Popen(
                [sys.executable, *program, "pipeline", *arguments],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=said,
                env=environment({"TMPDIR": str(self.temporary)}),
                start_new_session=True,
            )

    def said(self) -> str:
        """Return what it has said so far."""
        return self._said.read_text()

    def wait_for(self, is_so: Callable[[], bool], what: str) -> None:
        """Wait for something while it runs."""

        def happened() -> bool:
            if is_so():
                return True
            assert self.process.poll() is None, f"it ended before {what}: {self.said()}"
            return False

        wait_until(happened, WAIT_MS, what, interval_ms=2)

    def wait_for_words(self, words: str) -> None:
        """Wait until it has said something."""
        self.wait_for(lambda: words in self.said(), words)

    def signal(self, number: signal.Signals) -> None:
        """Signal its process group, as a terminal does; Spark is in another."""
        self.started |= children_of(self.process.pid)
        os.killpg(self.process.pid, number)

    def freeze(self) -> None:
        """Stop its process group, but not Spark, until it gets SIGCONT."""
        self.started |= children_of(self.process.pid)
        freeze(self.process.pid)

    def ended(self) -> tuple[int, str]:
        """Wait for its end; return its exit status and what it has written to stdout."""
        out, _ = self.process.communicate(timeout=WAIT_MS / 1000)
        return self.process.returncode, out.decode()

    def wait_for_children(self) -> None:
        """Wait until nothing runs that it had started."""
        wait_until(lambda: not any(map(is_alive, self.started)), WAIT_MS, "the end of Spark after its driver's")

    def close(self) -> None:
        """Kill it if it still runs; Spark ends with its driver."""
        if self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.communicate(timeout=WAIT_MS / 1000)


def children_of(pid: int) -> set[int]:
    """Return all processes that descend from one."""
    parents = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            parents[int(stat.parent.name)] = int(stat.read_text().rpartition(")")[2].split()[1])
        except OSError:  # it has ended meanwhile
            continue
    found = {pid}
    while more := {child for child, parent in parents.items() if parent in found} - found:
        found |= more
    return found - {pid}


def is_alive(pid: int) -> bool:
    """Whether a process runs; one that has ended and was not waited for does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False
