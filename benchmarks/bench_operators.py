"""Time and CPU of commands on large clusters, and of the help of the commands that change a cluster; medians.

Held to: `topics describe --configs` of 1,000 topics on three brokers within 1 s, `partitions plan` of 10,000 partitions
within 2 s, each help within 120 ms. The brokers are a sandbox in a process of its own, on the same machine; CPU is that
of the command alone, and says more than time where the machine is busy.
"""

import argparse
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

sys.path.insert(0, str(Path(__file__).parents[1]))

from benchmarks.bytecode import with_bytecode
from kctl.sandbox import Sandbox

ROOT = Path(__file__).parents[1]
KCTL = [sys.executable, "-m", "kctl"]
TOPICS = {f"topic-{number:04}": 10 for number in range(1000)}
HELP_MS, DESCRIBE_MS, PLAN_MS = 120, 1000, 2000
OPERATOR_COMMANDS = (
    "topics alter", "topics trim", "topics offsets", "configs show", "acls create", "acls check", "users create",
    "quotas set", "cluster describe", "cluster quorum", "brokers disks", "partitions plan", "partitions move",
    "partitions elect", "transactions list", "api", "wait topic", "apply",
)  # fmt: skip


class Cost(NamedTuple):
    """What a command took."""

    wall_ms: float
    cpu_ms: float


def cost_of(words: list[str]) -> Cost:
    """Run a command to its end."""
    started = time.perf_counter()
    quiet = subprocess.DEVNULL
    process = subprocess.Popen(words, stdout=quiet, stderr=quiet, cwd=ROOT, env=with_bytecode())
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    assert process.returncode == 0, words
    return Cost((time.perf_counter() - started) * 1000, (usage.ru_utime + usage.ru_stime) * 1000)


@contextmanager
def brokers() -> Iterator[str]:
    """Yield the bootstrap servers of three brokers with `TOPICS`."""
    command = [sys.executable, __file__, "--serve"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        yield process.stdout.readline().strip()
        process.stdin.close()


def serve() -> int:
    """Serve until stdin is closed."""
    with Sandbox(nodes=3, topics=TOPICS).serve() as served:
        print(served.bootstrap, flush=True)
        sys.stdin.read()
    return 0


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--serve", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--check", action="store_true", help="fail when the bounds are missed")
    options = parser.parse_args()
    if options.serve:
        return serve()
    with brokers() as bootstrap:
        to_brokers = ["-b", bootstrap]
        cases = {f"{name} --help": ([*name.split(), "--help"], HELP_MS) for name in OPERATOR_COMMANDS}
        cases["topics describe --configs"] = (["topics", "describe", *TOPICS, "--configs", *to_brokers], DESCRIBE_MS)
        cases["partitions plan --away-from"] = (["partitions", "plan", "--away-from", "3", *to_brokers], PLAN_MS)
        cases["partitions plan --to"] = (["partitions", "plan", "--to", "1,2", *to_brokers], PLAN_MS)
        costs: dict[str, list[Cost]] = {name: [] for name in ("python -c pass", *cases)}
        for _ in range(options.runs):
            costs["python -c pass"].append(cost_of([sys.executable, "-c", "pass"]))
            for name, (words, _) in cases.items():
                costs[name].append(cost_of([*KCTL, *words]))
    missed = []
    for name, found in costs.items():
        wall_ms, cpu_ms = (statistics.median(each) for each in zip(*found, strict=True))
        bound_ms = cases[name][1] if name in cases else None
        print(f"{name:30} {wall_ms:7.0f} ms, {cpu_ms:5.0f} ms of CPU" + (f", bound {bound_ms} ms" if bound_ms else ""))
        if bound_ms is not None and wall_ms > bound_ms:
            missed.append(name)
    print(f"bounds missed: {', '.join(missed)}" if missed else "bounds held")
    return 1 if missed and options.check else 0


if __name__ == "__main__":
    raise SystemExit(main())
