"""The quorum, the features and the log directories, from the sandbox in virtual time."""

from kctl.client.admin import Admin
from kctl.client.broker_errors import ErrorCode, error_class
from kctl.client.cluster import TopicPartition
from kctl.client.errors import ApiTimeout
from kctl.sandbox import Fault
from tests.sim.kit import SimCluster, run_with_admin


def test_quorum_has_its_leader_and_voters() -> None:
    def use(cluster: SimCluster, admin: Admin) -> None:
        found = admin.describe_quorum()
        assert (found.leader_id, [each.node_id for each in found.replicas]) == (1, [1, 2, 3])
        assert all(each.is_voter and each.lag == 0 for each in found.replicas)

    run_with_admin(use, topics={})


def test_passing_error_of_the_quorum_is_retried() -> None:
    def use(cluster: SimCluster, admin: Admin) -> None:
        cluster.sandbox.fail_requests("DescribeQuorum", ErrorCode.NOT_LEADER_OR_FOLLOWER, times=2)
        assert admin.describe_quorum().leader_id == 1

    run_with_admin(use, topics={})


def test_features_have_their_level_and_what_is_supported() -> None:
    def use(cluster: SimCluster, admin: Admin) -> None:
        found = {
            feature.name: (feature.level, feature.lowest, feature.highest) for feature in admin.describe_features()
        }
        assert found == {"group.version": (1, 0, 1), "transaction.version": (2, 0, 2)}

    run_with_admin(use, topics={})


def test_log_dirs_have_the_sizes_of_replicas() -> None:
    def use(cluster: SimCluster, admin: Admin) -> None:
        with cluster.producer() as producer:
            producer.send("t", b"x" * 100, partition=0)
        results = admin.describe_log_dirs([1, 2, 3])
        assert results.failed == {}
        sizes = {tp: size for [folder] in results.done.values() for tp, size in folder.replica_bytes.items()}
        assert sizes.keys() == {TopicPartition("t", index) for index in range(3)}
        assert (sizes[TopicPartition("t", 0)] > 100, sizes[TopicPartition("t", 1)]) == (True, 0)
        [folder] = results.done[cluster.leader(0)]
        assert folder.total_bytes - folder.usable_bytes == sizes[TopicPartition("t", 0)]

    run_with_admin(use, topics={"t": 3})


def test_log_dirs_of_a_silent_or_unknown_broker_fail_by_themselves() -> None:
    def use(cluster: SimCluster, admin: Admin) -> None:
        admin.describe_cluster()
        cluster.sandbox.start_fault(2, Fault.FREEZE)
        results = admin.describe_log_dirs([1, 2, 99], timeout=3)
        assert list(results.done) == [1]
        assert isinstance(results.failed[2], ApiTimeout)
        assert isinstance(results.failed[99], error_class(ErrorCode.BROKER_ID_NOT_REGISTERED))

    run_with_admin(use, topics={})
