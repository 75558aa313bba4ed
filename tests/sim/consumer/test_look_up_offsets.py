"""`look_up_offsets`: each partition as soon as its leader responds, whatever the others do; without a timeout."""

from collections.abc import Iterator

import pytest

from kctl.client.cluster import TopicPartition
from kctl.client.consumer.events import EARLIEST_TIMESTAMP, LATEST_TIMESTAMP
from kctl.client.consumer.waiting import WaitKind
from kctl.client.errors import BrokerError
from kctl.sandbox import Fault
from tests.sim.kit import SimCluster
from tests.sim.virtual import Hub

T0, T1, T2 = (TopicPartition("t", number) for number in range(3))


@pytest.fixture
def cluster() -> Iterator[SimCluster]:
    with Hub(seed=11) as hub:
        made = SimCluster(hub)
        for partition in range(3):
            made.write(partition, 5)
        yield made


def test_frozen_leader_delays_no_other_partition(cluster: SimCluster) -> None:
    def body() -> None:
        with cluster.consumer() as consumer:
            consumer.partitions_for("t")
            consumer.end_offsets([T0, T1, T2])  # so that all are connected
            frozen = cluster.sandbox.cluster.topics["t"].partitions[0].leader_id
            cluster.sandbox.start_fault(frozen, Fault.FREEZE)
            lookup = consumer.look_up_offsets(dict.fromkeys((T0, T1, T2), LATEST_TIMESTAMP))
            before_ms = cluster.hub.now_ms
            while len(lookup.found) < 2:
                consumer.poll(10)
            assert cluster.hub.now_ms - before_ms < 100, "poll returns early when there is a result"
            assert {tp: found.offset for tp, found in lookup.found.items() if found} == {T1: 5, T2: 5}
            assert lookup.pending == [T0]
            reason = lookup.waiting[T0]
            assert (reason.kind, reason.node_id) == (WaitKind.ANSWER, frozen)
            assert str(reason) == f"no response from broker {frozen}"
            assert reason.started_at_ms is not None
            assert before_ms <= reason.started_at_ms <= before_ms + 100
            consumer.poll(120)
            assert lookup.pending == [T0], "there is no timeout"
            cluster.sandbox.heal()
            consumer.poll(60)
            assert lookup.pending == []
            assert lookup.waiting == {}

    cluster.run(body)


def test_cancelled_lookup_asks_no_more(cluster: SimCluster) -> None:
    def body() -> None:
        with cluster.consumer() as consumer:
            cluster.sandbox.start_fault(1, Fault.BLACKHOLE)
            lookup = consumer.look_up_offsets({T0: EARLIEST_TIMESTAMP})
            consumer.poll(2)
            lookup.cancel()
            assert lookup.pending == []
            sent = len(cluster.sent("ListOffsets"))
            cluster.sandbox.heal()
            consumer.assign([T1])
            consumer.seek(T1, 5)
            consumer.poll(30)
            assert len(cluster.sent("ListOffsets")) == sent

    cluster.run(body)


def test_partition_that_does_not_exist_fails_alone(cluster: SimCluster) -> None:
    def body() -> None:
        with cluster.consumer() as consumer:
            missing = TopicPartition("t", 9)
            lookup = consumer.look_up_offsets({T0: EARLIEST_TIMESTAMP, missing: EARLIEST_TIMESTAMP})
            while lookup.pending:
                consumer.poll(1)
            assert list(lookup.found) == [T0]
            assert isinstance(lookup.failed[missing], BrokerError)

    cluster.run(body)
