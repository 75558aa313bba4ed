"""Whole commands beside those of others, on real brokers that are started for it: `make bench-cli`.

    python benchmarks/bench_cli.py [--quick] [--records N] [--rounds N] [--only TEXT]... [--json FILE] [--write-page]

kctl, kcat, a program on franz-go, Kafka's own tools, and programs on confluent-kafka and aiokafka move the same
records, one process after the other, each second round in the other order. Before the rounds each command runs once;
then a reader's lines must be as many as the broker has records, and after every run of a writer the broker must have
so many more. CPU time is that of the command, without the broker. The wall time has the broker in it, and start and
end of the process. The CPU of a record of 1 kB has the start subtracted, as runs with nothing to move show it.
"""

import argparse
import hashlib
import json
import os
import platform
import subprocess
import sys
import tempfile
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from random import Random

from benchmarks import cli_rows, cli_tables
from benchmarks.cli_rows import Row, Setting
from benchmarks.cli_runs import Client, CommandFailed, Run, interleaved, lines_written, measured
from benchmarks.cli_tables import Result
from kctl.version import VERSION
from tests.support.kafka.cluster import KafkaCluster
from tests.support.kafka.toolchain import NEWEST_KAFKA, cache_dir, cached, find_tool, kafka_class_path

PEERS = Path(__file__).parent / "peers"
WRITTEN_PARTITIONS = {"write": 1, "write-keyed": 12}
KEYS = 100_000
FULL, QUICK = 2_000_000, 100_000
"""With these, five rounds of all rows end within 25 minutes, brokers and installs included."""
LARGE_SHARE = 2
"""So many records of 100 bytes for one of 1 kB."""
BROKER = {
    "message.max.bytes": "2000000",
    "log.segment.bytes": "268435456",
    # What writers wrote is deleted within seconds: all rounds together write more than 60 GB.
    "log.retention.check.interval.ms": "5000",
    "log.segment.delete.delay.ms": "1000",
}


def franz_program() -> Path:
    """Return the program on franz-go, built the first time."""
    source = PEERS / "franz"
    digest = hashlib.sha256((source / "main.go").read_bytes() + (source / "go.sum").read_bytes()).hexdigest()[:16]

    def build(folder: Path) -> None:
        go = find_tool("go", "golang")
        subprocess.run([go, "build", "-o", str(folder / "franz"), "."], cwd=source, check=True)

    return cached(f"franz-{digest}", build) / "franz"


def write_lines(path: Path, count: int, value_bytes: int) -> None:
    """Write lines `key:value` whose values compress to about a half."""
    random = Random(16)
    with path.open("wb") as file:
        for number in range(count):
            key = b"%08d:" % (number % KEYS)
            file.write(key + random.randbytes((value_bytes - len(key)) // 2).hex().encode() + b"\n")


def end_offsets(address: str, topic: str, partitions: int) -> int:
    """Return the sum of a topic's end offsets, as the broker tells kcat."""
    asked = [word for number in range(partitions) for word in ("-t", f"{topic}:{number}:-1")]
    done = subprocess.run(["kcat", "-Q", "-b", address, *asked], capture_output=True, text=True, check=True)
    return sum(int(line.rpartition(" ")[2]) for line in done.stdout.splitlines())


def fill(cluster: KafkaCluster, setting: Setting) -> None:
    """Make the topics, and fill those that are read, except for the one that stays empty."""
    setting.file("empty").touch()
    cluster.create_topic("empty")
    for topic, partitions in WRITTEN_PARTITIONS.items():
        retention = {"retention.bytes": str(1 << 29), "retention.ms": "60000"}
        cluster.create_topic(topic, partitions, configs=retention)
    for topic, lines in {
        **{f"read-{codec}": "keyed" for codec in ("none", "lz4", "zstd")},
        "read-large": "large",
    }.items():
        cluster.create_topic(topic)
        codec = topic.removeprefix("read-") if lines == "keyed" else "none"
        keyed = ["-K", ":"] if lines == "keyed" else []
        command = ["kcat", "-P", "-b", setting.address, "-t", topic, "-z", codec, *keyed]
        with setting.file(lines).open("rb") as file:
            subprocess.run(command, stdin=file, check=True)


def run_writer(setting: Setting, row: Row, complaints: Path, client: Client) -> Run:
    """Run one that writes; afterwards the broker has as many records more as there were lines."""
    partitions = WRITTEN_PARTITIONS[row.writes_to]
    before = end_offsets(setting.address, row.writes_to, partitions)
    run = measured(client, complaints, with_memory=row.measure == "MB")
    arrived = end_offsets(setting.address, row.writes_to, partitions) - before
    if arrived != row.records:
        raise CommandFailed(f"{client.name}: {row.name}: {arrived:,} records arrived, {row.records:,} were sent")
    return run


def measure_row(setting: Setting, row: Row, rounds: int) -> Result:
    """Warm up and confirm, then measure."""
    complaints = setting.folder / "stderr"
    if row.writes_to:
        run = partial(run_writer, setting, row, complaints)
    else:
        run = partial(measured, complaints=complaints, with_memory=row.measure == "MB")
    for client in row.clients:
        if row.writes_to or not row.is_counted:
            run(client)
        elif (count := lines_written(client, complaints)) != row.records:
            raise CommandFailed(f"{client.name}: {row.name}: {count:,} lines, the broker has {row.records:,} records")
    start = partial(measured, complaints=complaints, with_memory=False)
    starts = interleaved(list(row.starts), rounds, start)
    return Result(row, interleaved(row.clients, rounds, run), starts)


def measure_rows(setting: Setting, rows: list[Row], args: argparse.Namespace, not_measured: list[str]) -> list[Result]:
    """Measure each row and print its figures; one that fails is named in `not_measured`, and the next follows."""
    results = []
    for row in rows:
        if args.only and not any(text in row.name for text in args.only):
            continue
        try:
            results.append(result := measure_row(setting, row, args.rounds))
        except CommandFailed as error:
            print(error, file=sys.stderr, flush=True)
            not_measured.append(row.name)
            continue
        figures = "  ".join(f"{name} {cli_tables.measured(result, name)}" for name in result.runs)
        print(f"{row.name} [{row.measure}]: {figures}", flush=True)
    return results


def with_one_broker(setting: Setting, args: argparse.Namespace, not_measured: list[str]) -> list[Result]:
    """Measure what moves records."""
    write_lines(setting.file("keyed"), setting.records, 100)
    write_lines(setting.file("large"), setting.large_records, 1000)
    with KafkaCluster(NEWEST_KAFKA, 1, BROKER) as cluster:
        there = setting._replace(address=cluster.bootstrap())
        fill(cluster, there)
        for topic, count in {"read-none": setting.records, "read-large": setting.large_records}.items():
            if (held := end_offsets(there.address, topic, 1)) != count:
                raise CommandFailed(f"{topic} has {held:,} records, not {count:,}")
        rows = cli_rows.consuming(there) + cli_rows.producing(there)
        rows += cli_rows.libraries(there) + cli_rows.memory(there)
        return measure_rows(there, rows, args, not_measured)


def with_three_brokers(setting: Setting, args: argparse.Namespace, not_measured: list[str]) -> list[Result]:
    """Measure what lists many topics."""
    with KafkaCluster(NEWEST_KAFKA, 3) as cluster:
        there = setting._replace(address=cluster.bootstrap())
        create = [*setting.kctl, "topics", "create", "-b", there.address, "-p", "10", "--replication-factor", "1"]
        for first in range(0, args.topics, 100):
            names = [f"listed-{number:04}" for number in range(first, min(args.topics, first + 100))]
            subprocess.run([*create, *names], check=True, stdout=subprocess.DEVNULL)
        return measure_rows(there, cli_rows.listing(there, args.topics), args, not_measured)


def about(args: argparse.Namespace, setting: Setting) -> dict[str, str]:
    """Return what the figures depend on."""
    cpu = [line for line in Path("/proc/cpuinfo").read_text().splitlines() if line.startswith("model name")]
    kcat = subprocess.run(["kcat", "-V"], capture_output=True, text=True, check=False).stdout
    code = "import aiokafka, confluent_kafka as c; print(aiokafka.__version__, c.__version__, c.libversion()[0])"
    peers = subprocess.run([setting.peer_python, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    required = next(line for line in (PEERS / "franz" / "go.mod").read_text().splitlines() if "franz-go v" in line)
    system = f"{platform.system()} {platform.release()}"
    return {
        "measured": f"{datetime.now(UTC):%Y-%m-%d}, medians of {args.rounds} rounds with their least and most",
        "machine": f"{len(cpu)} cores of {cpu[0].partition(': ')[2]}, {system}",
        "records": f"{setting.records:,} of 100 bytes, {setting.large_records:,} of 1 kB",
        "kctl": f"{VERSION}, Python {platform.python_version()}",
        "kcat": f"{kcat.partition('Version ')[2].split()[0]}, librdkafka {kcat.partition('librdkafka ')[2].split()[0]}",
        "franz-go": required.split()[-1],
        "aiokafka": peers[0],
        "confluent-kafka": f"{peers[1]}, librdkafka {peers[2]}",
        "brokers and Java tools": f"Kafka {NEWEST_KAFKA} on the same machine",
    }


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="fewer records, rounds and topics; within five minutes")
    parser.add_argument("--records", type=int, help="of 100 bytes; half as many of 1 kB")
    parser.add_argument("--rounds", type=int)
    parser.add_argument("--topics", type=int)
    parser.add_argument("--only", action="append", help="rows whose name has this in it; may be repeated")
    parser.add_argument("--json", type=Path, default=Path("build/bench_cli.json"))
    parser.add_argument("--write-page", action="store_true", help="put the table into benchmarks/commands.md")
    args = parser.parse_args()
    args.records = args.records or (QUICK if args.quick else FULL)
    args.rounds = args.rounds or (2 if args.quick else 5)
    args.topics = args.topics or (100 if args.quick else 1000)
    return args


def main() -> int:
    args = arguments()
    find_tool("kcat", "kcat")
    peer_python = cache_dir() / "peers" / "bin" / "python"
    with tempfile.TemporaryDirectory(prefix="kctl-bench-cli-") as name:
        class_path = kafka_class_path(NEWEST_KAFKA)
        folder = Path(name)
        setting = Setting(
            "", folder, franz_program(), peer_python, class_path, args.records, args.records // LARGE_SHARE
        )
        known = about(args, setting)
        load = os.getloadavg()[0]
        not_measured: list[str] = []
        results = with_one_broker(setting, args, not_measured) + with_three_brokers(setting, args, not_measured)
    if not_measured:
        known["not measured, because a command failed"] = "; ".join(not_measured)
    known["machine"] += f", load {load:.1f} before and {os.getloadavg()[0]:.1f} after"
    args.json.parent.mkdir(parents=True, exist_ok=True)
    args.json.write_text(json.dumps(cli_tables.as_json(results, known), indent=1))
    part = cli_tables.page_part(results, known)
    print(part)
    if args.write_page:
        cli_tables.write_page(part)
    return 1 if not_measured else 0


if __name__ == "__main__":
    sys.exit(main())
