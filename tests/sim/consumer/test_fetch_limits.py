"""Bounds and fairness of prefetching: what lies fetched stays within the budget, and every partition has its share."""

from collections import Counter

import pytest

from kctl.client.cluster import TopicPartition
from kctl.client.consumer.consumer import Consumer
from kctl.client.consumer.fetched_data import Delivery
from kctl.client.network import connection_factory
from kctl.sandbox.settings import ClusterSettings
from tests.sim.kit import SimCluster, drain
from tests.sim.virtual import Hub

KIB = 1024
VALUE_BYTES = 1000
BATCH_BYTES = 5_100
"""Five records; a little less than this on the wire."""


def fill(cluster: SimCluster, partition: int, batches: int) -> None:
    for number in range(batches):
        cluster.write(partition, 5, first=5 * number, value_bytes=VALUE_BYTES)


def held_bytes(consumer: Consumer) -> int:
    """Return the size of fetched and undelivered data, which has no public method."""
    consumer.waiting_for()  # takes over what the network has handed over
    queues = consumer._side.data._queues.values()
    return sum(len(item.chunk.data) for queue in queues for item in queue if isinstance(item, Delivery))


@pytest.mark.parametrize("slots", [1000, 0], ids=["sessions", "no-sessions"])
@pytest.mark.parametrize("budget", [20 * KIB, 100 * KIB, 1024 * KIB])
def test_fetched_data_stays_within_the_budget(slots: int, budget: int) -> None:
    with Hub(seed=61) as hub:
        cluster = SimCluster(
            hub, topics={"t": 9}, settings=ClusterSettings(max_incremental_fetch_session_cache_slots=slots)
        )

        def body() -> None:
            for i in range(9):
                fill(cluster, i, 100)
            with cluster.consumer(prefetch_bytes=budget, max_poll_records=20) as consumer:
                consumer.assign([TopicPartition("t", i) for i in range(9)])
                most = delivered = 0
                while delivered < 9 * 500:
                    delivered += len(drain(consumer, 1))
                    cluster.hub.sleep_ms(5)
                    most = max(most, held_bytes(consumer))
                assert most <= budget + 3 * BATCH_BYTES, "one batch of each leader may be larger than what was left"
                if budget <= 100 * KIB:
                    assert most > budget // 2, "the budget is used"

        cluster.run(body)


def test_records_larger_than_every_limit_come_one_batch_at_a_time() -> None:
    with Hub(seed=62) as hub:
        cluster = SimCluster(hub, topics={"t": 3})

        def body() -> None:
            for i in range(3):
                for number in range(10):
                    cluster.write(i, 1, first=number, value_bytes=50 * KIB)
            limits = {"max_partition_fetch_bytes": KIB, "fetch_max_bytes": KIB}
            with cluster.consumer(prefetch_bytes=KIB, max_poll_records=1, **limits) as consumer:
                consumer.assign([TopicPartition("t", i) for i in range(3)])
                seen: Counter[int] = Counter()
                for _ in range(30):
                    [record] = drain(consumer, 1)
                    assert record.offset == seen[record.partition]
                    seen[record.partition] += 1
                    cluster.hub.sleep_ms(50)
                    assert held_bytes(consumer) <= 3 * 51 * KIB, "one from each leader"
                assert seen == {0: 10, 1: 10, 2: 10}

        cluster.run(body)


def test_record_larger_than_the_largest_other_response_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection_factory, "MAX_FRAME_BYTES", 64 * KIB)
    with Hub(seed=63) as hub:
        cluster = SimCluster(hub)

        def body() -> list[int]:
            cluster.write(0, 1, value_bytes=200 * KIB)
            with cluster.consumer(fetch_max_bytes=KIB) as consumer:
                consumer.assign([TopicPartition("t", 0)])
                return [len(record.value or b"") for record in drain(consumer, 1)]

        assert cluster.run(body) == [200 * KIB]
        assert len(cluster.sent("Fetch")) <= 3


def shares(cluster: SimCluster, consumer: Consumer, count: int) -> Counter[int]:
    seen: Counter[int] = Counter()
    while seen.total() < count:
        seen.update(record.partition for record in drain(consumer, 1))
        cluster.hub.sleep_ms(1)
    return seen


@pytest.mark.parametrize("slots", [1000, 0], ids=["sessions", "no-sessions"])
@pytest.mark.parametrize(
    ("budget", "tolerance"),
    [
        pytest.param(15 * KIB, 300, marks=pytest.mark.slow),
        (60 * KIB, 150),
        pytest.param(200 * KIB, 150, marks=pytest.mark.nightly),
        pytest.param(64 * 1024 * KIB, 150, marks=pytest.mark.slow),
    ],
)
def test_partitions_that_all_have_more_get_equal_shares(slots: int, budget: int, tolerance: int) -> None:
    """Seven partitions at three leaders, so some share theirs with two others and some with one.

    Within 10 %, where the budget has room for a batch of each partition; below that nobody starves.
    """
    with Hub(seed=63) as hub:
        cluster = SimCluster(
            hub, topics={"t": 7}, settings=ClusterSettings(max_incremental_fetch_session_cache_slots=slots)
        )

        def body() -> None:
            for i in range(7):
                fill(cluster, i, 600)
            limits = {"max_partition_fetch_bytes": 16 * KIB}
            with cluster.consumer(prefetch_bytes=budget, max_poll_records=10, **limits) as consumer:
                consumer.assign([TopicPartition("t", i) for i in range(7)])
                seen = shares(cluster, consumer, 7 * 1500)
                assert len(seen) == 7
                for count in seen.values():
                    assert abs(count - 1500) <= tolerance, seen

        cluster.run(body)


@pytest.mark.parametrize("slots", [1000, 0], ids=["sessions", "no-sessions"])
def test_a_flood_in_one_partition_does_not_hold_up_a_trickle_in_others(slots: int) -> None:
    with Hub(seed=64) as hub:
        cluster = SimCluster(
            hub, nodes=1, topics={"t": 5}, settings=ClusterSettings(max_incremental_fetch_session_cache_slots=slots)
        )

        def body() -> None:
            fill(cluster, 0, 2000)
            sent_at_ms: dict[tuple[int, int], int] = {}
            late_ms: list[int] = []
            limits = {"max_partition_fetch_bytes": 16 * KIB}
            with cluster.consumer(prefetch_bytes=32 * KIB, max_poll_records=10, **limits) as consumer:
                consumer.assign([TopicPartition("t", i) for i in range(5)])
                for turn in range(300):
                    if turn % 10 == 0:
                        partition, offset = 1 + turn // 10 % 4, turn // 40
                        cluster.write(partition, 1, first=offset)
                        sent_at_ms[partition, offset] = cluster.hub.now_ms
                    for record in drain(consumer, 1):
                        if record.partition:
                            late_ms.append(cluster.hub.now_ms - sent_at_ms[record.partition, record.offset])
                    cluster.hub.sleep_ms(5)
            assert len(late_ms) >= 29
            assert max(late_ms) < 200, late_ms

        cluster.run(body)


def test_paused_partitions_do_not_hold_the_room_of_others_for_ever() -> None:
    with Hub(seed=65) as hub:
        cluster = SimCluster(hub, nodes=1, topics={"t": 2})

        def body() -> None:
            t0, t1 = TopicPartition("t", 0), TopicPartition("t", 1)
            fill(cluster, 0, 20)
            with cluster.consumer(prefetch_bytes=32 * KIB, max_poll_records=5) as consumer:
                consumer.assign([t0, t1])
                consumer.pause([t1])
                assert len(drain(consumer, 5)) == 5
                cluster.hub.sleep_ms(500)
                consumer.pause([t0])
                consumer.resume([t1])
                fill(cluster, 1, 20)
                assert {record.partition for record in drain(consumer, 100)} == {1}
                consumer.resume([t0])
                assert [record.offset for record in drain(consumer, 95)] == list(range(5, 100))

        cluster.run(body)
