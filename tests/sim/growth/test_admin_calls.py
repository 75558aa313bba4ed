"""Growth of the cost of Admin calls with the cluster and the arguments: lines, requests, and bytes."""

import inspect
from collections.abc import Callable
from typing import NamedTuple

import pytest

from kctl.client import Admin, TopicPartition
from kctl.client.acls import AclFilter
from kctl.client.admin import (
    LATEST,
    ConfigResource,
    ElectionType,
    FeatureUpdate,
    KeyRange,
    MemberToRemove,
    NewTopic,
    Replica,
    ResourceType,
    Results,
    ScramPassword,
    UpgradeType,
)
from kctl.client.protocol.api import cluster as cluster_api
from kctl.client.protocol.api import delegation_tokens as token_api
from kctl.client.protocol.schema import Request
from kctl.client.quotas import QuotaEntity
from kctl.sandbox.apis import HANDLERS
from tests.sim.growth.command_table import EACH, FLAT, ONCE
from tests.sim.growth.scenes import SCENES, SETTINGS, rules_of
from tests.sim.kit import SimCluster
from tests.sim.virtual import Hub
from tests.support.growth import Cost, Exponents, cost_of, exponents_of, wrong_exponents
from tests.support.share_members import share_heartbeat

SIZE = 20
LOCAL = Exponents(0, 0, 0)
EACH_BROKER = Exponents(1, 1, 1)
OF_ALL_BROKERS = Exponents(1.35, 1, 2)
"""Each broker reports all brokers."""


class Row(NamedTuple):
    """A call about everything that a cluster has n of.

    Attributes:
        name: the method or property.
        scene: a key of `SCENES`.
        before: prepares the call; its cost does not count.
    """

    name: str
    scene: str
    call: Callable[[Admin, int], object]
    exponents: Exponents = ONCE
    before: Callable[[Admin, int], object] = lambda _admin, _n: None


def _tps(n: int) -> list[TopicPartition]:
    return [TopicPartition("t", number) for number in range(n)]


def _names(letter: str, n: int) -> list[str]:
    return [f"{letter}{number}" for number in range(n)]


def _numbers(n: int, number: int = 0) -> dict[TopicPartition, int]:
    return dict.fromkeys(_tps(n), number)


def _resources(n: int) -> list[ConfigResource]:
    return [ConfigResource(ResourceType.TOPIC, name) for name in _names("t", n)]


def _repeat(call: Callable[[], object]) -> None:
    """Call ten times, so that few lines for each partition are more than the noise."""
    for _ in range(10):
        call()


def _move(admin: Admin, n: int) -> Results[TopicPartition, None]:
    return admin.alter_partition_reassignments({tp: [1 + tp.partition % 3] for tp in _tps(n)})


def _replicas(n: int) -> list[Replica]:
    return [Replica("t", number, 1) for number in range(n)]


def _lower() -> dict[str, FeatureUpdate]:
    return {"transaction.version": FeatureUpdate(0, UpgradeType.SAFE_DOWNGRADE)}


def _scram(n: int) -> list[ScramPassword]:
    return [ScramPassword(name, "SCRAM-SHA-512", "secret", 4096) for name in _names("u", n)]


def _quotas(n: int) -> dict[QuotaEntity, dict[str, float]]:
    return {QuotaEntity.of({"user": name}): {"consumer_byte_rate": 5.0} for name in _names("u", n)}


def _share(admin: Admin, _n: int) -> None:
    share_heartbeat(admin, "share", "t")
    share_heartbeat(admin, "share", "t", -1)


def _share_offsets(admin: Admin, n: int) -> None:
    _share(admin, n)
    admin.alter_share_group_offsets("share", _numbers(n)).raise_first()


def _budget(admin: Admin, _n: int) -> None:
    with admin.request_budget(5):
        pass


def _within(admin: Admin, _n: int) -> None:
    with admin.within(5):
        pass


ROWS = (
    Row(
        "abort_transaction", "open transactions", lambda a, n: a.abort_transaction(TopicPartition("t", n - 1), 0), FLAT
    ),
    Row("alter_client_quotas", "quotas", lambda a, n: a.alter_client_quotas(_quotas(n))),
    Row("alter_configs", "topics", lambda a, n: a.alter_configs({key: {"retention.ms": "5"} for key in _resources(n)})),
    Row("alter_group_offsets", "offsets", lambda a, n: a.alter_group_offsets("g", _numbers(n))),
    Row("alter_partition_reassignments", "partitions", _move),
    Row(
        "alter_share_group_offsets",
        "partitions",
        lambda a, n: a.alter_share_group_offsets("share", _numbers(n)),
        before=_share,
    ),
    Row(
        "alter_replica_log_dirs",
        "partitions",
        lambda a, n: a.alter_replica_log_dirs(dict.fromkeys(_replicas(n), "/data")),
    ),
    Row("alter_user_scram_credentials", "users", lambda a, n: a.alter_user_scram_credentials(_scram(n))),
    Row(
        "close",
        "brokers",
        lambda a, _: a.close(),
        Exponents(1, 0, 0),
        lambda a, n: a.describe_log_dirs(range(1, n + 1)),
    ),
    Row("count_requests", "topics", lambda a, _: a.count_requests(1), LOCAL),
    Row("create_acls", "rules", lambda a, n: a.create_acls(rules_of(2 * n))),
    Row("create_partitions", "topics", lambda a, n: a.create_partitions(dict.fromkeys(_names("t", n), 3))),
    Row("create_partitions", "partitions", lambda a, n: a.create_partitions({"t": 2 * n})),
    Row("create_topics", "topics", lambda a, n: a.create_topics([NewTopic(name, 2) for name in _names("new", n)])),
    Row("create_topics", "topics", lambda a, n: a.create_topics([NewTopic("new", n)])),
    Row("delete_acls", "rules", lambda a, _: a.delete_acls([AclFilter()])),
    Row("delete_acls", "rules", lambda a, n: a.delete_acls([AclFilter.of(rule) for rule in rules_of(n)])),
    Row("delete_group_offsets", "offsets", lambda a, n: a.delete_group_offsets("g", _tps(n))),
    Row("delete_groups", "groups", lambda a, n: a.delete_groups(_names("g", n))),
    Row("delete_records", "partitions", lambda a, n: a.delete_records(_numbers(n, 1))),
    Row(
        "delete_share_group_offsets",
        "partitions",
        lambda a, _: a.delete_share_group_offsets("share", ["t"]),
        FLAT,
        _share_offsets,
    ),
    Row("delete_topics", "topics", lambda a, n: a.delete_topics(_names("t", n))),
    Row("describe_acls", "rules", lambda a, _: a.describe_acls()),
    Row("describe_client_quotas", "quotas", lambda a, _: a.describe_client_quotas()),
    Row("describe_cluster", "brokers", lambda a, _: a.describe_cluster()),
    Row("describe_cluster", "topics", lambda a, _: a.describe_cluster(), FLAT),
    Row("describe_configs", "topics", lambda a, n: a.describe_configs(_resources(n))),
    Row("describe_features", "topics", lambda a, _: a.describe_features(), FLAT),
    Row("describe_groups", "groups", lambda a, n: a.describe_groups(_names("g", n))),
    Row("describe_log_dirs", "brokers", lambda a, n: a.describe_log_dirs(range(1, n + 1)), EACH_BROKER),
    Row("describe_log_dirs", "partitions", lambda a, _: a.describe_log_dirs([1, 2, 3])),
    Row("describe_producers", "partitions", lambda a, n: a.describe_producers(_tps(n))),
    Row("describe_quorum", "brokers", lambda a, _: a.describe_quorum()),
    Row(
        "describe_replica_log_dirs",
        "partitions",
        lambda a, n: a.describe_replica_log_dirs(_replicas(n)),
        Exponents(0.5, 0, 1),  # a replica costs few lines compared to the request
    ),
    Row("describe_topics", "topics", lambda a, n: a.describe_topics(_names("t", n))),
    Row("describe_topics", "partitions", lambda a, _: a.describe_topics(["t"])),
    Row("describe_topics", "topics", lambda a, _: a.describe_topics(["t0"]), FLAT),
    Row("describe_transactions", "transactions", lambda a, n: a.describe_transactions(_names("x", n))),
    Row("describe_user_scram_credentials", "users", lambda a, _: a.describe_user_scram_credentials()),
    Row("elect_leaders", "partitions", lambda a, n: a.elect_leaders(ElectionType.PREFERRED, _tps(n))),
    Row("eligible_leaders", "topics", lambda a, n: a.eligible_leaders(_names("t", n))),
    Row("eligible_leaders", "partitions", lambda a, _: a.eligible_leaders(["t"])),
    Row("epoch_ends", "partitions", lambda a, n: a.epoch_ends(_numbers(n))),
    Row("fence_producers", "transactions", lambda a, n: a.fence_producers(_names("x", n)), EACH),
    Row("find_records", "partitions", lambda a, n: a.find_records(_numbers(n))),
    Row("has_heard", "brokers", lambda a, _: a.has_heard(1, 0), LOCAL),
    Row("has_requests_left", "brokers", lambda a, _: a.has_requests_left, LOCAL),
    Row("inspect_records", "partitions", lambda a, n: a.inspect_records(_numbers(n))),
    Row("list_group_offsets", "offsets", lambda a, _: a.list_group_offsets("g")),
    Row("list_group_offsets", "offsets", lambda a, n: a.list_group_offsets("g", _tps(n))),
    Row("list_group_offsets", "topics", lambda a, _: a.list_group_offsets("g"), FLAT),
    Row("list_groups", "groups", lambda a, _: a.list_groups()),
    Row("list_groups", "brokers", lambda a, _: a.list_groups(), EACH_BROKER),
    Row("list_offsets", "partitions", lambda a, n: a.list_offsets(_numbers(n, LATEST))),
    Row("list_offsets_of_groups", "groups", lambda a, n: a.list_offsets_of_groups(_names("g", n))),
    Row("list_partition_reassignments", "partitions", lambda a, _: a.list_partition_reassignments(), ONCE, _move),
    Row(
        "list_share_group_offsets", "partitions", lambda a, _: a.list_share_group_offsets("share"), ONCE, _share_offsets
    ),
    Row("list_topic_names", "topics", lambda a, _: a.list_topic_names()),
    Row("list_topic_names", "partitions", lambda a, _: _repeat(a.list_topic_names), Exponents(0, 0, 1)),
    Row("list_topics", "topics", lambda a, _: a.list_topics()),
    Row("list_topics", "partitions", lambda a, _: a.list_topics()),
    Row("list_transactions", "transactions", lambda a, _: a.list_transactions()),
    Row("metadata_views", "brokers", lambda a, n: a.metadata_views(range(1, n + 1), ["t0"]), OF_ALL_BROKERS),
    Row("metadata_views", "topics", lambda a, _: a.metadata_views([1, 2, 3])),
    Row("open_transactions", "open transactions", lambda a, n: a.open_transactions(_tps(n))),
    Row("remaining_ms", "topics", lambda a, _: a.remaining_ms(), LOCAL),
    Row(
        "remove_members",
        "groups",
        lambda a, n: a.remove_members("s", [MemberToRemove(group_instance_id=name) for name in _names("i", n)]),
    ),
    Row("request_api", "topics", lambda a, _: a.request_api("Metadata", {"topics": None})),
    Row("request_budget", "topics", _budget, LOCAL),
    Row("requests_left", "topics", lambda a, _: a.requests_left, LOCAL),
    Row("requests_sent", "topics", lambda a, _: a.requests_sent, LOCAL),
    Row("sample_keys", "partitions", lambda a, n: a.sample_keys(dict.fromkeys(_tps(n), KeyRange(0, 1)))),
    Row("unfinished", "brokers", lambda a, _: a.unfinished(1), LOCAL),
    Row("unregister_broker", "topics", lambda a, _: a.unregister_broker(1), FLAT),
    Row("update_features", "topics", lambda a, _: a.update_features(_lower()), FLAT),
    Row("wait_for_topics", "topics", lambda a, n: a.wait_for_topics(_names("t", n))),
    Row("within", "topics", _within, LOCAL),
)
NOT_SERVED: dict[str, type[Request]] = {
    "add_raft_voter": cluster_api.AddRaftVoterRequest,
    "create_delegation_token": token_api.CreateDelegationTokenRequest,
    "describe_delegation_tokens": token_api.DescribeDelegationTokenRequest,
    "expire_delegation_token": token_api.ExpireDelegationTokenRequest,
    "remove_raft_voter": cluster_api.RemoveRaftVoterRequest,
    "renew_delegation_token": token_api.RenewDelegationTokenRequest,
}
"""Calls of one request that the sandbox does not serve."""


def _cost_at(row: Row, n: int) -> Cost:
    scene = SCENES[row.scene]
    with Hub(seed=3) as hub:
        cluster = SimCluster(hub, topics=scene.topics(n), nodes=scene.nodes(n), settings=SETTINGS)

        def app() -> Cost:
            admin = cluster.enter(cluster.admin())
            scene.fill(cluster, admin, n)
            row.before(admin, n)
            return cost_of(cluster.network, lambda: row.call(admin, n))

        return cluster.run(app)


@pytest.mark.slow
@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row.name}, {row.scene}")
def test_cost_of_admin_call_grows_as_its_row_says(row: Row) -> None:
    _cost_at(row, SIZE)  # imports and caches
    costs = [_cost_at(row, SIZE * factor) for factor in (1, 2, 4)]
    assert wrong_exponents(exponents_of(costs), row.exponents) == {}, costs


def test_each_admin_call_is_in_the_table() -> None:
    public = {name for name, _ in inspect.getmembers(Admin) if not name.startswith("_")}
    assert public == {row.name for row in ROWS} | NOT_SERVED.keys()
    assert not any(request.API_KEY in HANDLERS for request in NOT_SERVED.values())
