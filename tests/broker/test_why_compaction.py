"""`kctl why` on real Kafka: a log that its cleaner cannot read stays uncompacted; its twin is compacted."""

from collections.abc import Iterator

import pytest

from kctl.client.admin import ConfigResource, ResourceType
from kctl.client.clock import SystemClock
from kctl.client.producer import Producer
from tests.broker.why_story import NOTICED_MS, KafkaStory
from tests.support.kafka.cluster import KafkaCluster
from tests.support.kafka.waiting import wait_until

pytestmark = pytest.mark.nightly

SEGMENT_BYTES = 1 << 20
OLD_MS = 3 * 3_600_000
DAY = "86400000"
LENGTH_AT = 8
"""Where a batch has its length, after the base offset."""
BACKOFF = "log.cleaner.backoff.ms"
BROKERS = ConfigResource(ResourceType.BROKER, "")


@pytest.fixture
def story(kafka_newest: KafkaCluster) -> Iterator[KafkaStory]:
    """A cluster whose log cleaner looks all the time."""
    made = KafkaStory(kafka_newest)
    made.admin.alter_configs({BROKERS: {BACKOFF: "100"}}).raise_first()
    yield made
    made.admin.alter_configs({BROKERS: {BACKOFF: None}}).raise_first()
    made.admin.close()


def fill(story: KafkaStory) -> str:
    """Create a topic that is to be compacted a day after its records, which are three hours old; few keys."""
    configs = {"cleanup.policy": "compact", "segment.bytes": str(SEGMENT_BYTES), "min.compaction.lag.ms": DAY}
    topic = story.kafka.create_topic(configs=configs)
    old_ms = SystemClock().wall_ms() - OLD_MS
    with Producer({"bootstrap.servers": story.kafka.bootstrap(), "linger.ms": "5"}) as producer:
        for number in range(600):
            producer.send(topic, bytes(8_000), key=b"%d" % (number % 10), partition=0, timestamp_ms=old_ms)
    return topic


def damage(story: KafkaStory, topic: str) -> None:
    """Overwrite the length of the first batch of the second segment, as a bad disk does."""
    folder = story.kafka.folder / "node-1" / "data" / f"{topic}-0"
    with sorted(folder.glob("*.log"))[1].open("r+b") as segment:
        segment.seek(LENGTH_AT)
        segment.write(bytes(4))


def test_log_that_the_cleaner_cannot_read_is_found_and_its_twin_is_compacted(story: KafkaStory) -> None:
    sound, damaged = fill(story), fill(story)
    assert "compaction-stalled" not in story.cluster()
    damage(story, damaged)
    for topic in (sound, damaged):
        lag = {ConfigResource(ResourceType.TOPIC, topic): {"min.compaction.lag.ms": "0"}}
        story.admin.alter_configs(lag).raise_first()

    wait_until(lambda: kept(story, sound) < kept(story, damaged), NOTICED_MS, "compaction of the sound log")
    found = story.cluster()["compaction-stalled"]
    assert found.subject == f"topic {damaged}"
    assert found.sentence.startswith(f"{damaged}-0 is not being compacted (cleanup.policy=compact): ")
    assert "These records start at offset 0 and are more than 1h old. " in found.sentence
    story.admin.delete_topics([damaged]).raise_first()
    story.until(story.cluster, "compaction-stalled", is_gone=True)


def kept(story: KafkaStory, topic: str) -> int:
    """Return the bytes of a log."""
    [dirs] = story.admin.describe_log_dirs([1]).done.values()
    return sum(size for each in dirs for tp, size in each.replica_bytes.items() if tp.topic == topic)
