"""CPU of a group member that receives 10 records a second, next to confluent-kafka in the same run.

    python benchmarks/bench_consume_trickle.py [--seconds N] [--check]

A sandbox of three brokers has a topic of 12 partitions. One process writes; each reader is a process that polls for at
most 100 ms, commits automatically, and measures its own CPU time after a warm-up.

Held to: kctl takes at most 3 % of a core.
"""

import argparse
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import ExitStack

from benchmarks.lateness import ROOT

RECORDS_PER_S = 10
PARTITIONS = 12
POLL_S = 0.1
WARM_UP_S = 3
MOST_PERCENT = 3.0
TOPIC = "trickle"


def write(servers: str) -> None:
    """Write until the process is ended."""
    from kctl.client import Producer

    with Producer({"bootstrap.servers": servers, "linger.ms": "0"}) as producer:
        number = 0
        while True:
            producer.send(TOPIC, b"%d" % number, partition=number % PARTITIONS)
            number += 1
            time.sleep(1 / RECORDS_PER_S)


def read_kctl(servers: str, seconds: float) -> None:
    from kctl.client import Consumer

    with Consumer({"bootstrap.servers": servers, "group.id": "kctl", "auto.offset.reset": "latest"}) as consumer:
        consumer.subscribe([TOPIC])
        measure("kctl", seconds, lambda: len(consumer.poll(POLL_S)))


def read_confluent(servers: str, seconds: float) -> None:
    from confluent_kafka import Consumer

    consumer = Consumer({"bootstrap.servers": servers, "group.id": "confluent", "auto.offset.reset": "latest"})
    consumer.subscribe([TOPIC])
    measure("confluent-kafka", seconds, lambda: len(consumer.consume(500, POLL_S)))
    consumer.close()


def measure(name: str, seconds: float, poll: Callable[[], int]) -> None:
    """Print how much CPU time the polls take."""
    end_s = time.monotonic() + WARM_UP_S
    while time.monotonic() < end_s:
        poll()
    records, started_s, cpu_s = 0, time.monotonic(), time.process_time()
    while time.monotonic() < started_s + seconds:
        records += poll()
    percent = 100 * (time.process_time() - cpu_s) / (time.monotonic() - started_s)
    print(f"{name} {records} {percent:.2f}", flush=True)


def run(seconds: float) -> dict[str, float]:
    """Run both readers side by side and return the percentage of a core that each takes."""
    with ExitStack() as stack:

        def start(*arguments: str) -> "subprocess.Popen[str]":
            process = subprocess.Popen([sys.executable, *arguments], cwd=ROOT, stdout=subprocess.PIPE, text=True)
            stack.callback(process.wait)
            stack.callback(process.terminate)
            return process

        sandbox = start("-m", "kctl", "sandbox", "start", "--port", "0", "--topic", f"{TOPIC}:{PARTITIONS}")
        assert sandbox.stdout is not None
        servers = sandbox.stdout.readline().strip()
        start("-m", "benchmarks.bench_consume_trickle", "--write", servers)
        readers = [
            start("-m", "benchmarks.bench_consume_trickle", f"--read-{name}", servers, "--seconds", str(seconds))
            for name in ("kctl", "confluent")
        ]
        lines = [reader.communicate()[0].split() for reader in readers]
    for name, records, percent in lines:
        print(f"{name:16} {records:>6} records  {percent:>6} % of a core")
    return {name: float(percent) for name, _, percent in lines}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=20)
    parser.add_argument("--check", action="store_true", help="exit with 1 if kctl takes more than it may")
    for role in ("write", "read-kctl", "read-confluent"):
        parser.add_argument(f"--{role}", metavar="SERVERS", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.write:
        write(given.write)
    elif given.read_kctl:
        read_kctl(given.read_kctl, given.seconds)
    elif given.read_confluent:
        read_confluent(given.read_confluent, given.seconds)
    else:
        return int(run(given.seconds)["kctl"] > MOST_PERCENT and given.check)
    return 0


if __name__ == "__main__":
    sys.exit(main())
