"""`kctl groups` about share and streams groups: listed, described, lag, reset, offsets deleted."""

import json
from collections.abc import Iterator
from typing import Any

import pytest

from kctl.cli.exit_codes import ExitCode
from kctl.client.admin import Admin
from kctl.client.cluster import TopicPartition
from kctl.sandbox import Sandbox
from kctl.sandbox.server import ServedSandbox
from tests.cli.groups_scene import fill
from tests.cli.processes import Ended, kctl
from tests.support.share_members import MEMBER_ID, share_heartbeat, streams_heartbeat


@pytest.fixture
def own() -> Iterator[ServedSandbox]:
    with Sandbox(nodes=3, topics={"t": 2}).serve() as served:
        fill(served.bootstrap, "t", {0: 10, 1: 4})
        yield served


@pytest.fixture
def admin(own: ServedSandbox) -> Iterator[Admin]:
    with Admin({"bootstrap.servers": own.bootstrap}) as admin:
        yield admin


def run(served: ServedSandbox, *words: str) -> Ended:
    return kctl("groups", *words, "-b", served.bootstrap)


def rows(served: ServedSandbox, *words: str) -> list[dict[str, Any]]:
    ended = run(served, *words, "--output", "json")
    assert ended.code == 0, ended
    found: list[dict[str, Any]] = json.loads(ended.stdout)["rows"]
    return found


def starts(admin: Admin, group: str) -> dict[int, int | None]:
    return {tp.partition: each.start_offset for tp, each in admin.list_share_group_offsets(group).done.items()}


def test_list_by_type(own: ServedSandbox, admin: Admin) -> None:
    share_heartbeat(admin, "sh", "t")
    streams_heartbeat(admin, "st", "t")
    assert [(row["group"], row["type"], row["state"]) for row in rows(own, "list")] == [
        ("sh", "share", "Stable"),
        ("st", "streams", "Stable"),
    ]
    assert [row["group"] for row in rows(own, "list", "--type", "share")] == ["sh"]


def test_share_group_is_described_with_start_offsets(own: ServedSandbox, admin: Admin) -> None:
    admin.alter_share_group_offsets("sh", {TopicPartition("t", 0): 4}).raise_first()
    share_heartbeat(admin, "sh", "t")
    [group] = rows(own, "describe", "sh")
    assert (group["type"], group["assignor"], len(group["members"])) == ("share", "simple", 1)
    assert [
        (each["partition"], each["committed"], each["start_offset"], each["lag"], each["note"])
        for each in group["partition_offsets"]
    ] == [(0, None, 4, 6, None), (1, None, None, None, "no record read yet")]
    table = run(own, "describe", "sh").stdout.decode()
    assert "START OFFSET" in table
    assert "COMMITTED" not in table
    [member] = rows(own, "members", "sh")
    assert (member["member"], member["assignment"]) == (MEMBER_ID, {"t": [0, 1]})
    lags = rows(own, "lag", "sh")
    assert [(each["partition"], each["start_offset"], each["lag"]) for each in lags] == [(0, 4, 6), (1, None, None)]
    assert lags[0]["lag_ms"] > 0


def test_share_group_is_reset_as_consumer_groups_are(own: ServedSandbox, admin: Admin) -> None:
    share_heartbeat(admin, "sh", "t")
    busy = run(own, "reset-offsets", "sh", "--to-earliest", "--execute")
    assert (busy.code, "with 1 active member" in busy.stderr) == (ExitCode.UNAVAILABLE, True), busy
    share_heartbeat(admin, "sh", "t", -1)
    dry = rows(own, "reset-offsets", "sh", "--to-offset", "7")
    assert [(each["partition"], each["old"], each["new"], each["result"]) for each in dry] == [
        (0, None, 7, "would be set"),
        (1, None, 4, "would be set"),
    ]
    assert starts(admin, "sh") == {0: None, 1: None}
    assert run(own, "reset-offsets", "sh", "--to-offset", "7", "--execute").code == 0
    assert starts(admin, "sh") == {0: 7, 1: 4}
    assert run(own, "reset-offsets", "sh", "--shift-by", "-2", "--topic", "t:0", "--execute").code == 0
    assert starts(admin, "sh") == {0: 5, 1: 4}


def test_share_group_forgets_whole_topics_and_is_deleted(own: ServedSandbox, admin: Admin) -> None:
    admin.alter_share_group_offsets("sh", {TopicPartition("t", index): 0 for index in (0, 1)}).raise_first()
    part = run(own, "delete-offsets", "sh", "--topic", "t:0", "--execute")
    assert (part.code, "supports only whole topics" in part.stderr) == (ExitCode.USAGE, True), part
    assert run(own, "delete-offsets", "sh", "--topic", "t").code == 0
    assert starts(admin, "sh") == {0: 0, 1: 0}
    done = rows(own, "delete-offsets", "sh", "--topic", "t", "--execute")
    assert [each["result"] for each in done] == ["deleted", "deleted"]
    assert starts(admin, "sh") == {}
    assert [each["result"] for each in rows(own, "delete", "sh", "--yes")] == ["deleted"]
    assert rows(own, "list") == []


def test_streams_group_is_described_with_tasks_and_reset(own: ServedSandbox, admin: Admin) -> None:
    streams_heartbeat(admin, "st", "t")
    [member] = rows(own, "members", "st")
    assert (member["active_tasks"], member["assignment"]) == ({"0": [0, 1]}, {"t": [0, 1]})
    assert "0:0-1" in run(own, "members", "st").stdout.decode()
    streams_heartbeat(admin, "st", "t", -1)
    assert run(own, "reset-offsets", "st", "--to-offset", "3", "--topic", "t", "--execute").code == 0
    assert [(each["partition"], each["committed"], each["lag"]) for each in rows(own, "lag", "st")] == [
        (0, 3, 7),
        (1, 3, 1),
    ]
    assert [each["result"] for each in rows(own, "delete", "st", "--execute")] == ["deleted"]
