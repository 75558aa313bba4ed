"""Members whose connections get damaged frames or whose nodes refuse for a while: the membership continues."""

import pytest

from kctl.client.consumer.consumer import Consumer
from kctl.client.errors import KafkaError
from tests.sim.hub.strangers import Stranger
from tests.sim.kit.groups import GROUP, GroupCluster
from tests.sim.network.test_refusals import TWO_GIB, UNASKED
from tests.sim.virtual import Hub

PROTOCOLS = pytest.mark.parametrize(
    "properties",
    [{}, {"group_protocol": "consumer"}],
    ids=["classic", "consumer"],
)


def member(cluster: GroupCluster, properties: dict[str, object]) -> Consumer:
    """A member subscribed to t."""
    consumer = cluster.consumer(group_id=GROUP, **properties)
    consumer.subscribe(["t"])
    return consumer


@PROTOCOLS
@pytest.mark.parametrize("damage", [TWO_GIB, UNASKED], ids=["2 GiB", "unasked"])
def test_member_heartbeats_and_commits_after_a_damaged_frame_on_every_connection(
    properties: dict[str, object], damage: bytes
) -> None:
    with Hub(seed=3) as hub:
        cluster = GroupCluster(hub, topics={"t": 3})

        def body() -> None:
            consumer = member(cluster, properties)
            cluster.write(0, 5)
            assert len(cluster.read(consumer, 8)) == 5
            for connection in cluster.network.connections_of():
                connection.inject(damage)
            damaged_ms = hub.now_ms
            polls = 0
            while hub.now_ms < damaged_ms + 6000:
                polls += 1
                consumer.poll(0.2)
            assert polls <= 60
            consumer.commit_sync(timeout=2)
            api = "Heartbeat" if not properties else "ConsumerGroupHeartbeat"
            beats = [event.at_ms - damaged_ms for event in cluster.sent(api) if event.at_ms > damaged_ms + 100]
            assert beats, "no heartbeat"
            assert beats[0] <= 5500
            cluster.write(0, 5, first=5)
            assert len(cluster.read(consumer, 2)) == 5
            consumer.close()

        cluster.run(body)


@PROTOCOLS
def test_member_returns_after_its_coordinator_refused_for_some_seconds(properties: dict[str, object]) -> None:
    with Hub(seed=3) as hub:
        cluster = GroupCluster(hub, topics={"t": 3})

        def body() -> None:
            consumer = member(cluster, properties)
            cluster.read(consumer, 8)
            ip = f"10.0.0.{cluster.coordinator()}"
            restore = cluster.network.replace_listener(ip, Stranger())
            for connection in cluster.network.connections_of(ip=ip):
                connection.cut()
            cluster.read(consumer, 2.5)
            restore()
            cluster.read(consumer, 10)
            consumer.commit_sync(timeout=2)
            cluster.write(0, 5)
            assert len(cluster.read(consumer, 2)) == 5
            consumer.close()

        cluster.run(body)


def test_poll_of_a_client_that_every_node_refuses_raises_once_an_attempt() -> None:
    with Hub(seed=3) as hub:
        cluster = GroupCluster(hub, topics={"t": 3})
        strangers = [Stranger() for _ in range(3)]
        for node, stranger in enumerate(strangers, 1):
            cluster.network.replace_listener(f"10.0.0.{node}", stranger)

        def body() -> None:
            consumer = member(cluster, {})
            raised = 0
            while hub.now_ms < 10_000:
                try:
                    consumer.poll(0.2)
                except KafkaError:
                    raised += 1
            assert 3 <= raised <= 15
            assert sum(stranger.accepted for stranger in strangers) <= 40
            consumer.close(timeout=1)

        cluster.run(body)
