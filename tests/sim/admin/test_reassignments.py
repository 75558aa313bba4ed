"""Moves of partitions in virtual time: adding and removing replicas, cancelled, refused, repeated."""

import pytest

from kctl.client.admin import Admin, Reassignment
from kctl.client.broker_errors import ErrorCode, error_class
from kctl.client.cluster import TopicPartition
from kctl.client.errors import BrokerError
from kctl.sandbox import Fault
from kctl.sandbox.settings import ClusterSettings
from tests.sim.kit import SimCluster, run_with_admin

T0, T1 = TopicPartition("t", 0), TopicPartition("t", 1)
COPY_MS = 200


def replicas(admin: Admin, key: TopicPartition = T0) -> tuple[int, ...]:
    return admin.describe_topics([key.topic])[key.topic].partitions[key.partition].replicas


def start(admin: Admin, **targets: list[int] | None) -> None:
    wanted = {TopicPartition("t", int(name[1:])): target for name, target in targets.items()}
    admin.alter_partition_reassignments(wanted).raise_first()


def test_move_has_both_sets_of_replicas_until_it_has_ended() -> None:
    def use(cluster: SimCluster, admin: Admin) -> None:
        before = replicas(admin)
        assert before == (1,)
        start(admin, t0=[2, 3])
        assert admin.list_partition_reassignments([T0]) == {T0: Reassignment((2, 3, 1), (2, 3), (1,))}
        assert admin.list_partition_reassignments()[T0].target == (2, 3)
        info = admin.describe_topics(["t"])["t"].partitions[0]
        assert (info.replicas, info.isr, info.leader_id) == ((2, 3, 1), (1,), 1)
        cluster.hub.sleep_ms(COPY_MS)
        assert admin.list_partition_reassignments([T0]) == {}
        info = admin.describe_topics(["t"])["t"].partitions[0]
        assert (info.replicas, info.isr, info.leader_id) == ((2, 3), (2, 3), 2)

    run_with_admin(use, topics={"t": 3})


def test_moved_partition_keeps_its_records_and_takes_more() -> None:
    def use(cluster: SimCluster, admin: Admin) -> None:
        with cluster.producer() as producer:
            producer.send("t", b"a", partition=0).result(5)
            start(admin, t0=[3])
            producer.send("t", b"b", partition=0).result(5)
            cluster.hub.sleep_ms(COPY_MS)
            producer.send("t", b"c", partition=0).result(5)
        assert (cluster.leader(0), cluster.sandbox.end_offset("t", 0)) == (3, 3)

    run_with_admin(use, topics={"t": 3})


def test_cancelled_move_has_the_replicas_of_before() -> None:
    def use(cluster: SimCluster, admin: Admin) -> None:
        start(admin, t0=[2, 3])
        start(admin, t0=None)
        assert (admin.list_partition_reassignments(), replicas(admin)) == ({}, (1,))
        cluster.hub.sleep_ms(COPY_MS)
        assert replicas(admin) == (1,)

    run_with_admin(use, topics={"t": 3})


def test_each_partition_has_its_own_result() -> None:
    def use(cluster: SimCluster, admin: Admin) -> None:
        results = admin.alter_partition_reassignments(
            {T0: [2], T1: [9], TopicPartition("t", 2): None, TopicPartition("no", 0): [1]}
        )
        assert list(results.done) == [T0]
        assert {key: error.code for key, error in results.failed.items() if isinstance(error, BrokerError)} == {
            T1: ErrorCode.INVALID_REPLICA_ASSIGNMENT,
            TopicPartition("t", 2): ErrorCode.NO_REASSIGNMENT_IN_PROGRESS,
            TopicPartition("no", 0): ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        }

    run_with_admin(use, topics={"t": 3})


def test_refused_target_leaves_a_move_in_progress_alone() -> None:
    def use(cluster: SimCluster, admin: Admin) -> None:
        start(admin, t0=[2])
        assert admin.alter_partition_reassignments({T0: [2, 2]}).failed.keys() == {T0}
        assert admin.list_partition_reassignments()[T0].target == (2,)

    run_with_admin(use, topics={"t": 3})


def test_lost_response_starts_no_second_move() -> None:
    def use(cluster: SimCluster, admin: Admin) -> None:
        admin.describe_cluster()
        controller = cluster.sandbox.cluster.forwarding_id
        cluster.sandbox.start_fault(controller, Fault.DROP_RESPONSES)
        cluster.at(100, lambda: cluster.sandbox.stop_fault(controller, Fault.DROP_RESPONSES))
        assert admin.alter_partition_reassignments({T0: [2]}, timeout=60).failed == {}
        assert replicas(admin) in ((2,), (2, 1))

    run_with_admin(use, topics={"t": 3})


@pytest.mark.parametrize("code", [ErrorCode.NOT_CONTROLLER])
def test_another_controller_is_looked_up(code: ErrorCode) -> None:
    def use(cluster: SimCluster, admin: Admin) -> None:
        cluster.sandbox.hold_moves()
        for api in ("AlterPartitionReassignments", "ListPartitionReassignments"):
            cluster.sandbox.fail_requests(api, code, times=2)
        start(admin, t0=[2])
        assert admin.list_partition_reassignments().keys() == {T0}

    run_with_admin(use, topics={"t": 3})


def test_refused_list_is_an_error() -> None:
    def use(cluster: SimCluster, admin: Admin) -> None:
        cluster.sandbox.fail_requests("ListPartitionReassignments", ErrorCode.CLUSTER_AUTHORIZATION_FAILED)
        with pytest.raises(error_class(ErrorCode.CLUSTER_AUTHORIZATION_FAILED)):
            admin.list_partition_reassignments()

    run_with_admin(use, topics={"t": 3})


def test_move_to_a_broker_that_is_down_ends_when_it_is_up_again() -> None:
    def use(cluster: SimCluster, admin: Admin) -> None:
        cluster.sandbox.start_fault(3, Fault.REFUSE)
        start(admin, t0=[3])
        cluster.hub.sleep_ms(30_000)
        assert admin.list_partition_reassignments().keys() == {T0}
        cluster.sandbox.stop_fault(3, Fault.REFUSE)
        cluster.hub.sleep_ms(COPY_MS)
        assert (admin.list_partition_reassignments(), replicas(admin)) == ({}, (3,))

    run_with_admin(use, topics={"t": 3})


def test_thousands_of_partitions_are_moved_by_several_requests() -> None:
    def use(cluster: SimCluster, admin: Admin) -> None:
        wanted = {TopicPartition("t", index): [1 + (index + 1) % 3] for index in range(2500)}
        assert admin.alter_partition_reassignments(wanted).done.keys() == wanted.keys()
        assert len(admin.list_partition_reassignments(list(wanted))) == 2500

    run_with_admin(use, topics={"t": 2500})


def test_brokers_learn_of_moves_later_than_the_controller() -> None:
    settings = ClusterSettings(metadata_delay_ms=1_000)

    def use(cluster: SimCluster, admin: Admin) -> None:
        cluster.sandbox.cluster.settings = settings
        start(admin, t0=[2])
        assert replicas(admin) == (1,)
        cluster.hub.sleep_ms(1_000 + COPY_MS)
        assert (admin.list_partition_reassignments(), replicas(admin)) == ({}, (2,))

    run_with_admin(use, topics={"t": 3})
