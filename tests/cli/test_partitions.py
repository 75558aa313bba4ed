"""`kctl partitions` as whole command lines: plans, moves interrupted, resumed and cancelled, elections, mistakes."""

import json
import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from kctl.cli.exit_codes import ExitCode
from kctl.sandbox import Sandbox
from kctl.sandbox.server import ServedSandbox
from tests.cli.processes import Ended, end, kctl, running
from tests.support.bounds import bound
from tests.support.kafka.waiting import wait_until

LEADERS = "leader.replication.throttled.replicas"


@pytest.fixture
def cluster() -> Iterator[ServedSandbox]:
    """A cluster of this test's own: moves of one test are seen by another. Broker 1 has orders-0, 2 orders-1, ..."""
    with Sandbox(nodes=4, topics={"orders": 8}, racks=["a", "b", "a", "b"]).serve() as served:
        yield served


@pytest.fixture
def plan(cluster: ServedSandbox, tmp_path: Path) -> Path:
    """A plan that moves all of broker 4 away."""
    ended = kctl("partitions", "plan", "--exclude-brokers", "4", "-b", cluster.bootstrap)
    assert ended.code == 0, ended
    path = tmp_path / "plan.json"
    path.write_bytes(ended.stdout)
    return path


def run(cluster: ServedSandbox, *words: str, stdin: bytes = b"") -> Ended:
    return kctl("partitions", *words, "-b", cluster.bootstrap, stdin=stdin)


def rows(ended: Ended) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(ended.stdout)["rows"]
    return found


def replicas(cluster: ServedSandbox, topic: str = "orders") -> list[list[int]]:
    ended = kctl("topics", "describe", topic, "-b", cluster.bootstrap, "--output", "json")
    return [row["replicas"] for row in rows(ended)]


def wait_for_move(cluster: ServedSandbox) -> None:
    wait_until(lambda: bool(cluster.sandbox.cluster.reassignments.moves), bound(20_000), "the move to begin")


# --- plan -----------------------------------------------------------------------------------------------------------


def test_plan_away_from_a_broker_is_moved_and_undone(cluster: ServedSandbox, tmp_path: Path) -> None:
    back, before = tmp_path / "back.json", replicas(cluster)
    ended = run(cluster, "plan", "--exclude-brokers", "4", "--rollback", str(back))
    assert ended.stderr == "kctl partitions: the plan would change 2 of 8 partitions and copy 2 replicas\n"
    (tmp_path / "plan.json").write_bytes(ended.stdout)
    moved = run(cluster, "move", str(tmp_path / "plan.json"), "--throttle", "10MB", "--output", "json")
    assert (moved.code, moved.stderr, [row["result"] for row in rows(moved)]) == (0, "", ["moved", "moved"])
    after = replicas(cluster)
    assert all(4 not in each for each in after)
    assert sum(a != b for a, b in zip(before, after, strict=True)) == 2
    assert run(cluster, "move", str(back)).code == 0
    assert replicas(cluster) == before


def test_plan_with_more_replicas_uses_other_racks(cluster: ServedSandbox) -> None:
    ended = run(cluster, "plan", "orders", "--replication-factor", "2")
    entries = json.loads(ended.stdout)["partitions"]
    assert len(entries) == 8
    assert all({each % 2 for each in entry["replicas"]} == {0, 1} for entry in entries), entries
    assert {entry["log_dirs"][0] for entry in entries} == {"any"}


def test_plan_without_a_change_is_empty(cluster: ServedSandbox) -> None:
    ended = run(cluster, "plan", "/ord.*/", "--to-brokers", "1,2,3,4")
    assert (ended.code, json.loads(ended.stdout)["partitions"]) == (0, [])
    assert ended.stderr == "kctl partitions: the plan would change no partitions\n"


@pytest.mark.parametrize(
    ("words", "code", "says"),
    [
        (
            ("plan",),
            ExitCode.USAGE,
            "Nothing to plan: use --to-brokers ID,..., --exclude-brokers ID,..., or --replication-factor N.",
        ),
        (
            ("plan", "--to-brokers", "1", "--exclude-brokers", "2"),
            ExitCode.USAGE,
            "--to-brokers cannot be combined with --exclude-brokers",
        ),
        (("plan", "--replication-factor", "2"), ExitCode.USAGE, "Missing argument 'TOPIC'"),
        (
            ("plan", "orders", "--replication-factor", "9"),
            ExitCode.USAGE,
            "cannot place 9 replicas of orders-0 on 4 brokers",
        ),
        (("plan", "orders", "--to-brokers", "1,x"), ExitCode.USAGE, "'x' is not a broker ID"),
        (("plan", "orders", "--to-brokers", "1,9"), ExitCode.UNKNOWN_RESOURCE, "broker 9 is down or does not exist"),
        (("plan", "ordres", "--to-brokers", "1"), ExitCode.UNKNOWN_RESOURCE, "ordres"),
        (("plan", "/x.*/", "--to-brokers", "1"), ExitCode.UNKNOWN_RESOURCE, "no topic matches /x.*/"),
        (("plan", "/x(/", "--to-brokers", "1"), ExitCode.USAGE, "/x(/"),
        (("plan", "orders:9", "--to-brokers", "1"), ExitCode.UNKNOWN_RESOURCE, "topic orders has no partition 9"),
        (
            ("plan", "--exclude-brokers", "1,2,3,4"),
            ExitCode.USAGE,
            "cannot exclude all running brokers (--exclude-brokers)",
        ),
        (
            ("plan", "orders", "--to-brokers", "1", "--rollback", "/nonexistent/x"),
            ExitCode.USAGE,
            "cannot write /nonexistent/x",
        ),
        (("move", "/nonexistent"), ExitCode.USAGE, "cannot read /nonexistent: No such file or directory"),
        (("move", "PLAN", "--resume", "--cancel"), ExitCode.USAGE, "--resume cannot be combined with --cancel"),
        (("move", "PLAN", "--throttle", "1MB", "--cancel"), ExitCode.USAGE, "--throttle cannot be combined"),
        (("move", "PLAN", "--throttle", "50"), ExitCode.USAGE, "'50' has no unit"),
        (("move", "PLAN", "--throttle", "0B"), ExitCode.USAGE, "'0B' would stop the copies"),
        (("elect",), ExitCode.USAGE, "Select topics, or add --all."),
        (("elect", "orders", "--all"), ExitCode.USAGE, "--all cannot be combined with topics."),
        (("elect", "--all", "--unclean"), ExitCode.USAGE, "--unclean cannot be combined with --all"),
        (("elect", "nope"), ExitCode.UNKNOWN_RESOURCE, "nope"),
    ],
)
def test_mistake_is_named(cluster: ServedSandbox, plan: Path, words: tuple[str, ...], code: int, says: str) -> None:
    before = replicas(cluster)
    ended = run(cluster, *[word.replace("PLAN", str(plan)) for word in words])
    assert (ended.code, says in ended.stderr, ended.stdout) == (code, True, b""), ended
    assert replicas(cluster) == before


# --- move -----------------------------------------------------------------------------------------------------------


def test_dry_run_changes_nothing(cluster: ServedSandbox, plan: Path) -> None:
    before = replicas(cluster)
    ended = run(cluster, "move", str(plan), "--dry-run", "--throttle", "1MB", "--output", "json")
    assert (ended.code, {row["result"] for row in rows(ended)}) == (0, {"would be moved"})
    assert replicas(cluster) == before
    assert cluster.sandbox.cluster.topics["orders"].properties == {}


def test_move_shows_its_progress_and_where_it_is_listed(cluster: ServedSandbox, plan: Path) -> None:
    cluster.sandbox.hold_moves()
    with running("partitions", "move", str(plan), "--throttle", "1MB", "-b", cluster.bootstrap) as process:
        wait_for_move(cluster)
        listed = rows(run(cluster, "list", "--output", "json"))
        assert [(row["partition"], row["removing"]) for row in listed] == [(3, [4]), (7, [4])]
        cluster.sandbox.release_moves()
        ended = end(process)
    assert ended.code == 0, ended
    assert cluster.sandbox.cluster.topics["orders"].properties == {}
    assert run(cluster, "list").stdout == b""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_interrupted_move_says_how_it_is_ended(cluster: ServedSandbox, plan: Path, number: signal.Signals) -> None:
    cluster.sandbox.hold_moves()
    with running("partitions", "move", str(plan), "--throttle", "1MB", "-b", cluster.bootstrap) as process:
        wait_for_move(cluster)
        ended = end(process, number)
    assert ended.code == 128 + number
    assert ended.stderr.splitlines()[:2] == [
        "kctl partitions: the started moves continue with the throttle",
        f"hint: wait for the moves and remove the throttle with: kctl partitions move {plan} --resume. "
        f"Cancel the moves and remove the throttle with: kctl partitions move {plan} --cancel",
    ]
    assert LEADERS in cluster.sandbox.cluster.topics["orders"].properties
    cancelled = run(cluster, "move", str(plan), "--cancel", "--output", "json")
    assert (cancelled.code, {row["result"] for row in rows(cancelled)}) == (0, {"cancelled"})
    assert cluster.sandbox.cluster.topics["orders"].properties == {}


def test_killed_move_is_resumed(cluster: ServedSandbox, plan: Path) -> None:
    cluster.sandbox.hold_moves()
    with running("partitions", "move", str(plan), "--throttle", "1MB", "-b", cluster.bootstrap) as process:
        wait_for_move(cluster)
        end(process, signal.SIGKILL)
    refused = run(cluster, "move", str(plan))
    assert (refused.code, "continue the move with --resume" in refused.stderr) == (19, True), refused
    cluster.sandbox.release_moves()
    ended = run(cluster, "move", str(plan), "--resume", "--output", "json")
    assert (ended.code, {row["result"] for row in rows(ended)}) == (0, {"moved"}), ended
    assert cluster.sandbox.cluster.topics["orders"].properties == {}
    assert all(4 not in each for each in replicas(cluster))


def test_move_that_is_only_started(cluster: ServedSandbox, plan: Path) -> None:
    cluster.sandbox.hold_moves()
    ended = run(cluster, "move", str(plan), "--wait", "0s", "--output", "json")
    assert (ended.code, {row["result"] for row in rows(ended)}) == (0, {"started"})
    assert f"wait for the moves with: kctl partitions move {plan} --resume" in ended.stderr


@pytest.mark.process  # /dev/stdin
def test_plan_in_a_pipe_is_read_or_ends_in_time(cluster: ServedSandbox, plan: Path, tmp_path: Path) -> None:
    ended = run(cluster, "move", "/dev/stdin", "--dry-run", stdin=plan.read_bytes())
    assert ended.code == 0, ended
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    nobody = run(cluster, "move", str(pipe), "--api-timeout", "1s")
    assert (nobody.code, f"cannot read {pipe}: the file is a pipe without a writer" in nobody.stderr) == (2, True)
    writer = os.open(pipe, os.O_RDWR)
    try:
        silent = run(cluster, "move", str(pipe), "--api-timeout", "1s")
    finally:
        os.close(writer)
    assert silent.code == 17
    assert "(--api-timeout" in silent.stderr
    assert f" while reading {pipe}" in silent.stderr


def test_plan_with_a_broker_that_is_down_is_refused(cluster: ServedSandbox, tmp_path: Path) -> None:
    path = tmp_path / "plan.json"
    path.write_text('{"partitions": [{"topic": "orders", "partition": 0, "replicas": [9]}]}')
    ended = run(cluster, "move", str(path), "--throttle", "1MB")
    assert (ended.code, "cannot move orders-0 to broker 9: the broker is down or does not exist" in ended.stderr) == (
        ExitCode.UNKNOWN_RESOURCE,
        True,
    )
    assert cluster.sandbox.cluster.topics["orders"].properties == {}


@pytest.mark.parametrize("topic", ["nope", "orders"])
def test_plan_of_partitions_that_do_not_exist_is_refused(cluster: ServedSandbox, tmp_path: Path, topic: str) -> None:
    path = tmp_path / "plan.json"
    path.write_text(json.dumps({"partitions": [{"topic": topic, "partition": 99, "replicas": [1]}]}))
    for words in ((), ("--cancel",), ("--resume",)):
        ended = run(cluster, "move", str(path), *words)
        assert (ended.code, ended.stdout) == (ExitCode.UNKNOWN_RESOURCE, b""), ended


# --- elect ----------------------------------------------------------------------------------------------------------


def test_preferred_leaders_are_elected(cluster: ServedSandbox) -> None:
    cluster.sandbox.create_topic("r", partitions=2, replication_factor=2)
    first, second = cluster.sandbox.cluster.topics["r"].partitions[0].replicas
    cluster.sandbox.move_leader("r", 0, second)
    shown = run(cluster, "elect", "--all", "--dry-run", "--output", "json")
    assert [(row["topic"], row["leader"], row["result"]) for row in rows(shown)] == [("r", second, "would be elected")]
    ended = run(cluster, "elect", "r", "--output", "json")
    assert [row["result"] for row in rows(ended)] == ["elected", "not needed"]
    assert cluster.sandbox.cluster.topics["r"].partitions[0].leader_id == first
    again = run(cluster, "elect", "--all", "--yes")
    assert (again.code, again.stdout, again.stderr) == (0, b"", "kctl partitions: no election is needed\n")


def test_unclean_election_needs_execute(cluster: ServedSandbox) -> None:
    partition = cluster.sandbox.cluster.topics["orders"].partitions[0]
    partition.elect(-1)
    shown = run(cluster, "elect", "orders:0", "--unclean", "--output", "json")
    assert [row["result"] for row in rows(shown)] == ["would be elected"]
    says = "dry run: 1 partition would get a leader, and records may be lost. Add --execute to make the change."
    assert (shown.code, shown.stderr) == (0, f"kctl partitions: {says}\n")
    assert partition.leader_id == -1
    assert (
        run(cluster, "elect", "orders:0", "--unclean", "--yes", "--dry-run", "--output", "json").stdout == shown.stdout
    )
    assert partition.leader_id == -1
    for flag in ("--execute", "--yes"):
        partition.elect(-1)
        assert run(cluster, "elect", "orders:0", "--unclean", flag).code == 0
        assert partition.leader_id == 1


def test_leader_that_cannot_be_elected_is_named(cluster: ServedSandbox) -> None:
    cluster.sandbox.create_topic("r", replication_factor=2)
    first, second = cluster.sandbox.cluster.topics["r"].partitions[0].replicas
    cluster.sandbox.move_leader("r", 0, second)
    cluster.sandbox.hold_follower("r", 0, first)
    ended = run(cluster, "elect", "r", "--output", "json")
    assert ([row["result"] for row in rows(ended)], ended.code) == (["failed"], ExitCode.UNAVAILABLE)
    assert "PREFERRED_LEADER_NOT_AVAILABLE" in ended.stderr
