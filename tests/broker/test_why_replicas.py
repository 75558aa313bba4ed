"""`kctl why` on three real brokers: leaders that are lost, moved and elected though they lack records."""

import json
import re
from collections import Counter
from collections.abc import Iterator

import pytest

from kctl.client.admin import ConfigResource, NewTopic, ResourceType
from kctl.client.cluster import TopicPartition
from kctl.why import Finding, Scope, Selection
from tests.broker.why_story import NOTICED_MS, KafkaStory
from tests.cli.processes import kctl
from tests.support.faults.threads import held_thread
from tests.support.kafka import wire
from tests.support.kafka.cluster import KafkaCluster
from tests.support.kafka.waiting import wait_until

SKEWED = 40
QUITE_BEHIND_MS = 1_500
"""Kafka is not waited for as long as a user would be patient."""
ALL = tuple(Scope)


@pytest.fixture
def story(kafka_three: KafkaCluster) -> Iterator[KafkaStory]:
    made = KafkaStory(kafka_three)
    yield made
    made.admin.close()
    for node in kafka_three.nodes:
        if not node.process.is_running:
            node.start()


def create(story: KafkaStory, name: str, replicas: dict[int, tuple[int, ...]]) -> str:
    """Create a topic whose partitions have these replicas; all brokers know it then."""
    story.admin.create_topics([NewTopic(name, assignments=replicas)]).raise_first()
    wait_for(story, name, leaders=[each[0] for each in replicas.values()])
    return name


def wait_for(story: KafkaStory, topic: str, leaders: list[int], in_sync: int = 1) -> None:
    """Return when each broker that runs names these leaders, and as many replicas in sync of each partition."""
    running = [node.number for node in story.kafka.nodes if node.process.is_running]

    def is_known() -> bool:
        views = story.admin.metadata_views(running, [topic]).done
        seen = [view.topics[topic].partitions.values() for view in views.values() if topic in view.topics]
        return len(seen) == len(running) and all(
            [info.leader_id for info in each] == leaders and all(len(info.isr) >= in_sync for info in each)
            for each in seen
        )

    wait_until(is_known, NOTICED_MS, f"leaders {leaders} of {topic}")


def _leads(story: KafkaStory) -> Counter[int]:
    """Return how many partitions each broker leads."""
    topics = story.admin.describe_topics(list(story.admin.list_topics(include_internal=True))).done.values()
    return Counter(info.leader_id for topic in topics for info in topic.partitions.values())


def set_unclean(story: KafkaStory, topic: str) -> None:
    resource = ConfigResource(ResourceType.TOPIC, topic)
    story.admin.alter_configs({resource: {"unclean.leader.election.enable": "true"}}).raise_first()


def test_broker_that_leads_far_too_much(story: KafkaStory) -> None:
    left = story.cluster().get("leader-skew")  # by the broker that a test before stopped and started
    if left is not None:
        story.cure(left.cure)
    story.until(story.cluster, "leader-skew", is_gone=True)
    topic = create(story, "skewed", dict.fromkeys(range(SKEWED), (1,)))
    create(story, "even", {number: (2 + number % 2,) for number in range(SKEWED)})
    story.until(story.cluster, "leader-skew", is_gone=True)
    leads = _leads(story)  # of topics of other tests, too
    needed = 2 * leads.total() - 3 * leads[1] + 1
    create(story, "skewed-more", dict.fromkeys(range(max(2 * SKEWED, needed)), (1,)))
    found = story.until(story.cluster, "leader-skew")
    assert found is not None
    assert found.sentence.startswith("broker 1 leads ")
    story.admin.delete_topics([topic, "even", "skewed-more"]).raise_first()


def test_election_of_a_replica_that_lacks_records(story: KafkaStory) -> None:
    """Broker 3 is away while records come, then broker 2, the only one that has them, stops."""
    kafka = story.kafka
    topic, group = create(story, "unclean", {0: (2, 3)}), "unclean-group"
    strict = kafka.create_topic(replication=3, configs={"min.insync.replicas": "3"})
    story.until(lambda: story.topic(strict), "under-min-isr", is_gone=True)
    story.produce(topic, 3)
    story.commit(group, topic, 3)
    assert story.look(Selection((group,), (topic,)), ALL).keys() - {"idle-topic"} == set()

    kafka.node(3).stop()
    story.until(lambda: story.topic(topic), "broker-fenced")
    check_under_min_isr(story, strict)
    story.produce(topic, 5)
    read = kctl("consume", topic, "-o", "7", "-n", "1", "--output", "jsonl", "-b", kafka.bootstrap())
    assert json.loads(read.stdout)["offset"] == 7

    def lose() -> None:
        kafka.node(2).stop()
        kafka.node(3).start()
        found = story.until(lambda: story.topic(topic), "no-leader")
        assert found is not None
        assert found.sentence == (
            f"{topic}-0 has no leader. The replicas are on broker 2 (fenced) and broker 3 (not in sync). "
            "Replicas that can be elected without data loss: broker 2"
        )
        assert found.cure.startswith("start broker 2, or ")
        set_unclean(story, topic)
        elect = ("partitions", "elect", topic, "--unclean", "--execute", "-b", kafka.bootstrap())
        assert kctl(*elect).code == 0
        wait_for(story, topic, leaders=[3])
        story.produce(topic, 1)

    commit_with_epoch(story, group, topic, 8)
    found = story.look(Selection((group,), (topic,)), ALL, lose)
    lost = found["records-lost"]
    assert f"{topic}-0 lost 5 acknowledged records within " in lost.sentence
    assert "The log ended at offset 8 on broker 2 (epoch " in lost.sentence
    assert re.search(
        r"\. Broker 3 was elected leader although it was not in sync\. The new leader has records of epoch \d+ "
        r"only up to offset 3$",
        lost.sentence,
    )
    assert "5 records that the group read are gone" in found["log-truncated"].sentence
    assert "unclean-election" not in found  # configs are read in the first look
    unclean = story.topic(topic)["unclean-election"]
    assert unclean.sentence.startswith(f"{topic} has unclean.leader.election.enable=true (set on")

    kafka.node(2).start()
    wait_for(story, topic, leaders=[3], in_sync=2)
    story.until(lambda: story.topic(strict), "under-min-isr", is_gone=True)
    cure_leader_away(story, topic, 2)


def check_under_min_isr(story: KafkaStory, topic: str) -> None:
    """See that a topic which needs three replicas in sync is found while broker 3 is away."""
    found = story.until(lambda: story.topic(topic), "under-min-isr")
    assert found is not None
    assert found.sentence == (
        f"{topic}-0 has 2 of 3 replicas in sync, but min.insync.replicas=3 (set on the topic). Out of sync: broker 3"
    )


def cure_leader_away(story: KafkaStory, topic: str, preferred: int) -> None:
    """See that a preferred leader is found to be away once it is in sync, and elect it."""
    away = story.until(story.cluster, "preferred-leader-not-leading")
    assert away is not None
    assert away.cure == "kctl partitions elect --all"
    assert kctl("partitions", "elect", topic, "--execute", "-b", story.kafka.bootstrap()).code == 0
    wait_for(story, topic, leaders=[preferred])


def test_broker_that_no_longer_reads_the_metadata_log(story: KafkaStory, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its raft thread is held: it sends heartbeats and answers, with the leaders of then, and lags in the quorum."""
    monkeypatch.setattr("kctl.why.findings.brokers.BEHIND_MS", QUITE_BEHIND_MS)
    kafka, ids = story.kafka, {"stale-metadata", "quorum-lag"}
    controller = story.admin.describe_quorum().leader_id
    behind, other = (node.number for node in kafka.nodes if node.number != controller)
    topic = create(story, "stale", {0: (controller, other)})

    def look() -> dict[str, Finding]:
        return story.cluster(lambda: None)

    def move(leader: int, follower: int) -> None:
        wire.order_replicas(port, topic, 0, [leader, follower])

        def is_moved() -> bool:
            try:
                wire.elect_leader(port, topic, 0)
            except wire.WireError:
                return False
            return wire.fetch_view(port, topic).leaders[topic][0] == leader

        wait_until(is_moved, NOTICED_MS, f"broker {leader} to lead {topic}-0")

    assert look().keys() & ids == set()
    port = kafka.node(controller).ports["PLAINTEXT"]
    with held_thread(kafka.node(behind).process.pid, f"kafka-{behind}-raft-io-thread"):
        move(other, controller)
        move(controller, other)  # so that no request of a look waits for the leader that broker names
        stale = story.until(look, "stale-metadata")
        assert stale is not None
        assert stale.subject == f"broker {behind}"
        assert f"for 1 partition. It reports broker {controller} as the leader of {topic}-0 (epoch 0), but " in (
            stale.sentence
        )
        assert re.search(
            rf"but broker {controller} became the leader at least [\d.ms]+ ago \(epoch \d\)", stale.sentence
        )
        lag = story.until(look, "quorum-lag")
        assert lag is not None
        assert re.fullmatch(
            rf"controller {behind} is \d+ records behind the metadata log, and last caught up [\d.ms]+ ago",
            lag.sentence,
        )
    for each in ids:
        story.until(look, each, is_gone=True)
    story.admin.delete_topics([topic]).raise_first()


def commit_with_epoch(story: KafkaStory, group: str, topic: str, offset: int) -> None:
    """Commit as a consumer does that has read: with the leader epoch of the last record."""
    with story.member(group, topic) as member:
        wait_until(lambda: bool(member.poll(timeout=0.2)) or bool(member.assignment), NOTICED_MS, "a share")
        member.seek(TopicPartition(topic, 0), offset - 1)
        wait_until(lambda: bool(member.poll(timeout=0.2)), NOTICED_MS, "the last record")
        member.commit_sync(timeout=10)
