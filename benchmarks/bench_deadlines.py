"""How late a call or a connection ends after its limit, fault by fault; kctl next to other clients on request.

Lateness is the measured end minus the deadline, in milliseconds; negative would be early. The processes of a client,
one a fault, run side by side, since they only wait; they start when all of them are ready, and one client follows the
other. `says`: whether the error names the cause or is the same for every fault. A limit that a client does not have is
left out. Faults that waiting cannot cure end before the deadline on purpose: for those, the time to the cause.
The first row is a bare wait beside the others: what the machine is late by without any client.

Held to: at most 2 ms median and 10 ms p99, never early, and no median more than 1 ms above that of the best peer that
keeps the deadline.
"""

import argparse
import contextlib
import importlib.util
import os
import re
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from benchmarks.faults import API_DEADLINE, CONNECT_LIMIT, NOBODY, PERMANENT, Case
from benchmarks.lateness import NO_LIMIT, Child, Row, figures, misses
from tests.support.kafka.toolchain import FetchError, ToolMissing, cache_dir, compiled_class_path, java_command

PEERS = Path(__file__).parent / "peers"
JAVA_SOURCE = PEERS / "AskWithLimit.java"


class Client(NamedTuple):
    """A client and how its program is started, and the modes in which it has a limit."""

    name: str
    command: Callable[[Case, str, "Plan", str], list[str]]
    modes: tuple[str, ...]


class Plan(NamedTuple):
    limit_ms: int
    runs: int
    peer_runs: int


def python_client(name: str, program: str, python: str, *modes: str) -> Client:
    def command(case: Case, servers: str, plan: Plan, mode: str) -> list[str]:
        runs = plan.runs if name == "kctl" else plan.peer_runs
        module = f"benchmarks.peers.{'ask_nobody' if case is NOBODY else program}"
        words = [python, "-W", "ignore", "-m", module, "--servers", servers, "--mode", mode]
        words += ["--limit-ms", str(plan.limit_ms), "--runs", str(runs), "--security", case.security]
        return [*words, "--silent-resolver"] if case.silent_resolver else words

    return Client(name, command, modes)


def java_client() -> Client:
    class_path = compiled_class_path(JAVA_SOURCE)

    def command(case: Case, servers: str, plan: Plan, mode: str) -> list[str]:
        arguments = [servers, mode, str(plan.limit_ms), str(plan.peer_runs), case.security]
        return java_command(class_path, "AskWithLimit", *arguments)

    return Client("java", command, ("api", "connect"))


def peer_clients() -> list[Client]:
    """Return the peers that are installed, here or in the environment that `make bench-peers` makes."""
    own = cache_dir() / "peers" / "bin" / "python"
    found = []
    for name, module, program, modes in (
        ("kafka-python", "kafka", "ask_kafka_python", ("api",)),
        ("aiokafka", "aiokafka", "ask_aiokafka", ("api", "connect")),
        ("confluent", "confluent_kafka", "ask_confluent", ("api", "connect")),
    ):
        if own.exists():
            has_it = subprocess.run([own, "-c", f"import {module}"], capture_output=True, check=False).returncode == 0
        else:
            has_it = importlib.util.find_spec(module) is not None
        if has_it:
            found.append(python_client(name, program, str(own) if own.exists() else sys.executable, *modes))
        else:
            print(f"{name} is not installed and left out (make bench-peers installs it)")
    try:
        found.append(java_client())
    except (ToolMissing, FetchError) as error:
        print(f"java is left out: {error}")
    return found


@contextlib.contextmanager
def started(client: Client, cases: Sequence[tuple[str, Case]], plan: Plan) -> Iterator[list[Child]]:
    """Start a client's programs, one a case with a peer of its own, and let them wait."""
    with contextlib.ExitStack() as stack:
        children = [Child(client.command(case, stack.enter_context(case.peer()), plan, mode)) for mode, case in cases]
        for child in children:
            child.until_ready()
        yield children


def measure(client: Client, cases: Sequence[tuple[str, Case]], plan: Plan) -> list[Row]:
    with started(client, cases, plan) as children:
        for child in children:
            child.start()
            time.sleep(plan.limit_ms / 1000 / len(children))  # or all would wake in the same millisecond
        return [child.finish(plan.limit_ms) for child in children]


# --- what is shown ----------------------------------------------------------------------------------------------------


def says(case: Case, row: Row) -> str:
    if not row.texts:
        return "never returned" if row.hung else "the program failed"
    if row.texts == [NO_LIMIT]:
        return "no such limit"
    if all(text == "success" for text in row.texts):
        return "success"
    named = sum(re.search(case.names_it, text, re.IGNORECASE) is not None for text in row.texts)
    return "cause" if named == len(row.texts) else "cause at times" if named else "generic"


def show_lateness(title: str, cases: Sequence[Case], rows: dict[str, list[Row | None]]) -> list[str]:
    """Print one table; return what kctl misses in it."""
    print(f"\n{title}\n{'':24}{'':14}{'runs':>5}{'median':>10}{'p99':>10}{'max':>10}{'early':>7}  says")
    missed = []
    for at, case in enumerate(cases):
        for name, of_client in rows.items():
            row = of_client[at]
            if row is None:
                continue
            line = f"{case.name if name == 'kctl' else '':24}{name:14}{figures(row)}"
            print(f"{line}  {says(case, row)}{', then hung' if row.hung and row.texts else ''}")
        missed += [f"{case.name}: {what}" for what in misses([of_client[at] for of_client in rows.values()])]
    return missed


def show_time_to_cause(limit_ms: int, cases: Sequence[Case], rows: dict[str, list[Row | None]]) -> list[str]:
    print(f"\npermanent faults: time to the error, ms (limit {limit_ms} ms)")
    print(f"{'':24}{'':14}{'runs':>5}{'median':>10}{'max':>10}  says")
    missed = []
    for at, case in enumerate(cases):
        for name, of_client in rows.items():
            row = of_client[at]
            if row is None:
                continue
            took = [late + limit_ms for late in row.late_ms]
            times = f"{statistics.median(took):10.3f}{max(took):10.3f}" if took else " " * 20
            print(f"{case.name if name == 'kctl' else '':24}{name:14}{len(took):5}{times}  {says(case, row)}")
            if name == "kctl" and (row.hung or says(case, row) != "cause" or max(took) >= limit_ms):
                missed.append(f"{case.name}: no cause before the deadline")
    return missed


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--limit-ms", type=int, default=1000)
    parser.add_argument("--runs", type=int, default=100, help="tries of kctl at each fault")
    parser.add_argument("--peer-runs", type=int, default=20, help="tries of each other client")
    parser.add_argument("--peers", action="store_true", help="measure other clients too")
    parser.add_argument("--only", default="", help="faults whose name contains this")
    parser.add_argument("--check", action="store_true", help="fail when kctl misses what it is held to")
    parser.add_argument("--texts", action="store_true", help="print what each client said")
    options = parser.parse_args()
    plan = Plan(options.limit_ms, options.runs, options.peer_runs)
    tables = (("api", API_DEADLINE), ("connect", CONNECT_LIMIT), ("api", PERMANENT))
    everything = [(mode, case) for mode, cases in tables for case in cases if options.only in case.name]
    everything.append(("api", NOBODY))
    clients = [python_client("kctl", "ask_kctl", sys.executable, "api", "connect")]
    clients += peer_clients() if options.peers else []
    measured: dict[str, list[Row | None]] = {}
    for client in clients:
        wanted = [
            (mode, case)
            for mode, case in everything
            if mode in client.modes and (client.name == "kctl" or not (case.silent_resolver or case is NOBODY))
        ]
        rows = iter(measure(client, wanted, plan))
        measured[client.name] = [next(rows) if pair in wanted else None for pair in everything]
    return show(options, everything, measured)


def show(
    options: argparse.Namespace, everything: Sequence[tuple[str, Case]], measured: dict[str, list[Row | None]]
) -> int:
    print(f"lateness in ms behind a limit of {options.limit_ms} ms; load average {os.getloadavg()[0]:.1f}")
    bare = measured["kctl"][-1]
    assert bare is not None
    print(f"{'a bare wait':38}{figures(bare)}")
    missed = []
    at = 0
    for title, cases in (("API deadline", API_DEADLINE), ("connect limit", CONNECT_LIMIT)):
        chosen = [case for case in cases if options.only in case.name]
        part = {name: rows[at : at + len(chosen)] for name, rows in measured.items()}
        missed += [f"{title}: {what}" for what in show_lateness(title, chosen, part)]
        at += len(chosen)
    chosen = [case for case in PERMANENT if options.only in case.name]
    missed += show_time_to_cause(options.limit_ms, chosen, {name: rows[at:] for name, rows in measured.items()})
    if options.texts:
        for name, rows in measured.items():
            for (mode, case), row in zip(everything, rows, strict=True):
                if row is not None and row.texts:
                    print(f"{mode:8}{case.name:24}{name:14}{row.texts[-1][:200]}")
    print("\n" + "\n".join(f"missed: {what}" for what in missed) if missed else "\nnothing missed")
    return 1 if options.check and missed else 0


if __name__ == "__main__":
    sys.exit(main())
