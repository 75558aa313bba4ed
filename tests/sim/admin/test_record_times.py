"""find_records against the sandbox in virtual time: the record itself, whatever lies around it."""

import pytest

from kctl.client.admin import Admin, RecordTime
from kctl.client.broker_errors import ErrorCode, error_class
from kctl.client.cluster import TopicPartition
from tests.sim.admin.test_transactions import begin
from tests.sim.kit import SimCluster, run_with_admin

T0, T1, T2 = PARTITIONS = [TopicPartition("t", index) for index in range(3)]


@pytest.mark.parametrize("compression", ["none", "gzip", "zstd"])
def test_record_inside_a_batch_has_its_own_time(compression: str) -> None:
    def use(cluster: SimCluster, admin: Admin) -> None:
        with cluster.producer({"compression.type": compression, "linger.ms": 1000}) as producer:
            for number in range(10):
                producer.send("t", b"x" * 100, partition=0, timestamp_ms=1000 + number**2)
        assert len(cluster.sandbox.cluster.topics["t"].partitions[0].log.batches) == 1
        for offset in (0, 7, 9):
            assert admin.find_records({T0: offset})[T0] == RecordTime(offset, 1000 + offset**2)
        assert admin.find_records({T0: 10})[T0] is None
        results = admin.find_records({T0: 11, T1: 0})
        assert isinstance(results.failed[T0], error_class(ErrorCode.OFFSET_OUT_OF_RANGE))
        assert results[T1] is None

    run_with_admin(use, topics={"t": 3})


@pytest.mark.parametrize("value_bytes", [10, 20_000, 900_000])
def test_batches_larger_than_the_first_fetch_are_read(value_bytes: int) -> None:
    def use(cluster: SimCluster, admin: Admin) -> None:
        with cluster.producer({"batch.size": 1_000_000}) as producer:
            for index in range(12):
                producer.send("t", bytes(value_bytes), partition=index, timestamp_ms=5000 + index)
        wanted = [TopicPartition("t", index) for index in range(12)]
        found = admin.find_records(dict.fromkeys(wanted, 0))
        assert found.done == {tp: RecordTime(0, 5000 + tp.partition) for tp in wanted}

    run_with_admin(use, topics={"t": 12})


def test_markers_are_passed_and_records_of_open_transactions_count() -> None:
    def use(cluster: SimCluster, admin: Admin) -> None:
        with begin(cluster, "alpha", 0, 1) as producer:
            producer.abort_transaction(timeout=10)
        assert admin.find_records({T0: 1})[T0] is None  # the marker is all there is
        with cluster.producer() as plain:
            plain.send("t", b"x", partition=0, timestamp_ms=77)
        assert admin.find_records({T0: 1})[T0] == RecordTime(2, 77)
        again = begin(cluster, "alpha", 1)
        found = admin.find_records({T1: 1})[T1]
        assert found is not None
        assert found.offset == 2
        again.close(0)

    run_with_admin(use, topics={"t": 3})


def test_markers_fill_several_fetches() -> None:
    def use(cluster: SimCluster, admin: Admin) -> None:
        log = cluster.sandbox.cluster.topics["t"].partitions[0].log
        for number in range(500):  # 78 bytes each
            log.append_marker(900 + number, 0, 0, 1, commit=True, by_epoch=0)
        with cluster.producer() as plain:
            plain.send("t", b"x", partition=0, timestamp_ms=77)
        assert admin.find_records({T0: 0})[T0] == RecordTime(500, 77)

    run_with_admin(use, topics={"t": 3})


def test_leader_that_has_moved_is_found() -> None:
    def use(cluster: SimCluster, admin: Admin) -> None:
        with cluster.producer() as producer:
            producer.send("t", b"x", partition=0, timestamp_ms=5)
        admin.find_records({T0: 0})
        cluster.sandbox.cluster.move_leader("t", 0, 1 + cluster.leader(0) % 3)
        assert admin.find_records({T0: 0})[T0] == RecordTime(0, 5)

    run_with_admin(use, topics={"t": 3})
