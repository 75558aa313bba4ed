"""`kctl groups lag` in time on Kafka 4.3.1, 3.9.1 and 2.8.2: the age of the record that is read next."""

import json
import subprocess
from typing import Any

from kctl.client.admin import Admin
from kctl.client.clock import SystemClock
from kctl.client.cluster import TopicPartition
from kctl.client.producer import Producer
from tests.cli.processes import kctl
from tests.support.bounds import bound
from tests.support.kafka.cluster import KafkaCluster
from tests.support.kafka.toolchain import java_command

MINUTE_MS = 60_000
CONSUMER = "org.apache.kafka.tools.consumer.ConsoleConsumer"
OLD_CONSUMER = "kafka.tools.ConsoleConsumer"


def lag(kafka: KafkaCluster, *words: str) -> list[dict[str, Any]]:
    ended = kctl("groups", "lag", *words, "-b", kafka.bootstrap(), "--output", "jsonl")
    assert ended.code == 0, ended
    return [json.loads(line) for line in ended.stdout.splitlines()]


def test_age_is_that_of_the_record_that_is_read_next(any_kafka: KafkaCluster) -> None:
    topic = any_kafka.create_topic(configs={"retention.ms": str(600 * MINUTE_MS)})
    now_ms = SystemClock().wall_ms()
    with Producer({"bootstrap.servers": any_kafka.bootstrap(), "linger.ms": 100}) as producer:
        for minutes in (100, 70, 30, 5):
            producer.send(topic, b"x", timestamp_ms=now_ms - minutes * MINUTE_MS)
    group, tp = f"{topic}-g", TopicPartition(topic, 0)
    with Admin({"bootstrap.servers": any_kafka.bootstrap()}) as admin:
        for committed, minutes in enumerate((100, 70, 30, 5)):
            admin.alter_group_offsets(group, {tp: committed}).raise_first()
            [row] = lag(any_kafka, group)
            assert row["lag"] == 4 - committed
            assert minutes <= row["lag_ms"] / MINUTE_MS < minutes + 2
            assert row["retention_left_ms"] == 600 * MINUTE_MS - row["lag_ms"]
        admin.alter_group_offsets(group, {tp: 1}).raise_first()
    assert group in {row["group"] for row in lag(any_kafka, "--all")}
    main = OLD_CONSUMER if any_kafka.version.startswith("2.") else CONSUMER
    words = ("--bootstrap-server", any_kafka.bootstrap(), "--topic", topic, "--group", group, "--max-messages", "1")
    prints = ("--property", "print.timestamp=true")
    read = subprocess.run(
        java_command(any_kafka.class_path, main, *words, *prints), capture_output=True, text=True, timeout=bound(60)
    )
    assert f"CreateTime:{now_ms - 70 * MINUTE_MS}" in read.stdout, read
    assert [row["committed"] for row in lag(any_kafka, group)] == [2]


def test_markers_of_transactions_are_no_records(any_kafka: KafkaCluster) -> None:
    topic = any_kafka.create_topic()
    group, tp = f"{topic}-g", TopicPartition(topic, 0)
    with Producer({"bootstrap.servers": any_kafka.bootstrap(), "transactional.id": topic}) as producer:
        producer.init_transactions(timeout=60)
        for _ in range(3):
            producer.begin_transaction()
            producer.send(topic, b"x").result(30)
            producer.commit_transaction(timeout=30)
    words = ("why", "group", group, "-b", any_kafka.bootstrap(), "--output", "jsonl")
    with Admin({"bootstrap.servers": any_kafka.bootstrap()}) as admin:
        for committed, behind in ((5, 0), (4, 2)):
            admin.alter_group_offsets(group, {tp: committed}).raise_first()
            [row] = lag(any_kafka, group)
            assert (row["lag"], row["end"]) == (behind, 6)
            found = [json.loads(line)["id"] for line in kctl(*words).stdout.splitlines()]
            assert ("group-no-members" in found) == bool(behind)


def test_rates_of_a_group_that_reads(any_kafka: KafkaCluster) -> None:
    topic = any_kafka.create_topic()
    group = f"{topic}-g"
    with Admin({"bootstrap.servers": any_kafka.bootstrap()}) as admin:
        admin.alter_group_offsets(group, {TopicPartition(topic, 0): 0}).raise_first()
    [row] = lag(any_kafka, group, "--rates", "--interval", "100ms")
    assert (row["rate_per_s"], row["produced_per_s"], row["catch_up_ms"]) == (0, 0, 0)
