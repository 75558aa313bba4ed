"""create_partitions against the sandbox in virtual time: separate topics, and a lost response."""

from kctl.client.admin import Admin
from kctl.client.broker_errors import ErrorCode, error_class
from kctl.sandbox import Fault
from tests.sim.kit import SimCluster, run_with_admin


def count(admin: Admin, topic: str) -> int:
    return len(admin.describe_topics([topic])[topic].partitions)


def test_topics_get_more_partitions_each_by_itself() -> None:
    def use(cluster: SimCluster, admin: Admin) -> None:
        results = admin.create_partitions({"t": 5, "u": 1, "missing": 3})
        assert list(results.done) == ["t"]
        assert isinstance(results.failed["u"], error_class(ErrorCode.INVALID_PARTITIONS))
        assert isinstance(results.failed["missing"], error_class(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION))
        assert (count(admin, "t"), count(admin, "u")) == (5, 2)

    run_with_admin(use, topics={"t": 3, "u": 2})


def test_validation_changes_nothing() -> None:
    def use(cluster: SimCluster, admin: Admin) -> None:
        assert admin.create_partitions({"t": 5}, validate_only=True).failed == {}
        assert count(admin, "t") == 3

    run_with_admin(use, topics={"t": 3})


def test_lost_response_is_no_error_where_the_topic_then_has_the_number() -> None:
    def use(cluster: SimCluster, admin: Admin) -> None:
        admin.describe_cluster()
        controller = cluster.sandbox.cluster.forwarding_id
        cluster.sandbox.start_fault(controller, Fault.DROP_RESPONSES)
        cluster.at(100, lambda: cluster.sandbox.stop_fault(controller, Fault.DROP_RESPONSES))
        assert admin.create_partitions({"t": 5}, timeout=60).failed == {}
        assert count(admin, "t") == 5

    run_with_admin(use, topics={"t": 3})
