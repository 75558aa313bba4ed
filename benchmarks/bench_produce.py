"""Producing: records a second and CPU a record, from the first send() to the end of flush(), beside other clients.

    python benchmarks/bench_produce.py [--records N] [--rounds N] [--partitions N] [--only kctl]
    python benchmarks/bench_produce.py --profile 100 none        # where the loop and the caller spend their time

A sandbox of three nodes runs in a second process, so that its work is not in our CPU time; it bounds the wall time,
which is why CPU a record is the figure to compare. Each client gets the same properties (acks=all, idempotent, linger
5 ms, batch.size 16384) and its records are counted in the logs afterwards: a run that lost one says so and fails.
"""

import argparse
import statistics
import subprocess
import sys
from collections.abc import Callable
from time import perf_counter, process_time, sleep, thread_time
from typing import TYPE_CHECKING, NamedTuple, Protocol

if TYPE_CHECKING:
    from kctl.client import Producer

TOPIC = "bench"
SIZES_BYTES = (100, 1000)
COMPRESSIONS = ("none", "lz4")
FLUSH_S = 300
ROWS_A_CALL = 10_000
"""As Spark makes its Arrow batches."""


class Measured(NamedTuple):
    """One round of one client."""

    records: int
    wall_s: float
    cpu_s: float
    caller_s: float = 0.0
    """CPU of the thread that sends, where it was measured; the rest is the network thread's."""


class Client(Protocol):
    """Makes a producer, sends `count` values without key, and waits until all are acknowledged."""

    def __call__(self, bootstrap: str, values: list[bytes], compression: str) -> Measured: ...


# --- the cluster ------------------------------------------------------------------------------------------------------


def serve(partitions: int) -> None:
    """Be the sandbox: each line on stdin is answered with the number of records since the last, which are dropped."""
    from kctl.sandbox import Sandbox

    sandbox = Sandbox(nodes=3, topics={TOPIC: partitions})
    ends = dict.fromkeys(range(partitions), 0)
    with sandbox.serve() as served:
        print(served.bootstrap, flush=True)
        for _ in sys.stdin:
            count = 0
            for partition, before in ends.items():
                ends[partition] = sandbox.end_offset(TOPIC, partition)
                count += ends[partition] - before
                sandbox.delete_records(TOPIC, partition, ends[partition])
            print(count, flush=True)


class Cluster:
    """The sandbox in its own process."""

    def __init__(self, partitions: int) -> None:
        command = [sys.executable, __file__, "--serve", "--partitions", str(partitions)]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.bootstrap = self._line()

    def _line(self) -> str:
        assert self._process.stdout is not None
        return self._process.stdout.readline().strip()

    def take_count(self) -> int:
        """Return how many records have arrived since the last call, and let them be dropped."""
        assert self._process.stdin is not None
        self._process.stdin.write("count\n")
        self._process.stdin.flush()
        return int(self._line())

    def stop(self) -> None:
        self._process.communicate()


# --- the clients ------------------------------------------------------------------------------------------------------


def with_kctl(bootstrap: str, values: list[bytes], compression: str) -> Measured:
    return produced(bootstrap, values, compression, send_each)


def with_keys(bootstrap: str, values: list[bytes], compression: str) -> Measured:
    """Each record goes to the partition of its key."""
    return produced(bootstrap, values, compression, send_keyed)


def with_pauses(bootstrap: str, values: list[bytes], compression: str) -> Measured:
    """As a program does that produces what it gets, about 20 records a millisecond."""
    return produced(bootstrap, values, compression, send_with_pauses)


def with_columns(bootstrap: str, values: list[bytes], compression: str) -> Measured:
    """As a program does that has its records in columns."""
    return produced(bootstrap, values, compression, send_columns)


def produced(
    bootstrap: str, values: list[bytes], compression: str, send_all: "Callable[[Producer, list[bytes]], None]"
) -> Measured:
    from kctl.client import Producer

    producer = Producer({"bootstrap.servers": bootstrap, "compression.type": compression})
    producer.send(TOPIC, b"connects").result(FLUSH_S)
    wall, cpu, caller = perf_counter(), process_time(), thread_time()
    send_all(producer, values)
    producer.flush(FLUSH_S)
    measured = Measured(len(values), perf_counter() - wall, process_time() - cpu, thread_time() - caller)
    producer.close(0)
    return measured


def send_each(producer: "Producer", values: list[bytes]) -> None:
    send = producer.send
    for value in values:
        send(TOPIC, value)


def send_keyed(producer: "Producer", values: list[bytes]) -> None:
    send = producer.send
    for value in values:
        send(TOPIC, value, value[:12])


def send_with_pauses(producer: "Producer", values: list[bytes]) -> None:
    send = producer.send
    for number, value in enumerate(values):
        send(TOPIC, value)
        if number % 20 == 0:
            sleep(0.001)


def send_columns(producer: "Producer", values: list[bytes]) -> None:
    for first in range(0, len(values), ROWS_A_CALL):
        producer.send_columns(TOPIC, values[first : first + ROWS_A_CALL])


def with_confluent(bootstrap: str, values: list[bytes], compression: str) -> Measured:
    import confluent_kafka

    producer = confluent_kafka.Producer(
        {
            "bootstrap.servers": bootstrap,
            "compression.type": compression,
            "enable.idempotence": True,
            "linger.ms": 5,
            "batch.size": 16384,
            "queue.buffering.max.kbytes": 32768,
            "queue.buffering.max.messages": 10_000_000,
        }
    )
    producer.produce(TOPIC, b"connects")
    producer.flush(FLUSH_S)
    wall, cpu = perf_counter(), process_time()
    produce = producer.produce
    for value in values:
        while True:
            try:
                produce(TOPIC, value)
            except BufferError:
                producer.poll(0.01)
                continue
            break
    producer.flush(FLUSH_S)
    return Measured(len(values), perf_counter() - wall, process_time() - cpu)


def with_kafka_python(bootstrap: str, values: list[bytes], compression: str) -> Measured:
    import kafka

    producer = kafka.KafkaProducer(
        bootstrap_servers=bootstrap.split(","),
        compression_type=None if compression == "none" else compression,
        enable_idempotence=True,
        acks="all",
        linger_ms=5,
        batch_size=16384,
    )
    producer.send(TOPIC, b"connects").get(FLUSH_S)
    wall, cpu = perf_counter(), process_time()
    send = producer.send
    for value in values:
        send(TOPIC, value)
    producer.flush(FLUSH_S)
    measured = Measured(len(values), perf_counter() - wall, process_time() - cpu)
    producer.close()
    return measured


CLIENTS: dict[str, Client] = {
    "kctl": with_kctl,
    "kctl, keys": with_keys,
    "kctl, pauses": with_pauses,
    "kctl, columns": with_columns,
    "confluent-kafka": with_confluent,
    "kafka-python": with_kafka_python,
}


# --- running ----------------------------------------------------------------------------------------------------------


def values_of(count: int, size_bytes: int) -> list[bytes]:
    """Return values that compress about as well as log lines do."""
    filler = b" GET /shop/articles?page=3 status=200 bytes=5123 agent=curl" * (size_bytes // 50 + 1)
    return [(b"%012d" % (number * 7919) + filler)[:size_bytes] for number in range(count)]


def measure(client: Client, cluster: Cluster, values: list[bytes], compression: str) -> Measured:
    measured = client(cluster.bootstrap, values, compression)
    arrived = cluster.take_count() - 1
    if arrived != len(values):
        raise SystemExit(f"{len(values)} records were sent and {arrived} arrived")
    return measured


def show(name: str, size_bytes: int, compression: str, rounds: list[Measured]) -> None:
    best = min(each.wall_s for each in rounds)
    median = statistics.median(each.wall_s for each in rounds)
    cpu_ns = [each.cpu_s / each.records * 1e9 for each in rounds]
    count = rounds[0].records
    callers_ns = [each.caller_s / each.records * 1e9 for each in rounds if each.caller_s]
    caller = f"  caller {min(callers_ns):5.0f} ns" if callers_ns else ""
    print(
        f"{name:16} {size_bytes:>5} B {compression:4}  best {count / best:>9,.0f}/s  median {count / median:>9,.0f}/s  "
        f"CPU best {min(cpu_ns):6.0f} ns  median {statistics.median(cpu_ns):6.0f} ns{caller}",
        flush=True,
    )


def run(args: argparse.Namespace, cluster: Cluster) -> None:
    """Measure in interleaved rounds, each client in turn, and show the results."""
    clients = {name: client for name, client in CLIENTS.items() if args.only in (None, name)}
    for size_bytes in SIZES_BYTES:
        values = values_of(args.records, size_bytes)
        for compression in COMPRESSIONS:
            found: dict[str, list[Measured]] = {}
            for _ in range(args.rounds):
                for name, client in clients.items():
                    try:
                        found.setdefault(name, []).append(measure(client, cluster, values, compression))
                    except ImportError:
                        found.pop(name)
            for name, rounds in found.items():
                show(name, size_bytes, compression, rounds)


def profile(cluster: Cluster, values: list[bytes], compression: str) -> None:
    """Run kctl once with every thread profiled, and print the functions that cost most."""
    import cProfile
    import pstats
    import threading
    import time

    profiles: list[cProfile.Profile] = []
    run_thread: Callable[[threading.Thread], None] = threading.Thread.run

    def profiled(thread: threading.Thread) -> None:
        profiles.append(cProfile.Profile(time.thread_time))
        profiles[-1].runcall(run_thread, thread)

    threading.Thread.run = profiled  # type: ignore[method-assign, assignment]  # for this run only
    caller = cProfile.Profile(time.thread_time)
    caller.runcall(with_kctl, cluster.bootstrap, values, compression)
    for name, each in (("caller", caller), *((f"thread {n}", each) for n, each in enumerate(profiles))):
        print(f"--- {name}")
        pstats.Stats(each).sort_stats("tottime").print_stats(22)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--records", type=int, default=100_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--partitions", type=int, default=6)
    parser.add_argument("--only", choices=list(CLIENTS))
    parser.add_argument("--profile", nargs=2, metavar=("BYTES", "COMPRESSION"))
    parser.add_argument("--serve", action="store_true", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.serve:
        serve(args.partitions)
        return
    cluster = Cluster(args.partitions)
    try:
        if args.profile is not None:
            profile(cluster, values_of(args.records, int(args.profile[0])), args.profile[1])
        else:
            run(args, cluster)
    finally:
        cluster.stop()


if __name__ == "__main__":
    main()
