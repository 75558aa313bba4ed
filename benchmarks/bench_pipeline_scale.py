"""What jobs of `kctl pipeline` cost against size: the tables of docs/pipeline.md, from 1 M records on.

    python benchmarks/bench_pipeline_scale.py [--records N ...] [--master NAME ...] [--job NAME ...]

Records of 100 bytes whose values can be halved by compression, on a topic of real Kafka without compression, on this
machine. A job runs in a Spark that has done a small job before, from the plan to the last commit; a start of Spark
costs 4 s more. CPU is that of the driver, Spark and its workers; that of the S3 server is apart, the broker's is not
counted. The S3 server is versitygw where Go is there to build it, and moto otherwise. Memory is the largest VmHWM of a
Python worker. Sizes in order, jobs in turns within a size. `--rounds` repeats; then each figure is the median, and
ratios are those of neighbours in a round. The steady rate of a job is that of the records which the largest size has
more than the smallest: without what starts it.
"""

import argparse
import os
import shutil
import statistics
import sys
import tempfile
import threading
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from time import perf_counter, process_time
from typing import NamedTuple

from pyspark.sql import SparkSession

sys.path.insert(0, str(Path(__file__).parents[1]))

from benchmarks.bytecode import use_bytecode
from kctl.client.admin import Admin, NewTopic
from kctl.client.producer import Producer
from kctl.pipeline import register
from kctl.pipeline.jobs.export import ExportRequest, export, plan_export
from kctl.pipeline.jobs.export_rounds import ExportResult
from kctl.pipeline.jobs.stats import StatsRequest, stats
from kctl.pipeline.jobs.sync import SyncRequest, SyncResult, sync
from kctl.pipeline.jobs.verify import VerifyRequest, verify
from kctl.pipeline.locations import Location, parse_location
from kctl.pipeline.ranges import Selection
from kctl.pipeline.running import open_session
from kctl.pipeline.session import Session, SessionOptions
from tests.pipeline.processes import children_of
from tests.pipeline.standalone import StandaloneCluster
from tests.support.kafka.cluster import KafkaCluster
from tests.support.kafka.toolchain import NEWEST_KAFKA, ToolMissing
from tests.support.kafka.waiting import wait_until
from tests.support.s3.server import S3Server
from tests.support.s3.versity import VersityServer, installed_versitygw

VALUE_BYTES = 100
PARTITIONS = 4
MOST_CREATED = 5_000
"""Partitions that a controller creates by one request; it refuses 10,000."""
ROWS = 10_000
"""Of one call of the producer."""
TICKS = os.sysconf("SC_CLK_TCK")


class Cost(NamedTuple):
    """What one run cost: seconds, seconds of CPU of the job and of the S3 server, the largest worker, and its files."""

    wall_s: float
    cpu_s: float
    store_cpu_s: float
    worker_bytes: int
    files: int
    size_bytes: int
    rounds: int


def fill(kafka: KafkaCluster, records: int) -> str:
    """Return a topic with that many records."""
    topic = kafka.create_topic(partitions=PARTITIONS)
    keys = [b"customer-%d" % number for number in range(ROWS)]
    values = [os.urandom(VALUE_BYTES // 2).hex().encode() for _ in range(ROWS)]
    properties = {"bootstrap.servers": kafka.bootstrap(), "batch.size": 131072, "linger.ms": 20}
    with Producer(properties) as producer:
        for call in range(-(-records // ROWS)):
            count = min(ROWS, records - call * ROWS)
            producer.send_columns(topic, values[:count], keys[:count], partition=call % PARTITIONS)
        producer.flush(600)
    return topic


class Usage:
    """CPU and memory of what descends from this process, but for what ran before."""

    def __init__(self) -> None:
        self._others = children_of(os.getpid())
        self._largest = 0

    def cpu_s(self) -> float:
        """Return the CPU of this process, of its descendants, and of those they have waited for."""
        return process_time() + sum(map(process_cpu_s, self._ours()))

    @contextmanager
    def watched(self) -> Iterator[None]:
        """Look at the workers while the context lasts."""
        over = threading.Event()
        self._largest = 0

        def look() -> None:
            while not over.wait(0.1):
                for pid in self._ours():
                    self._largest = max(self._largest, _worker_bytes(pid))

        watcher = threading.Thread(target=look, daemon=True)
        watcher.start()
        try:
            yield
        finally:
            over.set()
            watcher.join()

    @property
    def largest_worker_bytes(self) -> int:
        """The largest VmHWM of a Python worker in the last `watched`."""
        return self._largest

    def _ours(self) -> set[int]:
        return {pid for pid in children_of(os.getpid()) if pid not in self._others}


def process_cpu_s(pid: int) -> float:
    """Return the CPU of a process and of those it has waited for."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:  # it has ended meanwhile
        return 0.0
    return sum(map(int, fields[11:15])) / TICKS


def _worker_bytes(pid: int) -> int:
    try:
        if "pyspark" not in Path(f"/proc/{pid}/cmdline").read_text(errors="replace"):
            return 0
        if "python" not in Path(f"/proc/{pid}/comm").read_text():
            return 0
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    except OSError:  # it has ended meanwhile
        return 0
    return next((int(line.split()[1]) * 1024 for line in lines if line.startswith("VmHWM:")), 0)


class Bench:
    """One Spark and one topic, and the jobs on them."""

    def __init__(self, kafka: KafkaCluster, session: Session, usage: Usage, scratch: Path, store: S3Server) -> None:
        self._properties = {"bootstrap.servers": kafka.bootstrap()}
        self._session = session
        self._usage = usage
        self.scratch = scratch
        self._store = store
        self._runs = 0
        self._kept = scratch / "kept"
        """The export to a folder of the run before, for `verify-folder`."""

    def run(self, job: str, topics: Sequence[str], records: int) -> Cost:
        """Run a job into a target of its own, and remove what it wrote: an export to a folder after the next one."""
        self._runs += 1
        name = f"run-{os.getpid()}-{self._runs}"
        folder = self.scratch / name
        request = ExportRequest(Selection(topics=tuple(topics)), self._location(job, name, folder), self._properties)
        with self._usage.watched():
            store_cpu_s, cpu_s, began = process_cpu_s(self._store.pid), self._usage.cpu_s(), perf_counter()
            done: SyncResult | ExportResult
            if job == "stats":
                found = [stats(StatsRequest(topic, self._properties), session=self._session) for topic in topics]
                done = ExportResult(records=sum(each.total.records for each in found))
            elif job == "read":
                done = ExportResult(records=self._read(topics))
            elif job == "verify-folder":
                done = ExportResult(records=self._verify(topics))
            elif job.startswith("sync"):
                wanted = SyncRequest(request, self.scratch / f"{name}-state", None, 0)
                done = sync(wanted, session=self._session)
            else:
                done = export(request, session=self._session)
            wall_s, cpu_s = perf_counter() - began, self._usage.cpu_s() - cpu_s
            store_cpu_s = process_cpu_s(self._store.pid) - store_cpu_s
        if done.records != records:
            raise SystemExit(f"{job} wrote {done.records} of {records} records")
        shutil.rmtree(self._kept, ignore_errors=True)
        if job == "export-folder":
            folder.rename(self._kept)
        shutil.rmtree(folder, ignore_errors=True)
        worker_bytes = self._usage.largest_worker_bytes
        return Cost(wall_s, cpu_s, store_cpu_s, worker_bytes, done.files, done.size_bytes, done.rounds)

    def _read(self, topics: Sequence[str]) -> int:
        """Return how many records a plain scan has, whose values a further worker sees."""
        spark = SparkSession(self._session.spark().sparkContext)
        register(spark)
        options = {f"kafka.{name}": value for name, value in self._properties.items()}
        table = spark.read.format("kctl").options(subscribe=",".join(topics), **options).load()
        return int(table.selectExpr("count(value)").collect()[0][0])

    def _verify(self, topics: Sequence[str]) -> int:
        """Return how many records topics share with the export that is kept for this."""
        found = [
            verify(VerifyRequest(topic, self._properties, folder=self._kept), session=self._session) for topic in topics
        ]
        return sum(each.target_records for result in found if result.is_equal for each in result.partitions)

    def _location(self, job: str, name: str, folder: Path) -> Location:
        kind = job.partition("-")[2]
        texts = {
            "": str(folder),
            "folder": str(folder),
            "s3": f"s3://kafka/{name}",
            "iceberg": f"iceberg:lake.db.{name.replace('-', '_')}",
            "iceberg-folder": f"iceberg:disk.db.{name.replace('-', '_')}",
            "delta": f"delta:{folder}",
        }
        return parse_location(texts[kind])


JOBS = (
    "stats",
    "read",
    "export-folder",
    "verify-folder",
    "sync-folder",
    "export-s3",
    "export-iceberg",
    "export-iceberg-folder",
    "export-delta",
    "sync-s3",
    "sync-iceberg",
)


@contextmanager
def masters(name: str) -> Iterator[str]:
    """Yield the URL of a master: `local[2]`, or a standalone cluster of two workers with a core each."""
    if name != "standalone":
        yield name
        return
    with StandaloneCluster() as cluster:
        yield cluster.master


Sizes = dict[str, dict[int, tuple[float, float]]]
"""Wall clock and CPU by job and records."""


def measure(bench: Bench, jobs: list[str], topic: str, records: int, rounds: int, master: str, sizes: Sizes) -> None:
    costs: dict[str, list[Cost]] = {job: [] for job in jobs}
    for _ in range(rounds):
        for job in jobs:
            costs[job].append(bench.run(job, [topic], records))
    for job, each in costs.items():
        wall, cpu = statistics.median(c.wall_s for c in each), statistics.median(c.cpu_s for c in each)
        sizes.setdefault(job, {})[records] = wall, cpu
        last = each[-1]
        print(
            f"| {records:,} | {master} | {job.replace('-', ' to ')} | {wall:.1f} s | {cpu:.1f} s | "
            f"{records / wall / 1e6:.2f} M/s | {records / cpu / 1e6:.2f} M | "
            f"{statistics.median(c.store_cpu_s for c in each):.1f} s | "
            f"{max(c.worker_bytes for c in each) / 1e6:.0f} MB | {last.files} | {last.size_bytes / 1e6:.0f} MB | "
            f"{last.rounds} |",
            flush=True,
        )
    for job, each in costs.items():
        if "export-folder" in costs and job not in ("export-folder", "stats"):
            print(f"{job} to export-folder, {records:,} records on {master}: {_ratios(each, costs['export-folder'])}")


def _ratios(costs: list[Cost], to: list[Cost]) -> str:
    """Return how many times the cost of its neighbour in a round each run had: the median, the least and the most."""
    texts = []
    for name in ("wall_s", "cpu_s"):
        each = sorted(getattr(a, name) / getattr(b, name) for a, b in zip(costs, to, strict=True))
        texts.append(f"{name[:-2]} {statistics.median(each):.2f} ({each[0]:.2f} to {each[-1]:.2f})")
    return ", ".join(texts)


def steady(sizes: Sizes, master: str) -> None:
    """Print the steady rates: of the records that the largest size has more than the smallest, without any start."""
    rates = {}
    for job, costs in sizes.items():
        least, most = min(costs), max(costs)
        if least < most:
            wall_s, cpu_s = (more - less for less, more in zip(costs[least], costs[most], strict=True))
            rates[job] = (most - least) / wall_s, (most - least) / cpu_s
            print(
                f"steady rate of {job} on {master}: {rates[job][0] / 1e6:.2f} M/s, {rates[job][1] / 1e6:.2f} M/s of CPU"
            )
    if {"export-folder", "sync-folder"} <= rates.keys():
        (export_wall, export_cpu), (sync_wall, sync_cpu) = rates["export-folder"], rates["sync-folder"]
        print(
            f"sync's steady rate of the export's: {sync_wall / export_wall:.2f} wall, {sync_cpu / export_cpu:.2f} CPU"
        )


def many_partitions(
    kafka: KafkaCluster, bench: Bench, jobs: list[str], count: int, topic_count: int, records: int
) -> None:
    """Print what many partitions with some records each cost, in one topic or in several of one size."""
    each = count // topic_count
    topics = [f"many-{count}-{number}" for number in range(topic_count)]
    properties = {"bootstrap.servers": kafka.bootstrap()}
    with Admin(properties) as admin:
        for topic in topics:
            admin.create_topics([NewTopic(topic, min(each, MOST_CREATED), 1)], timeout=300).raise_first()
            for total in range(2 * MOST_CREATED, each + MOST_CREATED, MOST_CREATED):
                admin.create_partitions({topic: min(total, each)}, timeout=300).raise_first()

        def are_there() -> bool:
            found = admin.describe_topics(topics)
            return not found.failed and all(len(found[topic].partitions) == each for topic in topics)

        wait_until(are_there, 300_000, "the partitions")
    with Producer(properties) as producer:
        for topic in topics:
            for partition in range(each):
                producer.send_columns(topic, [b"%d" % n for n in range(records)], partition=partition)
        producer.flush(600)
    request = ExportRequest(Selection(topics=tuple(topics)), bench.scratch / "plan", properties)
    began, cpu_s = perf_counter(), process_time()
    tasks = len(plan_export(request).tasks)
    took_s, cpu_s = perf_counter() - began, process_time() - cpu_s
    what = f"{count} partitions of {topic_count} topics"
    print(f"plan of {what}: {took_s:.1f} s, {cpu_s:.1f} s CPU, {tasks} tasks", flush=True)
    for job in jobs:
        cost = bench.run(job, topics, records * each * topic_count)
        print(
            f"{job.replace('-', ' to ')} of {what} with {records} records each: {cost.wall_s:.1f} s, "
            f"{cost.cpu_s:.1f} s CPU, {cost.files} files, {cost.rounds} rounds, "
            f"worker {cost.worker_bytes / 1e6:.0f} MB",
            flush=True,
        )


def store_server(folder: Path) -> S3Server:
    """Return the lightest S3 server that this machine has: what a server takes on the same cores, a job waits for."""
    try:
        program = installed_versitygw()
    except ToolMissing:
        return S3Server()
    folder.mkdir()
    return VersityServer(program, folder)


def environment(store: S3Server, scratch: Path) -> None:
    """Set what a shell would export for the store and the catalog; before Spark starts."""
    os.environ.update(store.environment)
    os.environ["PYICEBERG_CATALOG__LAKE__URI"] = f"sqlite:///{scratch / 'catalog.db'}"
    os.environ["PYICEBERG_CATALOG__LAKE__WAREHOUSE"] = "s3://kafka/warehouse"
    os.environ["PYICEBERG_CATALOG__LAKE__S3__ENDPOINT"] = store.endpoint
    os.environ["PYICEBERG_CATALOG__DISK__URI"] = f"sqlite:///{scratch / 'disk.db'}"
    os.environ["PYICEBERG_CATALOG__DISK__WAREHOUSE"] = f"file://{scratch}/warehouse"


def main() -> None:
    parser = argparse.ArgumentParser(description="What jobs of kctl pipeline cost against size.")
    parser.add_argument("--records", type=int, nargs="+", default=[1_000_000, 10_000_000])
    parser.add_argument("--master", nargs="+", default=["local[2]", "standalone"])
    parser.add_argument("--job", nargs="+", choices=JOBS, default=["export-folder", "sync-folder"])
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--many-partitions", type=int, default=0, help="also this many partitions")
    parser.add_argument("--many-topics", type=int, default=1, help="of this many topics")
    parser.add_argument("--many-records", type=int, default=10, help="with this many records each")
    args = parser.parse_args()
    use_bytecode()
    print(f"load average {os.getloadavg()[0]:.1f}, {os.cpu_count()} cores, records of {VALUE_BYTES} bytes")
    heads = ("records", "master", "job", "wall", "CPU", "rate", "records per CPU second", "CPU of S3 server")
    print("| " + " | ".join((*heads, "worker", "files", "written", "rounds")) + " |")
    print("|---|---|---|---|---|---|---|---|---|---|---|---|")
    with ExitStack() as stack:
        kafka = stack.enter_context(KafkaCluster(NEWEST_KAFKA))
        scratch = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        store = stack.enter_context(store_server(scratch / "objects"))
        print(f"S3 server: {store.name}")
        environment(store, scratch)
        topics = [(records, fill(kafka, records)) for records in sorted(args.records)]
        warm = fill(kafka, 10_000)
        for name in args.master:
            usage = Usage()
            with masters(name) as master, open_session(SessionOptions(master), "kctl scale") as session:
                bench = Bench(kafka, session, usage, scratch, store)
                for job in args.job:
                    bench.run(job, [warm], 10_000)
                sizes: Sizes = {}
                for records, topic in topics:
                    measure(bench, args.job, topic, records, args.rounds, name, sizes)
                steady(sizes, name)
                if args.many_partitions and name.startswith("local"):
                    many_partitions(kafka, bench, args.job, args.many_partitions, args.many_topics, args.many_records)
    print(f"load average {os.getloadavg()[0]:.1f}")


if __name__ == "__main__":
    main()
