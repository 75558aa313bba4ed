"""Scenarios with the command line: whole processes, exit codes, stdout and stderr."""

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

from tests.support.kafka.security import properties_text
from tests.support.scenarios.library import new_topic

TIMEOUT_S = 60


def kctl(*arguments: str, stdin: bytes = b"", code: int = 0) -> subprocess.CompletedProcess[bytes]:
    """Run kctl and return what it wrote; the exit code must be `code`."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("KCTL_")}
    done = subprocess.run(
        [sys.executable, "-m", "kctl", *arguments], input=stdin, capture_output=True, timeout=TIMEOUT_S, env=environment
    )
    assert done.returncode == code, (done.returncode, done.stdout[-2000:], done.stderr[-2000:])
    assert b"Traceback" not in done.stderr
    return done


def produce_consume_probe(properties: Mapping[str, str], folder: Path) -> None:
    """The three commands and `topics` on one cluster, with the properties in a file as Kafka's own tools take it."""
    topic = new_topic(properties, 1)
    config = folder / "client.properties"
    config.write_text(properties_text(properties), encoding="utf-8")
    common = ("--command-config", str(config), "--api-timeout", "30s")

    kctl("produce", topic, *common, stdin=b"hello\nkafka\n")
    kctl("produce", topic, "-K", ":", *common, stdin=b"k:v\n")
    values = kctl("consume", topic, "-o", "start", "-e", *common)
    assert values.stdout == b"hello\nkafka\nv\n"
    last = kctl("consume", topic, "-o", "-1", "-n", "1", "-f", r"%t %p %o %k=%v\n", *common)
    assert last.stdout == f"{topic} 0 2 k=v\n".encode()
    objects = [
        json.loads(line) for line in kctl("consume", topic, "-e", "--output", "jsonl", *common).stdout.splitlines()
    ]
    assert [(o["offset"], o["key"], o["value"], o["headers"]) for o in objects] == [
        (0, None, "hello", []),
        (1, None, "kafka", []),
        (2, "k", "v", []),
    ]

    probe = kctl("probe", "--output", "jsonl", *common)
    summary = json.loads(probe.stdout.splitlines()[-1])
    assert summary["event"] == "summary"
    assert summary["exit_code"] == 0

    assert topic in kctl("topics", "list", *common).stdout.decode()
    assert topic in kctl("topics", "describe", topic, *common).stdout.decode()
    kctl("topics", "create", f"{topic}-cli", *common)
    kctl("topics", "delete", f"{topic}-cli", "--execute", *common)
    kctl("topics", "describe", f"{topic}-cli", *common, code=23)


def groups(properties: Mapping[str, str], folder: Path) -> None:
    """`kctl groups` on one cluster: a group that reads a part, is shown, set back, and deleted."""
    topic = new_topic(properties, 1)
    group = f"cli-of-{topic}"
    config = folder / "client.properties"
    config.write_text(properties_text(properties), encoding="utf-8")
    common = ("--command-config", str(config), "--api-timeout", "30s")

    def lag() -> tuple[object, ...]:
        (row,) = kctl("groups", "lag", group, "--output", "jsonl", *common).stdout.splitlines()
        shown = json.loads(row)
        return shown["committed"], shown["end"], shown["lag"]

    kctl("produce", topic, *common, stdin=b"a\nb\nc\n")
    kctl("groups", "describe", group, *common, code=23)
    read = kctl("consume", topic, "-g", group, "-n", "2", "-X", "auto.offset.reset=earliest", *common)
    assert read.stdout == b"a\nb\n"
    assert lag() == (2, 3, 1)
    listed = json.loads(kctl("groups", "list", "--output", "json", *common).stdout)
    assert listed["complete"] is True
    (shown,) = [each for each in listed["rows"] if each["group"] == group]
    assert (shown["type"], shown["state"]) == ("classic", "Empty")
    described = json.loads(kctl("groups", "describe", group, "--output", "json", *common).stdout)
    assert described["rows"][0]["partition_offsets"][0]["lag"] == 1
    assert kctl("groups", "members", group, "--output", "csv", *common).stdout.count(b"\n") == 1
    kctl("groups", "lag", group, "--threshold", "0", *common, code=3)

    backup = str(folder / "before.csv")
    kctl("groups", "reset-offsets", group, "--to-earliest", *common)
    assert lag() == (2, 3, 1), "a dry run"
    kctl("groups", "reset-offsets", group, "--to-current", "--export", backup, *common)
    kctl("groups", "reset-offsets", group, "--shift-by", "-9", "--execute", *common)
    assert lag() == (0, 3, 3)
    again = kctl("consume", topic, "-g", group, "-e", *common)
    assert again.stdout == b"a\nb\nc\n"
    kctl("groups", "reset-offsets", group, "--from-file", backup, "--execute", *common)
    assert lag() == (2, 3, 1)
    kctl("groups", "delete-offsets", group, "--topic", topic, "--execute", *common)
    kctl("groups", "delete-offsets", group, "--topic", topic, "--execute", *common, code=23)
    kctl("groups", "reset-offsets", "no-such-group", "--to-latest", "--topic", topic, *common, code=23)
