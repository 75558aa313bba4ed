"""`kctl groups` and Kafka's own ConsumerGroupCommand on the same broker: the same groups, lags, and new offsets."""

import json
import re
from collections.abc import Sequence
from pathlib import Path

import pytest

from kctl.client.cluster import TopicPartition
from tests.cli.groups_scene import commit, committed, fill, join
from tests.cli.processes import kctl
from tests.support.kafka.cluster import KafkaCluster

pytestmark = pytest.mark.nightly

TOOL = "org.apache.kafka.tools.consumer.group.ConsumerGroupCommand"
FIRST_MS = 1_700_000_000_000
Offsets = dict[tuple[str, int], int]


class Both:
    """Both tools on one broker, each with a group of its own that starts with the same offsets."""

    def __init__(self, kafka: KafkaCluster, topic: str) -> None:
        self.kafka = kafka
        self.bootstrap = kafka.bootstrap()
        self.topic = topic
        self.start: Offsets = {(topic, 0): 4, (topic, 1): 12}

    def java(self, *arguments: str) -> list[list[str]]:
        """Return the table that Kafka's tool prints, a list of words a line."""
        printed = self.kafka.run_tool(TOOL, "--bootstrap-server", self.bootstrap, *arguments)
        lines = [line.split() for line in printed.splitlines() if line.strip()]
        heading = next(at for at, words in enumerate(lines) if words[0] == "GROUP")
        return lines[heading:]

    def ours(self, *arguments: str) -> list[dict[str, object]]:
        ended = kctl("groups", *arguments, "-b", self.bootstrap, "--output", "jsonl")
        assert ended.code == 0, ended.stderr
        return [json.loads(line) for line in ended.stdout.splitlines()]


@pytest.fixture
def both(kafka_newest: KafkaCluster, request: pytest.FixtureRequest) -> Both:
    topic = "conf-" + re.sub(r"[^a-z0-9]+", "-", request.node.name.lower())[:100].strip("-")
    kafka_newest.create_topic(topic, partitions=3)
    fill(kafka_newest.bootstrap(), topic, {0: 10, 1: 12, 2: 3}, FIRST_MS)
    return Both(kafka_newest, topic)


def column(table: Sequence[Sequence[str]], *names: str) -> list[tuple[str, ...]]:
    places = [table[0].index(name) for name in names]
    return sorted(tuple(row[at] for at in places) for row in table[1:])


def text(value: object) -> str:
    return "-" if value is None else str(value)


@pytest.mark.parametrize("protocol", ["none", "classic", "consumer"])
def test_the_same_groups_and_lags(both: Both, protocol: str) -> None:
    group = f"{both.topic}-group"
    commit(both.bootstrap, group, both.start)
    names = ("TOPIC", "PARTITION", "CURRENT-OFFSET", "LOG-END-OFFSET", "LAG", "CONSUMER-ID", "HOST", "CLIENT-ID")
    fields = ("topic", "partition", "committed", "end", "lag", "member", "host", "client")
    member = None
    if protocol != "none":
        member = join(both.bootstrap, group, both.topic, group_protocol=protocol, client_id="worker")
    try:
        theirs = both.java("--describe", "--group", group)
        (ours,) = both.ours("describe", group)
        partitions = ours["partition_offsets"]
        assert isinstance(partitions, list)
        shown = sorted(tuple(text(each[field]) for field in fields) for each in partitions)
        # Kafka's tool shows a partition without a committed offset only if a member has it; kctl shows every partition.
        unread = [] if member is not None else [(both.topic, "2", "-", "3", "-", "-", "-", "-")]
        rows = [(*row[:6], row[6].lstrip("/"), row[7]) for row in column(theirs, *names)]
        assert sorted([*rows, *unread]) == shown
        assert len(shown) == 3
        state = both.java("--describe", "--group", group, "--state")
        words = "Stable" if member is not None else "Empty"
        assert words in state[1]
        assert ours["state"] == words
        listed = {row[0]: row[1:] for row in both.java("--list", "--state", "--type")[1:]}
        (found,) = [each for each in both.ours("list") if each["group"] == group]
        assert [each.lower() for each in listed[group]] == [str(found["type"]), words.lower()]
    finally:
        if member is not None:
            member.close()


AIMS = [
    ["--to-earliest"],
    ["--to-latest"],
    ["--to-current"],
    ["--to-offset", "7"],
    ["--to-offset", "99"],
    ["--shift-by", "3"],
    ["--shift-by", "-5"],
    ["--to-datetime", "2023-11-14T22:13:24.500"],
    ["--by-duration", "P9999D"],
    ["--by-duration", "PT1H"],
]


@pytest.mark.parametrize("aim", AIMS, ids=lambda aim: "".join(aim))
def test_resets_come_to_the_same(both: Both, aim: list[str]) -> None:
    for name in ("theirs", "ours"):
        commit(both.bootstrap, f"{both.topic}-{name}", both.start)
    theirs = both.java("--reset-offsets", "--group", f"{both.topic}-theirs", "--all-topics", *aim, "--execute")
    shown = both.ours("reset-offsets", f"{both.topic}-ours", *aim)
    planned = sorted((each["topic"], str(each["partition"]), str(each["new"])) for each in shown)
    assert column(theirs, "TOPIC", "PARTITION", "NEW-OFFSET") == planned
    both.ours("reset-offsets", f"{both.topic}-ours", *aim, "--execute")
    assert committed(both.bootstrap, f"{both.topic}-ours") == committed(both.bootstrap, f"{both.topic}-theirs")


def test_partitions_that_were_never_committed(both: Both) -> None:
    for name in ("theirs", "ours"):
        commit(both.bootstrap, f"{both.topic}-{name}", both.start)
    where = f"{both.topic}:0,2"
    both.java("--reset-offsets", "--group", f"{both.topic}-theirs", "--topic", where, "--to-current", "--execute")
    both.ours("reset-offsets", f"{both.topic}-ours", "--topic", where, "--to-current", "--execute")
    ours = committed(both.bootstrap, f"{both.topic}-ours")
    assert ours == committed(both.bootstrap, f"{both.topic}-theirs")
    assert TopicPartition(both.topic, 2) in ours


def test_each_reads_the_file_of_the_other(both: Both, tmp_path: Path) -> None:
    group = f"{both.topic}-group"
    commit(both.bootstrap, group, both.start)
    ours = tmp_path / "ours.csv"
    both.ours("reset-offsets", group, "--to-current", "--export", str(ours))
    theirs = tmp_path / "theirs.csv"
    exported = both.kafka.run_tool(
        TOOL, "--bootstrap-server", both.bootstrap, "--reset-offsets", "--group", group, "--all-topics",
        "--to-current", "--export", "--dry-run",
    )  # fmt: skip
    theirs.write_text("".join(line + "\n" for line in exported.splitlines() if line.count(",") == 2))
    assert sorted(ours.read_text().splitlines()) == sorted(theirs.read_text().replace('"', "").splitlines())
    both.ours("reset-offsets", group, "--to-earliest", "--execute")
    both.java("--reset-offsets", "--group", group, "--from-file", str(ours), "--execute")
    assert committed(both.bootstrap, group) == both.start
    both.ours("reset-offsets", group, "--to-earliest", "--execute")
    both.ours("reset-offsets", group, "--from-file", str(theirs), "--execute")
    assert committed(both.bootstrap, group) == both.start
