"""delete_records against the sandbox in virtual time: each partition at its leader, also one that has moved."""

import pytest

from kctl.client.admin import EARLIEST, MAX_TIMESTAMP, Admin
from kctl.client.broker_errors import ErrorCode, error_class
from kctl.client.cluster import TopicPartition
from kctl.client.errors import UnsupportedVersionError
from kctl.client.protocol.api.partition_offsets import ListOffsetsRequest
from kctl.sandbox.apis import HANDLERS, api_versions
from tests.sim.kit import SimCluster, run_with_admin

PARTITIONS = [TopicPartition("t", index) for index in range(3)]


def fill(cluster: SimCluster) -> None:
    with cluster.producer() as producer:
        for number in range(9):
            producer.send("t", b"x", partition=number % 3)


def starts(admin: Admin) -> list[int]:
    found = admin.list_offsets(dict.fromkeys(PARTITIONS, EARLIEST))
    return [found[each].offset for each in PARTITIONS]


def test_logs_of_several_leaders_start_where_it_was_said() -> None:
    def use(cluster: SimCluster, admin: Admin) -> None:
        fill(cluster)
        results = admin.delete_records({PARTITIONS[0]: 1, PARTITIONS[2]: 3})
        assert (results.done, results.failed) == ({PARTITIONS[0]: 1, PARTITIONS[2]: 3}, {})
        assert starts(admin) == [1, 0, 3]

    run_with_admin(use, topics={"t": 3})


def test_each_partition_fails_by_itself() -> None:
    def use(cluster: SimCluster, admin: Admin) -> None:
        fill(cluster)
        missing = TopicPartition("t", 9)
        results = admin.delete_records({PARTITIONS[0]: 1, PARTITIONS[1]: 99, missing: 1})
        assert results.done == {PARTITIONS[0]: 1}
        assert isinstance(results.failed[PARTITIONS[1]], error_class(ErrorCode.OFFSET_OUT_OF_RANGE))
        assert isinstance(results.failed[missing], error_class(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION))
        assert starts(admin) == [1, 0, 0]

    run_with_admin(use, topics={"t": 3})


def test_leader_that_has_moved_is_found() -> None:
    def use(cluster: SimCluster, admin: Admin) -> None:
        fill(cluster)
        admin.list_offsets({PARTITIONS[0]: EARLIEST})
        cluster.sandbox.cluster.move_leader("t", 0, 1 + cluster.leader(0) % 3)
        assert admin.delete_records({PARTITIONS[0]: 2}).done == {PARTITIONS[0]: 2}

    run_with_admin(use, topics={"t": 3})


def test_largest_timestamp_is_refused_where_a_broker_would_take_it_for_a_time() -> None:
    def use(cluster: SimCluster, admin: Admin) -> None:
        fill(cluster)
        assert admin.list_offsets({PARTITIONS[0]: MAX_TIMESTAMP})[PARTITIONS[0]].offset >= 0
        api_versions.offer(
            handler._replace(last=6) if handler.request is ListOffsetsRequest else handler
            for handler in HANDLERS.values()
        )
        try:
            refusal = pytest.raises(
                UnsupportedVersionError, match=r"does not support ListOffsets version 7 \(Kafka 3.0\)"
            )
            with Admin({"bootstrap.servers": cluster.bootstrap}, cluster.runtime) as old, refusal:
                old.list_offsets({PARTITIONS[0]: MAX_TIMESTAMP}).raise_first()
        finally:
            api_versions.offer(HANDLERS.values())

    run_with_admin(use, topics={"t": 3})
