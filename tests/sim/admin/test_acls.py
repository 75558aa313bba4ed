"""ACLs against the sandbox in virtual time: rules created, described and deleted, refusals, lost responses."""

import pytest

from kctl.client.admin import AclFilter, AclOperation, AclPermission, AclResourceType, AclRule, Admin, PatternType
from kctl.client.broker_errors import ErrorCode, error_class
from kctl.client.errors import ApiTimeout
from kctl.sandbox import ClusterSettings, Fault
from tests.sim.kit import SimCluster, run_with_admin

ACLS = ClusterSettings(authorizer=True, super_users=("User:ANONYMOUS",))
READ = AclRule(
    AclResourceType.TOPIC, "orders", PatternType.LITERAL, "User:ann", "*", AclOperation.READ, AclPermission.ALLOW
)
WRITE = READ._replace(operation=AclOperation.WRITE, pattern_type=PatternType.PREFIXED, resource_name="ord")
NAMELESS = READ._replace(resource_name="")


def test_rules_are_created_described_by_filter_and_deleted() -> None:
    def use(cluster: SimCluster, admin: Admin) -> None:
        assert admin.create_acls([READ, WRITE, READ]).failed == {}
        assert admin.describe_acls() == sorted([READ, WRITE])
        assert admin.describe_acls(AclFilter(AclResourceType.TOPIC, "orders")) == [READ]
        every = AclFilter(AclResourceType.TOPIC, "orders", PatternType.MATCH)
        assert admin.describe_acls(every) == sorted([READ, WRITE])
        nothing = AclFilter(principal="User:bob")
        results = admin.delete_acls([AclFilter.of(READ), nothing])
        assert [list(found.done) for found in results.done.values()] == [[READ], []]
        assert admin.describe_acls() == [WRITE]

    run_with_admin(use, topics={}, settings=ACLS)


def test_rule_that_is_refused_fails_by_itself() -> None:
    def use(cluster: SimCluster, admin: Admin) -> None:
        results = admin.create_acls([READ, NAMELESS])
        assert list(results.done) == [READ]
        assert isinstance(results.failed[NAMELESS], error_class(ErrorCode.INVALID_REQUEST))

    run_with_admin(use, topics={}, settings=ACLS)


def test_brokers_without_an_authorizer_say_so() -> None:
    def use(cluster: SimCluster, admin: Admin) -> None:
        disabled = error_class(ErrorCode.SECURITY_DISABLED)
        with pytest.raises(disabled):
            admin.describe_acls()
        assert isinstance(admin.create_acls([READ]).failed[READ], disabled)
        assert isinstance(admin.delete_acls([AclFilter()]).failed[AclFilter()], disabled)

    run_with_admin(use, topics={})


def test_principal_without_rights_is_refused() -> None:
    def use(cluster: SimCluster, admin: Admin) -> None:
        refused = error_class(ErrorCode.CLUSTER_AUTHORIZATION_FAILED)
        with pytest.raises(refused):
            admin.describe_acls()
        assert isinstance(admin.create_acls([READ]).failed[READ], refused)
        assert isinstance(admin.delete_acls([AclFilter()]).failed[AclFilter()], refused)

    run_with_admin(use, topics={}, settings=ACLS._replace(super_users=()))


def test_deletion_whose_response_is_lost_is_made_once() -> None:
    def use(cluster: SimCluster, admin: Admin) -> None:
        admin.create_acls([READ]).raise_first()
        for node_id in (1, 2, 3):
            cluster.sandbox.start_fault(node_id, Fault.DROP_RESPONSES)
        cluster.at(3_000, lambda: cluster.sandbox.heal())
        results = admin.delete_acls([AclFilter.of(READ)], timeout=60)
        assert results.failed == {}
        assert admin.describe_acls() == []

    run_with_admin(use, topics={}, settings=ACLS)


@pytest.mark.parametrize("fault", [Fault.FREEZE, Fault.SILENCE])
def test_calls_end_by_their_deadline(fault: Fault) -> None:
    def use(cluster: SimCluster, admin: Admin) -> None:
        admin.describe_cluster()
        cluster.break_all(fault)
        for call in (
            lambda: admin.describe_acls(timeout=2),
            lambda: admin.create_acls([READ], timeout=2),
            lambda: admin.delete_acls([AclFilter()], timeout=2),
        ):
            before_ms = cluster.clock.now_ms()
            with pytest.raises(ApiTimeout):
                call()
            assert cluster.clock.now_ms() - before_ms == 2000

    run_with_admin(use, topics={}, settings=ACLS)
