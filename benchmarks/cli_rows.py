"""The rows of bench_cli.py: which commands do the same thing, and what kctl is held to beside the first of them.

Owns command lines and bars; runs nothing.
"""

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from benchmarks.cli_runs import Client

FORMAT = "%p %o %k %v\\n"
SCRIPT = Path(__file__).parent / "peers" / "cli_clients.py"


class Row(NamedTuple):
    """One thing that several clients do.

    Attributes:
        measure: what the bars are about: "wall" or "record" (CPU of a record) as a multiple of another client's, "MB"
            and "s" of kctl alone.
        bars: at most so much of the peer of that name, or of kctl alone where the name is empty.
        writes_to: the topic that has more records afterwards; empty for what only reads.
        records: what is moved, or lines that are listed.
        is_counted: whether what it writes to stdout is one line a record.
        starts: the same clients with nothing to move, whose CPU is subtracted for "record".
    """

    name: str
    measure: str
    bars: dict[str, float]
    clients: list[Client]
    records: int
    writes_to: str = ""
    is_counted: bool = True
    starts: Sequence[Client] = ()


class Setting(NamedTuple):
    """What command lines are made of."""

    address: str
    folder: Path
    franz: Path
    peer_python: Path
    class_path: str
    records: int
    large_records: int

    @property
    def kctl(self) -> list[str]:
        return [str(Path(sys.executable).with_name("kctl"))]

    def java(self, main: str, *arguments: str) -> list[str]:
        return ["java", "-Xmx1g", "-cp", self.class_path, main, *arguments]

    def file(self, name: str) -> Path:
        return self.folder / f"{name}.txt"


def kctl_consume(setting: Setting, topic: str, *more: str) -> Client:
    return Client("kctl", [*setting.kctl, "consume", topic, "-b", setting.address, "-e", *more])


def kcat_consume(setting: Setting, topic: str, *more: str) -> Client:
    return Client("kcat", ["kcat", "-C", "-q", "-b", setting.address, "-t", topic, "-o", "beginning", "-e", *more])


def franz_consume(setting: Setting, topic: str, count: int, *more: str) -> Client:
    return Client("franz-go", [str(setting.franz), "consume", setting.address, topic, str(count), *more])


def java_consume(setting: Setting, topic: str, count: int) -> Client:
    options = ["--bootstrap-server", setting.address, "--topic", topic, "--from-beginning"]
    main = "org.apache.kafka.tools.consumer.ConsoleConsumer"
    return Client("Java console", setting.java(main, *options, "--max-messages", str(count)))


def consuming(setting: Setting) -> list[Row]:
    """Return the rows of commands that print a topic."""
    rows = []
    for codec in ("none", "lz4", "zstd"):
        topic = f"read-{codec}"
        name = "consume" if codec == "none" else f"consume, {codec}"
        clients = [
            kctl_consume(setting, topic),
            kcat_consume(setting, topic),
            franz_consume(setting, topic, setting.records),
        ]
        if codec == "none":
            clients.append(java_consume(setting, topic, setting.records))
        rows.append(Row(name, "wall", {"kcat": 0.5}, clients, setting.records))
    topic = "read-none"
    templates = [
        kctl_consume(setting, topic, "-f", FORMAT),
        kcat_consume(setting, topic, "-f", FORMAT.replace("%v", "%s")),
        franz_consume(setting, topic, setting.records, "format"),
    ]
    rows.append(Row("consume -f '%p %o %k %v\\n'", "wall", {"kcat": 0.6}, templates, setting.records))
    objects = [kctl_consume(setting, topic, "--output", "jsonl"), kcat_consume(setting, topic, "-J")]
    rows.append(Row("consume --output jsonl", "wall", {"kcat": 0.6}, objects, setting.records))
    large, starts = (
        [kctl_consume(setting, topic), kcat_consume(setting, topic), franz_consume(setting, topic, count)]
        for topic, count in (("read-large", setting.large_records), ("empty", 0))
    )
    rows.append(Row("consume, 1 kB", "record", {"kcat": 0.7}, large, setting.large_records, starts=starts))
    return rows


def kctl_produce(setting: Setting, topic: str, lines: str, *more: str, is_piped: bool = False) -> Client:
    command = [*setting.kctl, "produce", topic, "-b", setting.address, *more]
    return Client("kctl", command, setting.file(lines), is_piped)


def kcat_produce(setting: Setting, topic: str, lines: str, *more: str, is_piped: bool = False) -> Client:
    command = ["kcat", "-P", "-b", setting.address, "-t", topic, "-X", "acks=all", *more]
    return Client("kcat", command, setting.file(lines), is_piped)


def franz_produce(setting: Setting, topic: str, lines: str, *more: str, is_piped: bool = False) -> Client:
    command = [str(setting.franz), "produce", setting.address, topic, *more]
    return Client("franz-go", command, setting.file(lines), is_piped)


def java_produce(setting: Setting, topic: str, lines: str, codec: str) -> Client:
    options = ["--topic", topic, "--num-records", str(setting.records), "--throughput", "-1"]
    options += ["--payload-file", str(setting.file(lines)), "--bootstrap-server", setting.address]
    options += ["--command-property", "acks=all", f"compression.type={codec}"]
    return Client("Java perf-test", setting.java("org.apache.kafka.tools.ProducerPerformance", *options))


def producing(setting: Setting) -> list[Row]:
    """Return the rows of commands that send lines."""
    rows = []
    for source in ("file", "pipe"):
        for codec in ("none", "zstd"):
            piped = source == "pipe"
            clients = [
                kctl_produce(setting, "write", "keyed", "--compression", codec, is_piped=piped),
                kcat_produce(setting, "write", "keyed", "-z", codec, is_piped=piped),
                franz_produce(setting, "write", "keyed", codec, is_piped=piped),
            ]
            if source == "file":
                clients.append(java_produce(setting, "write", "keyed", codec))
            name = f"produce from a {source}" + (f", {codec}" if codec != "none" else "")
            rows.append(Row(name, "wall", {"kcat": 0.8}, clients, setting.records, "write"))
    keyed = [
        kctl_produce(setting, "write-keyed", "keyed", "-K", ":"),
        kcat_produce(setting, "write-keyed", "keyed", "-K", ":", "-X", "topic.partitioner=murmur2_random"),
        franz_produce(setting, "write-keyed", "keyed", "none", "keyed"),
    ]
    rows.append(Row("produce -K :, 12 partitions", "wall", {"kcat": 1.0}, keyed, setting.records, "write-keyed"))
    large, starts = (
        [
            kctl_produce(setting, "write", lines),
            kcat_produce(setting, "write", lines),
            franz_produce(setting, "write", lines, "none"),
        ]
        for lines in ("large", "empty")
    )
    rows.append(Row("produce, 1 kB", "record", {"kcat": 0.7}, large, setting.large_records, "write", starts=starts))
    return rows


def libraries(setting: Setting) -> list[Row]:
    """Return the rows of Python programs."""
    names = {"kctl": sys.executable, "aiokafka": str(setting.peer_python), "confluent-kafka": str(setting.peer_python)}

    def program(name: str, *arguments: str) -> Client:
        return Client(name, [names[name], str(SCRIPT), name.partition("-")[0], *arguments])

    reading = [program(name, "consume", setting.address, "read-none", str(setting.records)) for name in names]
    lines = str(setting.file("keyed"))
    sending = [program(name, "produce", setting.address, "write", lines) for name in names]
    bars = {"aiokafka": round(1 / 3, 2)}
    return [
        Row("Consumer: objects", "wall", bars, reading, setting.records, is_counted=False),
        Row("Producer: send of each", "wall", {"aiokafka": round(1 / 1.5, 2)}, sending, setting.records, "write"),
    ]


def memory(setting: Setting) -> list[Row]:
    """Return the rows about peak memory; with `large_records` of 1 kB they move 1 GB when that is a million."""
    reading = [kctl_consume(setting, "read-large"), kcat_consume(setting, "read-large")]
    sending = [kctl_produce(setting, "write", "large"), kcat_produce(setting, "write", "large")]
    return [
        Row("peak memory, consume 1 kB", "MB", {"": 120}, reading, setting.large_records),
        Row("peak memory, produce 1 kB", "MB", {"": 120}, sending, setting.large_records, "write"),
    ]


def listing(setting: Setting, topics: int) -> list[Row]:
    """Return the rows of a cluster of many topics, of ten partitions each; every client lists as much as it can."""
    kctl = Client("kctl", [*setting.kctl, "topics", "list", "-b", setting.address])
    kcat = Client("kcat", ["kcat", "-L", "-b", setting.address])
    java = Client(
        "Java topics",
        setting.java("org.apache.kafka.tools.TopicCommand", "--bootstrap-server", setting.address, "--list"),
    )
    name = f"topics list, {topics:,} x 10, 3 brokers"
    return [
        Row(name, "s", {"": 0.5}, [kctl, kcat, java], topics, is_counted=False),
        Row(f"peak memory, {name}", "MB", {"": 80}, [kctl, kcat], topics, is_counted=False),
    ]
