"""How late whole commands end after the timeout that they were given, fault by fault; their start-up apart.

Each run is a process of its own. Start-up is everything from its spawn to the first line of the command: interpreter
and imports. Lateness is from there to the end of the process, less the timeout; interpreter shutdown is part of it. A
command may end before its timeout where waiting cannot help (every server refuses); lateness is negative then.
CPU is what the command used from its beginning to the end of its process: where the machine is busy, lateness is mostly
the wait for a core to do it. The first row is a process that only sleeps for the timeout.

Held to, with --check: a median of 100 ms.
"""

import argparse
import os
import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from benchmarks.bytecode import with_bytecode
from kctl.sandbox import Fault, Sandbox
from tests.support.faults import peers

ROOT = Path(__file__).parent.parent
MOST_LATE_MS = 100
PATIENCE_S = 60
FAULTS = ("frozen", "blackholed", "refusing")
LOAD_MODULES = """
import importlib, sys, time
for name in sys.argv[1].split(","):
    importlib.import_module(name)
began = time.monotonic(), time.process_time()
"""
RUN_COMMAND = (
    LOAD_MODULES
    + """
from kctl.cli.app import main
sys.argv = ["kctl", *sys.argv[2:]]
code = main()
sys.stderr.write("\\n{} {}\\n".format(*began))
sys.exit(code)
"""
)
RUN_SLEEP = (
    LOAD_MODULES
    + """
time.sleep(float(sys.argv[2]))
sys.stderr.write("\\n{} {}\\n".format(*began))
"""
)


class Command(NamedTuple):
    """A command line, with {timeout} for the timeout, and the modules that its start-up imports."""

    name: str
    words: str
    modules: str
    stdin: bytes = b""


_CLIENTS = "kctl.cli.app,kctl.cli.failures,kctl.client.network.system,kctl.client.network.network_client"
COMMANDS = (
    Command(
        "consume -n",
        "consume t -n 1 --api-timeout {timeout}",
        f"kctl.cli.consume.command,kctl.cli.consume.run,kctl.client.consumer,{_CLIENTS}",
    ),
    Command(
        "consume -e",
        "consume t -e --api-timeout {timeout}",
        f"kctl.cli.consume.command,kctl.cli.consume.run,kctl.client.consumer,{_CLIENTS}",
    ),
    Command(
        "produce",
        "produce t --api-timeout {timeout}",
        f"kctl.cli.produce.command,kctl.cli.produce.run,kctl.client.producer,{_CLIENTS}",
        b"a\nb\n",
    ),
    Command("topics list", "topics list --api-timeout {timeout}", f"kctl.cli.topics,kctl.client.admin,{_CLIENTS}"),
    Command(
        "groups list", "groups list --api-timeout {timeout}", f"kctl.cli.groups.command,kctl.client.admin,{_CLIENTS}"
    ),
    Command(
        "groups lag",
        "groups lag g --api-timeout {timeout}",
        f"kctl.cli.groups.command,kctl.cli.groups.describe,kctl.client.admin,{_CLIENTS}",
    ),
    Command("probe", "probe --api-timeout {timeout}", f"kctl.cli.probe.command,kctl.cli.probe.session,{_CLIENTS}"),
    Command(
        "bench produce",
        "bench produce --topic t --records 10 --api-timeout {timeout}",
        f"kctl.cli.bench.command,kctl.cli.bench.run,kctl.client.producer,{_CLIENTS}",
    ),
)


class Run(NamedTuple):
    """One process: how late it ended, what the command used of the CPU, its start-up, its exit code."""

    late_ms: float
    cpu_ms: float
    start_up_ms: float
    code: int


def run(program: str, arguments: Sequence[str], timeout_ms: int, stdin: bytes = b"") -> Run:
    """Run a program to its end."""
    environment = {name: value for name, value in with_bytecode().items() if not name.startswith("KCTL_")}
    environment |= {"PYTHONPATH": str(ROOT), "XDG_CONFIG_HOME": "/nonexistent"}
    cpu_before = _cpu_of_children_s()
    spawned = time.monotonic()
    ended = subprocess.run(
        [sys.executable, "-c", program, *arguments],
        input=stdin,
        capture_output=True,
        env=environment,
        timeout=PATIENCE_S,
        check=False,
    )
    over = time.monotonic()
    began, start_up_cpu = map(float, ended.stderr.split()[-2:])
    cpu_ms = (_cpu_of_children_s() - cpu_before - start_up_cpu) * 1000
    return Run((over - began) * 1000 - timeout_ms, cpu_ms, (began - spawned) * 1000, ended.returncode)


def _cpu_of_children_s() -> float:
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


@contextmanager
def cluster(fault: str) -> Iterator[str]:
    """Yield the bootstrap servers of three brokers with a fault."""
    if fault == "refusing":
        with peers.refused() as first, peers.refused() as second, peers.refused() as third:
            yield f"{first},{second},{third}"
        return
    sandbox = Sandbox(nodes=3, topics={"t": 3})
    with sandbox.serve() as served:
        for node_id in (1, 2, 3):
            sandbox.start_fault(node_id, Fault.FREEZE if fault == "frozen" else Fault.BLACKHOLE)
        yield served.bootstrap


def row(name: str, fault: str, timeout_ms: int, runs: Sequence[Run]) -> str:
    late = [each.late_ms for each in runs]
    start_up = statistics.median(each.start_up_ms for each in runs)
    codes = ", ".join(str(code) for code in sorted({each.code for each in runs}))
    cpu = statistics.median(each.cpu_ms for each in runs)
    figures = f"{statistics.median(late):.0f} | {max(late):.0f} | {cpu:.0f} | {start_up:.0f}"
    return f"| `{name}` | {fault} | {timeout_ms / 1000:g} s | {figures} | {codes} |"


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--timeouts-ms", type=int, nargs="+", default=[1000, 3000])
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--check", action="store_true", help="fail when a median is above the bound")
    options = parser.parse_args()
    print(f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f} at the start, {options.runs} runs each")
    print("| command | cluster | timeout | median late, ms | most | CPU, ms | start-up, ms | exit code |")
    print("|---|---|---|---|---|---|---|---|")
    too_late = []
    for timeout_ms in options.timeouts_ms:
        sleeps = [run(RUN_SLEEP, ["sys", str(timeout_ms / 1000)], timeout_ms) for _ in range(options.runs)]
        print(row("sleep", "none", timeout_ms, sleeps), flush=True)
    for fault in FAULTS:
        with cluster(fault) as servers:
            for command in COMMANDS:
                for timeout_ms in options.timeouts_ms:
                    words = [*command.words.format(timeout=f"{timeout_ms}ms").split(), "-b", servers]
                    runs = [
                        run(RUN_COMMAND, [command.modules, *words], timeout_ms, command.stdin)
                        for _ in range(options.runs)
                    ]
                    print(row(command.name, fault, timeout_ms, runs), flush=True)
                    if statistics.median(each.late_ms for each in runs) > MOST_LATE_MS:
                        too_late.append(f"{command.name} at {timeout_ms} ms, {fault}")
    print(f"load {os.getloadavg()[0]:.1f} at the end; later than {MOST_LATE_MS} ms: {'; '.join(too_late) or 'none'}")
    return 1 if options.check and too_late else 0


if __name__ == "__main__":
    sys.exit(main())
