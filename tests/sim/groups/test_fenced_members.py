"""Members that the group has removed return no more records of their lost partitions.

After an outage longer than the session, fetches and heartbeats succeed at about the same time. Fetched records may
belong to another member, so they are returned only after the coordinator has confirmed the membership.
"""

from collections.abc import Iterator

import pytest

from kctl.client.broker_errors import ErrorCode
from kctl.client.cluster import TopicPartition
from kctl.client.consumer.consumer import Consumer
from kctl.client.consumer.waiting import WaitKind
from kctl.client.errors import CommitFailedError
from kctl.sandbox.settings import ClusterSettings
from tests.sim.chaos.replies import Replies
from tests.sim.kit.groups import GROUP, GroupCluster
from tests.sim.virtual import Hub, LinkFault

SESSION_MS = 9000
INTERVAL_MS = 1000
PARTITIONS, EACH = 6, 400
BOTH_PROTOCOLS = pytest.mark.parametrize("protocol", ["classic", "consumer"])


@pytest.fixture
def cluster() -> Iterator[GroupCluster]:
    settings = ClusterSettings(
        group_consumer_session_timeout_ms=SESSION_MS, group_consumer_heartbeat_interval_ms=INTERVAL_MS
    )
    with Hub(seed=6) as hub:
        cluster = GroupCluster(hub, settings=settings, topics={"t": PARTITIONS})
        for partition in range(PARTITIONS):
            cluster.write(partition, EACH)
        yield cluster


def member(cluster: GroupCluster, name: str, protocol: str, **properties: object) -> Consumer:
    given = {"auto_commit_interval_ms": 300, "max_poll_records": 5, "max_poll_interval_ms": 300_000, **properties}
    classic = {"session_timeout_ms": SESSION_MS, "heartbeat_interval_ms": INTERVAL_MS}
    consumer = cluster.consumer(
        group_id=GROUP, group_protocol=protocol, **(classic if protocol == "classic" else {}), **given
    )
    consumer.subscribe(["t"])
    return consumer


def take(cluster: GroupCluster, consumer: Consumer, timeout: float = 0.1) -> list[TopicPartition]:
    """Poll once, count the records, and return their partitions."""
    records = consumer.poll(timeout)
    for record in records:
        cluster.seen[record.partition, record.offset] = cluster.seen.get((record.partition, record.offset), 0) + 1
    return [TopicPartition(record.topic, record.partition) for record in records]


@BOTH_PROTOCOLS
def test_after_an_outage_longer_than_the_session_the_backlog_is_not_handed_out_twice(
    cluster: GroupCluster, protocol: str
) -> None:
    late: list[int] = []

    def actor() -> None:
        first = member(cluster, "a", protocol)
        while len(cluster.seen) < 100:
            take(cluster, first)
        first.commit_sync(timeout=5)
        for direction in (LinkFault.CLOG_REQUESTS, LinkFault.CLOG_RESPONSES):
            cluster.network.faults.start(direction, client="c1")
        cut_ms = cluster.hub.now_ms
        second = member(cluster, "b", protocol, max_poll_records=500)
        kinds = set()
        while cluster.hub.now_ms < cut_ms + SESSION_MS + 6000:
            take(cluster, second)
            if cluster.hub.now_ms >= cut_ms + SESSION_MS:
                late.append(len(take(cluster, first, 0.02)))
                kinds |= {reason.kind for reason in first.waiting_for().values()}
        assert sum(late) == 0, "its session is over by its own clock"
        assert kinds == {WaitKind.COORDINATOR}
        reason = first.waiting_for_group()
        assert reason is not None
        assert "session has timed out" in str(reason)
        cluster.network.faults.heal()
        healed_ms = cluster.hub.now_ms
        while cluster.hub.now_ms < healed_ms + 12_000:
            take(cluster, first)
            take(cluster, second)
        first.close()
        second.close()
        cluster.hub.sleep_ms(10)

    cluster.play(actor)
    assert len(cluster.seen) == PARTITIONS * EACH
    repeats = sum(times - 1 for times in cluster.seen.values())
    assert repeats == 0, "nothing was handed out that had not been committed before the outage"


@BOTH_PROTOCOLS
def test_a_commit_that_was_refused_is_the_end_of_the_lost_partitions(cluster: GroupCluster, protocol: str) -> None:
    replies = Replies()

    def actor() -> None:
        consumer = member(cluster, "a", protocol)
        while not take(cluster, consumer):
            pass
        assignment = consumer.assignment
        heartbeat = "Heartbeat" if protocol == "classic" else "ConsumerGroupHeartbeat"
        replies.refuse("OffsetCommit", ErrorCode.UNKNOWN_MEMBER_ID, 1)
        replies.refuse(heartbeat, ErrorCode.COORDINATOR_LOAD_IN_PROGRESS, 3)  # no heartbeat says so sooner
        with pytest.raises(CommitFailedError):
            consumer.commit_sync(timeout=5)
        assert consumer.assignment == assignment, "changes are applied by polls"
        assert take(cluster, consumer, 0) == []
        assert consumer.assignment == []
        replies.heal()
        consumer.close()
        cluster.hub.sleep_ms(10)

    with replies.installed():
        cluster.play(actor)
