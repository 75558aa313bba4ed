"""`kctl topics`: what it prints in each shape, and the exit code when some or all of it failed."""

import json

import pytest

from kctl.cli.exit_codes import ExitCode
from tests.cli.processes import kctl


def test_the_life_of_a_topic(bootstrap: str, topic: str) -> None:
    name = f"{topic}-new"
    made = kctl(
        "topics", "create", name, "-b", bootstrap, "--partitions", "4", "--replication-factor", "2",
        "--config", "max.message.bytes=1000", "--output", "jsonl",
    )  # fmt: skip
    assert (made.code, made.stderr) == (0, "")
    created = json.loads(made.stdout)
    assert (created["name"], created["partitions"], created["replication_factor"]) == (name, 4, 2)
    listed = json.loads(kctl("topics", "list", "-b", bootstrap, "--output", "json").stdout)
    assert {"name": name, "topic_id": created["topic_id"], "internal": False} in listed
    described = kctl("topics", "describe", name, "-b", bootstrap, "--output", "jsonl")
    partitions = [json.loads(line) for line in described.stdout.splitlines()]
    assert [partition["partition"] for partition in partitions] == [0, 1, 2, 3]
    assert all(len(partition["replicas"]) == 2 for partition in partitions)
    assert all(partition["leader"] == partition["replicas"][0] for partition in partitions)
    gone = kctl("topics", "delete", name, "-b", bootstrap)
    assert (gone.code, gone.stdout.decode().split()) == (0, ["NAME", name])
    assert name not in kctl("topics", "list", "-b", bootstrap).stdout.decode()


def test_tables(bootstrap: str, topic: str) -> None:
    listed = kctl("topics", "list", "-b", bootstrap).stdout.decode().splitlines()
    assert listed[0].split() == ["NAME", "TOPIC", "ID", "INTERNAL"]
    assert topic in [line.split()[0] for line in listed[1:]]
    described = kctl("topics", "describe", topic, "-b", bootstrap).stdout.decode().splitlines()
    assert described[0].split() == ["NAME", "PARTITION", "LEADER", "LEADER", "EPOCH", "REPLICAS", "IN", "SYNC",
                                    "OFFLINE", "ERROR"]  # fmt: skip
    assert [line.split()[:2] for line in described[1:]] == [[topic, "0"], [topic, "1"], [topic, "2"]]


def test_a_dry_run_creates_nothing(bootstrap: str, topic: str) -> None:
    name = f"{topic}-dry"
    assert kctl("topics", "create", name, "-b", bootstrap, "--dry-run").code == 0
    assert name not in kctl("topics", "list", "-b", bootstrap).stdout.decode()


def test_some_topics_fail(bootstrap: str, topic: str) -> None:
    ended = kctl("topics", "describe", topic, "nope", "-b", bootstrap, "--output", "jsonl")
    assert ended.code == ExitCode.DEGRADED
    assert {json.loads(line)["name"] for line in ended.stdout.splitlines()} == {topic}
    assert "nope" in ended.stderr
    assert "UNKNOWN_TOPIC_OR_PARTITION" in ended.stderr


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (("create", "{topic}"), ExitCode.USAGE, "TOPIC_ALREADY_EXISTS"),
        (("create", "a/b"), ExitCode.USAGE, "INVALID_TOPIC_EXCEPTION"),
        (("create", "new", "--replication-factor", "9"), ExitCode.USAGE, "INVALID_REPLICATION_FACTOR"),
        (("create", "new", "--config", "no.such=1"), ExitCode.USAGE, "INVALID_CONFIG"),
        (("create", "new", "--config", "x"), ExitCode.USAGE, "is not KEY=VALUE"),
        (("create", "new", "--partitions", "0"), ExitCode.USAGE, "--partitions"),
        (("delete", "nope"), ExitCode.UNKNOWN_RESOURCE, "UNKNOWN_TOPIC_OR_PARTITION"),
        (("describe", "nope"), ExitCode.UNKNOWN_RESOURCE, "UNKNOWN_TOPIC_OR_PARTITION"),
        (("describe",), ExitCode.USAGE, "TOPIC"),
        (("destroy", "x"), ExitCode.USAGE, "No such command 'destroy'"),
    ],
)
def test_failures(bootstrap: str, topic: str, arguments: tuple[str, ...], code: ExitCode, words: str) -> None:
    filled = [argument.format(topic=topic) for argument in arguments]
    ended = kctl("topics", filled[0], "-b", bootstrap, *filled[1:], "--api-timeout", "3s")
    assert ended.code == code
    assert words in ended.stderr
