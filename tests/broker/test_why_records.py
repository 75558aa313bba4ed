"""`kctl why` on real Kafka: records that stop a group, transactions that stay open, partitions that no member has."""

import re
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from kctl.client.admin import ConfigResource, ResourceType
from kctl.client.cluster import TopicPartition
from kctl.client.consumer.consumer import Consumer, ConsumerRecord
from kctl.client.producer import Producer
from kctl.client.records._hot.crc32c import crc32c
from tests.broker.why_story import NOTICED_MS, KafkaStory, polled
from tests.support.bounds import bound
from tests.support.kafka.cluster import KafkaCluster
from tests.support.kafka.waiting import wait_until

LENGTH_AT, BEFORE_LENGTH = 8, 12
"""A batch has its length after the base offset; both are not counted in it."""
CRC_AT, ATTRIBUTES_AT, ZSTD = 17, 21, 4
LARGE_BYTES = 300_000
AVRO_7, AVRO_8 = (b"\0\0\0\0" + bytes([schema_id]) + b"payload" for schema_id in (7, 8))
MINUTES_MS = bound(150_000)
POISONS = {
    "checksum": (AVRO_7, "The batch cannot be read: "),
    "codec": (AVRO_7, "The batch cannot be read: "),
    "schema": (
        AVRO_8,
        "The record has schema ID 8, but earlier records have schema ID 7. The partition is assigned to member app "
        "(127.0.0.1)",
    ),
    "size": (
        AVRO_7 + bytes(LARGE_BYTES),
        "The size of the record is 300 kB, but earlier records have at most 12 B. The partition is assigned to "
        "member app",
    ),
}
"""The value of the record, and what is found about it."""


@pytest.fixture(scope="module")
def story(kafka_newest: KafkaCluster) -> Iterator[KafkaStory]:
    with KafkaStory(kafka_newest) as made:
        yield made


def last_batch(story: KafkaStory, topic: str, partition: int) -> tuple[Path, int, bytearray]:
    """Return the segment of a log, and place and bytes of its last batch."""
    [segment] = (story.kafka.folder / "node-1" / "data" / f"{topic}-{partition}").glob("*.log")
    content = segment.read_bytes()
    start = at = 0
    while start + BEFORE_LENGTH < len(content):
        length = int.from_bytes(content[start + LENGTH_AT : start + BEFORE_LENGTH], "big")
        if not length:
            break
        start, at = start + BEFORE_LENGTH + length, start
    return segment, at, bytearray(content[at:start])


def write_batch(segment: Path, at: int, batch: bytes) -> None:
    with segment.open("r+b") as file:
        file.seek(at)
        file.write(batch)


def damage_last_batch(story: KafkaStory, topic: str, partition: int) -> None:
    """Overwrite the last byte of a log, as a bad disk does: the checksum of its batch is wrong then."""
    segment, at, batch = last_batch(story, topic, partition)
    batch[-1] ^= 0xFF
    write_batch(segment, at, bytes(batch))


def claim_zstd(story: KafkaStory, topic: str, partition: int) -> None:
    """Let the last batch of a log say that it is compressed, which it is not; its checksum is right."""
    segment, at, batch = last_batch(story, topic, partition)
    batch[ATTRIBUTES_AT + 1] |= ZSTD
    batch[CRC_AT:ATTRIBUTES_AT] = crc32c(bytes(batch[ATTRIBUTES_AT:])).to_bytes(4, "big")
    write_batch(segment, at, bytes(batch))


def take(member: Consumer, records: Sequence[ConsumerRecord]) -> None:
    """Commit each record, but fail at those of schema 8 and large ones, as an application that cannot read them."""
    for record in records:
        tp = TopicPartition(record.topic, record.partition)
        if record.value == AVRO_8 or len(record.value or b"") > LARGE_BYTES:
            member.seek(tp, record.offset)
            return
        member.commit_sync({tp: record.offset + 1}, timeout=10)


@pytest.mark.parametrize(
    "poison", ["checksum", *(pytest.param(each, marks=pytest.mark.nightly) for each in POISONS if each != "checksum")]
)
def test_record_that_stops_a_group_is_found_and_skipped_by_its_cure(story: KafkaStory, poison: str) -> None:
    topic = story.kafka.create_topic(partitions=2)
    group = f"{topic}-group"

    def committed() -> dict[int, int]:
        return {tp.partition: each.offset for tp, each in story.admin.list_group_offsets(group).done.items() if each}

    def more() -> None:
        """Append a record to the sound partition, and wait until it is read."""
        before = committed()
        story.produce(topic, 1, partition=1, value=AVRO_7)
        wait_until(lambda: committed()[1] > before[1], NOTICED_MS, "a commit")

    with polled(story.member(group, topic), take=take):
        for partition in (0, 1):
            story.produce(topic, 3, partition, value=AVRO_7)
        wait_until(lambda: committed() == {0: 3, 1: 3}, NOTICED_MS, "commits of both partitions")
        assert story.group(group, more) == {}
    value, what = POISONS[poison]
    story.produce(topic, 1, value=value)
    if poison == "checksum":
        damage_last_batch(story, topic, 0)
    if poison == "codec":
        claim_zstd(story, topic, 0)
    story.produce(topic, 2, value=AVRO_7)
    with polled(story.member(group, topic), take=take):
        found = story.group(group, more)["poison-record"]
    assert found.sentence.startswith(f"{group} is stuck at offset 3 of {topic}-0, with 2 records after it. ")
    assert what in found.sentence
    story.cure(found.cure)
    with polled(story.member(group, topic), take=take):
        wait_until(lambda: committed()[0] == 6, NOTICED_MS, "the records behind it")
        assert story.group(group, more) == {}


def test_transaction_that_stays_open_is_found_until_it_ends(story: KafkaStory) -> None:
    topic = story.kafka.create_topic()
    config = {"bootstrap.servers": story.kafka.bootstrap(), "transactional.id": f"{topic}-id"}
    with Producer(config) as producer:
        producer.init_transactions(timeout=30)
        producer.begin_transaction()
        for _ in range(2):
            producer.send(topic, b"x").result(30)
        assert story.topic(topic) == {}
        story.ahead_ms = MINUTES_MS
        try:
            found = story.topic(topic)["transaction-open"]
            assert f"{topic}-0 at offset 0, with 2 records after it" in found.sentence
            assert re.search(rf", transactional.id {topic}-id\) began the transaction \d+m", found.sentence)
            producer.abort_transaction(timeout=30)
            story.until(lambda: story.topic(topic), "transaction-open", is_gone=True)
        finally:
            story.ahead_ms = 0


@pytest.mark.nightly
def test_new_partitions_that_no_member_has_are_found_until_one_restarts(story: KafkaStory) -> None:
    topic = story.kafka.create_topic(partitions=2)
    group = f"{topic}-group"
    with polled(story.member(group, topic)):
        assert story.group(group).keys() & {"no-assignment"} == set()
        story.admin.create_partitions({topic: 4}).raise_first()
        found = story.until(lambda: story.group(group), "no-assignment")
        assert found is not None
        assert found.sentence == (
            f"{group} is stable (1 member) and subscribes to {topic}, but no member owns 2 partitions of the topic"
        )
    with polled(story.member(group, topic)):
        assert story.group(group).keys() & {"no-assignment"} == set()


@pytest.mark.parametrize("days", [-2, 2])
def test_clock_of_the_controller_that_differs_from_the_clock_here(story: KafkaStory, days: int) -> None:
    assert "controller-clock" not in story.cluster()
    story.ahead_ms = days * 86_400_000
    try:
        found = story.cluster()["controller-clock"]
    finally:
        story.ahead_ms = 0
    direction = "behind" if days > 0 else "ahead of"
    assert found.sentence in {
        f"the clock of controller 1 is {age} {direction} the clock of this machine" for age in ("1d 23h", "2d")
    }


def test_codec_that_old_clients_cannot_read(story: KafkaStory) -> None:
    topic = story.kafka.create_topic(configs={"compression.type": "lz4"})
    assert story.topic(topic) == {}
    configs_of_topic(story, topic, "compression.type", "zstd")


def test_message_format_of_old_brokers(kafka_2_8: KafkaCluster) -> None:
    with KafkaStory(kafka_2_8) as story:
        topic = story.kafka.create_topic()
        assert story.topic(topic) == {}
        configs_of_topic(story, topic, "message.format.version", "0.10.2-IV0")


def configs_of_topic(story: KafkaStory, topic: str, name: str, value: str) -> None:
    """Set a config that shuts out old clients, find it, and run the cure."""
    resource = ConfigResource(ResourceType.TOPIC, topic)
    story.admin.alter_configs({resource: {name: value}}).raise_first()
    found = story.until(lambda: story.topic(topic), "old-message-format")
    assert found is not None
    assert found.sentence.startswith(f"{topic} has {name}={value}: ")
    story.cure(found.cure)
    story.until(lambda: story.topic(topic), "old-message-format", is_gone=True)
