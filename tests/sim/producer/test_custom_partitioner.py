"""Partitioner of the application: its choice, its errors, and its time, which counts for send."""

from collections.abc import Sequence

import pytest

from kctl.client.cluster import PartitionInfo
from kctl.client.errors import MaxBlockTimeout
from kctl.client.producer import Partitioning, Producer, ProducerRecord
from kctl.sandbox import Fault
from tests.sim.kit import SimCluster, run


def producer_with(cluster: SimCluster, partitioner: Partitioning, **properties: object) -> Producer:
    config = {"bootstrap.servers": cluster.bootstrap, **{k.replace("_", "."): v for k, v in properties.items()}}
    return cluster.enter(Producer(config, cluster.runtime, partitioner=partitioner))


def test_partitioner_gets_record_and_partitions_and_its_choice_is_used() -> None:
    seen: list[tuple[ProducerRecord, list[int]]] = []

    def by_length(record: ProducerRecord, partitions: Sequence[PartitionInfo]) -> int:
        seen.append((record, [each.partition for each in partitions]))
        return len(record.value or b"") % len(partitions)

    def app(cluster: SimCluster) -> None:
        producer = producer_with(cluster, by_length)
        first = producer.send("t", bytearray(b"four"), b"key", headers=[("h", b"1")])
        assert first.result(5).partition == 1
        assert producer.send("t", b"fives", partition=0).result(5).partition == 0
        assert seen == [(ProducerRecord("t", b"four", b"key", None, (("h", b"1"),), None), [0, 1, 2])]

    run(app, topics={"t": 3})


def test_none_leaves_the_choice_to_the_key() -> None:
    def app(cluster: SimCluster) -> None:
        plain = cluster.enter(cluster.producer())
        producer = producer_with(cluster, lambda *_: None)
        for key in (b"a", b"b", b"c", b"d"):
            expected = plain.send("t", b"v", key).result(5).partition
            assert producer.send("t", b"v", key).result(5).partition == expected

    run(app, topics={"t": 7})


@pytest.mark.parametrize(
    ("chosen", "error", "text"),
    [
        (3, ValueError, "the partitioner returned 3, but topic t has partitions 0, 1, 2"),
        (-1, ValueError, "the partitioner returned -1"),
        ("1", TypeError, "the partition that the partitioner returned must be an integer or None, not '1'"),
        (True, TypeError, "must be an integer"),
    ],
)
def test_choice_that_is_no_partition_is_an_error_of_send(chosen: object, error: type[Exception], text: str) -> None:
    def app(cluster: SimCluster) -> None:
        producer = producer_with(cluster, lambda *_: chosen)  # type: ignore[arg-type]
        with pytest.raises(error, match=text):
            producer.send("t", b"v")
        assert producer.send("t", b"v", partition=0).result(5).offset == 0

    run(app, topics={"t": 3})


def test_error_of_the_partitioner_comes_out_of_send() -> None:
    def app(cluster: SimCluster) -> None:
        def raising(*_: object) -> int:
            raise LookupError("no such tenant")

        producer = producer_with(cluster, raising)
        with pytest.raises(LookupError, match="no such tenant"):
            producer.send("t", b"v")
        assert producer.close(5).delivered == 0

    run(app)


def test_waits_for_partitions_and_memory_share_max_block_ms() -> None:
    def app(cluster: SimCluster) -> None:
        driver = cluster.runtime.driver

        def slow(*_: object) -> int:
            driver.wait(driver.waiter(), cluster.clock.now_ms() + 300)
            return 0

        producer = producer_with(cluster, slow, max_block_ms=700, buffer_memory=1000)
        producer.partitions_for("t")
        cluster.break_all(Fault.FREEZE)
        producer.send("t", bytes(900), partition=0)
        for topic in ("t", "unknown"):
            before_ms = cluster.clock.now_ms()
            with pytest.raises(MaxBlockTimeout):
                producer.send(topic, bytes(900))
            assert cluster.clock.now_ms() - before_ms == 700
        cluster.sandbox.heal()
        producer.flush(30)

    run(app)


def test_columns_without_a_partition_are_rejected() -> None:
    def app(cluster: SimCluster) -> None:
        producer = producer_with(cluster, lambda *_: 0)
        with pytest.raises(ValueError, match="the partitioner is only used by send"):
            producer.send_columns("t", [b"v"])
        producer.send_columns("t", [b"v"], partition=0).result(5)

    run(app)
