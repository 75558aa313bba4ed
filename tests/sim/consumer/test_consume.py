"""Assigned consumer with a healthy cluster: returned records, start positions, and order."""

from collections.abc import Iterator

import pytest

from kctl.client.broker_errors import ErrorCode
from kctl.client.cluster import TopicPartition
from kctl.client.consumer.consumer import Consumer, ConsumerRecord
from kctl.client.errors import BrokerError, IllegalStateError, InvalidOffsetError, WakeupError
from tests.sim.kit import SimCluster
from tests.sim.virtual import Hub

T = [TopicPartition("t", i) for i in range(3)]


@pytest.fixture
def cluster() -> Iterator[SimCluster]:
    with Hub(seed=3) as hub:
        yield SimCluster(hub)


def drain(consumer: Consumer, count: int) -> list[ConsumerRecord]:
    """Poll until `count` records came."""
    records: list[ConsumerRecord] = []
    while len(records) < count:
        got = consumer.poll(timeout=5)
        assert got, consumer.waiting_for()
        records += got
    return records


def test_all_leaders_are_read_in_parallel_and_in_order(cluster: SimCluster) -> None:
    assert sorted(cluster.leader(i) for i in range(3)) == [1, 2, 3]

    def body() -> None:
        for i in range(3):
            cluster.write(i, 400)
            cluster.write(i, 400, first=400)
        with cluster.consumer() as consumer:
            consumer.assign(T)
            records = drain(consumer, 2400)
            for i in range(3):
                own = [(record.offset, record.value) for record in records if record.partition == i]
                assert own == [(n, b"%d" % n) for n in range(800)]
                assert consumer.position(T[i]) == 800
            assert consumer.poll(timeout=0) == []
            cluster.write(1, 1, first=800)
            assert [record.value for record in consumer.poll(timeout=1)] == [b"800"]

    cluster.run(body)


def test_a_waiting_poll_returns_as_soon_as_a_record_comes(cluster: SimCluster) -> None:
    def body() -> None:
        with cluster.consumer() as consumer:
            consumer.assign(T)
            consumer.poll(timeout=1)
            cluster.hub.call_later_ms(200, "writer", lambda: cluster.write(1, 1))
            assert cluster.elapsed_ms(lambda: drain(consumer, 1)) <= 205

    cluster.run(body)


def test_a_poll_returns_at_most_max_poll_records(cluster: SimCluster) -> None:
    def body() -> None:
        cluster.write(0, 25)
        with cluster.consumer(max_poll_records=10) as consumer:
            consumer.assign(T[:1])
            assert [len(consumer.poll(timeout=1)) for _ in range(4)] == [10, 10, 5, 0]

    cluster.run(body)


def test_the_policy_latest_starts_at_the_end(cluster: SimCluster) -> None:
    def body() -> None:
        cluster.write(0, 5)
        with cluster.consumer(auto_offset_reset="latest") as consumer:
            consumer.assign(T[:1])
            assert consumer.position(T[0]) == 5
            cluster.write(0, 1, first=5)
            assert [record.offset for record in drain(consumer, 1)] == [5]

    cluster.run(body)


def test_seeking_during_a_fetch_delivers_nothing_from_before(cluster: SimCluster) -> None:
    def body() -> None:
        cluster.write(0, 1000)
        with cluster.consumer(max_poll_records=10) as consumer:
            consumer.assign(T[:1])
            drain(consumer, 10)
            consumer.seek(T[0], 900)
            assert drain(consumer, 10)[0].offset == 900
            consumer.seek_to_beginning()
            assert drain(consumer, 10)[0].offset == 0
            consumer.seek_to_end(T[:1])
            assert consumer.poll(timeout=1) == []
            assert consumer.position(T[0]) == 1000
            for offset in range(50):
                consumer.seek(T[0], offset)
                consumer.poll(timeout=0)
            consumer.seek(T[0], 77)
            assert drain(consumer, 1)[0].offset == 77

    cluster.run(body)


def test_a_paused_partition_is_silent_and_goes_on_where_it_was(cluster: SimCluster) -> None:
    def body() -> None:
        for i in range(2):
            cluster.write(i, 100)
        with cluster.consumer(max_poll_records=10) as consumer:
            consumer.assign(T[:2])
            consumer.pause(T[:1])
            assert {record.partition for record in drain(consumer, 100)} == {1}
            assert consumer.poll(timeout=1) == []
            assert str(consumer.waiting_for()[T[0]]) == "paused"
            consumer.resume(T[:1])
            assert [record.offset for record in drain(consumer, 100)] == list(range(100))

    cluster.run(body)


def test_questions_about_topics_and_offsets(cluster: SimCluster) -> None:
    def body() -> None:
        cluster.hub.sleep_ms(1000)
        cluster.write(0, 10)
        cluster.hub.sleep_ms(1000)
        cluster.write(0, 10, first=10)
        cluster.sandbox.delete_records("t", 0, 5)
        with cluster.consumer() as consumer:
            assert [info.leader_id for info in consumer.partitions_for("t")] == [cluster.leader(i) for i in range(3)]
            assert list(consumer.list_topics()) == ["t"]
            assert consumer.beginning_offsets(T) == {T[0]: 5, T[1]: 0, T[2]: 0}
            assert consumer.end_offsets(T) == {T[0]: 20, T[1]: 0, T[2]: 0}
            found = consumer.offsets_for_times({T[0]: 1500, T[1]: 0})
            assert found[T[0]] is not None
            assert (found[T[0]].offset, found[T[0]].timestamp_ms) == (10, 2000)  # type: ignore[union-attr]  # line above
            assert found[T[1]] is None
            with pytest.raises(BrokerError, match="UNKNOWN_TOPIC_OR_PARTITION"):
                consumer.partitions_for("nosuch")
            with pytest.raises(BrokerError, match=r"^cannot find t-9: .*UNKNOWN_TOPIC_OR_PARTITION"):
                consumer.end_offsets([TopicPartition("t", 9)])

    cluster.run(body)


def test_records_that_retention_removed_are_skipped_by_the_policy(cluster: SimCluster) -> None:
    def body() -> None:
        cluster.write(0, 10)
        cluster.write(0, 10, first=10)
        cluster.sandbox.delete_records("t", 0, 10)
        with cluster.consumer() as consumer:
            consumer.assign(T[:1])
            consumer.seek(T[0], 3)
            assert drain(consumer, 10)[0].offset == 10

    cluster.run(body)


def test_without_a_policy_positions_are_the_callers_business(cluster: SimCluster) -> None:
    def body() -> None:
        cluster.write(0, 10)
        with cluster.consumer(auto_offset_reset="none") as consumer:
            consumer.assign(T[:1])
            with pytest.raises(InvalidOffsetError, match="no position for t-0"):
                consumer.poll(timeout=1)
            with pytest.raises(InvalidOffsetError):
                consumer.position(T[0])
            consumer.seek(T[0], 50)
            with pytest.raises(InvalidOffsetError, match="t-0 has no offset 50"):
                consumer.poll(timeout=1)
            consumer.seek(T[0], 4)
            assert drain(consumer, 6)[0].offset == 4

    cluster.run(body)


def test_a_leader_that_moves_loses_and_repeats_nothing(cluster: SimCluster) -> None:
    def body() -> None:
        cluster.write(0, 100)
        with cluster.consumer(max_poll_records=7) as consumer:
            consumer.assign(T[:1])
            seen = [record.offset for record in drain(consumer, 50)]
            for turn in range(6):
                cluster.sandbox.move_leader("t", 0, 1 + (cluster.leader(0) % 3))
                cluster.write(0, 20, first=100 + 20 * turn)
                seen += [record.offset for record in drain(consumer, 10)]
            seen += [record.offset for record in drain(consumer, 220 - len(seen))]
            assert seen == list(range(220))

    cluster.run(body)


def test_a_topic_that_comes_later_is_waited_for(cluster: SimCluster) -> None:
    def body() -> None:
        with cluster.consumer(allow_auto_create_topics=False) as consumer:
            late = TopicPartition("late", 0)
            consumer.assign([late])
            assert consumer.poll(timeout=2) == []
            assert "UNKNOWN_TOPIC_OR_PARTITION" in str(consumer.waiting_for()[late])
            cluster.sandbox.create_topic("late")
            cluster.write(0, 3, topic="late")
            assert len(drain(consumer, 3)) == 3
            assert consumer.poll(timeout=1) == []
            assert str(consumer.waiting_for()[late]) == "reached the end of the partition, offset 3"
            assert ErrorCode.UNKNOWN_TOPIC_OR_PARTITION.name not in str(consumer.waiting_for())

    cluster.run(body)


def test_chunks_hand_over_the_same_records_undecoded(cluster: SimCluster) -> None:
    def body() -> None:
        cluster.write(0, 100)
        cluster.write(0, 100, first=100)
        with cluster.consumer() as consumer:
            consumer.assign(T[:1])
            offsets = []
            while consumer.position(T[0]) < 200:
                chunk = consumer.poll_chunk(timeout=1)
                assert chunk is not None
                assert consumer.position(T[0]) == chunk.next_offset
                offsets += [record.offset for batch in chunk.reader() for record in batch]
            assert offsets == list(range(200))
            assert consumer.poll_chunk(timeout=0.1) is None

    cluster.run(body)


def test_iteration_ends_when_the_consumer_is_closed(cluster: SimCluster) -> None:
    def body() -> list[int]:
        cluster.write(0, 10)
        consumer = cluster.consumer()
        consumer.assign(T[:1])
        offsets = []
        for record in consumer:
            offsets.append(record.offset)
            if record.offset == 9:
                consumer.close()
        return offsets

    assert cluster.run(body) == list(range(10))


def test_wakeup_from_another_thread_ends_a_poll(cluster: SimCluster) -> None:
    def body() -> None:
        with cluster.consumer() as consumer:
            consumer.assign(T[:1])
            cluster.hub.call_later_ms(250, "other thread", consumer.wakeup)
            before_ms = cluster.hub.now_ms
            with pytest.raises(WakeupError):
                consumer.poll(timeout=60)
            assert cluster.hub.now_ms - before_ms == 250
            assert consumer.poll(timeout=0.1) == []

    cluster.run(body)


def test_misuse_is_refused(cluster: SimCluster) -> None:
    def body() -> None:
        consumer = cluster.consumer()
        with pytest.raises(ValueError, match="must not be negative"):
            consumer.poll(timeout=-1)
        with pytest.raises(ValueError, match="must not be negative"):
            consumer.seek(T[0], -1)
        with pytest.raises(IllegalStateError, match="not assigned"):
            consumer.seek(T[0], 1)
        with pytest.raises(ValueError, match="invalid partition: topic '', partition 0"):
            consumer.assign([TopicPartition("", 0)])
        with pytest.raises(ValueError, match="must not be negative"):
            consumer.close(timeout=-1)
        consumer.close()
        with pytest.raises(IllegalStateError, match="closed"):
            consumer.poll(timeout=0)

    cluster.run(body)
