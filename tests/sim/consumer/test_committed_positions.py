"""seek_to_committed, positions and lag: where a member stands, and the way back to what its group has committed."""

from collections.abc import Iterator

import pytest

from kctl.client.cluster import TopicPartition
from kctl.client.consumer.group.events import GroupMetadata
from kctl.client.consumer.waiting import WaitKind
from kctl.client.errors import ApiTimeout, IllegalStateError
from kctl.client.requests.group_offsets import OffsetAndMetadata
from kctl.sandbox import Fault
from tests.sim.kit.cluster import drain
from tests.sim.kit.groups import GROUP, GroupCluster
from tests.sim.kit.transactions import NAME, transactional
from tests.sim.virtual import Hub

T0, T1 = TopicPartition("t", 0), TopicPartition("t", 1)


@pytest.fixture
def cluster() -> Iterator[GroupCluster]:
    with Hub(seed=44) as hub:
        cluster = GroupCluster(hub, topics={"t": 2})
        cluster.write(0, 20)
        cluster.write(1, 5)
        yield cluster


def test_records_since_the_commit_come_again(cluster: GroupCluster) -> None:
    def body() -> None:
        with cluster.consumer(group_id=GROUP, enable_auto_commit=False, max_poll_records=10) as consumer:
            consumer.subscribe(["t"])
            drain(consumer, 25)
            consumer.commit_sync({T0: 7})
            consumer.seek_to_committed()
            again = drain(consumer, 18)
            assert [one.offset for one in again if one.partition == 0] == list(range(7, 20))
            assert [one.offset for one in again if one.partition == 1] == list(range(5))  # nothing is committed

    cluster.play(body)


def test_only_the_named_partitions_go_back_and_fetched_records_are_dropped(cluster: GroupCluster) -> None:
    def body() -> None:
        with cluster.consumer(group_id=GROUP, enable_auto_commit=False, max_poll_records=3) as consumer:
            consumer.assign([T0, T1])
            drain(consumer, 3)
            consumer.commit_sync({T0: 1, T1: 1})
            (ready,) = (tp for tp, why in consumer.waiting_for().items() if why.kind is WaitKind.DELIVERABLE)
            consumer.seek_to_committed([ready])
            assert consumer.waiting_for()[ready].kind is not WaitKind.DELIVERABLE
            consumer.seek(T0, 0)
            consumer.seek(T1, 0)
            drain(consumer, 3)
            drain(consumer, 22)
            consumer.seek_to_committed([T1])
            assert {(one.partition, one.offset) for one in drain(consumer, 4)} == {(1, at) for at in range(1, 5)}

    cluster.play(body)


def test_positions_are_those_after_the_records_that_were_given(cluster: GroupCluster) -> None:
    def body() -> None:
        with cluster.consumer(group_id=GROUP, enable_auto_commit=False) as consumer:
            consumer.assign([T0])
            assert consumer.positions() == {}
            for record in consumer:
                if record.offset == 3:
                    break
            assert {tp: found.offset for tp, found in consumer.positions().items()} == {T0: 4}
            consumer.commit_sync(consumer.positions())
            assert cluster.sandbox.committed(GROUP)["t", 0].offset == 4

    cluster.play(body)


def test_lag_asks_for_the_ends_and_ends_by_its_timeout(cluster: GroupCluster) -> None:
    def body() -> None:
        with cluster.consumer(group_id=GROUP, enable_auto_commit=False) as consumer:
            consumer.assign([T0, T1])
            assert consumer.lag() == {T0: 20, T1: 5}
            consumer.seek(T0, 18)
            cluster.write(1, 3, first=5)
            assert consumer.lag(timeout=5) == {T0: 2, T1: 8}
            for node_id in (1, 2, 3):
                cluster.sandbox.start_fault(node_id, Fault.FREEZE)

            def fails() -> None:
                with pytest.raises(ApiTimeout):
                    consumer.lag(timeout=0.4)

            assert cluster.elapsed_ms(fails) == 400
            cluster.sandbox.heal()

    cluster.play(body)


def test_without_a_group_there_is_nothing_committed(cluster: GroupCluster) -> None:
    def body() -> None:
        with cluster.consumer() as consumer:
            consumer.assign([T0])
            with pytest.raises(IllegalStateError, match=r"cannot call seek_to_committed\(\): group.id is not set"):
                consumer.seek_to_committed()
            with pytest.raises(IllegalStateError, match=r"cannot call positions\(\): group.id is not set"):
                consumer.positions()

    cluster.play(body)
    with Hub(seed=1) as hub:
        other = GroupCluster(hub)

        def unassigned() -> None:
            with other.consumer(group_id=GROUP) as consumer, pytest.raises(IllegalStateError):
                consumer.seek_to_committed([T1])

        other.play(unassigned)


@pytest.mark.parametrize("isolation", ["read_uncommitted", "read_committed"])
def test_committed_offset_in_a_committing_transaction_is_awaited(cluster: GroupCluster, isolation: str) -> None:
    """Source: KIP-447. Reading behind the old offset would process the records of the transaction again."""

    def body() -> None:
        with (
            transactional(cluster) as producer,
            cluster.consumer(group_id=GROUP, enable_auto_commit=False, isolation_level=isolation) as consumer,
        ):
            cluster.sandbox.hold_markers(NAME)
            producer.begin_transaction()
            producer.send_offsets_to_transaction({T0: 7}, GroupMetadata(GROUP))
            producer.commit_transaction()
            consumer.assign([T0])
            assert consumer.poll(timeout=2) == []
            with pytest.raises(ApiTimeout):
                consumer.committed([T0], timeout=2)
            cluster.sandbox.release_markers(NAME)
            assert consumer.position(T0, timeout=2) == 7
            assert consumer.committed([T0], timeout=2) == {T0: OffsetAndMetadata(7)}

    cluster.play(body)
