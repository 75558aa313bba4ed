"""Elections of leaders against the sandbox in virtual time: preferred, unclean, not needed, refused."""

from kctl.client.admin import Admin, ElectionType
from kctl.client.broker_errors import ErrorCode
from kctl.client.cluster import TopicPartition
from kctl.client.errors import BrokerError
from kctl.sandbox import Fault
from tests.sim.kit import SimCluster, run_with_admin

T0 = TopicPartition("r", 0)


def codes(failed: dict[TopicPartition, Exception]) -> dict[TopicPartition, int]:
    return {key: error.code for key, error in failed.items() if isinstance(error, BrokerError)}


def test_preferred_leader_is_elected_once() -> None:
    def use(cluster: SimCluster, admin: Admin) -> None:
        cluster.sandbox.create_topic("r", replication_factor=2)
        preferred, other = cluster.sandbox.cluster.topics["r"].partitions[0].replicas
        cluster.sandbox.move_leader("r", 0, other)
        missing = TopicPartition("r", 9)
        results = admin.elect_leaders(ElectionType.PREFERRED, [T0, missing])
        assert results.done == {T0: True}
        assert codes(results.failed) == {missing: ErrorCode.UNKNOWN_TOPIC_OR_PARTITION}  # type: ignore[arg-type]
        assert admin.describe_topics(["r"])["r"].partitions[0].leader_id == preferred
        assert admin.elect_leaders(ElectionType.PREFERRED, [T0]).done == {T0: False}

    run_with_admin(use, topics={})


def test_election_whose_response_was_lost_was_held() -> None:
    def use(cluster: SimCluster, admin: Admin) -> None:
        cluster.sandbox.create_topic("r", replication_factor=2)
        preferred, other = cluster.sandbox.cluster.topics["r"].partitions[0].replicas
        cluster.sandbox.move_leader("r", 0, other)
        controller = cluster.sandbox.cluster.forwarding_id
        admin.describe_cluster()
        cluster.sandbox.start_fault(controller, Fault.DROP_RESPONSES)
        cluster.at(40_000, cluster.sandbox.heal)
        assert admin.elect_leaders(ElectionType.PREFERRED, [T0], timeout=90).done == {T0: True}
        assert cluster.sandbox.cluster.topics["r"].partitions[0].leader_id == preferred
        assert admin.elect_leaders(ElectionType.PREFERRED, [T0]).done == {T0: False}

    run_with_admin(use)


def test_preferred_leader_that_is_down_or_behind_is_not_elected() -> None:
    def use(cluster: SimCluster, admin: Admin) -> None:
        cluster.sandbox.create_topic("r", replication_factor=2)
        preferred, other = cluster.sandbox.cluster.topics["r"].partitions[0].replicas
        cluster.sandbox.move_leader("r", 0, other)
        cluster.sandbox.hold_follower("r", 0, preferred)
        failed = admin.elect_leaders(ElectionType.PREFERRED, [T0]).failed
        assert codes(failed) == {T0: ErrorCode.PREFERRED_LEADER_NOT_AVAILABLE}  # type: ignore[arg-type]

    run_with_admin(use, topics={})


def test_unclean_election_is_for_partitions_without_a_leader() -> None:
    def use(cluster: SimCluster, admin: Admin) -> None:
        cluster.sandbox.create_topic("r")
        partition = cluster.sandbox.cluster.topics["r"].partitions[0]
        [only] = partition.replicas
        assert admin.elect_leaders(ElectionType.UNCLEAN, [T0]).done == {T0: False}
        partition.elect(-1)
        cluster.sandbox.start_fault(only, Fault.REFUSE)
        results = admin.elect_leaders(ElectionType.UNCLEAN, [T0])
        assert codes(results.failed) == {T0: ErrorCode.ELIGIBLE_LEADERS_NOT_AVAILABLE}  # type: ignore[arg-type]
        cluster.sandbox.heal(only)
        assert admin.elect_leaders(ElectionType.UNCLEAN, [T0]).done == {T0: True}
        assert partition.leader_id == only

    run_with_admin(use, topics={})
