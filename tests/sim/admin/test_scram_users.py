"""SCRAM users against the sandbox in virtual time: made, changed, deleted, able to log in, and lost responses."""

import pytest

from kctl.client.admin import Admin, Credential, ScramChange, ScramPassword, ScramRemoval
from kctl.client.broker_errors import ErrorCode, error_class
from kctl.client.errors import ApiTimeout, AuthenticationError
from kctl.sandbox import Fault, ListenerSecurity
from kctl.sandbox.identity import SaslUsers
from tests.sim.kit import SimCluster, run_with_admin
from tests.sim.virtual import Hub

SHA_256, SHA_512 = "SCRAM-SHA-256", "SCRAM-SHA-512"
NEW: list[ScramChange] = [ScramPassword("ann", SHA_256, "secret"), ScramPassword("ann", SHA_512, "secret", 8192)]


def test_users_are_created_described_changed_and_deleted() -> None:
    def use(cluster: SimCluster, admin: Admin) -> None:
        assert admin.alter_user_scram_credentials([*NEW, ScramPassword("bob", SHA_256, "b")]).failed == {}
        assert admin.describe_user_scram_credentials().done == {
            "ann": {SHA_256: 4096, SHA_512: 8192},
            "bob": {SHA_256: 4096},
        }
        admin.alter_user_scram_credentials([ScramRemoval("ann", SHA_256), ScramRemoval("bob", SHA_256)]).raise_first()
        found = admin.describe_user_scram_credentials(["ann", "bob"])
        assert found.done == {"ann": {SHA_512: 8192}}
        assert isinstance(found.failed["bob"], error_class(ErrorCode.RESOURCE_NOT_FOUND))

    run_with_admin(use, topics={})


def test_each_user_fails_by_itself() -> None:
    def use(cluster: SimCluster, admin: Admin) -> None:
        changes: list[ScramChange] = [*NEW, ScramRemoval("bob", SHA_256), ScramPassword("eve", SHA_256, "e", 1)]
        results = admin.alter_user_scram_credentials(changes)
        assert list(results.done) == [("ann", SHA_256), ("ann", SHA_512)]
        assert isinstance(results.failed[Credential("bob", SHA_256)], error_class(ErrorCode.RESOURCE_NOT_FOUND))
        assert isinstance(results.failed[Credential("eve", SHA_256)], error_class(ErrorCode.UNACCEPTABLE_CREDENTIAL))

    run_with_admin(use, topics={})


def test_removal_whose_response_is_lost_succeeds() -> None:
    def use(cluster: SimCluster, admin: Admin) -> None:
        admin.alter_user_scram_credentials(NEW).raise_first()
        for node_id in (1, 2, 3):
            cluster.sandbox.start_fault(node_id, Fault.DROP_RESPONSES)
        cluster.at(3_000, lambda: cluster.sandbox.heal())
        removals = [ScramRemoval("ann", SHA_256), ScramRemoval("ann", SHA_512)]
        assert admin.alter_user_scram_credentials(removals, timeout=60).failed == {}
        assert admin.describe_user_scram_credentials().done == {}

    run_with_admin(use, topics={})


def test_removal_of_a_user_that_never_was_fails_after_a_retry_too() -> None:
    def use(cluster: SimCluster, admin: Admin) -> None:
        cluster.sandbox.fail_requests("AlterUserScramCredentials", ErrorCode.NOT_CONTROLLER, times=2)
        results = admin.alter_user_scram_credentials([ScramRemoval("ann", SHA_256)])
        assert isinstance(results.failed[Credential("ann", SHA_256)], error_class(ErrorCode.RESOURCE_NOT_FOUND))

    run_with_admin(use, topics={})


def test_changes_that_were_made_are_reported_where_a_further_one_is_not_answered() -> None:
    def use(cluster: SimCluster, admin: Admin) -> None:
        admin.alter_user_scram_credentials([ScramPassword("bob", SHA_256, "b")]).raise_first()
        cluster.sandbox.start_fault(cluster.sandbox.cluster.forwarding_id, Fault.DELAY, ms=1_500)
        results = admin.alter_user_scram_credentials(NEW, timeout=2)
        assert list(results.done) == [("ann", SHA_256)]
        assert isinstance(results.failed[Credential("ann", SHA_512)], ApiTimeout)

    run_with_admin(use, topics={})


def test_password_is_in_no_text_of_a_change() -> None:
    assert "secret" not in repr(NEW)


def test_calls_end_by_their_deadline() -> None:
    def use(cluster: SimCluster, admin: Admin) -> None:
        admin.describe_cluster()
        cluster.break_all(Fault.FREEZE)
        for call in (
            lambda: admin.describe_user_scram_credentials(timeout=2),
            lambda: admin.alter_user_scram_credentials(NEW, timeout=2),
        ):
            before_ms = cluster.clock.now_ms()
            with pytest.raises(ApiTimeout):
                call()
            assert cluster.clock.now_ms() - before_ms == 2000

    run_with_admin(use, topics={})


@pytest.mark.parametrize("mechanism", [SHA_256, SHA_512])
def test_user_logs_in_with_the_password_that_was_set_last(mechanism: str) -> None:
    with Hub(seed=1) as hub:
        security = ListenerSecurity(users=SaslUsers({"admin": "first"}))
        cluster = SimCluster(hub, nodes=1, topics={}, security=security)

        def login(user: str, password: str) -> Admin:
            module = "org.apache.kafka.common.security.scram.ScramLoginModule"
            return cluster.admin(
                security_protocol="SASL_PLAINTEXT",
                sasl_mechanism=mechanism,
                sasl_jaas_config=f'{module} required username="{user}" password="{password}";',
            )

        def app() -> None:
            with login("admin", "first") as admin:
                assert list(admin.describe_user_scram_credentials().done) == ["admin"]
                for password in ("old", "new"):
                    admin.alter_user_scram_credentials([ScramPassword("ann", mechanism, password)]).raise_first()
                with login("ann", "new") as other:
                    other.describe_cluster()
                with login("ann", "old") as other, pytest.raises(AuthenticationError):
                    other.describe_cluster()
                admin.alter_user_scram_credentials([ScramRemoval("ann", mechanism)]).raise_first()
                with login("ann", "new") as other, pytest.raises(AuthenticationError):
                    other.describe_cluster()

        cluster.run(app)
