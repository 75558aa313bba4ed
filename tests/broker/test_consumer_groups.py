"""Groups on Kafka 4.3.1, 3.9.1 and 2.8.2: kctl members share, also with kafka-python; commits are found again."""

from collections.abc import Callable

import pytest

from kctl.client.cluster import TopicPartition
from kctl.client.consumer.consumer import Consumer
from kctl.client.producer import Producer
from tests.support.kafka.cluster import KafkaCluster

LOOKS = 200
"""Polls of 100 ms until a group must have settled; Kafka waits 3 s for the first members."""
SHORT = {"heartbeat.interval.ms": 300, "session.timeout.ms": 10_000, "auto.offset.reset": "earliest"}


def member(kafka: KafkaCluster, group: str, topic: str, **properties: object) -> Consumer:
    given = {name.replace("_", "."): value for name, value in properties.items()}
    consumer = Consumer({"bootstrap.servers": kafka.bootstrap(), "group.id": group, **SHORT, **given})
    consumer.subscribe([topic])
    return consumer


def fill(kafka: KafkaCluster, topic: str, count: int, first: int = 0) -> None:
    with Producer({"bootstrap.servers": kafka.bootstrap()}) as producer:
        for number in range(first, first + count):
            producer.send(topic, b"%d" % number, partition=number % 6)


def until(is_done: Callable[[], bool], *polls: Callable[[], object]) -> None:
    for _ in range(LOOKS):
        for poll in polls:
            poll()
        if is_done():
            return
    pytest.fail("the group has not settled")


@pytest.mark.parametrize("strategy", ["range", "cooperative-sticky"])
def test_two_members_share_and_one_takes_over(any_kafka: KafkaCluster, strategy: str) -> None:
    topic = group = f"cg-two-{strategy}"
    any_kafka.create_topic(topic, partitions=6)
    fill(any_kafka, topic, 60)
    seen: list[bytes] = []

    def reading(consumer: Consumer) -> Callable[[], object]:
        return lambda: seen.extend(record.value or b"" for record in consumer.poll(0.1))

    one = member(any_kafka, group, topic, partition_assignment_strategy=strategy)
    other = member(any_kafka, group, topic, partition_assignment_strategy=strategy)
    until(lambda: len(one.assignment) == len(other.assignment) == 3, reading(one), reading(other))
    assert {*one.assignment, *other.assignment} == {TopicPartition(topic, i) for i in range(6)}
    until(lambda: len(seen) == 60, reading(one), reading(other))
    closed = other.close(10)
    assert (closed.committed, closed.left_group, closed.expired_in) == (True, True, None)
    until(lambda: len(one.assignment) == 6, reading(one))
    fill(any_kafka, topic, 60, first=60)
    until(lambda: len(seen) >= 120, reading(one))
    assert sorted(map(int, seen)) == list(range(120)), "every record once, also those of the one that left"
    one.commit_sync(timeout=10)
    found = one.committed([TopicPartition(topic, i) for i in range(6)], timeout=10)
    assert [each.offset for each in found.values() if each is not None] == [20] * 6
    one.close(10)


def test_a_static_member_comes_back_to_its_share(any_kafka: KafkaCluster) -> None:
    topic = group = "cg-static"
    any_kafka.create_topic(topic, partitions=6)
    stays = member(any_kafka, group, topic)
    bounces = member(any_kafka, group, topic, group_instance_id="one")
    until(lambda: len(stays.assignment) == 3, lambda: stays.poll(0.1), lambda: bounces.poll(0.1))
    share, generation = bounces.assignment, stays.group_metadata().generation
    assert bounces.close(10).left_group is None
    again = member(any_kafka, group, topic, group_instance_id="one")
    until(lambda: again.assignment == share, lambda: stays.poll(0.1), lambda: again.poll(0.1))
    assert stays.group_metadata().generation == generation, "no rebalance"
    assert again.close(10, on_close="leave").left_group is True
    stays.close(10)


@pytest.mark.filterwarnings("ignore")  # kafka-python reads its schemas in a way that Python calls deprecated
def test_a_kctl_and_a_kafka_python_member_share_with_range(any_kafka: KafkaCluster) -> None:
    from kafka import KafkaConsumer  # not before the warnings are ignored

    topic = group = "cg-mixed"
    any_kafka.create_topic(topic, partitions=6)
    fill(any_kafka, topic, 60)
    ours = member(any_kafka, group, topic, partition_assignment_strategy="range")
    theirs = KafkaConsumer(
        topic, bootstrap_servers=any_kafka.bootstrap(), group_id=group, auto_offset_reset="earliest",
        heartbeat_interval_ms=300, session_timeout_ms=10_000,
    )  # fmt: skip
    seen: list[bytes] = []

    def read_ours() -> None:
        seen.extend(record.value or b"" for record in ours.poll(0.1))

    def read_theirs() -> None:
        seen.extend(record.value for records in theirs.poll(timeout_ms=100).values() for record in records)

    until(lambda: len(ours.assignment) == len(theirs.assignment()) == 3, read_ours, read_theirs)
    until(lambda: len(seen) >= 60, read_ours, read_theirs)
    assert sorted(map(int, seen)) == list(range(60))
    theirs.close()
    until(lambda: len(ours.assignment) == 6, read_ours)
    fill(any_kafka, topic, 6, first=60)
    until(lambda: len(seen) >= 66, read_ours)
    assert sorted(map(int, seen)) == list(range(66)), "what they committed is not read again"
    ours.close(10)
