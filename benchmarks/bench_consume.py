"""Consuming end to end: records a second and CPU a record, as record objects, in the forms of the CLI, and undecoded.

    python benchmarks/bench_consume.py [--records N] [--value-bytes N] [--partitions N] [--compression CODEC]
    python benchmarks/bench_consume.py --bootstrap HOST:PORT --topic NAME        # a real broker, filled by somebody

Without --bootstrap, a sandbox of three nodes is served by a second process, so that its work is not in our CPU time;
the wall time is bounded by its speed. `bytes` is what any consumer pays before it looks at a record: sockets, frames,
the walk over batch headers. `joined` is `%v\\n`; `grep` looks through every value for what none has. Where
confluent-kafka is installed it reads the same topic in the same rounds.
"""

import argparse
import statistics
import subprocess
import sys
from collections.abc import Callable
from time import perf_counter, process_time
from typing import NamedTuple

from kctl.cli.formats.grep import parse_greps
from kctl.cli.formats.output import Part, RecordOutput
from kctl.cli.formats.plans import template_parts
from kctl.cli.formats.shapes import csv_parts, jsonl_parts
from kctl.cli.formats.template import parse_template
from kctl.client.cluster import TopicPartition
from kctl.client.consumer.consumer import Consumer
from kctl.client.records import RecordBatchBuilder, is_compiled

TOPIC = "bench"
BATCH_BYTES = 64 * 1024


class Measured(NamedTuple):
    """One round."""

    records: int
    wall_s: float
    cpu_s: float


def serve(args: argparse.Namespace) -> None:
    """Be the sandbox: fill the topic, say where it is, and stay until stdin ends."""
    from kctl.sandbox import Sandbox

    sandbox = Sandbox(nodes=3, topics={TOPIC: args.partitions})
    with sandbox.serve() as served:
        partitions = sandbox.cluster.topics[TOPIC].partitions
        for index, partition in partitions.items():
            left = args.records // args.partitions + (index < args.records % args.partitions)
            while left > 0:
                builder = RecordBatchBuilder(args.compression, batch_size_bytes=BATCH_BYTES)
                while left > 0 and builder.try_append(b"%016d" % left, b"x" * args.value_bytes, [], 1) is not None:
                    left -= 1
                partition.log.append(builder.build(), partition.leader_epoch, 1)
        print(served.bootstrap, flush=True)
        sys.stdin.read()


def open_consumer(bootstrap: str, topic: str) -> tuple[Consumer, int]:
    """Return a consumer at the start of the whole topic, and how many records lie before its end."""
    consumer = Consumer({"bootstrap.servers": bootstrap, "auto.offset.reset": "earliest", "max.poll.records": 10_000})
    partitions = [TopicPartition(topic, info.partition) for info in consumer.partitions_for(topic)]
    ends, starts = consumer.end_offsets(partitions), consumer.beginning_offsets(partitions)
    consumer.assign(partitions)
    return consumer, sum(ends[tp] - starts[tp] for tp in partitions)


def read_objects(consumer: Consumer, count: int) -> int:
    done = 0
    while done < count:
        done += len(consumer.poll(timeout=10))
    return done


def read_written(consumer: Consumer, count: int, output: RecordOutput) -> int:
    """As `kctl consume` does it, save that the bytes go nowhere."""
    done = written = 0
    while done < count:
        chunk = consumer.poll_chunk(timeout=10)
        if chunk is not None:
            reader, plan = chunk.reader(), output.plan_for(chunk)
            while not reader.exhausted:
                written += len(reader.output(plan, 500))
            done += reader.count + reader.filtered_records
    return done


def read_bytes(consumer: Consumer, count: int) -> int:
    done = 0
    while done < count:
        chunk = consumer.poll_chunk(timeout=10)
        if chunk is not None:
            done += chunk.next_offset - chunk.fetch_offset
    return done


def written_as(*parts: Part, grep: tuple[str, ...] = ()) -> Callable[[Consumer, int], int]:
    output = RecordOutput(parts, conditions=parse_greps(grep))
    return lambda consumer, count: read_written(consumer, count, output)


def templated(template: str, grep: tuple[str, ...] = ()) -> Callable[[Consumer, int], int]:
    return written_as(*template_parts(parse_template(template), null=b"", for_terminal=False), grep=grep)


CASES: dict[str, Callable[[Consumer, int], int]] = {
    "objects": read_objects,
    "joined": templated("%v\\n"),
    "template": templated("%t %p %o %k %v\\n"),
    "jsonl": written_as(*jsonl_parts(for_terminal=False)),
    "csv": written_as(*csv_parts(for_terminal=False)),
    "grep": templated("%v\\n", ("v:[1-9]x",)),
    "bytes": read_bytes,
}


def measure(case: Callable[[Consumer, int], int], bootstrap: str, topic: str) -> Measured:
    """Read the topic once, from the first poll on."""
    consumer, count = open_consumer(bootstrap, topic)
    with consumer:
        wall, cpu = perf_counter(), process_time()
        records = case(consumer, count)
        return Measured(records, perf_counter() - wall, process_time() - cpu)


def measure_confluent(bootstrap: str, topic: str, count: int) -> Measured | None:
    """Read the topic once with confluent-kafka, or return None where that is not installed."""
    try:
        import confluent_kafka
    except ImportError:
        return None
    consumer = confluent_kafka.Consumer(
        {
            "bootstrap.servers": bootstrap,
            "group.id": "bench",
            "auto.offset.reset": "earliest",
            "check.crcs": True,
            "fetch.queue.backoff.ms": 5,  # its default of a second would be most of what is measured
        }
    )
    known = consumer.list_topics(topic, timeout=10).topics[topic].partitions
    consumer.assign([confluent_kafka.TopicPartition(topic, each, 0) for each in known])
    wall, cpu = perf_counter(), process_time()
    done = 0
    while done < count:
        done += sum(1 for message in consumer.consume(10_000, timeout=1.0) if message.value() is not None)
    measured = Measured(done, perf_counter() - wall, process_time() - cpu)
    consumer.close()
    return measured


def show(name: str, rounds: list[Measured]) -> None:
    best = min(rounds, key=lambda each: each.wall_s)
    median = statistics.median(each.wall_s for each in rounds)
    rate, median_rate = best.records / best.wall_s, best.records / median
    cpu_ns = min(each.cpu_s / each.records for each in rounds) * 1e9
    print(
        f"{name:16} {best.records:>9} records  best {rate:>10,.0f}/s  median {median_rate:>10,.0f}/s  "
        f"CPU {cpu_ns:6.0f} ns"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--records", type=int, default=1_000_000)
    parser.add_argument("--value-bytes", type=int, default=100)
    parser.add_argument("--partitions", type=int, default=6)
    parser.add_argument("--compression", default="none")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--bootstrap")
    parser.add_argument("--topic", default=TOPIC)
    parser.add_argument("--only", choices=list(CASES))
    parser.add_argument("--serve", action="store_true", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.serve:
        serve(args)
        return
    server = None
    bootstrap = args.bootstrap
    if bootstrap is None:
        server = subprocess.Popen(
            [sys.executable, __file__, "--serve", *sys.argv[1:]],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert server.stdout is not None
        bootstrap = server.stdout.readline().strip()
    try:
        run(args, bootstrap)
    finally:
        if server is not None:
            server.communicate()


def run(args: argparse.Namespace, bootstrap: str) -> None:
    """Measure in interleaved rounds and show the results."""
    cases = {name: case for name, case in CASES.items() if args.only in (None, name)}
    found: dict[str, list[Measured]] = {name: [] for name in cases}
    for _ in range(args.rounds):
        for name, case in cases.items():
            found[name].append(measure(case, bootstrap, args.topic))
        peer = None if args.only else measure_confluent(bootstrap, args.topic, found["objects"][0].records)
        if peer is not None:
            found.setdefault("confluent-kafka", []).append(peer)
    print(f"record codec {'compiled' if is_compiled() else 'pure Python'}; {args.value_bytes} B values")
    for name, rounds in found.items():
        show(name, rounds)


if __name__ == "__main__":
    main()
