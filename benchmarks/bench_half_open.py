"""Recovery from half-open connections, next to confluent-kafka in the same run and under the same faults.

    python benchmarks/bench_half_open.py [--rounds N] [--timeout-ms MS] [--check]

A sandbox of three brokers loses all connections, and then accepts new ones without a response to anything. When that is
over, connections that were opened meanwhile stay dead; new ones work. A producer, an assigned reader and a member of a
group of each client run all the time, each in its own process. Measured is the time from the end of the fault until
the last partition has its first record that was made after the end: acknowledged, or read.

Held to: the median of kctl is at most 1.5 times the median of confluent-kafka, or 0.5 s longer.
"""

import argparse
import random
import statistics
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack

from benchmarks.lateness import ROOT
from kctl.client.records import RecordBatchBuilder
from kctl.sandbox import Fault, Sandbox
from kctl.sandbox.server import ServedSandbox

PARTITIONS = 6
EVERY_S = 0.05
JOINED_S = 6.0
CUT_S = 0.6
SHORTEST_S, LONGEST_S = 3.0, 9.0
GIVE_UP_S = 40.0
CALM_S = 3.0
MOST_RATIO, MOST_LONGER_S = 1.5, 0.5
PRODUCED, READ = "produced", "read"
ROLES = ("producer", "reader", "member")
CLIENTS = ("kctl", "confluent")


def now() -> float:
    """Return the time that all processes of this machine share."""
    return time.monotonic()


def report(partition: int, made_at: float) -> None:
    """Print that a record of that age has arrived."""
    sys.stdout.write(f"{partition} {made_at:.4f} {now():.4f}\n")
    sys.stdout.flush()


# --- the clients ------------------------------------------------------------------------------------------------------


def run_kctl(role: str, servers: str, timeout_ms: int) -> None:
    """Produce or read until the process is ended."""
    from kctl.client import Consumer, Producer, TopicPartition
    from kctl.client.producer import SendFuture

    limits = {"request.timeout.ms": timeout_ms, "socket.connection.setup.timeout.ms": timeout_ms}
    if role == "producer":
        producer = Producer({"bootstrap.servers": servers, "linger.ms": 0, **limits})

        def on_done(future: SendFuture) -> None:
            if future.exception() is None and future.timestamp_ms:
                report(future.partition, float(future.value or b"0"))

        while True:
            for partition in range(PARTITIONS):
                producer.send(PRODUCED, f"{now():.4f}".encode(), partition=partition, callback=on_done)
            time.sleep(EVERY_S)
    group = {"group.id": f"kctl-{role}", "auto.offset.reset": "latest"}
    consumer = Consumer({"bootstrap.servers": servers, **group, **limits})
    if role == "member":
        consumer.subscribe([READ])
    else:
        consumer.assign([TopicPartition(READ, partition) for partition in range(PARTITIONS)])
    while True:
        for record in consumer.poll(0.5):
            report(record.partition, float(record.value or b"0"))


def run_confluent(role: str, servers: str, timeout_ms: int) -> None:
    """Produce or read until the process is ended."""
    import confluent_kafka as confluent

    def arrived(message: confluent.Message) -> None:
        partition, value = message.partition(), message.value()
        assert partition is not None
        assert value is not None
        report(partition, float(value))

    limits = {"socket.timeout.ms": timeout_ms, "socket.connection.setup.timeout.ms": timeout_ms, "log_level": 0}
    if role == "producer":
        producer = confluent.Producer(
            {"bootstrap.servers": servers, "linger.ms": 0, "enable.idempotence": True, **limits}
        )

        def on_delivery(error: object, message: confluent.Message) -> None:
            if error is None:
                arrived(message)

        while True:
            for partition in range(PARTITIONS):
                producer.produce(PRODUCED, f"{now():.4f}".encode(), partition=partition, on_delivery=on_delivery)
            end = now() + EVERY_S
            while (left := end - now()) > 0:
                producer.poll(left)
    group = {"group.id": f"confluent-{role}", "auto.offset.reset": "latest"}
    consumer = confluent.Consumer({"bootstrap.servers": servers, **group, **limits})
    if role == "member":
        consumer.subscribe([READ])
    else:
        consumer.assign([confluent.TopicPartition(READ, partition) for partition in range(PARTITIONS)])
    while True:
        for message in consumer.consume(500, 0.1):
            if message.error() is None:
                arrived(message)


# --- the run ----------------------------------------------------------------------------------------------------------


class Client:
    """One client in its process, and when each partition had its first record of those made after an instant."""

    def __init__(self, stack: ExitStack, name: str, role: str, servers: str, timeout_ms: int) -> None:
        self.name, self.role = name, role
        self._healed_at = float("inf")
        self._first: dict[int, float] = {}
        arguments = ["-m", "benchmarks.bench_half_open", "--run", name, role, servers, "--timeout-ms", str(timeout_ms)]
        process = subprocess.Popen([sys.executable, *arguments], cwd=ROOT, stdout=subprocess.PIPE, text=True)
        stack.callback(process.wait)
        stack.callback(process.kill)
        assert process.stdout is not None
        threading.Thread(target=self._listen, args=(process.stdout,), daemon=True).start()

    def _listen(self, lines: Iterator[str]) -> None:
        for line in lines:
            partition, made_at, arrived_at = line.split()
            if float(made_at) >= self._healed_at:
                self._first.setdefault(int(partition), float(arrived_at))

    def heals(self, at: float) -> None:
        """Count records that are made from now on."""
        self._first.clear()
        self._healed_at = at

    @property
    def recovered_s(self) -> float | None:
        """How long after the end of the fault the last partition had a record."""
        return max(self._first.values()) - self._healed_at if len(self._first) == PARTITIONS else None


def write(served: ServedSandbox, is_over: threading.Event) -> None:
    """Append records for readers to the logs themselves: writing must not wait for a recovery."""
    loop, partitions = served._loop, served.sandbox.cluster.topics[READ].partitions

    def append() -> None:
        for partition in partitions.values():
            builder = RecordBatchBuilder()
            wall_ms = int(time.time() * 1000)
            assert builder.try_append(None, f"{now():.4f}".encode(), [], wall_ms) is not None
            partition.log.append(builder.build(), partition.leader_epoch, wall_ms)

    while not is_over.wait(EVERY_S):
        loop.carry_out(append)


def play(served: ServedSandbox, clients: list[Client], fault_s: float) -> list[float]:
    """Play one fault and return how long each client took to recover."""
    nodes = range(1, 4)
    for fault, lasting_s in ((Fault.RESET_ON_REQUEST, CUT_S), (Fault.SILENCE, fault_s)):
        for node in nodes:
            served.sandbox.start_fault(node, fault)
        time.sleep(lasting_s)
        for node in nodes:
            served.sandbox.stop_fault(node, fault)
    healed_at = now()
    for client in clients:
        client.heals(healed_at)
    while now() < healed_at + GIVE_UP_S and any(client.recovered_s is None for client in clients):
        time.sleep(0.02)
    recovered = [GIVE_UP_S if client.recovered_s is None else client.recovered_s for client in clients]
    time.sleep(CALM_S)
    return recovered


def run(rounds: int, timeout_ms: int) -> bool:
    """Print the recovery of each client; return whether kctl is within its bounds."""
    found: dict[tuple[str, str], list[float]] = {}
    with Sandbox(nodes=3, topics={PRODUCED: PARTITIONS, READ: PARTITIONS}).serve() as served, ExitStack() as stack:
        is_over = threading.Event()
        writer = threading.Thread(target=write, args=(served, is_over))
        writer.start()
        stack.callback(writer.join)
        stack.callback(is_over.set)
        clients = [Client(stack, name, role, served.bootstrap, timeout_ms) for role in ROLES for name in CLIENTS]
        time.sleep(JOINED_S)
        lengths = random.Random(rounds)
        for _ in range(rounds):
            fault_s = lengths.uniform(SHORTEST_S, LONGEST_S)
            recovered = play(served, clients, fault_s)
            for client, seconds in zip(clients, recovered, strict=True):
                found.setdefault((client.role, client.name), []).append(seconds)
            each = (f"{client.role} {client.name} {s:.2f}" for client, s in zip(clients, recovered, strict=True))
            print(f"fault of {fault_s:.1f} s:", *each, flush=True)
    is_right = True
    for role in ROLES:
        kctl, confluent = (found[role, name] for name in CLIENTS)
        ratio = statistics.median(kctl) / statistics.median(confluent)
        is_right &= ratio <= MOST_RATIO or statistics.median(kctl) - statistics.median(confluent) <= MOST_LONGER_S
        print(f"{role:9} kctl {_spread(kctl)} s, confluent-kafka {_spread(confluent)} s, {ratio:.2f} x")
    return is_right


def _spread(seconds: list[float]) -> str:
    return f"{statistics.median(seconds):.2f} ({min(seconds):.2f} to {max(seconds):.2f})"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--timeout-ms", type=int, default=6000, help="of requests, and of connection attempts")
    parser.add_argument("--check", action="store_true", help="exit with 1 if kctl takes longer than it may")
    parser.add_argument("--run", nargs=3, metavar=("CLIENT", "ROLE", "SERVERS"), help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.run:
        client, role, servers = given.run
        (run_kctl if client == "kctl" else run_confluent)(role, servers, given.timeout_ms)
        return 0
    is_right = run(given.rounds, given.timeout_ms)
    return int(given.check and not is_right)


if __name__ == "__main__":
    sys.exit(main())
