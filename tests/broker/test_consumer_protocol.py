"""Members of a group of KIP-848 on Kafka 4.3.1: they share, hand over and leave; patterns; static members."""

import re

from kctl.client.admin import Admin
from kctl.client.cluster import TopicPartition
from kctl.client.consumer.consumer import Consumer
from kctl.client.producer import Producer
from tests.support.kafka.cluster import KafkaCluster

PARTITIONS = 6
LOOKS = 300
POLL_S = 0.1


def member(kafka: KafkaCluster, group: str, what: list[str] | re.Pattern[str], **properties: object) -> Consumer:
    consumer = Consumer(
        {
            "bootstrap.servers": kafka.bootstrap(),
            "group.id": group,
            "group.protocol": "consumer",
            "auto.offset.reset": "earliest",
            **properties,
        }
    )
    consumer.subscribe(what)
    return consumer


def read_until_shared(*members: Consumer, seen: list[tuple[int, int]] | None = None) -> list[int]:
    """Poll all members until every partition has one owner and nobody is without; return who has how many."""
    for _ in range(LOOKS):
        for each in members:
            got = [(record.partition, record.offset) for record in each.poll(POLL_S)]
            if seen is not None:
                seen += got
        owned = [tp for each in members for tp in each.assignment]
        if len(owned) == len(set(owned)) == PARTITIONS and all(each.assignment for each in members):
            return sorted(len(each.assignment) for each in members)
    raise AssertionError([each.assignment for each in members])


def write(kafka: KafkaCluster, topic: str, count: int) -> None:
    with Producer({"bootstrap.servers": kafka.bootstrap()}) as producer:
        for number in range(count):
            producer.send(topic, b"%d" % number, partition=number % PARTITIONS)


def test_members_share_and_hand_over_without_loss(kafka_newest: KafkaCluster) -> None:
    topic = kafka_newest.create_topic("kip848-shared", partitions=PARTITIONS)
    seen: list[tuple[int, int]] = []
    with member(kafka_newest, topic, [topic]) as first:
        write(kafka_newest, topic, 60)
        assert read_until_shared(first, seen=seen) == [6]
        with member(kafka_newest, topic, re.compile("kip848-s.*")) as second:
            assert read_until_shared(first, second, seen=seen) == [3, 3]
            write(kafka_newest, topic, 60)
            for _ in range(LOOKS):
                seen += [(each.partition, each.offset) for one in (first, second) for each in one.poll(POLL_S)]
                if len(seen) >= 120:
                    break
            result = second.close(10)
            assert (result.committed, result.left_group, result.expired_in) == (True, True, None)
        assert read_until_shared(first, seen=seen) == [6]
    assert sorted(seen) == [(partition, offset) for partition in range(PARTITIONS) for offset in range(20)]


def test_a_static_member_comes_back_to_what_it_had(kafka_newest: KafkaCluster) -> None:
    topic = kafka_newest.create_topic("kip848-static", partitions=PARTITIONS)
    statics = {"group.instance.id": "one"}
    with member(kafka_newest, topic, [topic]) as other:
        with member(kafka_newest, topic, [topic], **statics) as static:
            assert read_until_shared(other, static) == [3, 3]
            had = (sorted(static.assignment), sorted(other.assignment))
        with member(kafka_newest, topic, [topic], **statics) as static:
            assert read_until_shared(other, static) == [3, 3]
            assert (sorted(static.assignment), sorted(other.assignment)) == had


def test_a_topic_that_is_made_anew_is_read_from_its_start(kafka_newest: KafkaCluster) -> None:
    topic = kafka_newest.create_topic("kip848-anew", partitions=PARTITIONS)
    places = [TopicPartition(topic, partition) for partition in range(PARTITIONS)]
    write(kafka_newest, topic, 60)
    with member(kafka_newest, topic, [topic], **{"allow.auto.create.topics": "false"}) as consumer:
        seen: list[tuple[int, int]] = []
        assert read_until_shared(consumer, seen=seen) == [6]
        read_until(consumer, seen, 60)
        consumer.commit_sync(timeout=10)
        with Admin({"bootstrap.servers": kafka_newest.bootstrap()}) as admin:
            admin.delete_topics([topic]).raise_first()
        kafka_newest.create_topic(topic, partitions=PARTITIONS)
        write(kafka_newest, topic, 120)
        seen.clear()
        read_until(consumer, seen, 120)
        assert sorted(seen) == [(partition, offset) for partition in range(PARTITIONS) for offset in range(20)]
        consumer.commit_sync(timeout=10)
        found = consumer.committed(places, timeout=10)
        assert [None if one is None else one.offset for one in found.values()] == [20] * PARTITIONS


def read_until(consumer: Consumer, seen: list[tuple[int, int]], count: int) -> None:
    """Poll until so many records were seen, or for half a minute."""
    for _ in range(LOOKS):
        if len(seen) >= count:
            return
        seen += [(each.partition, each.offset) for each in consumer.poll(POLL_S)]
