"""`kctl groups lag` in time: ages, rates, time to catch up, retention; all groups; on a terminal."""

import json
import signal
from collections.abc import Iterator
from typing import Any

import pytest

from kctl.cli.exit_codes import ExitCode
from kctl.cli.groups import lag_rates
from kctl.client.broker_errors import ErrorCode
from kctl.client.clock import SystemClock
from kctl.client.producer import Producer
from kctl.sandbox import Fault, Sandbox
from kctl.sandbox.server import ServedSandbox
from tests.cli.groups_scene import commit, fill
from tests.cli.processes import BOUND_S, Ended, kctl
from tests.cli.screen import Screen
from tests.cli.terminal import Terminal
from tests.support.bounds import bound
from tests.support.in_process import run_in_process

HOUR_MS = 3_600_000

NO_GROUPS = "no groups found: brokers list only groups that User:ANONYMOUS may describe"


@pytest.fixture
def own() -> Iterator[ServedSandbox]:
    with Sandbox(nodes=3, topics={"t": 3, "u": 1}).serve() as served:
        yield served


def lag(served: ServedSandbox, *words: str) -> Ended:
    return kctl("groups", "lag", *words, "-b", served.bootstrap)


def lag_of_short_windows(monkeypatch: pytest.MonkeyPatch, served: ServedSandbox, *words: str) -> Ended:
    """Return the result of this tree's code, which uses the window of 10 ms; an installed kctl would not."""
    monkeypatch.setattr(lag_rates, "WINDOW_MS", 10)
    return run_in_process("groups", "lag", *words, "-b", served.bootstrap)


def rows(served: ServedSandbox, *words: str) -> list[dict[str, Any]]:
    ended = lag(served, *words, "--output", "jsonl")
    assert ended.code == 0, ended
    return [json.loads(line) for line in ended.stdout.splitlines()]


def test_group_without_commits_is_named(own: ServedSandbox) -> None:
    commit(own.bootstrap, "g", {("t", 0): 0})
    deleted = kctl("groups", "delete-offsets", "g", "--topic", "t", "--execute", "-b", own.bootstrap)
    assert deleted.code == 0, deleted
    ended = lag(own, "g")
    expected = (
        "kctl groups: group g has no assigned partitions and no committed offsets in topics that User:ANONYMOUS may "
        "describe\n"
    )
    assert (ended.code, ended.stdout, ended.stderr) == (0, b"", expected)


def test_partitions_without_a_commit_are_listed_and_count_for_the_threshold(own: ServedSandbox) -> None:
    own.sandbox.create_topic("six", partitions=6)
    fill(own.bootstrap, "six", {0: 5, 1: 500, 2: 3})
    own.sandbox.delete_records("six", 2, 3)
    commit(own.bootstrap, "half", {("six", 0): 5})
    shown = [(row["partition"], row["lag"], row["note"]) for row in rows(own, "half")]
    assert shown == [(0, 0, None), (1, None, "no committed offset")], "others have no records"
    assert lag(own, "half", "--threshold", "500").code == ExitCode.OK
    ended = lag(own, "half", "--threshold", "499")
    assert (ended.code, "the largest lag is 500, on six-1 of group half" in ended.stderr) == (
        ExitCode.PARTIAL_FAILURE,
        True,
    )
    commit(own.bootstrap, "half", {("six", 1): 500})
    assert lag(own, "half", "--threshold", "0").code == ExitCode.OK, "the records of six-2 are deleted"


def put_times(served: ServedSandbox, ages_ms: list[int]) -> None:
    """Put one record a given age into partition 0 of t each."""
    now_ms = SystemClock().wall_ms()
    with Producer({"bootstrap.servers": served.bootstrap, "linger.ms": 200}) as producer:
        for age_ms in ages_ms:
            producer.send("t", b"x", partition=0, timestamp_ms=now_ms - age_ms)


def test_age_is_that_of_the_next_unread_record(own: ServedSandbox) -> None:
    put_times(own, [50 * HOUR_MS, 3 * HOUR_MS, HOUR_MS, 0])
    for committed, hours in ((0, 50), (1, 3), (2, 1)):
        commit(own.bootstrap, "g", {("t", 0): committed})
        [row] = rows(own, "g")
        assert hours * HOUR_MS <= row["lag_ms"] < hours * HOUR_MS + 60_000, row
        left_ms = row["retention_left_ms"]
        assert left_ms == 604_800_000 - row["lag_ms"], row
    commit(own.bootstrap, "g", {("t", 0): 4})
    [row] = rows(own, "g")
    assert (row["lag"], row["lag_ms"], row["retention_left_ms"]) == (0, 0, None)


def test_deleted_records_do_not_count(own: ServedSandbox) -> None:
    put_times(own, [50 * HOUR_MS, 3 * HOUR_MS])
    commit(own.bootstrap, "g", {("t", 0): 0})
    own.sandbox.delete_records("t", 0, 1)
    [row] = rows(own, "g")
    assert (row["lag"], row["lag_ms"] // HOUR_MS, row["note"]) == (
        2,
        3,
        "1 unread records were deleted: the log starts at 1",
    )


def test_groups_at_different_offsets_have_their_own_ages(own: ServedSandbox) -> None:
    put_times(own, [3 * HOUR_MS, 2 * HOUR_MS, HOUR_MS])
    for offset in range(3):
        commit(own.bootstrap, f"g{offset}", {("t", 0): offset})
    found = {row["group"]: row["lag_ms"] // HOUR_MS for row in rows(own, "--all")}
    assert found == {"g0": 3, "g1": 2, "g2": 1}


@pytest.mark.parametrize(
    ("configs", "expected"),
    [("retention.ms=-1", None), ("cleanup.policy=compact", None), ("retention.ms=18000000", 2)],
)
def test_retention_leaves_what_the_topic_says(own: ServedSandbox, configs: str, expected: int | None) -> None:
    put_times(own, [3 * HOUR_MS - 60_000])
    commit(own.bootstrap, "g", {("t", 0): 0})
    assert kctl("topics", "alter", "t", "--config", configs, "-b", own.bootstrap).code == 0
    [row] = rows(own, "g")
    assert row["retention_left_ms"] == (None if expected is None else pytest.approx(2 * HOUR_MS + 60_000, abs=60_000))
    table = lag(own, "g").stdout.decode()
    assert ("DELETED IN" in table) == (expected is not None)
    assert " 2h" in table  # the age: 2h59m


def test_transaction_markers_alone_are_no_unread_record(own: ServedSandbox) -> None:
    properties = {"bootstrap.servers": own.bootstrap, "transactional.id": "x"}
    with Producer(properties) as producer:
        producer.init_transactions(timeout=30)
        producer.begin_transaction()
        producer.send("t", b"x", partition=0)
        producer.commit_transaction(timeout=30)
    commit(own.bootstrap, "g", {("t", 0): 1})
    [row] = rows(own, "g")
    assert (row["lag"], row["lag_ms"], row["end"], row["committed"]) == (0, 0, 2, 1)
    assert row["note"] == "all records read: only transaction markers follow"
    assert kctl("wait", "group", "g", "--lag", "0", "-b", own.bootstrap, "--api-timeout", "20s").code == 0
    commit(own.bootstrap, "g", {("t", 0): 0})
    [row] = rows(own, "g")
    assert (row["lag"], row["note"]) == (2, None)


@pytest.mark.parametrize(
    ("api", "note"), [("Fetch", "age unknown: TOPIC_AUTHORIZATION_FAILED"), ("DescribeConfigs", None)]
)
def test_lag_without_a_right_is_shown_without_its_times(own: ServedSandbox, api: str, note: str | None) -> None:
    fill(own.bootstrap, "t", {0: 10})
    commit(own.bootstrap, "g", {("t", 0): 4})
    own.sandbox.fail_requests(api, ErrorCode.TOPIC_AUTHORIZATION_FAILED, times=100)
    [row] = rows(own, "g")
    assert (row["lag"], row["retention_left_ms"], row["note"]) == (6, None, note)
    assert (row["lag_ms"] is None) == (note is not None)


def test_rates_need_a_window(own: ServedSandbox, monkeypatch: pytest.MonkeyPatch) -> None:
    fill(own.bootstrap, "t", {0: 10})
    commit(own.bootstrap, "g", {("t", 0): 4})

    def found(*words: str) -> list[dict[str, Any]]:
        ended = lag_of_short_windows(monkeypatch, own, "g", *words, "--output", "jsonl")
        assert ended.code == 0, ended
        return [json.loads(line) for line in ended.stdout.splitlines()]

    [once] = found()
    assert (once["rate_per_s"], once["produced_per_s"], once["catch_up_ms"]) == (None, None, None)
    [twice] = found("--rates", "--interval", "50ms")
    assert (twice["rate_per_s"], twice["produced_per_s"], twice["catch_up_ms"]) == (0, 0, None)
    first, second = found("--count", "2", "--interval", "50ms")
    assert (first["look"], first["rate_per_s"], second["look"], second["rate_per_s"]) == (1, None, 2, 0)


def test_all_groups_are_shown_and_named_ones_are_not_mixed_in(own: ServedSandbox) -> None:
    empty = lag(own, "--all")
    assert (empty.code, empty.stdout, empty.stderr) == (0, b"", f"kctl groups: {NO_GROUPS}\n")
    commit(own.bootstrap, "one", {("t", 0): 0})
    commit(own.bootstrap, "two", {("u", 0): 0})
    assert [(row["group"], row["topic"]) for row in rows(own, "--all")] == [("one", "t"), ("two", "u")]
    assert rows(own) == rows(own, "--all")
    refused = lag(own, "--all", "1s")
    assert (refused.code, "names of groups such as 1s" in refused.stderr) == (ExitCode.USAGE, True), refused


def test_all_groups_without_a_broker_are_those_of_the_others(own: ServedSandbox) -> None:
    names = [f"g{number}" for number in range(6)]
    for name in names:
        commit(own.bootstrap, name, {("t", 0): 0})
    groups = own.sandbox.cluster.groups
    down = groups.node_of("g0").node_id
    own.sandbox.move_leader("t", 0, 1 + down % 3)
    own.sandbox.start_fault(down, Fault.REFUSE)
    ended = lag(own, "--all", "--output", "jsonl")
    found = list(dict.fromkeys(json.loads(line)["group"] for line in ended.stdout.splitlines()))
    assert (ended.code, found) == (
        ExitCode.PARTIAL_FAILURE, [name for name in names if groups.node_of(name).node_id != down],
    )  # fmt: skip
    assert f"(id {down}) are missing" in ended.stderr


def test_off_a_terminal_each_look_is_a_block_with_its_summary(
    own: ServedSandbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill(own.bootstrap, "t", {0: 10})
    commit(own.bootstrap, "g", {("t", 0): 4})
    ended = lag_of_short_windows(monkeypatch, own, "g", "--count", "2", "--interval", "200ms")
    assert ended.code == 0, ended
    assert b"\x1b" not in ended.stdout
    blocks = ended.stdout.decode().strip().split("\n\n")
    assert [block.split()[0] for block in blocks] == ["GROUP", "GROUP"]
    assert "READ PER S" not in blocks[0]
    assert "READ PER S" in blocks[1]
    summaries = [line for line in ended.stderr.splitlines() if "lag 6" in line]
    assert len(summaries) == 2
    assert summaries[1].endswith("UTC  lag 6, 0/s read, 0/s written, not catching up, 1 group, 1 partition")


@pytest.mark.parametrize("columns", [40, 80, 120, 200])
def test_watch_repaints_the_table_on_a_terminal(own: ServedSandbox, columns: int) -> None:
    fill(own.bootstrap, "t", {0: 10})
    commit(own.bootstrap, "g", {("t", 0): 4})
    words = ("groups", "lag", "g", "--count", "3", "--interval", "50ms", "-b", own.bootstrap)
    with Terminal(*words, columns=columns, rows=20) as terminal:
        shown = terminal.read_all()
        assert terminal.process.wait(bound(10)) == 0
    lines = [line.rstrip() for line in Screen().show(shown.decode()) if line.strip()]
    assert max(map(len, lines)) <= columns
    assert len(lines) == 4, lines
    assert "UTC  lag 6, " in lines[0]
    assert lines[1].startswith("lag ")
    assert lines[2].startswith("GROUP")
    assert lines[3].startswith("g ")
    assert shown.endswith(b"\x1b[?25h")


def test_watch_on_a_low_terminal_shows_the_partitions_most_behind(own: ServedSandbox) -> None:
    with Sandbox(nodes=1, topics={"many": 30}).serve() as served:
        fill(served.bootstrap, "many", {index: index + 1 for index in range(30)})
        commit(served.bootstrap, "g", {("many", index): 0 for index in range(30)})
        words = ("groups", "lag", "--all", "--count", "2", "--interval", "50ms", "-b", served.bootstrap)
        with Terminal(*words, columns=100, rows=12) as terminal:
            shown = terminal.read_all()
    lines = [line.rstrip() for line in Screen().show(shown.decode()) if line.strip()]
    assert "lag 465" in lines[0]
    assert [int(line.split()[2]) for line in lines[3:-1]] == list(range(29, 22, -1))
    assert lines[-1] == "and 23 partitions with a smaller lag"


def test_watch_over_silent_brokers_keeps_the_frame_and_ends_by_ctrl_c(own: ServedSandbox) -> None:
    fill(own.bootstrap, "t", {0: 10})
    commit(own.bootstrap, "g", {("t", 0): 4})
    words = ("groups", "lag", "g", "--watch", "--interval", "100ms", "--api-timeout", "2s", "-b", own.bootstrap)
    with Terminal(*words, columns=120, rows=15, with_stderr=True) as terminal:
        shown = terminal.read_until(b"lag 6")
        for node_id in (1, 2, 3):
            own.sandbox.start_fault(node_id, Fault.FREEZE)
        shown += terminal.read_until(b"timed out")
        shown += terminal.read_until(b"\x1b[J")
        frozen = [line for line in Screen().show(shown.decode()) if line.strip()]
        own.sandbox.heal()
        terminal.process.send_signal(signal.SIGINT)
        shown += terminal.read_all()
        assert terminal.process.wait(BOUND_S) == 130
    assert [line.split()[0] for line in frozen[1:]] == ["GROUP", "g", "timed"], frozen
    assert b"\x1b[?25h" in shown.rpartition(b"\x1b[?25l")[2]
