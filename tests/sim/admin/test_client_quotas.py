"""Client quotas against the sandbox in virtual time: set, described, removed, refused, and felt by a producer."""

from collections.abc import Mapping

import pytest

from kctl.client.admin import Admin, QuotaEntity
from kctl.client.broker_errors import ErrorCode, error_class
from kctl.client.errors import ApiTimeout
from kctl.sandbox import Fault
from tests.sim.kit import SimCluster, run, run_with_admin

ANN = QuotaEntity.of({"user": "ann"})
ANY_CLIENT = QuotaEntity.of({"user": "ann", "client-id": None})
ADDRESS = QuotaEntity.of({"ip": "10.0.0.1"})
RATES: Mapping[str, float] = {"producer_byte_rate": 1000.0, "request_percentage": 12.5}


def test_quotas_are_set_described_and_removed() -> None:
    def use(cluster: SimCluster, admin: Admin) -> None:
        changes: dict[QuotaEntity, Mapping[str, float | None]] = {
            ANN: RATES,
            ANY_CLIENT: {"consumer_byte_rate": 7.0},
            ADDRESS: {"connection_creation_rate": 5.0},
        }
        assert admin.alter_client_quotas(changes).failed == {}
        assert admin.describe_client_quotas() == changes
        assert set(admin.describe_client_quotas(["user", "client-id"])) == {ANY_CLIENT}
        assert set(admin.describe_client_quotas(["ip"])) == {ADDRESS}
        admin.alter_client_quotas({ANN: {"producer_byte_rate": None}, ADDRESS: {"connection_creation_rate": None}})
        assert admin.describe_client_quotas() == {ANN: {"request_percentage": 12.5}, ANY_CLIENT: changes[ANY_CLIENT]}

    run_with_admin(use, topics={})


def test_entity_that_is_refused_fails_by_itself_and_as_a_whole() -> None:
    def use(cluster: SimCluster, admin: Admin) -> None:
        results = admin.alter_client_quotas({ANN: {**RATES, "no_such_rate": 1.0}, ANY_CLIENT: RATES})
        assert list(results.done) == [ANY_CLIENT]
        assert isinstance(results.failed[ANN], error_class(ErrorCode.INVALID_REQUEST))
        assert set(admin.describe_client_quotas()) == {ANY_CLIENT}

    run_with_admin(use, topics={})


def test_validation_changes_nothing() -> None:
    def use(cluster: SimCluster, admin: Admin) -> None:
        assert admin.alter_client_quotas({ANN: RATES}, validate_only=True).failed == {}
        refused = admin.alter_client_quotas({ANN: {"producer_byte_rate": 0.5}}, validate_only=True)
        assert isinstance(refused.failed[ANN], error_class(ErrorCode.INVALID_REQUEST))
        assert admin.describe_client_quotas() == {}

    run_with_admin(use, topics={})


def test_calls_end_by_their_deadline() -> None:
    def use(cluster: SimCluster, admin: Admin) -> None:
        admin.describe_cluster()
        cluster.break_all(Fault.SILENCE)
        for call in (
            lambda: admin.describe_client_quotas(timeout=2),
            lambda: admin.alter_client_quotas({ANN: RATES}, timeout=2),
        ):
            before_ms = cluster.clock.now_ms()
            with pytest.raises(ApiTimeout):
                call()
            assert cluster.clock.now_ms() - before_ms == 2000

    run_with_admin(use, topics={})


@pytest.mark.parametrize(
    ("names", "is_slow"),
    [
        ({"user": "ANONYMOUS"}, True),
        ({"user": None}, True),
        ({"client-id": "mine"}, True),
        ({"user": "ANONYMOUS", "client-id": "mine"}, True),
        ({"client-id": "other"}, False),
        ({"user": "ann"}, False),
    ],
)
def test_producer_over_its_quota_is_slowed_down(names: dict[str, str | None], is_slow: bool) -> None:
    spent: list[int] = []

    def app(cluster: SimCluster) -> None:
        with Admin({"bootstrap.servers": cluster.bootstrap}, cluster.runtime) as admin:
            admin.alter_client_quotas({QuotaEntity.of(names): {"producer_byte_rate": 1000.0}}).raise_first()
        with cluster.producer({"client.id": "mine"}) as producer:
            before_ms = cluster.clock.now_ms()
            for _ in range(3):
                producer.send("t", b"x" * 2000).result(timeout=30)
            spent.append(cluster.clock.now_ms() - before_ms)

    run(app)
    assert (spent[0] > 2_000) == is_slow, spent
