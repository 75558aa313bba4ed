"""Listener calls for revoked partitions, and for partitions that were lost without the application's notice."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import nullcontext

import pytest

from kctl.client.broker_errors import ErrorCode
from kctl.client.cluster import TopicPartition
from kctl.client.consumer.consumer import Consumer
from kctl.client.consumer.group.events import AssignmentChanged
from kctl.client.errors import IllegalStateError
from kctl.client.events import MembershipLost
from tests.sim.kit.groups import GROUP, GroupCluster, Noting
from tests.sim.virtual import Hub

END: dict[str, Callable[[Consumer], object]] = {"close": Consumer.close, "unsubscribe": Consumer.unsubscribe}
T = [TopicPartition("t", 0), TopicPartition("t", 1)]
KIP_848 = {"group_protocol": "consumer"}
HEARTBEATS = {"classic": "Heartbeat", "consumer": "ConsumerGroupHeartbeat"}


@pytest.fixture
def cluster() -> Iterator[GroupCluster]:
    with Hub(seed=61) as hub:
        yield GroupCluster(hub, topics={"t": 1})


def joined(cluster: GroupCluster, name: str, **properties: object) -> Consumer:
    consumer = cluster.consumer(group_id=GROUP, **properties)
    cluster.journal.consumers[name] = consumer
    consumer.subscribe(["t"], Noting(cluster.journal, name))
    while not consumer.assignment:
        consumer.poll(1)
    return consumer


def kinds(cluster: GroupCluster, name: str) -> list[str]:
    return [kind for _, kind, partitions in cluster.journal.of(name) if partitions]


@pytest.mark.parametrize("end", END)
@pytest.mark.parametrize("protocol", HEARTBEATS)
def test_member_that_ends_after_a_loss_is_called_for_lost_partitions(
    cluster: GroupCluster, protocol: str, end: str
) -> None:
    def body() -> None:
        consumer = joined(cluster, "a", group_protocol=protocol)
        cluster.sandbox.fail_requests(HEARTBEATS[protocol], ErrorCode.UNKNOWN_MEMBER_ID)
        cluster.hub.sleep_ms(6000)
        END[end](consumer)
        assert kinds(cluster, "a") == ["assigned", "lost"]
        consumer.close()
        cluster.hub.sleep_ms(20)

    cluster.play(body)


def test_eager_member_that_is_removed_during_a_rebalance_is_called_for_lost_partitions(cluster: GroupCluster) -> None:
    def slow() -> None:
        consumer = joined(cluster, "a", max_poll_interval_ms=15_000)
        cluster.hub.sleep_ms(20_000)
        assert kinds(cluster, "b") == ["assigned"], "it waited for max.poll.interval.ms"
        consumer.poll(0)
        assert kinds(cluster, "a") == ["assigned", "lost"]
        [lost] = [event for event in cluster.events if isinstance(event, MembershipLost)]
        assert lost.partitions == (("t", 0),)
        consumer.close()
        cluster.hub.sleep_ms(20)

    def other() -> None:
        cluster.hub.sleep_ms(8000)
        with joined(cluster, "b") as consumer:
            cluster.read(consumer, 15)
        cluster.hub.sleep_ms(20)

    cluster.play(slow, other)


class Unsubscribing(Noting):
    """A listener that ends the subscription in the first revocation, and assigns partitions itself."""

    def __init__(self, cluster: GroupCluster, consumer: Consumer, partitions: Sequence[TopicPartition]) -> None:
        super().__init__(cluster.journal, "a")
        self._consumer = consumer
        self._partitions = partitions
        self._is_done = False

    def on_partitions_revoked(self, topic_partitions: Sequence[TopicPartition]) -> None:
        if not self._is_done:
            self._is_done = True
            self._consumer.unsubscribe()
            self._consumer.assign(self._partitions)


@pytest.mark.parametrize("protocol", [{"partition_assignment_strategy": "cooperative-sticky"}, KIP_848])
@pytest.mark.parametrize("partition", [0, 1])
def test_listener_that_unsubscribes_in_a_revocation_keeps_only_its_own_assignment(
    partition: int, protocol: dict[str, str]
) -> None:
    with Hub(seed=62) as hub:
        cluster = GroupCluster(hub, topics={"t": 2})

        def first() -> None:
            consumer = cluster.consumer(group_id=GROUP, enable_auto_commit=False, **protocol)
            consumer.subscribe(["t"], Unsubscribing(cluster, consumer, [T[partition]]))
            cluster.read(consumer, 30)
            assert consumer.assignment == [T[partition]]
            assert consumer.group_metadata().member_id == ""
            consumer.close()
            cluster.hub.sleep_ms(20)

        def second() -> None:
            cluster.hub.sleep_ms(8000)
            consumer = cluster.consumer(group_id=GROUP, **protocol)
            consumer.subscribe(["t"])
            cluster.read(consumer, 20)
            assert consumer.assignment == T
            consumer.close()
            cluster.hub.sleep_ms(20)

        cluster.play(first, second)


class Ending(Noting):
    """A listener that ends the consumer in each revocation."""

    def __init__(self, cluster: GroupCluster, consumer: Consumer, end: str) -> None:
        super().__init__(cluster.journal, "a")
        self._consumer = consumer
        self._end = end

    def on_partitions_revoked(self, topic_partitions: Sequence[TopicPartition]) -> None:
        super().on_partitions_revoked(topic_partitions)
        END[self._end](self._consumer)


@pytest.mark.parametrize("is_automatic", [False, True])
@pytest.mark.parametrize(
    ("end", "inner"), [("unsubscribe", "unsubscribe"), ("unsubscribe", "close"), ("close", "unsubscribe")]
)
@pytest.mark.parametrize("protocol", HEARTBEATS)
def test_listener_that_ends_the_consumer_during_its_end_is_called_once(
    cluster: GroupCluster, protocol: str, end: str, inner: str, is_automatic: bool
) -> None:
    def body() -> None:
        consumer = cluster.consumer(group_id=GROUP, group_protocol=protocol, enable_auto_commit=is_automatic)
        cluster.journal.consumers["a"] = consumer
        consumer.subscribe(["t"], Ending(cluster, consumer, inner))
        while not consumer.assignment:
            consumer.poll(1)
        END[end](consumer)
        assert kinds(cluster, "a") == ["assigned", "revoked"]
        cluster.hub.sleep_ms(50)
        assert cluster.sandbox.members(GROUP) == []
        consumer.close()

    cluster.play(body)


@pytest.mark.parametrize("inner", END)
@pytest.mark.parametrize("protocol", [{"partition_assignment_strategy": "cooperative-sticky"}, KIP_848, {}])
def test_listener_that_ends_the_consumer_in_a_rebalance_is_called_once_for_each_partition(
    protocol: dict[str, str], inner: str
) -> None:
    with Hub(seed=63) as hub:
        cluster = GroupCluster(hub, topics={"t": 2})

        def first() -> None:
            consumer = cluster.consumer(group_id=GROUP, **protocol)
            cluster.journal.consumers["a"] = consumer
            consumer.subscribe(["t"], Ending(cluster, consumer, inner))
            with pytest.raises(IllegalStateError):
                cluster.read(consumer, 30)
            revoked = [number for _, _, numbers in cluster.journal.of("a", "revoked") for number in numbers]
            assert sorted(revoked) == [0, 1]
            consumer.close()
            cluster.hub.sleep_ms(20)

        def second() -> None:
            cluster.hub.sleep_ms(8000)
            with cluster.consumer(group_id=GROUP, **protocol) as consumer:
                consumer.subscribe(["t"])
                cluster.read(consumer, 20)
                assert consumer.assignment == T
            cluster.hub.sleep_ms(20)

        cluster.play(first, second)


@pytest.mark.parametrize("inner", END)
def test_listener_that_ends_the_consumer_after_a_loss_of_the_same_change_is_called_once_for_each_partition(
    inner: str,
) -> None:
    with Hub(seed=64) as hub:
        cluster = GroupCluster(hub, topics={"t": 1, "u": 1})

        def body() -> None:
            consumer = cluster.consumer(group_id=GROUP, **KIP_848)
            calls: list[tuple[str, list[str]]] = []

            class EndingLast(Ending):
                def on_partitions_lost(self, topic_partitions: Sequence[TopicPartition]) -> None:
                    calls.append(("lost", [tp.topic for tp in topic_partitions]))

                def on_partitions_revoked(self, topic_partitions: Sequence[TopicPartition]) -> None:
                    calls.append(("revoked", [tp.topic for tp in topic_partitions]))
                    END[inner](consumer)

            cluster.journal.consumers["a"] = consumer
            consumer.subscribe(["t", "u"], EndingLast(cluster, consumer, inner))
            while len(consumer.assignment) < 2:
                consumer.poll(1)
            group = consumer._side.group
            assert group is not None
            recreated = {"t": b"another" + bytes(9)}
            group._on_change(AssignmentChanged(99, (), topic_ids=recreated, term=group._term))
            with pytest.raises(IllegalStateError) if inner == "close" else nullcontext():
                consumer.poll(1)
            assert calls == [("lost", ["t"]), ("revoked", ["u"])]
            consumer.close()

        cluster.play(body)
