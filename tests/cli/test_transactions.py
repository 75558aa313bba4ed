"""`kctl transactions` as whole command lines: what is listed, what hangs, what is aborted, what is refused."""

import json
from collections.abc import Iterator
from typing import Any

import pytest

from kctl.cli.exit_codes import ExitCode
from kctl.client.producer import Producer
from kctl.sandbox import Fault, Sandbox
from kctl.sandbox.server import ServedSandbox
from tests.cli.processes import Ended, kctl
from tests.cli.terminal import Terminal


@pytest.fixture
def own() -> Iterator[ServedSandbox]:
    with Sandbox(nodes=3, topics={"t": 3}).serve() as served:
        yield served


def begin(served: ServedSandbox, transactional_id: str, *partitions: int) -> Producer:
    """Return a producer whose transaction is open on these partitions of t."""
    producer = Producer({"bootstrap.servers": served.bootstrap, "transactional.id": transactional_id})
    producer.init_transactions(timeout=30)
    producer.begin_transaction()
    for index in partitions:
        producer.send("t", b"x", partition=index)
    producer.flush(30)
    return producer


def hang(served: ServedSandbox, transactional_id: str, *partitions: int) -> None:
    served.sandbox.lose_markers(transactional_id)
    with begin(served, transactional_id, *partitions) as producer:
        producer.commit_transaction(timeout=30)


def run(served: ServedSandbox, *words: str) -> Ended:
    return kctl("transactions", *words, "-b", served.bootstrap)


def rows(served: ServedSandbox, *words: str, code: int = 0) -> list[dict[str, Any]]:
    ended = run(served, *words, "--output", "json")
    assert ended.code == code, ended
    found: list[dict[str, Any]] = json.loads(ended.stdout)["rows"]
    return found


def stable_end(served: ServedSandbox, partition: int) -> int:
    return served.sandbox.cluster.topics["t"].partitions[partition].log.last_stable_offset


def test_list_shows_state_and_coordinator_and_filters(own: ServedSandbox) -> None:
    empty = run(own, "list")
    assert (empty.code, empty.stdout) == (0, b"")
    assert empty.stderr == (
        "kctl transactions: no transactional.ids found: "
        "brokers list only transactional.ids that User:ANONYMOUS may describe\n"
    )
    hang(own, "done", 0)
    with begin(own, "open", 1) as producer:
        by_id = {row["transactional_id"]: row for row in rows(own, "list")}
        assert {name: row["state"] for name, row in by_id.items()} == {"done": "CompleteCommit", "open": "Ongoing"}
        assert by_id["open"]["coordinator"] == own.sandbox.cluster.transactions.node_of("open").node_id
        table = run(own, "list").stdout.decode().splitlines()
        assert table[0].split() == ["TRANSACTIONAL", "ID", "PRODUCER", "ID", "STATE", "COORDINATOR"]
        for words, names in (
            (("--state", "Ongoing"), ["open"]),
            (("--producer-id", str(by_id["done"]["producer_id"])), ["done"]),
            (("--pattern", "d.*"), ["done"]),
            (("--older-than", "1h"), []),
        ):
            assert [row["transactional_id"] for row in rows(own, "list", *words)] == names
        nothing = run(own, "list", "--state", "Dead")
        assert (nothing.code, nothing.stderr) == (0, "kctl transactions: no matching transactions found\n")
        producer.abort_transaction(timeout=30)


def test_describe_shows_partitions_and_names_what_is_missing(own: ServedSandbox) -> None:
    with begin(own, "open", 0, 2) as producer:
        [row] = rows(own, "describe", "open")
        assert (row["state"], row["topic_partitions"], row["timeout_ms"]) == ("Ongoing", {"t": [0, 2]}, 60_000)
        assert 0 <= row["duration_ms"] < 60_000
        ended = run(own, "describe", "open", "none")
        assert ended.code == ExitCode.PARTIAL_FAILURE
        assert "t:0,2" in ended.stdout.decode()
        assert "TRANSACTIONAL_ID_NOT_FOUND" in ended.stderr
        assert run(own, "describe", "none").code == ExitCode.UNKNOWN_RESOURCE
        producer.abort_transaction(timeout=30)


def test_hanging_transaction_is_found_and_aborted(own: ServedSandbox) -> None:
    none = run(own, "hanging")
    assert (none.code, none.stderr) == (0, "kctl transactions: no hanging transactions found (3 partitions checked)\n")
    hang(own, "lost", 0)
    with begin(own, "open", 0, 1) as producer:
        assert stable_end(own, 0) == 0
        [row] = rows(own, "hanging")
        assert (row["partition"], row["start_offset"], row["verdict"], row["transactional_id"]) == (
            0, 0, "hanging", "lost",
        )  # fmt: skip
        assert [each["verdict"] for each in rows(own, "hanging", "--all")] == ["hanging", "running", "running"]
        assert rows(own, "hanging", "--topic", "t:1-2") == []
        leader = own.sandbox.cluster.topics["t"].partitions[0].leader_id
        assert len(rows(own, "hanging", "--broker", str(leader))) == 1
        assert rows(own, "hanging", "--broker", str(1 + leader % 3)) == []

        dry = run(own, "abort", "t:0", "--start-offset", "0")
        assert (dry.code, stable_end(own, 0)) == (0, 0)
        says = "dry run: 1 transaction would be aborted. Add --execute to make the change."
        assert dry.stderr == f"kctl transactions: {says}\n"
        [done] = rows(own, "abort", "t:0", "--start-offset", "0", "--execute")
        assert (done["result"], stable_end(own, 0)) == ("aborted", 1)
        assert rows(own, "hanging") == []
        producer.abort_transaction(timeout=30)


def test_abort_without_an_offset_aborts_what_hangs_and_nothing_else(own: ServedSandbox) -> None:
    hang(own, "one", 0)
    hang(own, "two", 0)
    with begin(own, "open", 0) as producer:
        assert [row["result"] for row in rows(own, "abort", "t:0", "--yes")] == ["aborted", "aborted"]
        assert [row["verdict"] for row in rows(own, "hanging", "--all")] == ["running"]
        again = run(own, "abort", "t:0", "--yes")
        assert (again.code, again.stderr) == (0, "kctl transactions: no hanging transactions found on t-0\n")
        producer.commit_transaction(timeout=30)


def test_running_transaction_is_aborted_with_force_alone(own: ServedSandbox) -> None:
    with begin(own, "open", 0) as producer:
        refused = run(own, "abort", "t:0", "--start-offset", "0", "--yes")
        assert (refused.code, refused.stdout) == (ExitCode.UNAVAILABLE, b"")
        assert "cannot abort the running transaction at offset 0 of t-0" in refused.stderr
        assert "stop the producer and wait for 1m (transaction.timeout.ms)" in refused.stderr
        assert stable_end(own, 0) == 0
        [row] = rows(own, "abort", "t:0", "--start-offset", "0", "--force", "--execute")
        assert (row["result"], stable_end(own, 0)) == ("aborted", 2)
        producer.abort_transaction(timeout=30)


@pytest.mark.parametrize(
    ("words", "code", "says"),
    [
        (("abort", "t"), ExitCode.USAGE, "'t' is not a partition: use TOPIC:P"),
        (("abort", "t:0-1"), ExitCode.USAGE, "'t:0-1' is not a partition: use TOPIC:P"),
        (("abort", "t:0", "--force"), ExitCode.USAGE, "--force needs --start-offset"),
        (("abort", "t:9"), ExitCode.UNKNOWN_RESOURCE, "topic t has no partition 9"),
        (("abort", "none:0"), ExitCode.UNKNOWN_RESOURCE, "UNKNOWN_TOPIC_OR_PARTITION"),
        (("abort", "t:0", "--start-offset", "7"), ExitCode.UNKNOWN_RESOURCE, "no open transaction begins at offset 7"),
        (("hanging", "--broker", "77"), ExitCode.UNKNOWN_RESOURCE, "broker 77"),
        (("hanging", "--topic", "none"), ExitCode.UNKNOWN_RESOURCE, "UNKNOWN_TOPIC_OR_PARTITION"),
        (("list", "--pattern", "("), ExitCode.USAGE, "INVALID_REGULAR_EXPRESSION"),
        (("list", "--pattern", "(" * 20_000), ExitCode.USAGE, "INVALID_REGULAR_EXPRESSION"),
        (("list", "--older-than", "5"), ExitCode.USAGE, "5"),
    ],
)
def test_mistake_is_named(own: ServedSandbox, words: tuple[str, ...], code: int, says: str) -> None:
    ended = run(own, *words)
    assert (ended.code, says in ended.stderr, ended.stdout) == (code, True, b""), ended


def test_broker_that_is_down_leaves_the_rest_and_code_3(own: ServedSandbox) -> None:
    names = ("a", "b", "c", "d", "e")
    for name in names:
        hang(own, name, 0)
    with begin(own, "open", 1, 2) as producer:
        transactions = own.sandbox.cluster.transactions
        down = transactions.node_of("open").node_id
        for index in range(3):
            own.sandbox.move_leader("t", index, 1 + down % 3)
        own.sandbox.start_fault(down, Fault.REFUSE)
        listed = run(own, "list", "--output", "json")
        document = json.loads(listed.stdout)
        assert (listed.code, document["complete"]) == (ExitCode.PARTIAL_FAILURE, False)
        assert [row["transactional_id"] for row in document["rows"]] == [
            name for name in names if transactions.node_of(name).node_id != down
        ]
        assert f"(id {down}) are missing" in listed.stderr
        found = rows(own, "hanging", code=ExitCode.PARTIAL_FAILURE)
        verdicts = {(row["partition"], row["verdict"]) for row in found}
        assert {(1, "undecided"), (2, "undecided")} <= verdicts
        refused = run(own, "abort", "t:1", "--start-offset", "0", "--yes")
        assert (refused.code, "retry when all brokers respond" in refused.stderr) == (
            ExitCode.UNAVAILABLE, True,
        ), refused  # fmt: skip
        own.sandbox.heal()
        producer.abort_transaction(timeout=30)


def test_abort_asks_on_a_terminal(own: ServedSandbox) -> None:
    hang(own, "lost", 0)
    for answer, end in ((b"n\r", 0), (b"y\r", 2)):
        words = ("transactions", "abort", "t:0", "-b", own.bootstrap)
        with Terminal(*words, columns=120, with_stderr=True) as terminal:
            shown = terminal.read_until(b"Abort these transactions? [y/N] ")
            assert (
                b"t-0: transaction of lost from offset 0: the coordinator reports that transaction lost (state" in shown
            )
            terminal.type(answer)
            assert b"aborted" in terminal.read_all()
        assert stable_end(own, 0) == end
