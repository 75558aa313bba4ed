"""Share and streams groups on Kafka 4.3 and the sandbox: kctl and Java's tools see the same, and what one sets the
other reads.
"""

import json
import subprocess
from collections.abc import Iterator
from typing import Any

import pytest

from kctl.cli.exit_codes import ExitCode
from kctl.client.admin import Admin
from kctl.client.producer import Producer
from kctl.testing import KafkaSandbox
from tests.cli.processes import Ended, kctl
from tests.support.bounds import bound
from tests.support.kafka.cluster import KafkaCluster
from tests.support.kafka.requirements import have
from tests.support.kafka.sandbox_cluster import SandboxCluster
from tests.support.kafka.toolchain import java_command
from tests.support.kafka.waiting import wait_until
from tests.support.share_members import share_heartbeat, streams_heartbeat

SHARE_TOOL = "org.apache.kafka.tools.consumer.group.ShareGroupCommand"
STREAMS_TOOL = "org.apache.kafka.tools.streams.StreamsGroupCommand"
CONSUMER = "org.apache.kafka.tools.consumer.ConsoleShareConsumer"
WAIT_MS = bound(30_000)


@pytest.fixture(params=["kafka", "sandbox"])
def kafka(request: pytest.FixtureRequest) -> Iterator[KafkaCluster]:
    if request.param == "kafka":
        yield request.getfixturevalue("kafka_newest")
        return
    with KafkaSandbox(brokers=1) as sandbox:
        yield have(lambda: SandboxCluster(sandbox))


@pytest.fixture
def admin(kafka: KafkaCluster) -> Iterator[Admin]:
    with Admin({"bootstrap.servers": kafka.bootstrap()}) as admin:
        yield admin


def run(kafka: KafkaCluster, *words: str) -> Ended:
    return kctl("groups", *words, "-b", kafka.bootstrap())


def rows(kafka: KafkaCluster, *words: str) -> list[dict[str, Any]]:
    ended = run(kafka, *words, "--output", "json")
    assert ended.code == 0, ended
    found: list[dict[str, Any]] = json.loads(ended.stdout)["rows"]
    return found


def java_offsets(kafka: KafkaCluster, group: str) -> dict[str, tuple[str, str]]:
    """Return start offset and lag of each partition, as Java's tool prints them."""
    words = ("--describe", "--group", group, "--offsets")
    text = kafka.run_tool(SHARE_TOOL, "--bootstrap-server", kafka.bootstrap(), *words)
    lines = [line.split() for line in text.splitlines() if line.startswith(group)]
    return {partition: (start, lag) for _, _, partition, start, lag in lines}


def filled(kafka: KafkaCluster) -> str:
    topic = kafka.create_topic(partitions=2)
    with Producer({"bootstrap.servers": kafka.bootstrap()}) as producer:
        for number in range(10):
            producer.send(topic, b"%d" % number, partition=number % 2)
    return topic


@pytest.mark.nightly
def test_share_group_of_a_java_consumer_is_seen_and_moved(kafka: KafkaCluster, admin: Admin) -> None:
    topic = filled(kafka)
    group = f"{topic}-g"
    assert kctl("configs", "set", "group", group, "share.auto.offset.reset=earliest", "-b", kafka.bootstrap()).code == 0
    words = ("--bootstrap-server", kafka.bootstrap(), "--topic", topic, "--group", group)
    limits = ("--max-messages", "10", "--timeout-ms", "20000")
    consumer = java_command(kafka.class_path, CONSUMER, *words, *limits)
    read = subprocess.run(consumer, capture_output=True, text=True, timeout=bound(90))
    assert len(read.stdout.splitlines()) == 10, read

    listed = {row["group"]: (row["type"], row["state"]) for row in rows(kafka, "list", "--type", "share")}
    assert listed[group] == ("share", "Empty")
    [described] = rows(kafka, "describe", group)
    assert (described["type"], described["assignor"]) == ("share", "simple")
    ours = {str(each["partition"]): str(each["start_offset"]) for each in described["partition_offsets"]}
    assert ours == {partition: start for partition, (start, _) in java_offsets(kafka, group).items()}

    ended = run(kafka, "reset-offsets", group, "--to-offset", "2", "--execute")
    assert ended.code == 0, ended
    assert java_offsets(kafka, group) == {"0": ("2", "3"), "1": ("2", "3")}
    assert [(row["start_offset"], row["lag"]) for row in rows(kafka, "lag", group)] == [(2, 3), (2, 3)]
    assert all(row["lag_ms"] > 0 for row in rows(kafka, "lag", group))

    reset = ("--reset-offsets", "--group", group, "--topic", f"{topic}", "--to-earliest", "--execute")
    kafka.run_tool(SHARE_TOOL, "--bootstrap-server", kafka.bootstrap(), *reset)
    assert [row["start_offset"] for row in rows(kafka, "lag", group)] == [0, 0]

    deleted = rows(kafka, "delete-offsets", group, "--topic", topic, "--execute")
    assert [row["result"] for row in deleted] == ["deleted", "deleted"]
    assert java_offsets(kafka, group) == {}
    assert [row["result"] for row in rows(kafka, "delete", group, "--execute")] == ["deleted"]
    text = kafka.run_tool(SHARE_TOOL, "--bootstrap-server", kafka.bootstrap(), "--list")
    assert group not in text.split()


def test_share_group_with_members_is_left_alone(kafka: KafkaCluster, admin: Admin) -> None:
    topic = filled(kafka)
    group = f"{topic}-g"
    share_heartbeat(admin, group, topic)
    [member] = rows(kafka, "members", group)
    assert (member["client"], member["subscribed"]) == ("kctl", topic)
    for words in (("reset-offsets", group, "--to-earliest"), ("delete", group)):
        ended = run(kafka, *words, "--execute")
        assert (ended.code, "1 active member" in ended.stderr) == (ExitCode.UNAVAILABLE, True), ended
    share_heartbeat(admin, group, topic, -1)
    assert run(kafka, "delete", group, "--execute").code == 0


def test_streams_group_is_described_with_tasks_and_reset(kafka: KafkaCluster, admin: Admin) -> None:
    topic = filled(kafka)
    group = f"{topic}-st"
    epoch = streams_heartbeat(admin, group, topic)

    def has_tasks() -> bool:
        nonlocal epoch
        epoch = streams_heartbeat(admin, group, topic, epoch)
        [found] = rows(kafka, "members", group)
        return bool(found["active_tasks"] == {"0": [0, 1]})

    wait_until(has_tasks, WAIT_MS, "tasks")
    [described] = rows(kafka, "describe", group)
    assert (described["type"], described["state"]) == ("streams", "Stable")
    assert [each["member"] is not None for each in described["partition_offsets"]] == [True, True]
    busy = run(kafka, "reset-offsets", group, "--to-earliest", "--topic", topic, "--execute")
    assert busy.code == ExitCode.UNAVAILABLE
    streams_heartbeat(admin, group, topic, -1)
    assert run(kafka, "reset-offsets", group, "--to-offset", "3", "--topic", topic, "--execute").code == 0
    assert [(row["committed"], row["lag"]) for row in rows(kafka, "lag", group)] == [(3, 2), (3, 2)]
    assert group in kafka.run_tool(STREAMS_TOOL, "--bootstrap-server", kafka.bootstrap(), "--list").split()
    assert [row["result"] for row in rows(kafka, "delete", group, "--execute")] == ["deleted"]


def test_release_without_share_groups_lists_and_describes_the_others(kafka_3_9: KafkaCluster) -> None:
    topic = filled(kafka_3_9)
    group = f"{topic}-g"
    reset = run(kafka_3_9, "reset-offsets", group, "--to-offset", "1", "--topic", topic, "--create", "--execute")
    assert reset.code == 0, reset
    assert [row["type"] for row in rows(kafka_3_9, "describe", group)] == ["classic"]
    assert rows(kafka_3_9, "list", "--type", "share") == []
    missing = run(kafka_3_9, "describe", f"{group}-none")
    assert missing.code == ExitCode.UNKNOWN_RESOURCE
