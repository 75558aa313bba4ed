"""`kctl why` on real Kafka: healthy clusters, and incidents that a script can make, each with its twin."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from kctl.client.cluster import TopicPartition
from kctl.client.consumer.consumer import Consumer
from kctl.client.producer import Producer
from tests.cli.processes import Ended, kctl
from tests.support.bounds import bound
from tests.support.kafka.cluster import KafkaCluster
from tests.support.kafka.waiting import wait_until

BAD = ("error", "warning")
NOTICED_MS = bound(90_000)


def why(kafka: KafkaCluster, *words: str, timeout: str = "40s") -> tuple[Ended, dict[str, Any]]:
    """Return how it ended, and the findings by id."""
    ended = kctl(*words, "-b", kafka.bootstrap(), "--output", "json", "--api-timeout", timeout)
    document = json.loads(ended.stdout)
    return ended, {row["id"]: row for row in document["rows"] if row["severity"] in BAD}


def why_until(
    is_seen: Callable[[dict[str, Any]], bool], kafka: KafkaCluster, *words: str
) -> tuple[Ended, dict[str, Any]]:
    """Ask until the controller and all brokers have noticed, which takes several session timeouts at most."""
    seen: list[tuple[Ended, dict[str, Any]]] = []

    def is_noticed() -> bool:
        seen.append(why(kafka, *words))
        return is_seen(seen[-1][1])

    wait_until(is_noticed, NOTICED_MS, "what was expected of why")
    return seen[-1]


def produce(kafka: KafkaCluster, topic: str, count: int = 3, partition: int = 0) -> None:
    with Producer({"bootstrap.servers": kafka.bootstrap()}) as producer:
        for _ in range(count):
            producer.send(topic, b"x", partition=partition)


def read(consumer: Consumer, count: int) -> None:
    """Read records until there were that many."""
    for _ in range(60):
        count -= len(consumer.poll(timeout=1))
        if count <= 0:
            return
    raise AssertionError(f"{count} records are missing")


@pytest.fixture
def topic(any_kafka: KafkaCluster) -> str:
    return any_kafka.create_topic(partitions=2)


def test_healthy_group_topic_and_cluster_have_no_finding(any_kafka: KafkaCluster, topic: str) -> None:
    group = f"{topic}-group"
    produce(any_kafka, topic)
    config = {"bootstrap.servers": any_kafka.bootstrap(), "group.id": group, "auto.offset.reset": "earliest"}
    with Consumer(config) as consumer:
        consumer.subscribe([topic])
        read(consumer, 3)
        consumer.commit_sync(timeout=10)
        for words in (
            ("why", "group", group, "--samples", "2", "--interval", "1s"),
            ("why", "topic", topic),
            ("why", "cluster"),
        ):
            ended, found = why(any_kafka, *words)
            assert (ended.code, found) == (0, {}), ended


def test_group_without_members_and_lost_records(any_kafka: KafkaCluster, topic: str) -> None:
    group = f"{topic}-group"
    produce(any_kafka, topic, 9)
    with Consumer({"bootstrap.servers": any_kafka.bootstrap(), "group.id": group}) as consumer:
        consumer.commit_sync({TopicPartition(topic, 0): 2, TopicPartition(topic, 1): 0}, timeout=10)
    _, found = why(any_kafka, "why", "group", group)
    assert found.keys() == {"group-no-members"}
    assert f"7 unread records (7 on {topic}-0)" in found["group-no-members"]["sentence"]
    assert kctl("topics", "trim", f"{topic}:0", "--before", "5", "--yes", "-b", any_kafka.bootstrap()).code == 0
    ended, found = why(any_kafka, "why", "group", group)
    assert ended.code == 3
    assert "its next offset is 2, but the log starts at offset 5" in found["lost-data"]["sentence"]


@pytest.mark.nightly
def test_member_that_commits_nothing_is_stuck(any_kafka: KafkaCluster, topic: str) -> None:
    group = f"{topic}-group"
    produce(any_kafka, topic)
    config = {
        "bootstrap.servers": any_kafka.bootstrap(),
        "group.id": group,
        "client.id": "app-7",
        "auto.offset.reset": "earliest",
        "enable.auto.commit": "false",
    }
    with Consumer(config) as consumer:
        consumer.subscribe([topic])
        read(consumer, 3)
        consumer.commit_sync(timeout=10)
        produce(any_kafka, topic, 4)
        ended, found = why(any_kafka, "why", "group", group, "--samples", "2", "--interval", "1s")
        assert ended.code == 3
        assert found.keys() == {"group-stuck"}
        assert f"{group} has been at offset 3 of {topic}-0 for 1" in found["group-stuck"]["sentence"]
        assert "4 unread records. Member app-7 (127.0.0.1)" in found["group-stuck"]["sentence"]


def test_frozen_broker_is_unreachable_and_named(kafka_three: KafkaCluster) -> None:
    topic = kafka_three.create_topic(partitions=3, replication=1)
    frozen = kafka_three.leader(topic, 0)
    frozen.freeze()
    try:
        ended, found = why(kafka_three, "why", "topic", topic, timeout="12s")
    finally:
        frozen.thaw()
    assert ended.code == 3
    assert found.keys() & {"broker-unreachable", "no-leader", "broker-missing"}
    assert f"broker {frozen.number}" in " ".join(row["sentence"] for row in found.values())
