"""One run of one command, measured from outside: wall and CPU time, peak memory, what it wrote.

CPU time is that of the command and its threads, never of the broker or of the `cat` at the other end of a pipe. Peak
memory is looked at while the command runs, since what the kernel counts for an ended process has that of its parent.
"""

import os
import subprocess
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from threading import Timer
from time import perf_counter, sleep
from typing import IO, NamedTuple

from benchmarks.bytecode import with_bytecode

LOOK_S = 0.01
LONGEST_S = 300
"""A command that takes longer is killed, and its row fails: the rows behind it are still measured."""
CHUNK_BYTES = 1 << 20


class CommandFailed(Exception):
    """A command that is compared failed, or did not move what the broker has; the message says which, and how."""


class Client(NamedTuple):
    """One command of a row.

    Attributes:
        stdin: the file that it reads; through a pipe where `is_piped`.
    """

    name: str
    command: list[str]
    stdin: Path | None = None
    is_piped: bool = False


class Run(NamedTuple):
    """What one run took."""

    wall_s: float
    cpu_s: float
    peak_bytes: int


def peak_bytes(pid: int) -> int:
    """Return the most memory that a process has had resident so far; 0 where it has ended."""
    try:
        for line in Path(f"/proc/{pid}/status").read_text().splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) * 1024
    except OSError:
        pass
    return 0


@contextmanager
def started(client: Client, stdout: int, complaints: Path) -> Iterator[subprocess.Popen[bytes]]:
    """Run a command with its input; what it writes to stderr goes to the file of complaints."""
    with ExitStack() as stack:
        stderr = stack.enter_context(complaints.open("wb"))
        stdin: IO[bytes] | int = subprocess.DEVNULL
        if client.stdin is not None and client.is_piped:
            cat = stack.enter_context(subprocess.Popen(["cat", str(client.stdin)], stdout=subprocess.PIPE))
            assert cat.stdout is not None
            stdin = cat.stdout
        elif client.stdin is not None:
            stdin = stack.enter_context(client.stdin.open("rb"))
        process = subprocess.Popen(client.command, stdin=stdin, stdout=stdout, stderr=stderr, env=with_bytecode())
        if not isinstance(stdin, int):
            stdin.close()  # so that cat sees it when the command ends
        timer = Timer(LONGEST_S, process.kill)
        timer.start()
        stack.callback(timer.cancel)
        yield process


def failed(client: Client, process: subprocess.Popen[bytes], complaints: Path) -> CommandFailed:
    """Return the error of a command that ended with another exit code than 0."""
    end = complaints.read_text(errors="replace")[-2000:]
    return CommandFailed(f"{client.name}: {' '.join(client.command)}: exit code {process.returncode}\n{end}")


def measured(client: Client, complaints: Path, *, with_memory: bool) -> Run:
    """Run a command to its end, its output to /dev/null, and return what it took.

    Raises: CommandFailed: its exit code is not 0.
    """
    peak, pid = 0, 0
    began_s = perf_counter()
    with started(client, subprocess.DEVNULL, complaints) as process:
        while not pid:
            if with_memory:
                peak = max(peak, peak_bytes(process.pid))
                sleep(LOOK_S)
            pid, status, usage = os.wait4(process.pid, os.WNOHANG if with_memory else 0)
        wall_s = perf_counter() - began_s
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        raise failed(client, process, complaints)
    return Run(wall_s, usage.ru_utime + usage.ru_stime, peak)


def lines_written(client: Client, complaints: Path) -> int:
    """Run a command and return how many lines it wrote to stdout.

    Raises: CommandFailed: its exit code is not 0.
    """
    count = 0
    with started(client, subprocess.PIPE, complaints) as process:
        assert process.stdout is not None
        while chunk := process.stdout.read(CHUNK_BYTES):
            count += chunk.count(b"\n")
        process.wait()
    if process.returncode != 0:
        raise failed(client, process, complaints)
    return count


def interleaved(clients: list[Client], rounds: int, run: Callable[[Client], Run]) -> dict[str, list[Run]]:
    """Run all clients in every round, each second round in the other order."""
    runs: dict[str, list[Run]] = {client.name: [] for client in clients}
    for number in range(rounds):
        for client in clients if number % 2 == 0 else reversed(clients):
            runs[client.name].append(run(client))
    return runs
