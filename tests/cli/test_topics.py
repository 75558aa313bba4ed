"""`kctl topics`: what it prints in each shape, and the exit code when some or all of it failed."""

import json

import pytest

from kctl.cli.exit_codes import ExitCode
from kctl.sandbox import Fault, Sandbox
from tests.cli.groups_scene import fill
from tests.cli.processes import BOUND_S, kctl
from tests.cli.terminal import Terminal


def test_the_life_of_a_topic(bootstrap: str, topic: str) -> None:
    name = f"{topic}-new"
    made = kctl(
        "topics", "create", name, "-b", bootstrap, "--partitions", "4", "--replication-factor", "2",
        "--config", "max.message.bytes=1000", "--output", "jsonl",
    )  # fmt: skip
    assert (made.code, made.stderr) == (0, "")
    created = json.loads(made.stdout)
    assert (created["topic"], created["partitions"], created["replication_factor"]) == (name, 4, 2)
    listed = json.loads(kctl("topics", "list", "-b", bootstrap, "--output", "json").stdout)
    row = {
        "topic": name, "partitions": 4, "replication_factor": 2, "under_replicated": 0, "offline": 0,
        "internal": False, "topic_id": created["topic_id"],
    }  # fmt: skip
    assert row in listed["rows"]
    described = kctl("topics", "describe", name, "-b", bootstrap, "--output", "jsonl")
    partitions = [json.loads(line) for line in described.stdout.splitlines()]
    assert [partition["partition"] for partition in partitions] == [0, 1, 2, 3]
    assert all(len(partition["replicas"]) == 2 for partition in partitions)
    assert all(partition["leader"] == partition["replicas"][0] for partition in partitions)
    gone = kctl("topics", "delete", name, "-b", bootstrap, "--execute", "--output", "jsonl")
    row = {"v": 1, "kind": "topics", "topic": name, "partitions": 4, "replication_factor": 2, "result": "deleted"}
    assert (gone.code, json.loads(gone.stdout), gone.stderr) == (0, row, "")
    assert name not in kctl("topics", "list", "-b", bootstrap).stdout.decode()


def _is_there(bootstrap: str, name: str) -> bool:
    return name in kctl("topics", "list", "-b", bootstrap).stdout.decode().split()


def test_delete_without_a_terminal_only_shows_what_it_would_delete(bootstrap: str, topic: str) -> None:
    ended = kctl("topics", "delete", topic, "-b", bootstrap, stdin=b"y\n")
    assert ended.code == 0
    assert ended.stdout.decode().splitlines()[1].split() == [topic, "3", "1", "would", "be", "deleted"]
    assert "dry run: 1 topic would be deleted" in ended.stderr
    assert _is_there(bootstrap, topic)


@pytest.mark.parametrize("flag", ["--execute", "--yes"])
def test_delete_with_execute_or_yes_deletes(bootstrap: str, topic: str, flag: str) -> None:
    assert kctl("topics", "delete", topic, "-b", bootstrap, flag).code == 0
    assert not _is_there(bootstrap, topic)


@pytest.mark.parametrize("flags", [("--execute",), ("-y",), ("--force",), ("--no-confirm", "--yes")])
def test_delete_as_a_dry_run_deletes_nothing(bootstrap: str, topic: str, flags: tuple[str, ...]) -> None:
    ended = kctl("topics", "delete", topic, "-b", bootstrap, *flags, "--dry-run")
    assert ended.code == 0
    assert "dry run: 1 topic would be deleted" in ended.stderr
    assert _is_there(bootstrap, topic)


def test_delete_as_a_dry_run_does_not_ask_on_a_terminal(bootstrap: str, topic: str) -> None:
    with Terminal("topics", "delete", topic, "-b", bootstrap, "--dry-run", with_stderr=True) as terminal:
        shown = terminal.read_all()
        assert terminal.process.wait(BOUND_S) == 0
    assert b"[y/N]" not in shown
    assert b"would be deleted" in shown
    assert _is_there(bootstrap, topic)


@pytest.mark.parametrize(("typed", "is_deleted"), [(b"y\n", True), (b"YES\n", True), (b"n\n", False), (b"\x04", False)])
def test_delete_asks_on_a_terminal(bootstrap: str, topic: str, typed: bytes, is_deleted: bool) -> None:
    with Terminal("topics", "delete", topic, "-b", bootstrap, with_stderr=True) as terminal:
        shown = terminal.read_until(b"[y/N] ")
        terminal.type(typed)
        terminal.read_all()
        assert terminal.process.wait(BOUND_S) == 0
    assert f"{topic}: 3 partitions" in shown.decode()
    assert _is_there(bootstrap, topic) is not is_deleted


def test_delete_with_one_unknown_topic_deletes_nothing(bootstrap: str, topic: str) -> None:
    ended = kctl("topics", "delete", topic, "nope", "-b", bootstrap, "--execute")
    assert (ended.code, ended.stdout) == (ExitCode.UNKNOWN_RESOURCE, b"")
    assert "nothing was deleted" in ended.stderr
    assert _is_there(bootstrap, topic)


def test_tables(bootstrap: str, topic: str) -> None:
    listed = kctl("topics", "list", "-b", bootstrap).stdout.decode().splitlines()
    assert listed[0].split() == ["TOPIC", "PARTITIONS", "REPLICATION", "FACTOR", "UNDER", "REPLICATED", "OFFLINE"]
    assert topic in [line.split()[0] for line in listed[1:]]
    described = kctl("topics", "describe", topic, "-b", bootstrap).stdout.decode().splitlines()
    assert described[0].split() == ["TOPIC", "PARTITION", "LEADER", "LEADER", "EPOCH", "REPLICAS", "IN", "SYNC",
                                    "OFFLINE", "REPLICAS", "ERROR"]  # fmt: skip
    assert [line.split()[:2] for line in described[1:]] == [[topic, "0"], [topic, "1"], [topic, "2"]]


def test_a_dry_run_creates_nothing(bootstrap: str, topic: str) -> None:
    name = f"{topic}-dry"
    ended = kctl("topics", "create", name, "-b", bootstrap, "--dry-run")
    assert (ended.code, ended.stdout.splitlines()[1].endswith(b"  would be created")) == (0, True)
    assert name not in kctl("topics", "list", "-b", bootstrap).stdout.decode()


def test_some_topics_fail(bootstrap: str, topic: str) -> None:
    ended = kctl("topics", "describe", topic, "nope", "-b", bootstrap, "--output", "jsonl")
    assert ended.code == ExitCode.PARTIAL_FAILURE
    assert {json.loads(line)["topic"] for line in ended.stdout.splitlines()} == {topic}
    assert "nope" in ended.stderr
    assert "UNKNOWN_TOPIC_OR_PARTITION" in ended.stderr


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (("create", "{topic}"), ExitCode.USAGE, "accept an existing topic with: kctl topics create --if-not-exists"),
        (
            ("create", "a/b"),
            ExitCode.USAGE,
            "hint: use a name of up to 249 characters from a-z, A-Z, 0-9, '.', '_', and '-'",
        ),
        (("create", "new", "--replication-factor", "9"), ExitCode.USAGE, "INVALID_REPLICATION_FACTOR"),
        (("create", "new", "--config", "no.such=1"), ExitCode.USAGE, "INVALID_CONFIG"),
        (("create", "new", "--config", "x"), ExitCode.USAGE, "use KEY=VALUE instead of"),
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


def test_unhealthy_partitions_are_listed_and_described_alone() -> None:
    with Sandbox(nodes=3).serve() as served:
        for name, replicas in (("behind", 2), ("healthy", 2), ("leaderless", 1)):
            served.sandbox.create_topic(name, partitions=2, replication_factor=replicas)
        partition = served.sandbox.cluster.partition("behind", 1)
        assert partition is not None
        follower = next(node for node in partition.replicas if node != partition.leader_id)
        served.sandbox.hold_follower("behind", 1, follower)
        served.sandbox.elect_late("leaderless", 1, 1, ms=3_600_000)

        def found(*command: str) -> list[tuple[str, int | None]]:
            ended = kctl("topics", *command, "-b", served.bootstrap, "--json")
            assert ended.code == 0, ended
            return [(row["topic"], row.get("partition")) for row in json.loads(ended.stdout)["rows"]]

        assert found("list", "--under-replicated") == [("behind", None)]
        assert ("leaderless", None) in found("list", "--offline")
        assert ("healthy", None) not in found("list", "--offline")
        assert found("describe", "--under-replicated") == [("behind", 1)]
        assert found("describe", "/.*/", "--offline", "--under-replicated") == [("behind", 1), ("leaderless", 1)]
        assert found("describe", "healthy", "--offline") == []
        assert found("describe", "/healthy|behind/") == [
            ("behind", 0), ("behind", 1), ("healthy", 0), ("healthy", 1),
        ]  # fmt: skip
        listed = json.loads(kctl("topics", "ls", "-b", served.bootstrap, "--json").stdout)["rows"]
        assert [(row["under_replicated"], row["offline"]) for row in listed] == [(1, 0), (0, 0), (0, 1)]


def test_pattern_without_a_match_and_topic_of_a_near_name(bootstrap: str, topic: str) -> None:
    ended = kctl("topics", "describe", "/zzz.*/", "-b", bootstrap)
    assert (ended.code, ended.stdout) == (ExitCode.UNKNOWN_RESOURCE, b"")
    assert "no topic matches /zzz.*/" in ended.stderr
    for command in ("describe", "delete"):
        ended = kctl("topics", command, f"{topic}s", "-b", bootstrap)
        assert (ended.code, ended.stdout) == (ExitCode.UNKNOWN_RESOURCE, b"")
        assert f"hint: did you mean {topic}?" in ended.stderr
    assert "Missing argument 'TOPIC'" in kctl("topics", "describe", "-b", bootstrap).stderr


def test_sizes_are_those_of_each_replica(bootstrap: str, topic: str) -> None:
    fill(bootstrap, topic, {0: 5})
    ended = kctl("topics", "describe", topic, "--size", "-b", bootstrap, "--output", "jsonl")
    rows = [json.loads(line) for line in ended.stdout.splitlines()]
    assert [(row["partition"], row["bytes"] > 0, row["is_leader"]) for row in rows] == [
        (0, True, True),
        (1, False, True),
        (2, False, True),
    ]
    mixed = kctl("topics", "describe", topic, "--size", "--configs", "-b", bootstrap)
    assert (mixed.code, "cannot be combined" in mixed.stderr) == (ExitCode.USAGE, True)


def test_sizes_are_those_of_all_replicas_and_lack_a_broker_that_is_down() -> None:
    with Sandbox(nodes=2, topics={"full": 2, "empty": 1}).serve() as served:
        for partition in ("0", "1"):  # each broker leads one
            kctl("produce", "full", "-b", served.bootstrap, "-p", partition, stdin=b"x" * 500 + b"\n")
        rows = json.loads(kctl("topics", "list", "--size", "--json", "-b", served.bootstrap).stdout)["rows"]
        sizes = {row["topic"]: row["size_bytes"] for row in rows}
        assert sizes["full"] > 500
        assert sizes["empty"] == 0
        served.sandbox.start_fault(2, Fault.FREEZE)
        ended = kctl(
            "topics", "list", "--size", "-b", served.bootstrap, "--api-timeout", "2s", "--connect-timeout", "500ms"
        )
    assert ended.code == ExitCode.PARTIAL_FAILURE
    assert b"OFFLINE   SIZE\n" in ended.stdout
    assert "note: sizes do not include the replicas on 1 broker" in ended.stderr


def test_existing_topic_is_no_error_where_it_may_exist(bootstrap: str, topic: str) -> None:
    new = f"{topic}-if-new"
    ended = kctl("topics", "create", topic, new, "--if-not-exists", "-b", bootstrap, "--output", "JSONL")
    assert (ended.code, json.loads(ended.stdout)["topic"]) == (0, new)
    assert ended.stderr == f"kctl topics: skipped topic {topic}, which already exists\n"
    assert kctl("topics", "create", topic, "-b", bootstrap).code == ExitCode.USAGE
