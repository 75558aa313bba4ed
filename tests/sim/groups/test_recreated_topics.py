"""A topic that is recreated under its name is another topic: a KIP-848 member loses one and gets the other.

Nothing of the old one counts for the new one: neither position nor fetched data nor commits, whoever has it next.
"""

from collections.abc import Iterator

import pytest

from kctl.client.cluster import TopicPartition
from kctl.client.consumer.consumer import Consumer
from kctl.client.errors import KafkaError
from kctl.sandbox.settings import ClusterSettings
from tests.sim.kit.groups import GROUP, GroupCluster, Noting
from tests.sim.virtual import Hub

OLD, NEW = 30, 50
INTERVAL_MS = 7000
T0 = TopicPartition("t", 0)


@pytest.fixture
def cluster() -> Iterator[GroupCluster]:
    with Hub(seed=4) as hub:
        settings = ClusterSettings(auto_create_topics_enable=False, group_consumer_heartbeat_interval_ms=INTERVAL_MS)
        yield GroupCluster(hub, topics={"t": 1}, settings=settings)


def member(cluster: GroupCluster, name: str = "a", **properties: object) -> Consumer:
    consumer = cluster.consumer(group_id=GROUP, group_protocol="consumer", **properties)
    consumer.subscribe(["t"], Noting(cluster.journal, name))
    return consumer


def make_anew(cluster: GroupCluster) -> None:
    """Delete t and create it again, with more records than there were."""
    cluster.sandbox.cluster.delete_topic("t")
    cluster.sandbox.create_topic("t", 1)
    cluster.write(0, NEW, word="new")


@pytest.mark.parametrize("at_once", [True, False], ids=["at once", "after a while"])
def test_a_member_reads_the_new_topic_from_its_start(cluster: GroupCluster, at_once: bool) -> None:
    cluster.write(0, OLD, word="old")

    def actor() -> None:
        with member(cluster) as consumer:
            assert len(cluster.read(consumer, 10)) == OLD
            if not at_once:
                cluster.sandbox.cluster.delete_topic("t")
                cluster.read(consumer, 8)
                cluster.sandbox.create_topic("t", 1)
                cluster.write(0, NEW, word="new")
            else:
                make_anew(cluster)
            values = [record.value for record in cluster.read(consumer, 15)]
            assert values == [f"new{number}".encode() for number in range(NEW)]
            assert consumer.position(T0) == NEW
        cluster.hub.sleep_ms(10)

    cluster.play(actor)
    reported = [(what, parts) for _, what, parts in cluster.journal.of("a") if parts]
    gone = ("lost", (0,)) if at_once else ("revoked", (0,))
    assert reported == [("assigned", (0,)), gone, ("assigned", (0,)), ("revoked", (0,))]


def test_an_old_position_is_never_committed_to_the_new_topic(cluster: GroupCluster) -> None:
    cluster.write(0, OLD, word="old")
    committed: list[int | None] = []

    def actor() -> None:
        with member(cluster, enable_auto_commit="false") as consumer:
            assert len(cluster.read(consumer, 10)) == OLD
            make_anew(cluster)
            with pytest.raises(KafkaError, match=r"commit the offset of t-0.*UNKNOWN_TOPIC_ID"):
                consumer.commit_sync(timeout=20)
            found = consumer.committed([T0])[T0]
            committed.append(None if found is None else found.offset)
            cluster.read(consumer, 10)
            consumer.commit_sync()
            found = consumer.committed([T0])[T0]
            committed.append(None if found is None else found.offset)
        cluster.hub.sleep_ms(10)

    cluster.play(actor)
    assert committed == [None, NEW]


def test_while_its_group_does_not_know_yet_a_member_reads_nothing_of_the_new_topic(cluster: GroupCluster) -> None:
    cluster.write(0, OLD, word="old")

    def actor() -> None:
        with member(cluster) as consumer:
            assert len(cluster.read(consumer, 10)) == OLD
            make_anew(cluster)
            assert cluster.read(consumer, 3) == [], "until the next heartbeat"
            assert "topic t was recreated" in consumer.waiting_for()[T0].text
            assert len(cluster.read(consumer, INTERVAL_MS / 1000)) == NEW
        cluster.hub.sleep_ms(10)

    cluster.play(actor)
