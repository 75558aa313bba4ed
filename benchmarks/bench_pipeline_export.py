"""`kctl pipeline export` next to Spark's Kafka connector with Spark's own Parquet writer: same topics, same session.

    python benchmarks/bench_pipeline_export.py [--quick] [--records N ...] [--rounds N] [--codec NAME ...]

One core a partition: local[2], two partitions, real Kafka beside them on the same machine. Both write every column of
the connector (ours the headers, too) as Parquet with zstd, from the plan to the last file that is complete; ours syncs
its files and writes a manifest as well. In turns, after one round that does not count; each figure is the median of the
rounds with the least and the largest, the ratio that of neighbours in a round. CPU is that of this process, the JVM and
all Python workers. Memory is the largest resident size of a Python worker. The last way commits every second: its CPU
beyond that of one commit, divided by its commits, is the cost of a round. `--quick` takes less than four minutes.
"""

import argparse
import os
import shutil
import statistics
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from itertools import product
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING

sys.path.insert(0, str(Path(__file__).parents[1]))

import pyarrow.dataset as ds

from benchmarks.bytecode import use_bytecode
from kctl.client.producer import Producer
from kctl.pipeline.export_files.folder import ExportFolder
from kctl.pipeline.jobs.export import ExportRequest, export
from kctl.pipeline.ranges import Selection
from kctl.pipeline.running import session_over
from tests.pipeline.connector import connector_jars
from tests.pipeline.processes import children_of
from tests.support.kafka.cluster import KafkaCluster
from tests.support.kafka.toolchain import NEWEST_KAFKA

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

VALUE_BYTES = 100
PARTITIONS = 2
LONGEST_ROUND_MS = 3_600_000
COLUMNS = ("key", "value", "topic", "partition", "offset", "timestamp", "timestampType")


def fill(kafka: KafkaCluster, codec: str, records: int) -> str:
    """Return a topic of `records` records, whose values can be halved by compression."""
    topic = kafka.create_topic(partitions=PARTITIONS)
    values = [os.urandom(VALUE_BYTES // 2).hex().encode() for _ in range(100_000)]
    properties = {"bootstrap.servers": kafka.bootstrap(), "compression.type": codec}
    with Producer({**properties, "batch.size": 65536, "linger.ms": 20}) as producer:
        for number in range(records):
            producer.send(topic, values[number % len(values)], partition=number % PARTITIONS)
    return topic


def by_connector(spark: "SparkSession", kafka: KafkaCluster, topic: str, folder: Path) -> None:
    reader = spark.read.format("kafka").option("kafka.bootstrap.servers", kafka.bootstrap()).option("subscribe", topic)
    reader.load().select(*COLUMNS).write.option("compression", "zstd").parquet(folder.as_uri())


def by_kctl(
    spark: "SparkSession", kafka: KafkaCluster, topic: str, folder: Path, round_ms: int = LONGEST_ROUND_MS
) -> None:
    request = ExportRequest(Selection(topics=(topic,)), folder, {"bootstrap.servers": kafka.bootstrap()})
    export(request._replace(round_ms=round_ms), session=session_over(spark))


WAYS: dict[str, Callable[["SparkSession", KafkaCluster, str, Path], None]] = {
    "connector": by_connector,
    "kctl": by_kctl,
    "kctl, 1 s": partial(by_kctl, round_ms=1000),
}


def measure(spark: "SparkSession", kafka: KafkaCluster, topic: str, records: int, rounds: int, scratch: Path) -> None:
    taken: dict[str, list[float]] = {name: [] for name in WAYS}
    used: dict[str, list[float]] = {name: [] for name in WAYS}
    commits: list[int] = []
    size_bytes: dict[str, int] = {}
    for turn in range(rounds + 1):
        names = [*WAYS] * 2
        for name in names[turn % len(WAYS) :][: len(WAYS)]:  # each way comes first, between, and last
            folder = scratch / f"{name}-{turn}"
            began, cpu_s = perf_counter(), cpu_of_tree_s()
            WAYS[name](spark, kafka, topic, folder)
            seconds, cpu_s = perf_counter() - began, cpu_of_tree_s() - cpu_s
            found = sum(ds.dataset(path).count_rows() for path in _data_folders(folder))
            if found != records:
                raise SystemExit(f"{name} wrote {found} of {records} records")
            size_bytes[name] = sum(path.stat().st_size for path in folder.rglob("*.parquet"))
            if turn:
                taken[name].append(seconds)
                used[name].append(cpu_s)
                if name == "kctl, 1 s":
                    commits.append(ExportFolder(folder).read()[-1].number)
            shutil.rmtree(folder)
    for name, seconds_each in taken.items():
        rates = [records / seconds / 1e6 for seconds in seconds_each]
        print(
            f"  {name:10} {statistics.median(rates):6.2f} M records/s ({min(rates):.2f} to {max(rates):.2f}), "
            f"{size_bytes[name] / 1e6:.0f} MB, {shown(used[name])} s of CPU"
        )
    for what, of in (("wall", taken), ("CPU", used)):
        ratios = [ours / theirs for theirs, ours in zip(of["connector"], of["kctl"], strict=True)]
        print(f"  {what:10} {shown(ratios)} x the connector")
    each = [(more - less) / n for more, less, n in zip(used["kctl, 1 s"], used["kctl"], commits, strict=True)]
    print(f"  a round    {shown(each)} s of CPU, in {commits} rounds", flush=True)


def shown(values: list[float]) -> str:
    """Return the median, and the least and the largest."""
    return f"{statistics.median(values):.2f} ({min(values):.2f} to {max(values):.2f})"


def cpu_of_tree_s() -> float:
    """Return the CPU time of this process and all that descend from it, with those that have ended."""
    ticks = 0
    for pid in {os.getpid(), *children_of(os.getpid())}:
        with suppress(OSError):  # the process has ended
            fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
            ticks += sum(map(int, fields[11:15]))
    return ticks / os.sysconf("SC_CLK_TCK")


def _data_folders(folder: Path) -> list[Path]:
    return sorted({path.parent for path in folder.rglob("*.parquet")})


@contextmanager
def largest_worker() -> Iterator[list[int]]:
    """Watch the largest resident size of this process's Python descendants; `[bytes]` when it ends."""
    largest, over = [0], threading.Event()

    def look() -> None:
        while not over.wait(0.2):
            for pid in children_of(os.getpid()):
                try:
                    if "python" not in Path(f"/proc/{pid}/comm").read_text():
                        continue
                    pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
                except OSError:  # the process has ended
                    continue
                largest[0] = max(largest[0], pages * os.sysconf("SC_PAGE_SIZE"))

    watcher = threading.Thread(target=look, daemon=True)
    watcher.start()
    try:
        yield largest
    finally:
        over.set()
        watcher.join()


@contextmanager
def spark_session() -> Iterator["SparkSession"]:
    """A session as people have it: the JVM optimises, for the connector moves its data there."""
    os.environ["PYSPARK_PYTHON"] = sys.executable
    use_bytecode()
    from pyspark.sql import SparkSession

    properties: dict[str, bool | float | int | str | None] = {
        "spark.jars": ",".join(map(str, connector_jars())),
        "spark.driver.memory": "2g",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.python.unix.domain.socket.enabled": "true",
    }
    spark = SparkSession.builder.master(f"local[{PARTITIONS}]").config(map=properties).getOrCreate()
    spark.sparkContext.setLogLevel("OFF")
    try:
        yield spark
    finally:
        spark.stop()


def main() -> None:
    parser = argparse.ArgumentParser(description="kctl pipeline export next to Spark's connector and writer.")
    parser.add_argument("--quick", action="store_true", help="fewer records, plain and zstd alone")
    parser.add_argument("--records", type=int, action="append", help="of each topic (4,000,000; --quick: 2,000,000)")
    parser.add_argument("--rounds", type=int, help="that count (5; --quick: 3)")
    parser.add_argument("--codec", action="append", choices=("none", "lz4", "zstd"), help="of the topic; repeatable")
    args = parser.parse_args()
    counts = args.records or [2_000_000 if args.quick else 4_000_000]
    rounds = args.rounds or (3 if args.quick else 5)
    codecs = args.codec or (["none", "zstd"] if args.quick else ["none", "lz4", "zstd"])
    print(f"load average {os.getloadavg()[0]:.1f}, {os.cpu_count()} cores, records of {VALUE_BYTES} bytes")
    with KafkaCluster(NEWEST_KAFKA) as kafka, tempfile.TemporaryDirectory() as scratch, spark_session() as spark:
        for codec, records in product(codecs, counts):
            topic = fill(kafka, codec, records)
            print(f"topic of {records} records with {codec}:", flush=True)
            with largest_worker() as largest:
                measure(spark, kafka, topic, records, rounds, Path(scratch))
            print(f"  worker     {largest[0] / 1e6:6.0f} MB at most", flush=True)
    print(f"load average {os.getloadavg()[0]:.1f}")


if __name__ == "__main__":
    main()
