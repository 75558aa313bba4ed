"""The data source `kctl` next to Spark's own Kafka connector: same topics, same session, in turns.

    python benchmarks/bench_pipeline_source.py [--quick] [--records N] [--rounds N] [--only read,...] [--worker-daemon]

One core a partition: local[2], two partitions, real Kafka beside them on the same machine. Reads go to Spark's `noop`
sink. Each figure is the median of the rounds with the least and the largest; a ratio above 1 is ours being faster.
`--quick` takes less than five minutes; `--worker-daemon` starts Python workers by kctl.pipeline.worker_daemon. Cases:

    read        records of 100 bytes into nothing, plain, lz4 and zstd; all columns, and the value alone
    stream      the same topic as a stream, in batches of a fixed size
    latency     batches of a stream that hold few records: what a trigger costs; plain, TLS and SASL, from a topic to
                nothing and from a topic to a topic
    limit       the first ten records of a topic
    write       rows from memory to a topic: ten, a quarter of a topic's records, and all of them
    memory      the largest resident size of a Python worker that reads one large range, of small and of large values
    plan        a topic of 1,000 partitions, from nothing to ranges
"""

import argparse
import os
import statistics
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Any, NamedTuple

sys.path.insert(0, str(Path(__file__).parents[1]))

import kctl.pipeline
from benchmarks.bytecode import use_bytecode
from kctl.client.clock import SystemClock, Timer
from kctl.client.producer import Producer
from kctl.pipeline.isolation import as_given
from kctl.pipeline.ranges import Selection, plan_ranges
from tests.pipeline.connector import connector_jars
from tests.support.kafka.cluster import KafkaCluster
from tests.support.kafka.toolchain import NEWEST_KAFKA

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

CASES = ("read", "stream", "latency", "limit", "write", "memory", "plan")
SOURCES = ("kctl", "kafka")
VALUE_BYTES = 100
LARGE_VALUE = 1_000_000
PARTITIONS = 2
BATCHES = 4
"""Of a stream, at least."""
MANY_PARTITIONS = 1000
WARM_UP = 3
"""Batches of a query, or reads, before those that count: JVM and Python workers are warm on both sides."""
TURNS = 5
SECURED = (("PLAINTEXT", None), ("SSL", None), ("SASL_SSL", "SCRAM-SHA-512"))


class Bench:
    """One session, one broker, and what was asked for."""

    def __init__(self, spark: "SparkSession", kafka: KafkaCluster, args: argparse.Namespace, folder: Path) -> None:
        self.spark = spark
        self.kafka = kafka
        self.records: int = args.records
        self.rounds: int = args.rounds
        self.folder = folder
        self._topics: dict[str, str] = {}
        self.cpu_us: dict[str, list[float]] = {}
        """Of all processes of the session a record, by source, of the case at hand."""

    def topic(self, codec: str) -> str:
        """Return a topic of `records` records, written at the first use; values of which half can be compressed."""
        if codec not in self._topics:
            name = self._topics[codec] = self.kafka.create_topic(partitions=PARTITIONS)
            properties = {"bootstrap.servers": self.kafka.bootstrap(), "compression.type": codec}
            values = [os.urandom(VALUE_BYTES // 2).hex().encode() for _ in range(1000)]
            with Producer({**properties, "batch.size": 65536, "linger.ms": 20}) as producer:
                for n in range(self.records):
                    producer.send(name, values[n % 1000], partition=n % PARTITIONS)
        return self._topics[codec]

    def options(self, source: str, listener: str = "PLAINTEXT", mechanism: str | None = None) -> dict[str, str]:
        """Return the options of a client of a listener; kctl takes no secret in plain text."""
        properties = self.kafka.client_properties(listener, mechanism)
        if source == "kctl" and (login := properties.get("sasl.jaas.config")):
            file = self.folder / f"{mechanism}.jaas"
            file.write_text(login)
            properties["sasl.jaas.config"] = f"file:{file}"
        return {f"kafka.{name}": value for name, value in properties.items()}

    def table(self, source: str, topic: str, schema: str | None = None) -> "DataFrame":
        reader = self.spark.read.format(source).option("kafka.bootstrap.servers", self.kafka.bootstrap())
        reader = reader.option("subscribe", topic).option("kafka.check.crcs", "true")
        return (reader.schema(schema) if schema and source == "kctl" else reader).load()

    def limit(self, source: str, topic: str) -> float:
        """Return the seconds of reading ten records, the median of some after others that do not count."""
        taken = []
        for turn in range(WARM_UP + TURNS):
            began = perf_counter()
            if len(self.table(source, topic).limit(10).collect()) != 10:
                raise SystemExit(f"{source}: not 10 records")
            if turn >= WARM_UP:
                taken.append(perf_counter() - began)
        return statistics.median(taken)

    def in_turns(self, measure: Callable[[str], float]) -> dict[str, list[float]]:
        """Return the figures of each source, in turns and in both orders, after one round that does not count."""
        found: dict[str, list[float]] = {source: [] for source in SOURCES}
        for number in range(self.rounds + 1):
            for source in SOURCES[:: 1 if number % 2 else -1]:
                figure = measure(source)
                if number:
                    found[source].append(figure)
        return found


# --- cases ------------------------------------------------------------------------------------------------------------


def read(bench: Bench, codecs: tuple[str, ...]) -> None:
    def to_noop(source: str, *, topic: str, schema: str | None) -> float:
        table = bench.table(source, topic, schema)
        if schema:
            table = table.select("value")
        began, cpu_s = perf_counter(), session_cpu_s()
        table.write.format("noop").mode("overwrite").save()
        bench.cpu_us.setdefault(source, []).append((session_cpu_s() - cpu_s) / bench.records * 1e6)
        return bench.records / (perf_counter() - began) / 1e6

    for codec in codecs:
        topic = bench.topic(codec)
        for source in SOURCES:
            confirm(source, bench.table(source, topic).count(), bench.records)
        for what, schema in (("all columns", None), ("value only", "value binary")):
            figures = bench.in_turns(partial(to_noop, topic=topic, schema=schema))
            show(f"read {codec}, {what}", figures, "M records/s")
            show_cpu(bench)


class StreamRun(NamedTuple):
    """One query over the whole topic, in M records/s, with the seconds in which it began: sessions start processes."""

    whole: float
    steady: float
    """Batches from the second to the last full one: what a query that runs on and on gets."""
    start_s: float


def stream(bench: Bench) -> None:
    topic = bench.topic("none")
    per_trigger = max(1, bench.records // BATCHES)
    runs: dict[str, list[StreamRun]] = {source: [] for source in SOURCES}

    def run(source: str) -> float:
        began, cpu_s = perf_counter(), session_cpu_s()
        query = start_stream(bench, source, topic, maxOffsetsPerTrigger=str(per_trigger))
        query.processAllAvailable()
        taken = perf_counter() - began
        bench.cpu_us.setdefault(source, []).append((session_cpu_s() - cpu_s) / bench.records * 1e6)
        batches = [progress for progress in query.recentProgress if progress["numInputRows"]]
        query.stop()
        rows = [progress["numInputRows"] for progress in batches]
        if sum(rows) != bench.records:
            raise SystemExit(f"{source}: {sum(rows)} of {bench.records} records came through the stream")
        triggers_s = [progress["durationMs"]["triggerExecution"] / 1000 for progress in batches]
        full = [n for n in range(1, len(rows)) if rows[n] * 2 > per_trigger]
        steady = sum(rows[n] for n in full) / sum(triggers_s[n] for n in full) / 1e6
        runs[source].append(StreamRun(bench.records / taken / 1e6, steady, taken - sum(triggers_s)))
        return runs[source][-1].whole

    bench.in_turns(run)
    for field, what in (("whole", "the whole query"), ("steady", "from the second batch on")):
        figures = {source: [getattr(each, field) for each in runs[source][1:]] for source in SOURCES}
        show(f"stream, batches of {per_trigger}, {what}", figures, "M records/s")
    starts = {source: [each.start_s for each in runs[source][1:]] for source in SOURCES}
    show("stream, beside its batches (start of the query)", starts, "s", less_is_more=True)
    show_cpu(bench)


def latency(bench: Bench) -> None:
    def run(source: str, *, listener: str, mechanism: str | None, to_topic: bool) -> float:
        topic = bench.kafka.create_topic(partitions=PARTITIONS)
        options = bench.options(source, listener, mechanism)
        sink = {**options, "topic": bench.kafka.create_topic(partitions=PARTITIONS)} if to_topic else None
        query = start_stream(bench, source, topic, sink, **options)
        taken = []
        with Producer({"bootstrap.servers": bench.kafka.bootstrap()}) as producer:
            for turn in range(WARM_UP + TURNS):
                for n in range(10):
                    producer.send(topic, b"v", partition=n % PARTITIONS)
                producer.flush()
                query.processAllAvailable()
                if turn >= WARM_UP:
                    done = [p for p in query.recentProgress if p["numInputRows"]]
                    taken.append(float(done[-1]["durationMs"]["triggerExecution"]))
        query.stop()
        return statistics.median(taken)

    for listener, mechanism in SECURED:
        for to_topic in (False, True):
            figures = bench.in_turns(partial(run, listener=listener, mechanism=mechanism, to_topic=to_topic))
            where = "to a topic" if to_topic else "to nothing"
            show(f"latency of a small batch, {mechanism or listener}, {where}", figures, "ms", less_is_more=True)


def limit(bench: Bench) -> None:
    figures = bench.in_turns(partial(bench.limit, topic=bench.topic("none")))
    show("limit 10", figures, "s", less_is_more=True)


def start_stream(bench: Bench, source: str, topic: str, sink: dict[str, str] | None = None, /, **options: str) -> Any:
    """Start a query over a topic, into nothing or, with the options of a sink, into a topic through the same source."""
    reader = bench.spark.readStream.format(source).option("kafka.bootstrap.servers", bench.kafka.bootstrap())
    table = reader.options(**{"subscribe": topic, "startingOffsets": "earliest", **options}).load()
    checkpoint = tempfile.mkdtemp(dir=bench.folder)
    if sink is None:
        return table.writeStream.format("noop").option("checkpointLocation", checkpoint).start()
    writer = table.select("value").writeStream.format(source).options(**sink)
    return writer.option("checkpointLocation", checkpoint).start()


def write(bench: Bench) -> None:
    for rows in (10, bench.records // 4, bench.records):
        write_rows(bench, rows)


def write_rows(bench: Bench, rows: int) -> None:
    """Write a table of few rows, which costs what a query does, or of many."""
    table = bench.spark.range(0, rows, 1, PARTITIONS)
    table = table.selectExpr(f"cast(repeat('x', {VALUE_BYTES}) as binary) as value", "cast(id % 2 as int) as partition")
    table = table.cache()
    table.count()

    def run(target: str) -> float:
        topic = bench.kafka.create_topic(partitions=PARTITIONS)
        writer = table.write.format(target).option("kafka.bootstrap.servers", bench.kafka.bootstrap())
        began, cpu_s = perf_counter(), session_cpu_s()
        writer.option("topic", topic).mode("append").save()
        taken = perf_counter() - began
        bench.cpu_us.setdefault(target, []).append((session_cpu_s() - cpu_s) / rows * 1e6)
        found = plan_ranges(as_given({"bootstrap.servers": bench.kafka.bootstrap()}), Selection((topic,)))
        confirm(target, sum(each.end_offset for each in found), rows)
        return taken

    show(f"write {rows} rows", bench.in_turns(run), "s", less_is_more=True)
    show_cpu(bench)
    table.unpersist()


def memory(bench: Bench) -> None:
    """One task reads a partition of as many bytes as the other cases have in a topic: small values, then large ones."""
    for codec, value_bytes in (
        ("none", VALUE_BYTES),
        ("zstd", VALUE_BYTES),
        ("none", LARGE_VALUE),
        ("zstd", LARGE_VALUE),
    ):
        count = max(100, bench.records * VALUE_BYTES // value_bytes)
        topic = bench.kafka.create_topic(partitions=1)
        properties: dict[str, object] = {"bootstrap.servers": bench.kafka.bootstrap(), "compression.type": codec}
        values = [os.urandom(value_bytes // 2).hex().encode() for _ in range(100)]
        with Producer({**properties, "batch.size": 65536, "linger.ms": 20, "max.request.size": 2 << 20}) as producer:
            for n in range(count):
                producer.send(topic, values[n % 100], partition=0)
        before = {pid for pid in session_pids() if reset_peak(pid)}
        began = perf_counter()
        bench.table("kctl", topic).write.format("noop").mode("overwrite").save()
        taken = perf_counter() - began
        peaks = [peak_kb(pid) for pid in session_pids() if b"daemon" in command_of(pid)]
        size_mb = count * value_bytes / 1e6
        print(
            f"memory: one range of {count} values of {value_bytes} bytes, {codec}: the largest of {len(peaks)} Python "
            f"processes had {max(peaks) / 1024:.0f} MB; {size_mb / taken:.0f} MB/s",
            flush=True,
        )
        if not before:
            raise SystemExit("no peak could be set back: figures would be those of earlier cases")


def reset_peak(pid: int) -> bool:
    """Have the largest resident size of a process begin anew."""
    with suppress(OSError):
        Path(f"/proc/{pid}/clear_refs").write_text("5")
        return True
    return False


def session_pids() -> list[int]:
    """Return the processes of the session: those below this one, without the broker."""
    children: dict[int, list[int]] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with suppress(OSError):  # it has ended meanwhile
                parent = int(entry.joinpath("stat").read_text().rpartition(")")[2].split()[1])
                children.setdefault(parent, []).append(int(entry.name))
    found, left = [], list(children.get(os.getpid(), ()))
    while left:
        pid = left.pop()
        if b"kafka.Kafka" not in command_of(pid):
            found.append(pid)
            left += children.get(pid, [])
    return found


def command_of(pid: int) -> bytes:
    with suppress(OSError):
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    return b""


def peak_kb(pid: int) -> int:
    """Return the largest resident size of a process so far."""
    with suppress(OSError):
        for line in Path(f"/proc/{pid}/status").read_text().splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1])
    return 0


def session_cpu_s() -> float:
    """Return the CPU time of the session's processes so far, those that have ended included."""
    total = 0
    for pid in session_pids():
        with suppress(OSError):
            fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
            total += sum(int(field) for field in fields[11:15])
    return total / os.sysconf("SC_CLK_TCK")


def plan(bench: Bench) -> None:
    topic = bench.kafka.create_topic(partitions=MANY_PARTITIONS)
    with Producer({"bootstrap.servers": bench.kafka.bootstrap()}) as producer:
        for n in range(MANY_PARTITIONS):
            producer.send(topic, b"v", partition=n)
    taken = []
    for _ in range(bench.rounds):
        began = perf_counter()
        ranges = plan_ranges(as_given({"bootstrap.servers": bench.kafka.bootstrap()}), Selection((topic,)))
        taken.append(perf_counter() - began)
        if len(ranges) != MANY_PARTITIONS:
            raise SystemExit(f"{len(ranges)} ranges of {MANY_PARTITIONS} partitions")
    print(f"plan of {MANY_PARTITIONS} partitions: {spread(taken)} s")


# --- the frame --------------------------------------------------------------------------------------------------------


def spread(figures: list[float]) -> str:
    return f"{statistics.median(figures):.3g} ({min(figures):.3g} to {max(figures):.3g})"


def show(what: str, found: dict[str, list[float]], unit: str, *, less_is_more: bool = False) -> None:
    """Print the figures of both and the ratio of their medians."""
    ours, theirs = (statistics.median(found[source]) for source in SOURCES)
    ratio = theirs / ours if less_is_more else ours / theirs
    sides = "; ".join(f"{source} {spread(found[source])}" for source in SOURCES)
    print(f"{what}: {sides} {unit}; ratio {ratio:.2f}; load {os.getloadavg()[0]:.1f}", flush=True)


def confirm(source: str, count: int, wanted: int) -> None:
    """Refuse figures of another number of records."""
    if count != wanted:
        raise SystemExit(f"{source}: {count} of {wanted} records")


def show_cpu(bench: Bench) -> None:
    """Print what the processes of the session spent on a record, and forget it."""
    ours, theirs = (statistics.median(bench.cpu_us[source][1:]) for source in SOURCES)
    print(f"    CPU, broker apart: kctl {ours:.2f}; kafka {theirs:.2f} us a record; ratio {theirs / ours:.2f}")
    bench.cpu_us.clear()


@contextmanager
def session(folder: Path, *, with_daemon: bool = False) -> "Iterator[SparkSession]":
    """A session with both sources, whose JVM may use all of its compiler."""
    from pyspark.sql import SparkSession

    os.environ["PYSPARK_PYTHON"] = sys.executable
    use_bytecode()
    properties: dict[str, bool | float | int | str | None] = {
        "spark.jars": ",".join(map(str, connector_jars())),
        "spark.driver.memory": "2g",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.sql.shuffle.partitions": "2",
        "spark.local.dir": str(folder),
        "spark.python.unix.domain.socket.enabled": "true",
    }
    if with_daemon:
        properties["spark.python.daemon.module"] = "kctl.pipeline.worker_daemon"
    builder = SparkSession.builder.master(f"local[{PARTITIONS}]").appName("bench_pipeline_source")
    spark = builder.config(map=properties).getOrCreate()
    spark.sparkContext.setLogLevel("OFF")
    kctl.pipeline.register(spark)
    try:
        yield spark
    finally:
        spark.stop()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="fewer records and rounds: less than five minutes")
    parser.add_argument("--records", type=int, help="of each topic (4,000,000; quick: 1,000,000)")
    parser.add_argument("--rounds", type=int, help="that count (5; quick: 3)")
    parser.add_argument("--only", default=",".join(CASES), help="cases, separated by commas")
    parser.add_argument("--worker-daemon", action="store_true", help="workers come from kctl.pipeline.worker_daemon")
    args = parser.parse_args()
    args.records = args.records or (1_000_000 if args.quick else 4_000_000)
    args.rounds = args.rounds or (3 if args.quick else 5)
    wanted = args.only.split(",")
    unknown = [name for name in wanted if name not in CASES]
    if unknown:
        parser.error(f"no such case: {', '.join(unknown)}")
    timer = Timer(SystemClock(), 0)
    runs: dict[str, Callable[[Bench], None]] = {
        "read": lambda bench: read(bench, ("none", "zstd") if args.quick else ("none", "lz4", "zstd")),
        "stream": stream,
        "latency": latency,
        "limit": limit,
        "write": write,
        "memory": memory,
        "plan": plan,
    }
    with (
        tempfile.TemporaryDirectory() as folder,
        KafkaCluster(NEWEST_KAFKA, 1) as kafka,
        session(Path(folder), with_daemon=args.worker_daemon) as spark,
    ):
        bench = Bench(spark, kafka, args, Path(folder))
        print(f"{args.records} records a topic, {args.rounds} rounds, Spark {spark.version}, {os.cpu_count()} cores")
        for name in CASES:
            if name in wanted:
                runs[name](bench)
    timer.update()
    print(f"took {timer.elapsed_ms / 1000:.0f} s")


if __name__ == "__main__":
    main()
