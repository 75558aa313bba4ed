"""`kctl apply` as a whole command line: shown, made, repeated, pruned, exported, interrupted; exit codes."""

import json
import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from kctl.cli.exit_codes import ExitCode
from kctl.client.broker_errors import ErrorCode
from kctl.sandbox import ClusterSettings, Fault, Sandbox
from kctl.sandbox.server import ServedSandbox
from tests.cli.processes import BOUND_S, Ended, end, kctl, running
from tests.cli.terminal import Terminal

FILE = """
topics:
  - name: orders
    partitions: 4
    replication_factor: 3
    configs: {retention.ms: 1000, cleanup.policy: null}
  - name: bills
    partitions: 1
"""


@pytest.fixture
def empty() -> Iterator[ServedSandbox]:
    """A cluster of this test's own."""
    with Sandbox(nodes=3).serve() as served:
        yield served


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "topics.yaml"
    path.write_text(FILE)
    return path


def apply(cluster: ServedSandbox, *words: str, stdin: bytes = b"") -> Ended:
    return kctl("apply", *words, "-b", cluster.bootstrap, stdin=stdin)


def results(ended: Ended) -> list[tuple[Any, ...]]:
    rows = json.loads(ended.stdout)["rows"]
    return [(row["action"], row["resource"], row["key"], row["result"]) for row in rows]


def test_topics_are_made_as_declared_and_a_second_run_changes_nothing(empty: ServedSandbox, path: Path) -> None:
    empty.sandbox.create_topic("orders", 2, 3, {"cleanup.policy": "compact"})
    differs = apply(empty, "-f", str(path), "--diff")
    assert (differs.code, differs.stderr, differs.stdout.count(b"\n")) == (ExitCode.PARTIAL_FAILURE, "", 5), differs
    dry = apply(empty, "-f", str(path), "--dry-run", "--output", "json")
    assert (dry.code, {row[-1] for row in results(dry)}) == (0, {"would be done"})
    assert apply(empty, "-f", str(path), "--diff").stdout == differs.stdout
    made = apply(empty, "-f", str(path), "--output", "json")
    assert results(made) == [
        ("create", "topic bills", None, "done"),
        ("set", "topic orders", "retention.ms", "done"),
        ("unset", "topic orders", "cleanup.policy", "done"),
        ("set", "topic orders", "partitions", "done"),
    ]
    assert "~ topic orders partitions: 2 -> 4\n" in made.stderr
    again = apply(empty, "-f", str(path))
    assert (again.code, again.stdout) == (0, b"")
    assert "no changes needed: 2 topics match the file" in again.stderr
    same = apply(empty, "-f", str(path), "--diff")
    assert (same.code, same.stdout) == (0, b"")
    for words in ((), ("--diff",), ("--dry-run",)):
        assert results(apply(empty, "-f", str(path), *words, "--output", "json")) == []


def test_export_is_a_file_that_changes_nothing(empty: ServedSandbox) -> None:
    empty.sandbox.create_topic("a", 2, 3, {"retention.ms": "0100", "cleanup.policy": "compact", "preallocate": "true"})
    empty.sandbox.create_topic("123", 1)
    for shape in ("yaml", "json"):
        exported = apply(empty, "--export", "--output", shape)
        assert exported.code == 0
        again = apply(empty, "-f", "-", "--prune", "--diff", stdin=exported.stdout)
        assert (again.code, again.stdout, again.stderr) == (0, b"", "")
    assert {each["name"] for each in json.loads(exported.stdout)["topics"]} == {"a", "123"}


def test_prune_needs_execute_and_deletes_what_is_not_declared(empty: ServedSandbox, path: Path) -> None:
    empty.sandbox.create_topic("old", 3)
    empty.sandbox.create_topic("_schemas", 1)
    shown = apply(empty, "-f", str(path), "--prune")
    assert (shown.code, "(1 topic deleted with all records). Add --execute to make the change." in shown.stderr) == (
        0,
        True,
    )
    assert set(empty.sandbox.cluster.topics) == {"old", "_schemas"}
    for words, there in (((), {"old"}), (("--prune", "--yes"), set())):
        assert apply(empty, "-f", str(path), *words).code == 0
        assert set(empty.sandbox.cluster.topics) - {"orders", "bills", "_schemas"} == there


def test_file_without_topics_prunes_nothing(empty: ServedSandbox) -> None:
    empty.sandbox.create_topic("old", 3)
    ended = apply(empty, "-f", "-", "--prune", "--yes", stdin=b"topics: []")
    assert (ended.code, "would delete all topics" in ended.stderr) == (ExitCode.USAGE, True)
    assert set(empty.sandbox.cluster.topics) == {"old"}


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (
            "topics: [{name: bills}, {name: orders, partitions: 1}]",
            "topic orders has 2 partitions, but the file declares 1",
        ),
        (
            "topics: [{name: bills}, {name: orders, replication_factor: 1}]",
            "replication factor 3, but the file declares 1",
        ),
        ("topics: [{name: bills}, {name: orders, configs: {retention.ms: soon}}]", "Not a number"),
        ("topics: [{name: bills}, {name: new, replication_factor: 9}]", "INVALID_REPLICATION_FACTOR"),
    ],
)
def test_impossible_change_is_reported_before_anything_is_changed(empty: ServedSandbox, text: str, says: str) -> None:
    empty.sandbox.create_topic("orders", 2, 3)
    ended = apply(empty, "-f", "-", stdin=text.encode())
    assert (ended.code, says in ended.stderr) == (ExitCode.USAGE, True), ended
    assert "kctl apply: nothing was changed\n" in ended.stderr
    assert set(empty.sandbox.cluster.topics) == {"orders"}


def test_refused_check_leaves_everything_and_prunes_nothing(empty: ServedSandbox, path: Path) -> None:
    empty.sandbox.create_topic("orders", 2, 3)
    empty.sandbox.create_topic("old", 1)
    empty.sandbox.fail_requests("CreatePartitions", ErrorCode.POLICY_VIOLATION)
    refused = apply(empty, "-f", str(path), "--prune", "--yes", "--output", "json")
    assert refused.code == ExitCode.USAGE
    assert [row[-1] for row in results(refused)] == ["not done", "not done", "failed", "not done"]
    assert set(empty.sandbox.cluster.topics) == {"orders", "old"}


@pytest.mark.parametrize(("typed", "is_pruned"), [(b"y\n", True), (b"n\n", False), (b"\n", False)])
def test_prune_on_a_terminal_shows_the_changes_and_asks(
    empty: ServedSandbox, path: Path, typed: bytes, is_pruned: bool
) -> None:
    empty.sandbox.create_topic("old", 3)
    words = ("apply", "-f", str(path), "--prune", "-b", empty.bootstrap)
    with Terminal(*words, with_stderr=True) as terminal:
        shown = terminal.read_until(b"[y/N] ").decode()
        terminal.type(typed)
        terminal.read_all()
        assert terminal.process.wait(BOUND_S) == 0
    assert "- topic old (3 partitions) with all its records" in shown
    assert "Make 3 changes (1 topic deleted with all records)? [y/N]" in shown
    assert set(empty.sandbox.cluster.topics) == ({"orders", "bills"} if is_pruned else {"old"})


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_interrupt_says_what_was_done_and_the_command_that_makes_the_rest(
    empty: ServedSandbox, path: Path, number: signal.Signals
) -> None:
    empty.sandbox.create_topic("orders", 2, 3)
    for node_id in (1, 2, 3):
        empty.sandbox.start_fault(node_id, Fault.DELAY, ms=300)
    with running("apply", "-f", str(path), "-b", empty.bootstrap, "--output", "json") as process:
        assert process.stderr is not None
        while b"partitions: 2 -> 4" not in process.stderr.readline():
            pass
        ended = end(process, number)
    assert ended.code == (ExitCode.SIGINT if number is signal.SIGINT else ExitCode.SIGTERM)
    assert {row[-1] for row in results(ended)} <= {"unknown", "not done"}
    assert "0 of 3 changes made" in ended.stderr
    assert f"hint: apply the remaining changes with: kctl apply -f {path}" in ended.stderr
    empty.sandbox.heal()
    assert apply(empty, "-f", str(path)).code == 0
    assert apply(empty, "-f", str(path), "--diff").code == 0


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ((), "Missing FILE"),
        (("a", "-f", "b"), "FILE and --file"),
        (("--export", "-f", "x"), "--export cannot be combined with --file"),
        (("-f", "x", "--diff", "--dry-run"), "cannot be combined"),
        (("-f", "/no/such/file"), "cannot read /no/such/file"),
        (("--export", "--output", "csv"), "--output csv"),
    ],
)
def test_mistake_in_the_command_line_is_named(empty: ServedSandbox, words: tuple[str, ...], says: str) -> None:
    ended = apply(empty, *words)
    assert (ended.code, says in ended.stderr) == (ExitCode.USAGE, True), ended


def test_acls_are_created_pruned_and_exported(empty: ServedSandbox) -> None:
    with Sandbox(nodes=1, settings=ClusterSettings(authorizer=True, super_users=("User:ANONYMOUS",))).serve() as served:
        old = ("acls", "create", "--allow", "User:old", "--operation", "read", "--topic", "orders")
        assert kctl(*old, "-b", served.bootstrap).code == 0
        rule = {
            "principal": "User:ann",
            "operation": "read",
            "resource_type": "topic",
            "name": "or",
            "pattern": "prefixed",
        }
        cluster_rule = {"principal": "User:eve", "permission": "deny", "operation": "alter", "resource_type": "cluster"}
        text = json.dumps({"acls": [rule, cluster_rule]}).encode()
        made = apply(served, "-f", "-", "--output", "json", stdin=text)
        assert results(made) == [
            ("create", "acl allow User:ann read topic prefix or", None, "done"),
            ("create", "acl deny User:eve alter cluster kafka-cluster", None, "done"),
        ]
        assert apply(served, "-f", "-", "--diff", stdin=text).code == 0
        shown = apply(served, "-f", "-", "--prune", stdin=text)
        assert (shown.code, "(1 ACL deleted). Add --execute to make the change." in shown.stderr) == (0, True), shown
        pruned = apply(served, "-f", "-", "--prune", "--yes", "--output", "json", stdin=text)
        assert results(pruned) == [("delete", "acl allow User:old read topic orders", None, "done")]
        exported = apply(served, "--export")
        again = apply(served, "-f", "-", "--prune", "--diff", stdin=exported.stdout)
        assert (again.code, again.stdout) == (0, b""), again
        nothing = apply(served, "-f", "-", "--prune", "--yes", stdin=b"acls: []")
        assert (nothing.code, "would delete all acls" in nothing.stderr) == (ExitCode.USAGE, True)
    refused = apply(empty, "-f", "-", stdin=text)
    assert (refused.code != 0, "SECURITY_DISABLED" in refused.stderr) == (True, True), refused


@pytest.mark.parametrize(
    "words",
    [
        ("apply", "-f"),
        ("schemas", "register", "s", "--type", "avro"),
        ("groups", "reset-offsets", "g", "--from-file"),
        ("partitions", "move"),
    ],
)
def test_file_without_an_end_is_given_up_at_the_api_timeout(tmp_path: Path, words: tuple[str, ...]) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    writer = os.open(pipe, os.O_RDWR)
    try:
        os.write(writer, b"a")
        limit = ("-b", "127.0.0.1:1", "--api-timeout", "500ms")
        ended = kctl(*words, str(pipe), *limit, environ={"KCTL_SCHEMA_REGISTRY_URL": "http://127.0.0.1:1"})
    finally:
        os.close(writer)
    assert (ended.code, f"while reading {pipe}" in ended.stderr) == (ExitCode.API_TIMEOUT, True)


def test_export_without_acls_is_accepted_by_prune() -> None:
    settings = ClusterSettings(authorizer=True, super_users=("User:ANONYMOUS",))
    with Sandbox(nodes=1, topics={"a": 1}, settings=settings).serve() as served:
        exported = apply(served, "--export")
        assert b"acls" not in exported.stdout
        again = apply(served, "-f", "-", "--prune", "--diff", stdin=exported.stdout)
    assert (again.code, again.stdout) == (0, b""), again
