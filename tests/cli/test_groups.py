"""`kctl groups list`, `describe`, `lag`, `members` and `delete`: what they print, refuse, and exit with."""

import csv
import io
import json
import os
import pty
import re
import subprocess
from collections.abc import Iterator

import pytest

from kctl.cli.exit_codes import ExitCode
from kctl.pipeline.jobs.mirror_positions import MirrorPosition, as_group_offset
from kctl.pipeline.resume_point import ResumePoint
from kctl.sandbox import Fault, Sandbox
from kctl.sandbox.groups.offsets import CommittedOffset
from kctl.sandbox.server import ServedSandbox
from tests.cli.groups_scene import commit, committed, fill, join
from tests.cli.processes import BOUND_S, KCTL, Ended, environment, kctl


@pytest.fixture
def group(topic: str, bootstrap: str) -> str:
    """A group of this test's own without members: 4 of 10 records of partition 0 are read, all 3 of partition 1."""
    fill(bootstrap, topic, {0: 10, 1: 3})
    commit(bootstrap, f"{topic}-group", {(topic, 0): 4, (topic, 1): 3})
    return f"{topic}-group"


def lines(ended: Ended) -> list[dict[str, object]]:
    return [json.loads(line) for line in ended.stdout.splitlines()]


def test_list_in_each_shape(bootstrap: str, group: str) -> None:
    ended = kctl("groups", "list", "-b", bootstrap)
    assert (ended.code, ended.stderr) == (0, "")
    heading, *rows = ended.stdout.decode().splitlines()
    assert heading.split() == ["GROUP", "TYPE", "STATE", "PROTOCOL", "COORDINATOR"]
    (row,) = [row.split() for row in rows if row.split()[0] == group]
    assert row[1:4] == ["classic", "Empty", "-"]
    document = json.loads(kctl("groups", "list", "-b", bootstrap, "--output", "json").stdout)
    assert (document["v"], document["complete"]) == (1, True)
    expected = {"group": group, "type": "classic", "state": "Empty", "protocol": None, "coordinator": int(row[4])}
    assert expected in document["rows"]
    jsonl = lines(kctl("groups", "list", "-b", bootstrap, "--output", "jsonl"))
    assert {"v": 1, "kind": "groups", "complete": True, **expected} in jsonl
    text = kctl("groups", "list", "-b", bootstrap, "--output", "csv").stdout.decode()
    assert [group, "classic", "Empty", "", row[4]] in list(csv.reader(io.StringIO(text)))


def test_list_by_state_and_type(bootstrap: str, topic: str, group: str) -> None:
    busy = f"{topic}-busy"
    with join(bootstrap, busy, topic):
        stable = kctl("groups", "list", "-b", bootstrap, "--state", "stable", "--output", "csv").stdout.decode()
        assert busy in stable
        assert group not in stable
        assert busy not in kctl("groups", "list", "-b", bootstrap, "--type", "consumer").stdout.decode()


@pytest.fixture
def own() -> Iterator[ServedSandbox]:
    """A cluster of this test's own, for what would disturb others."""
    with Sandbox(nodes=3, topics={"t": 3}).serve() as served:
        yield served


def test_a_broker_that_is_gone_makes_the_list_incomplete(own: ServedSandbox) -> None:
    for number in range(6):
        commit(own.bootstrap, f"g{number}", {("t", 0): 0})
    dead = own.sandbox.cluster.groups.node_of("g0").node_id
    alive = [f"g{n}" for n in range(6) if own.sandbox.cluster.groups.node_of(f"g{n}").node_id != dead]
    own.sandbox.start_fault(dead, Fault.REFUSE)
    ended = kctl("groups", "list", "-b", own.bootstrap, "--output", "json")
    assert ended.code == ExitCode.PARTIAL_FAILURE
    document = json.loads(ended.stdout)
    assert document["complete"] is False
    assert [each["group"] for each in document["rows"]] == alive
    assert f"(id {dead}) are missing" in ended.stderr


def test_describe(bootstrap: str, topic: str, group: str) -> None:
    ended = kctl("groups", "describe", group, "-b", bootstrap)
    assert (ended.code, ended.stderr) == (0, "")
    facts, _, table = ended.stdout.decode().partition("\n\n")
    said = dict(line.split(maxsplit=1) for line in facts.splitlines())
    assert (said["group"], said["type"], said["state"], said["members"], said["lag"]) == (
        group, "classic", "Empty", "0", "6",
    )  # fmt: skip
    rows = [line.split() for line in table.splitlines()]
    assert rows[0] == ["TOPIC", "PARTITION", "COMMITTED", "END", "LAG", "CLIENT", "HOST", "MEMBER", "NOTE"]
    assert [row[:5] for row in rows[1:]] == [[topic, "0", "4", "10", "6"], [topic, "1", "3", "3", "0"]]
    document = json.loads(kctl("groups", "describe", group, "-b", bootstrap, "--output", "json").stdout)
    (described,) = document["rows"]
    assert document["v"] == 1
    assert ":" in described["coordinator_address"]
    assert [(each["partition"], each["lag"]) for each in described["partition_offsets"]] == [(0, 6), (1, 0)]
    text = kctl("groups", "describe", group, "-b", bootstrap, "--output", "csv").stdout.decode()
    assert [row[:6] for row in csv.reader(io.StringIO(text))][1] == [group, topic, "0", "4", "10", "6"]


def test_describe_and_members_of_a_group_at_work(bootstrap: str, topic: str) -> None:
    name = f"{topic}-busy"
    with join(bootstrap, name, topic, client_id="worker", group_instance_id="one") as member:
        (described,) = lines(kctl("groups", "describe", name, "-b", bootstrap, "--output", "jsonl"))
        assert (described["state"], described["assignor"], described["epoch"]) == ("Stable", "range", None)
        partitions = described["partition_offsets"]
        assert isinstance(partitions, list)
        assert [(each["committed"], each["lag"], each["note"]) for each in partitions] == [
            (None, None, "no committed offset")
        ] * 3
        assert {each["client"] for each in partitions} == {"worker"}
        (shown,) = lines(kctl("groups", "members", name, "-b", bootstrap, "--output", "jsonl"))
        assert shown["member"] == member.group_metadata().member_id
        assert (shown["instance"], shown["partitions"], shown["assignment"]) == ("one", 3, {topic: [0, 1, 2]})
        heading, row = kctl("groups", "members", name, "-b", bootstrap).stdout.decode().splitlines()
        assert "EPOCH" not in heading
        assert f"{topic}:0-2" in row


def test_describe_a_group_of_kip_848(bootstrap: str, topic: str) -> None:
    name = f"{topic}-modern"
    with join(bootstrap, name, topic, group_protocol="consumer") as member:
        (described,) = lines(kctl("groups", "describe", name, "-b", bootstrap, "--output", "jsonl"))
        assert (described["type"], described["state"], described["assignor"]) == ("consumer", "Stable", "uniform")
        assert described["epoch"] == described["target_epoch"] == member.group_metadata().generation
        (shown,) = lines(kctl("groups", "members", name, "-b", bootstrap, "--output", "jsonl"))
        assert shown["assignment"] == shown["target"] == {topic: [0, 1, 2]}
        assert shown["epoch"] == described["epoch"]


def test_lag_in_each_shape(bootstrap: str, topic: str, group: str) -> None:
    heading, *rows = kctl("groups", "lag", group, "-b", bootstrap).stdout.decode().splitlines()
    assert heading.split() == [
        "GROUP", "TOPIC", "PARTITION", "COMMITTED", "END", "LAG", "AGE", "DELETED", "IN", "CLIENT", "NOTE",
    ]  # fmt: skip
    assert [row.split()[:6] for row in rows] == [
        [group, topic, "0", "4", "10", "6"], [group, topic, "1", "3", "3", "0"],
    ]  # fmt: skip
    document = json.loads(kctl("groups", "lag", group, "-b", bootstrap, "--output", "json").stdout)
    assert [(each["topic"], each["lag"]) for each in document["rows"]] == [(topic, 6), (topic, 0)]


def test_lag_of_named_partitions(bootstrap: str, topic: str, group: str) -> None:
    shown = lines(kctl("groups", "lag", group, "-b", bootstrap, "--topic", f"{topic}:1-2", "--output", "jsonl"))
    assert [(each["partition"], each["lag"], each["note"]) for each in shown] == [
        (1, 0, None), (2, None, "no committed offset"),
    ]  # fmt: skip
    ended = kctl("groups", "lag", group, "-b", bootstrap, "--topic", f"{topic}:7")
    assert (ended.code, ended.stdout) == (ExitCode.UNKNOWN_RESOURCE, b"")
    assert f"topic {topic} has no partition 7" in ended.stderr
    assert kctl("groups", "lag", group, "-b", bootstrap, "--topic", "nowhere").code == ExitCode.UNKNOWN_RESOURCE


def test_a_threshold_is_an_exit_code(bootstrap: str, group: str) -> None:
    assert kctl("groups", "lag", group, "-b", bootstrap, "--threshold", "6").code == ExitCode.OK
    above = kctl("groups", "lag", group, "-b", bootstrap, "--threshold", "5")
    assert above.code == ExitCode.PARTIAL_FAILURE
    assert "lag exceeds --threshold 5 on 1 partition" in above.stderr


def test_lag_is_watched(bootstrap: str, group: str) -> None:
    watched = kctl(
        "groups", "lag", group, "-b", bootstrap, "--count", "2", "--interval", "10ms", "--output", "jsonl"
    )  # fmt: skip
    assert watched.code == 0
    assert [(each["look"], each["partition"]) for each in lines(watched)] == [(1, 0), (1, 1), (2, 0), (2, 1)]
    refused = kctl("groups", "lag", group, "-b", bootstrap, "--watch", "--output", "json")
    assert (refused.code, refused.stdout) == (2, b"")


def test_lag_of_what_is_gone_and_of_what_is_beyond_the_end(own: ServedSandbox) -> None:
    fill(own.bootstrap, "t", {0: 5, 1: 5})
    commit(own.bootstrap, "g", {("t", 0): 9, ("t", 1): 1})
    own.sandbox.delete_records("t", 1, 3)
    own.sandbox.cluster.groups.commit("g", {("gone", 0): CommittedOffset(7, -1, "")})
    ended = kctl("groups", "lag", "g", "-b", own.bootstrap, "--output", "jsonl")
    assert (ended.code, ended.stderr) == (0, "")
    shown = {(each["topic"], each["partition"]): each for each in lines(ended)}
    assert (shown["gone", 0]["committed"], shown["gone", 0]["lag"]) == (7, None)
    assert shown["gone", 0]["note"] == "no such topic or partition"
    assert (shown["t", 0]["end"], shown["t", 0]["lag"]) == (5, None)
    assert "beyond the end" in str(shown["t", 0]["note"])
    assert (shown["t", 1]["lag"], shown["t", 1]["note"]) == (4, "2 unread records were deleted: the log starts at 3")
    only = lines(kctl("groups", "lag", "g", "-b", own.bootstrap, "--topic", "gone", "--output", "jsonl"))
    assert [each["topic"] for each in only] == ["gone"]


def test_lag_of_a_mirror_is_no_number_of_the_target(own: ServedSandbox) -> None:
    """A mirror commits offsets of its source: they may be behind the target's end, or ahead of it."""
    fill(own.bootstrap, "t", {0: 5, 1: 5})
    commit(own.bootstrap, "kctl-mirror.m.t", {("t", 0): 1})
    for partition, offset in ((0, 9), (1, 1)):
        position = as_group_offset(MirrorPosition(ResumePoint(offset, "source id", 10), "target id"))
        committed = CommittedOffset(position.offset, -1, position.metadata)
        own.sandbox.cluster.groups.commit("kctl-mirror.m.t", {("t", partition): committed})
    ended = kctl("groups", "lag", "kctl-mirror.m.t", "-b", own.bootstrap, "--output", "jsonl", "--threshold", "1")
    assert (ended.code, ended.stderr) == (0, "")
    note = "progress of kctl pipeline mirror: the offset belongs to the source topic"
    assert [(each["committed"], each["end"], each["lag"], each["note"]) for each in lines(ended)] == [
        (9, 5, None, note),
        (1, 5, None, note),
    ]


def test_lag_with_a_leader_that_is_gone(own: ServedSandbox) -> None:
    commit(own.bootstrap, "g", {("t", 0): 0, ("t", 1): 0, ("t", 2): 0})
    coordinator = own.sandbox.cluster.groups.node_of("g").node_id
    dead = next(n for n in (1, 2, 3) if n != coordinator)
    numbers = [p for p in range(3) if own.sandbox.cluster.topics["t"].partitions[p].leader_id == dead]
    own.sandbox.start_fault(dead, Fault.REFUSE)
    ended = kctl(
        "groups", "lag", "g", "-b", own.bootstrap, "--output", "jsonl", "-X", "retries=4"
    )  # not by time: brokers may be slow
    assert ended.code == ExitCode.PARTIAL_FAILURE
    shown = lines(ended)
    assert {each["partition"] for each in shown if each["lag"] is None} == set(numbers)
    assert {each["note"] for each in shown if each["lag"] is None} == {"end unknown: ConnectionRefused"}
    assert "refused" in ended.stderr
    assert "Traceback" not in ended.stderr


def test_some_groups_are_unknown(bootstrap: str, group: str) -> None:
    for command in ("describe", "lag", "members"):
        some = kctl("groups", command, group, "nowhere", "-b", bootstrap)
        assert some.code == ExitCode.PARTIAL_FAILURE
        assert "GROUP_ID_NOT_FOUND" in some.stderr
        none = kctl("groups", command, "nowhere", "-b", bootstrap)
        assert none.code == ExitCode.UNKNOWN_RESOURCE
        assert "nowhere" in none.stderr


def test_delete_shows_first_and_deletes_then(bootstrap: str, topic: str, group: str) -> None:
    shown = kctl("groups", "delete", group, "-b", bootstrap)
    assert shown.code == 0
    assert shown.stdout.decode().splitlines()[1].split() == [group, "Empty", "2", "would", "be", "deleted"]
    assert "dry run: 1 group would be deleted. Add --execute to make the change." in shown.stderr
    assert committed(bootstrap, group) == {(topic, 0): 4, (topic, 1): 3}
    done = kctl("groups", "delete", group, "-b", bootstrap, "--execute", "--output", "json")
    assert (done.code, done.stderr) == (0, "")
    assert json.loads(done.stdout) == {
        "v": 1, "kind": "groups", "executed": True,
        "rows": [{"group": group, "state": "Empty", "committed_partitions": 2, "result": "deleted"}],
    }  # fmt: skip
    assert kctl("groups", "describe", group, "-b", bootstrap).code == ExitCode.UNKNOWN_RESOURCE


def test_a_group_with_members_is_not_deleted_and_neither_are_the_others(bootstrap: str, topic: str, group: str) -> None:
    busy = f"{topic}-busy"
    with join(bootstrap, busy, topic, client_id="worker"):
        for more in ((), ("--execute",)):
            ended = kctl("groups", "delete", group, busy, "-b", bootstrap, *more)
            assert (ended.code, ended.stdout) == (ExitCode.UNAVAILABLE, b"")
            assert f"cannot delete group {busy} with 1 active member: worker on 127.0.0.1" in ended.stderr
    unknown = kctl("groups", "delete", group, "nowhere", "-b", bootstrap, "--execute")
    assert unknown.code == ExitCode.UNKNOWN_RESOURCE
    assert committed(bootstrap, group), "all or nothing"


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("members",), "GROUP"),
        (("lag", "g", "--threshold", "-1"), "--threshold"),
        (("lag", "g", "--topic", ":1"), "use TOPIC or TOPIC:0,2-4 instead of"),
        (("lag", "g", "--topic", "t:x"), "'x' is not a partition"),
        (("list", "--output", "raw"), "this command offers table, json, jsonl, yaml, csv"),
        (("lags", "g"), "No such command 'lags'"),
    ],
)
def test_mistakes_exit_with_2(arguments: tuple[str, ...], words: str) -> None:
    ended = kctl("groups", *arguments, "-b", "127.0.0.1:1")
    assert (ended.code, ended.stdout) == (2, b"")
    assert words in ended.stderr


@pytest.mark.parametrize("command", ["list", "describe", "lag", "members", "delete", "reset-offsets"])
def test_no_cluster_ends_with_the_code_of_the_cause(refused: str, command: str) -> None:
    more = {"list": (), "reset-offsets": ("g", "--to-latest")}.get(command, ("g",))
    ended = kctl("groups", command, *more, "-b", refused, "--api-timeout", "300ms")
    assert (ended.code, ended.stdout) == (ExitCode.REFUSED, b"")
    assert "timed out after " in ended.stderr
    assert "(--api-timeout" in ended.stderr


def test_forty_columns(bootstrap: str, group: str) -> None:
    ours, theirs = pty.openpty()
    os.set_inheritable(theirs, True)
    subprocess.run(["stty", "cols", "40", "rows", "24"], stdin=theirs, check=True)
    process = subprocess.Popen(
        [*KCTL, "groups", "describe", group, "-b", bootstrap],
        stdin=subprocess.DEVNULL, stdout=theirs, stderr=subprocess.PIPE,
        env=environment({"COLUMNS": "40", "NO_COLOR": "1"}),
    )  # fmt: skip
    os.close(theirs)
    shown = b""
    try:
        while piece := os.read(ours, 65536):
            shown += piece
    except OSError:  # the other end of the terminal is gone
        pass
    os.close(ours)
    process.communicate(timeout=BOUND_S)
    text = re.sub(r"\x1b\[[0-9;]*m", "", shown.decode()).splitlines()
    assert max(map(len, text)) <= 40
    assert [line.split() for line in text if line.startswith("committed")] == [["committed", "4"], ["committed", "3"]]
