"""Latency of single records at 1,000 a second on real Kafka, next to the Java client: produce-to-ack, and end to end.

    python benchmarks/bench_produce_latency.py [--rounds N] [--seconds N] [--brokers 1|3] [--only ack] [--check]

Both clients have the same settings (acks=all, idempotent, linger.ms 0 and 5, 100 bytes, three partitions) and take
turns on one cluster, in alternating order; their programs live through all rounds, so that Java has compiled what it
needs, and a first round of each is not counted. `kctl bench produce` and `kctl bench end-to-end` are measured beside
them: a process a round, its first records included. Latency counts from the call of send().

Held to: the median over the rounds of kctl's p99 is at most 1.2 times Java's.
"""

import argparse
import json
import math
import os
import statistics
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import NamedTuple

from benchmarks.lateness import ROOT
from tests.support.kafka.cluster import KafkaCluster
from tests.support.kafka.toolchain import NEWEST_KAFKA, FetchError, ToolMissing, compiled_class_path, find_tool

JAVA_SOURCE = ROOT / "benchmarks" / "peers" / "ProduceLatency.java"
RATE = 1000
PARTITIONS = 3
ROOM = 1.2
"""What kctl may take of Java's p99."""
PATIENCE_S = 120


class Case(NamedTuple):
    """What is measured."""

    mode: str
    linger_ms: int

    def __str__(self) -> str:
        return f"{self.mode}, linger.ms={self.linger_ms}"


CASES = (Case("ack", 0), Case("ack", 5), Case("end-to-end", 0), Case("end-to-end", 5))
COMMAND = "kctl bench"
BENCH = {"ack": "produce", "end-to-end": "end-to-end"}


class Round(NamedTuple):
    """The percentiles of one round in milliseconds."""

    p50: float
    p99: float
    p999: float
    max: float


Measure = Callable[[], Round]


def of_latencies(latencies_us: list[int]) -> Round:
    ordered = sorted(latencies_us)

    def at(share: float) -> float:
        return ordered[math.ceil(len(ordered) * share) - 1] / 1000

    return Round(at(0.5), at(0.99), at(0.999), at(1))


@contextmanager
def program(command: list[str]) -> Iterator[Measure]:
    """Run a client's program; what is given takes a round of it."""
    process = subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=dict(os.environ, PYTHONPATH=str(ROOT))
    )
    assert process.stdin is not None
    assert process.stdout is not None
    stdin, stdout = process.stdin, process.stdout

    def measure() -> Round:
        stdin.write("go\n")
        stdin.flush()
        return of_latencies(json.loads(stdout.readline()))

    try:
        if stdout.readline() != "ready\n":
            raise SystemExit(f"{command} did not start")
        yield measure
    finally:
        process.kill()
        process.communicate()


def command_line(servers: str, topic: str, case: Case, records: int) -> Measure:
    """Return what takes a round of `kctl bench`."""
    command = [sys.executable, "-m", "kctl", "bench", BENCH[case.mode], "-b", servers, "--topic", topic]
    command += ["-n", str(records), "--rate", f"{RATE}/s", "-X", f"linger.ms={case.linger_ms}", "--output", "json"]

    def measure() -> Round:
        done = subprocess.run(command, stdout=subprocess.PIPE, timeout=PATIENCE_S, check=True, cwd=ROOT)
        found = json.loads(done.stdout)["latency_ms"]
        return Round(found["p50"], found["p99"], found["p99.9"], found["max"])

    return measure


def clients(stack: ExitStack, cluster: KafkaCluster, case: Case, records: int) -> dict[str, Measure]:
    """Start the programs, each with a topic of its own; Java is left out where it cannot run."""

    def words() -> list[str]:
        topic = cluster.create_topic(partitions=PARTITIONS)
        return [cluster.bootstrap(), topic, case.mode, str(case.linger_ms), str(records), str(RATE)]

    own = [sys.executable, "-m", "benchmarks.peers.latency_kctl", *words()]
    found = {"kctl": stack.enter_context(program(own))}
    try:
        java = [find_tool("java", "openjdk-17-jdk-headless"), "-Xmx512m", "-cp", compiled_class_path(JAVA_SOURCE)]
        found["java"] = stack.enter_context(program([*java, "ProduceLatency", *words()]))
    except (ToolMissing, FetchError) as error:
        print(f"java is left out: {error}")
    found[COMMAND] = command_line(cluster.bootstrap(), words()[1], case, records)
    return found


def measure(cluster: KafkaCluster, case: Case, rounds: int, records: int) -> dict[str, list[Round]]:
    """Measure in turns; who begins changes with each round."""
    with ExitStack() as stack:
        chosen = clients(stack, cluster, case, records)
        for name, warm_up in chosen.items():
            if name != COMMAND:
                warm_up()
        found: dict[str, list[Round]] = {name: [] for name in chosen}
        for number in range(rounds):
            order = list(chosen.items())
            for name, one in order if number % 2 else reversed(order):
                found[name].append(one())
    return found


def show(case: Case, found: dict[str, list[Round]]) -> list[str]:
    """Print the rows of a case; return what kctl misses."""
    print(f"{case}")
    p99 = {name: statistics.median(one.p99 for one in rounds) for name, rounds in found.items()}
    for name, rounds in found.items():
        middle = [statistics.median(values) for values in zip(*rounds, strict=True)]
        spread = f"{min(one.p99 for one in rounds):.2f} to {max(one.p99 for one in rounds):.2f}"
        times = f"{p99[name] / p99['java']:6.2f}" if "java" in p99 else ""
        print(f"  {name:12}" + "".join(f"{value:9.2f}" for value in middle) + f"   {spread:18}{times}", flush=True)
    if "java" in p99 and p99["kctl"] > ROOM * p99["java"]:
        return [f"{case}: p99 {p99['kctl']:.2f} ms, {p99['kctl'] / p99['java']:.2f} times Java's"]
    return []


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=int, default=3, help="of one round of one client")
    parser.add_argument("--brokers", type=int, choices=(1, 3), default=3)
    parser.add_argument("--only", default="", help="cases whose name contains this")
    parser.add_argument("--check", action="store_true", help="fail when kctl misses what it is held to")
    options = parser.parse_args()
    print(f"latency in ms at {RATE}/s, {options.brokers} brokers of {NEWEST_KAFKA}; load {os.getloadavg()[0]:.1f}")
    head = "".join(f"{name:>9}" for name in ("p50", "p99", "p99.9", "max"))
    print(f"  {'medians of':12}{head}   {'p99 of the rounds':18}  p99 / Java's")
    missed = []
    try:
        with KafkaCluster(NEWEST_KAFKA, options.brokers) as cluster:
            for case in CASES:
                if options.only in str(case):
                    missed += show(case, measure(cluster, case, options.rounds, options.seconds * RATE))
    except ToolMissing as error:
        missed = [f"there is no Kafka to measure: {error}"]
    print("\n" + "\n".join(f"missed: {what}" for what in missed) if missed else "\nnothing missed")
    return 1 if options.check and missed else 0


if __name__ == "__main__":
    sys.exit(main())
