"""How late each blocking call of a consumer ends, fault by fault; kctl next to other clients on request.

Every program is a member of a group of its own on a sandbox of three nodes: one leads the partition, one coordinates,
one does neither. The fault comes when all programs of a client have their partition. Then each tries its call again and
again with the same limit. Lateness is the measured end minus the limit. `answered`: the fault does not concern that
call, or the answer was kept from before. A call without a limit in that client, or without its like, is left out.

Held to: at most 2 ms median and 10 ms p99, never early, and no median more than 1 ms above that of the best peer that
keeps the deadline.
"""

import argparse
import contextlib
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from benchmarks.lateness import NO_LIMIT, ROOT, Child, Row, figures, misses
from benchmarks.peers.calls import CALLS, TIMEOUT, TOPIC, CallOptions
from kctl.sandbox import Fault, Sandbox
from tests.support.kafka.toolchain import FetchError, ToolMissing, cache_dir, compiled_class_path, java_command

JAVA_SOURCE = ROOT / "benchmarks" / "peers" / "CallWithLimit.java"
LEADER, COORDINATOR, OTHER = NODES = (1, 2, 3)
UNASKED_TOPICS = 300
FEWEST = 5
"""Tries that must have run into the limit for a row to be judged: the others were answered."""


class Trouble(NamedTuple):
    """What is wrong with the cluster while the calls are made."""

    name: str
    nodes: tuple[int, ...]
    faults: tuple[Fault, ...]

    def begin(self, sandbox: Sandbox, limit_ms: int) -> None:
        for node_id in self.nodes:
            for fault in self.faults:
                sandbox.start_fault(node_id, fault, ms=4 * limit_ms if fault is Fault.DELAY else 0)


TROUBLES = (
    Trouble("all nodes blackholed", NODES, (Fault.BLACKHOLE, Fault.SILENCE)),
    Trouble("another broker frozen", (OTHER,), (Fault.FREEZE,)),
    Trouble("leader frozen", (LEADER,), (Fault.FREEZE,)),
    Trouble("coordinator frozen", (COORDINATOR,), (Fault.FREEZE,)),
    Trouble("slow brokers", NODES, (Fault.DELAY,)),
    Trouble("answers dropped", NODES, (Fault.DROP_RESPONSES,)),
)


class Client(NamedTuple):
    """A client, and how its program for one call is started."""

    name: str
    command: Callable[[CallOptions], list[str]]
    protocol: str = "classic"


def python_client(name: str, python: str, program: str, protocol: str = "classic") -> Client:
    def command(options: CallOptions) -> list[str]:
        arguments = [
            word for key, value in options._asdict().items() for word in (f"--{key.replace('_', '-')}", str(value))
        ]
        return [python, "-W", "ignore", "-m", f"benchmarks.peers.{program}", *arguments]

    return Client(name, command, protocol)


def java_client(protocol: str) -> Client:
    class_path = compiled_class_path(JAVA_SOURCE)

    def command(options: CallOptions) -> list[str]:
        numbers = (str(options.limit_ms), str(options.runs))
        return java_command(
            class_path, "CallWithLimit", options.servers, options.call, options.group, *numbers, options.protocol
        )

    return Client(f"java {protocol}", command, protocol)


def clients(*, with_peers: bool) -> list[Client]:
    """Return kctl, and the peers that are installed in the environment of `make bench-peers`."""
    found = [python_client(f"kctl {protocol}", sys.executable, "call_kctl", protocol) for protocol in PROTOCOLS]
    if not with_peers:
        return found
    own = str(cache_dir() / "peers" / "bin" / "python")
    for name, module in (("kafka-python", "kafka"), ("aiokafka", "aiokafka"), ("confluent", "confluent_kafka")):
        if subprocess.run([own, "-c", f"import {module}"], capture_output=True, check=False).returncode == 0:
            found.append(python_client(name, own, f"call_{name.replace('-', '_')}"))
        else:
            print(f"{name} is not installed and left out (make bench-peers installs it)")
    try:
        found += [java_client(protocol) for protocol in PROTOCOLS]
    except (ToolMissing, FetchError) as error:
        print(f"java is left out: {error}")
    return found


PROTOCOLS = ("classic", "consumer")


@contextlib.contextmanager
def cluster() -> Iterator[tuple[Sandbox, str]]:
    topics = {TOPIC: 1} | {f"u{number}": 1 for number in range(UNASKED_TOPICS)}
    with Sandbox(nodes=len(NODES), topics=topics).serve() as served:
        for topic in topics:
            served.sandbox.move_leader(topic, 0, LEADER)
        yield served.sandbox, served.bootstrap


def measure(client: Client, trouble: Trouble, calls: Sequence[str], limit_ms: int, runs: int) -> list[Row]:
    """Return one row a call."""
    with cluster() as (sandbox, servers):
        children = []
        for call in calls:
            options = CallOptions(servers, call, f"group-of-{call}", limit_ms, runs, client.protocol)
            for group in options.groups:
                sandbox.move_coordinator(group, COORDINATOR)
            children.append(Child(client.command(options)))
        started = [child.has_started() for child in children]
        trouble.begin(sandbox, limit_ms)
        for child, has_started in zip(children, started, strict=True):
            if has_started:
                child.start()
            time.sleep(limit_ms / 1000 / len(children))  # or all would wake in the same millisecond
        return [child.finish(limit_ms) for child in children]


def late_only(row: Row) -> Row:
    """Return the tries that ran into the limit: an answer within it is neither late nor early."""
    kept = [(late, text) for late, text in zip(row.late_ms, row.texts, strict=False) if text != "success" or late > 0]
    return Row([late for late, _ in kept], [text for _, text in kept], row.hung)


def says(row: Row) -> str:
    if not row.texts:
        return "never returned" if row.hung else "the program failed"
    if row.texts == [NO_LIMIT]:
        return "no such limit"
    if all(text == "success" for text in row.texts):
        return "answered"
    if all(text == TIMEOUT for text in row.texts):
        return "empty"
    answered = sum(text == "success" for text in row.texts)
    words = next(text for text in reversed(row.texts) if text != "success").split("\n")[0][:60]
    return f"answered {answered} of {len(row.texts)}, else {words}" if answered else words


def show(call: str, rows: dict[str, Row]) -> list[str]:
    """Print the rows of one call; return what kctl misses."""
    for at, (name, row) in enumerate(rows.items()):
        hung = ", then hung" if row.hung and row.texts else ""
        print(f"  {call if at == 0 else '':20}{name:16}{figures(late_only(row))}  {says(row)}{hung}")
    missed = []
    late_peers = [late_only(row) for name, row in rows.items() if not name.startswith("kctl")]
    peers = [row for row in late_peers if len(row.late_ms) >= FEWEST]
    for name, row in rows.items():
        if name.startswith("kctl") and (row.hung or not row.texts):
            missed.append(f"{name}: {says(row)}")
        elif name.startswith("kctl") and len((ours := late_only(row)).late_ms) >= FEWEST:
            missed += [f"{name}: {what}" for what in misses([ours, *peers])]
    return missed


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--limit-ms", type=int, default=300)
    parser.add_argument("--runs", type=int, default=50, help="tries of kctl at each call and fault")
    parser.add_argument("--peer-runs", type=int, default=10, help="tries of each other client")
    parser.add_argument("--peers", action="store_true", help="measure other clients too")
    parser.add_argument("--only", default="", help="faults whose name contains this")
    parser.add_argument("--calls", nargs="+", choices=CALLS, default=CALLS)
    parser.add_argument("--check", action="store_true", help="fail when kctl misses what it is held to")
    options = parser.parse_args()
    print(f"lateness in ms behind a limit of {options.limit_ms} ms; load average {os.getloadavg()[0]:.1f}")
    print(f"  {'':20}{'':16}{'runs':>5}{'median':>10}{'p99':>10}{'max':>10}{'early':>7}  says")
    chosen = clients(with_peers=options.peers)
    missed = []
    for trouble in TROUBLES:
        if options.only not in trouble.name:
            continue
        table: dict[str, list[Row]] = {}
        for client in chosen:
            runs = options.runs if client.name.startswith("kctl") else options.peer_runs
            table[client.name] = measure(client, trouble, options.calls, options.limit_ms, runs)
        print(f"{trouble.name}")
        for at, call in enumerate(options.calls):
            rows = {name: of_client[at] for name, of_client in table.items()}
            missed += [f"{trouble.name}, {call}: {what}" for what in show(call, rows)]
    print("\n" + "\n".join(f"missed: {what}" for what in missed) if missed else "\nnothing missed")
    return 1 if options.check and missed else 0


if __name__ == "__main__":
    sys.exit(main())
