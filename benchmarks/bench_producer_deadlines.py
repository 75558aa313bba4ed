"""How late flush(t) and close(t) of a producer end while its records cannot be delivered; other clients on request.

Every try has a producer of its own that was connected before the fault came, and ten records that wait. Lateness is the
measured end minus t. `returned as success`: the call said nothing of the records, though none was delivered. A call
that takes no limit in that client is left out.

Held to: at most 2 ms median and 10 ms p99, never early, and never a success that is none.
"""

import argparse
import contextlib
import math
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from typing import NamedTuple

from benchmarks.lateness import NO_LIMIT, ROOT, Child, Row, figures, misses
from benchmarks.peers.ends import CALLS, TOPIC, EndOptions
from kctl.sandbox import Fault, Sandbox
from tests.support.kafka.toolchain import FetchError, ToolMissing, cache_dir, compiled_class_path, java_command

JAVA_SOURCE = ROOT / "benchmarks" / "peers" / "EndWithLimit.java"
LEADER, OTHER = 1, 2
NODES = (LEADER, OTHER)
LIMITS_MS = (0, 100, 1000, 5000)
SLOW_MS = 20_000
RUNS = 20
LONG_SHARE = 4
"""Limits of more than a second are tried so many times less often."""


class Trouble(NamedTuple):
    """What is wrong with the cluster while the calls are made."""

    name: str
    nodes: tuple[int, ...]
    faults: tuple[Fault, ...]
    may_succeed: bool = False

    def begin(self, sandbox: Sandbox) -> None:
        for node_id in self.nodes:
            for fault in self.faults:
                sandbox.start_fault(node_id, fault, ms=SLOW_MS if fault is Fault.DELAY else 0)


TROUBLES = (
    Trouble("another broker frozen", (OTHER,), (Fault.FREEZE,), may_succeed=True),
    Trouble("leader frozen", (LEADER,), (Fault.FREEZE,)),
    Trouble("all nodes blackholed", NODES, (Fault.BLACKHOLE, Fault.SILENCE)),
    Trouble("slow acknowledgements", NODES, (Fault.DELAY,)),
)


class Client(NamedTuple):
    """A client, how its program is started, and how often a limit up to a second is tried."""

    name: str
    command: Callable[[EndOptions], list[str]]
    runs: int

    def runs_of(self, limit_ms: int) -> int:
        return self.runs if limit_ms <= 1000 else math.ceil(self.runs / LONG_SHARE)


def python_client(name: str, python: str, program: str, runs: int) -> Client:
    def command(options: EndOptions) -> list[str]:
        given = options._asdict().items()
        arguments = [word for key, value in given for word in (f"--{key.replace('_', '-')}", str(value))]
        return [python, "-W", "ignore", "-m", f"benchmarks.peers.{program}", *arguments]

    return Client(name, command, runs)


def java_client(runs: int) -> Client:
    class_path = compiled_class_path(JAVA_SOURCE)

    def command(options: EndOptions) -> list[str]:
        return java_command(class_path, "EndWithLimit", *(str(value) for value in options))

    return Client("java", command, runs)


def clients(runs: int, peer_runs: int) -> list[Client]:
    """Return kctl and, unless they have no runs, the peers that are installed (`make bench-peers` does that)."""
    found = [python_client("kctl", sys.executable, "end_kctl", runs)]
    if not peer_runs:
        return found
    own = str(cache_dir() / "peers" / "bin" / "python")
    for name, module in (("kafka-python", "kafka"), ("aiokafka", "aiokafka"), ("confluent", "confluent_kafka")):
        if subprocess.run([own, "-c", f"import {module}"], capture_output=True, check=False).returncode == 0:
            found.append(python_client(name, own, f"end_{name.replace('-', '_')}", peer_runs))
        else:
            print(f"{name} is not installed and left out (make bench-peers installs it)")
    try:
        found.append(java_client(peer_runs))
    except (ToolMissing, FetchError) as error:
        print(f"java is left out: {error}")
    return found


@contextlib.contextmanager
def cluster() -> Iterator[tuple[Sandbox, str]]:
    with Sandbox(nodes=len(NODES), topics={TOPIC: 1}).serve() as served:
        served.sandbox.move_leader(TOPIC, 0, LEADER)
        yield served.sandbox, served.bootstrap


def measure(client: Client, trouble: Trouble) -> dict[tuple[str, int], Row]:
    """Return one row for each call and limit."""
    with cluster() as (sandbox, servers):
        children = {}
        for call in CALLS:
            for limit_ms in LIMITS_MS:
                options = EndOptions(servers, call, limit_ms, client.runs_of(limit_ms))
                children[call, limit_ms] = Child(client.command(options))
        for child in children.values():
            child.until_ready()
        trouble.begin(sandbox)
        for child in children.values():
            child.start()
            time.sleep(0.037)  # or several would wake in the same millisecond
        return {key: child.finish(key[1]) for key, child in children.items()}


def says(row: Row) -> str:
    if not row.texts:
        return "never returned" if row.hung else "the program failed"
    if row.texts == [NO_LIMIT]:
        return "no such limit"
    lies = sum(text == "success" for text in row.texts)
    if lies:
        return "returned as success" if lies == len(row.texts) else f"returned as success {lies} of {len(row.texts)}"
    return row.texts[-1].split("\n")[0][:70]


def show(trouble: Trouble, table: dict[str, dict[tuple[str, int], Row]]) -> list[str]:
    """Print the rows of one fault; return what kctl misses."""
    missed = []
    print(trouble.name)
    for key in table["kctl"]:
        call, limit_ms = key
        for name, rows in table.items():
            row = rows[key]
            hung = ", then hung" if row.hung and row.texts else ""
            word = f"{call}({limit_ms} ms)" if name == "kctl" else ""
            told = "delivered" if trouble.may_succeed and says(row) == "returned as success" else says(row)
            print(f"  {word:16}{name:14}{figures(row)}  {told}{hung}")
        ours = table["kctl"][key]
        if trouble.may_succeed:
            continue
        missed += [f"{trouble.name}, {call}({limit_ms} ms): {what}" for what in misses([ours])]
        if "success" in ours.texts:
            missed.append(f"{trouble.name}, {call}({limit_ms} ms): a success that is none")
    return missed


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--peers", action="store_true", help="measure other clients too")
    parser.add_argument("--runs", type=int, default=RUNS, help="tries of a limit up to a second; of longer ones a 4th")
    parser.add_argument("--peer-runs", type=int, help="the same of other clients (as --runs)")
    parser.add_argument("--only", default="", help="faults whose name contains this")
    parser.add_argument("--check", action="store_true", help="fail when kctl misses what it is held to")
    options = parser.parse_args()
    print(f"lateness in ms; load average {os.getloadavg()[0]:.1f}")
    print(f"  {'':16}{'':14}{'runs':>5}{'median':>10}{'p99':>10}{'max':>10}{'early':>7}  says")
    peer_runs = options.runs if options.peer_runs is None else options.peer_runs
    chosen = clients(options.runs, peer_runs if options.peers else 0)
    missed = []
    for trouble in TROUBLES:
        if options.only in trouble.name:
            missed += show(trouble, {client.name: measure(client, trouble) for client in chosen})
    print("\n" + "\n".join(f"missed: {what}" for what in missed) if missed else "\nnothing missed")
    return 1 if options.check and missed else 0


if __name__ == "__main__":
    sys.exit(main())
