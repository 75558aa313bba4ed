"""Damaged batches: named exactly, met again by the next poll, and left behind by a seek."""

from collections.abc import Iterator
from contextlib import suppress

import pytest

from kctl.client.cluster import TopicPartition
from kctl.client.consumer.consumer import Consumer
from kctl.client.errors import CorruptBatchError
from kctl.sandbox.batches import StoredBatch
from tests.sim.kit import SimCluster, drain
from tests.sim.virtual import Hub

T0, T1 = TopicPartition("t", 0), TopicPartition("t", 1)
MAGIC_AT = 16


@pytest.fixture
def cluster() -> Iterator[SimCluster]:
    with Hub(seed=51) as hub:
        yield SimCluster(hub, topics={"t": 2})


def flip(cluster: SimCluster, number: int, at: int) -> bytes:
    """Damage a byte of a stored batch. Return the original batch."""
    log = cluster.log(0)
    stored = log.batches[number]
    data = bytearray(stored.data)
    data[at] ^= 0x55
    log._batches[number] = StoredBatch(stored.header, bytes(data))  # no broker lets anybody write that
    return stored.data


def caught_by(consumer: Consumer) -> CorruptBatchError:
    """Poll until damage is met."""
    with pytest.raises(CorruptBatchError) as caught:
        drain(consumer, 1_000_000)
    return caught.value


@pytest.mark.parametrize("at", [-1, MAGIC_AT], ids=["body", "header"])
@pytest.mark.parametrize("seek_to", [5, 6, 9, 10, 12])
def test_a_batch_in_the_middle(cluster: SimCluster, at: int, seek_to: int) -> None:
    """Three batches of five in one chunk; the second is damaged."""

    def body() -> None:
        for first in (0, 5, 10):
            cluster.write(0, 5, first=first)
        flip(cluster, 1, at)
        with cluster.consumer() as consumer:
            consumer.assign([T0])
            assert [record.offset for record in drain(consumer, 5)] == list(range(5))
            for _ in range(3):  # polling again tries again
                error = caught_by(consumer)
                assert (error.topic, error.partition, error.base_offset, error.resume_offset) == ("t", 0, 5, 10)
                assert consumer.position(T0) == 5
            consumer.seek(T0, seek_to)
            if seek_to == 5:
                assert caught_by(consumer).base_offset == 5
                consumer.seek(T0, 6)
            first = max(10, seek_to)
            assert [record.offset for record in drain(consumer, 15 - first)] == list(range(first, 15))

    cluster.run(body)


@pytest.mark.parametrize("at", [-1, MAGIC_AT], ids=["body", "header"])
def test_damage_that_heals_costs_nothing(cluster: SimCluster, at: int) -> None:
    def body() -> None:
        for first in (0, 5, 10):
            cluster.write(0, 5, first=first)
        whole = flip(cluster, 1, at)
        with cluster.consumer() as consumer:
            consumer.assign([T0])
            drain(consumer, 5)
            caught_by(consumer)
            cluster.log(0)._batches[1] = StoredBatch(cluster.log(0).batches[1].header, whole)
            assert [record.offset for record in drain(consumer, 10)] == list(range(5, 15))

    cluster.run(body)


def test_the_last_batch_is_left_behind_by_a_seek_to_its_end(cluster: SimCluster) -> None:
    def body() -> None:
        cluster.write(0, 5)
        cluster.write(0, 5, first=5)
        flip(cluster, 1, -1)
        with cluster.consumer() as consumer:
            consumer.assign([T0])
            drain(consumer, 5)
            assert caught_by(consumer).resume_offset == 10
            consumer.seek(T0, 6)
            assert consumer.poll(timeout=1) == []
            cluster.write(0, 2, first=10)
            assert [record.offset for record in drain(consumer, 2)] == [10, 11]

    cluster.run(body)


def test_another_partition_flows_on(cluster: SimCluster) -> None:
    def body() -> None:
        cluster.write(0, 5)
        flip(cluster, 0, -1)
        with cluster.consumer() as consumer:
            consumer.assign([T0, T1])
            caught_by(consumer)
            cluster.write(1, 5)
            seen = 0
            while seen < 5:
                with suppress(CorruptBatchError):
                    seen += len(consumer.poll(timeout=5))
            assert consumer.position(T1) == 5

    cluster.run(body)


def test_without_crcs_a_damaged_body_is_no_error_of_the_batch(cluster: SimCluster) -> None:
    def body() -> None:
        cluster.write(0, 5)
        flip(cluster, 0, -2)  # the last byte of the last value; behind it is the number of headers
        with cluster.consumer(check_crcs=False) as consumer:
            consumer.assign([T0])
            records = drain(consumer, 5)
            assert [record.value for record in records[:4]] == [b"0", b"1", b"2", b"3"]
            assert records[4].value == bytes([ord("4") ^ 0x55])

    cluster.run(body)
