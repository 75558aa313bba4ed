"""Clusters of which one thing has any size: topics, partitions, groups, rules, users, brokers, records."""

from collections.abc import Callable, Mapping
from typing import NamedTuple

from kctl.client import AclRule, Admin, TopicPartition
from kctl.client.acls import AclOperation, AclPermission, AclResourceType, PatternType
from kctl.client.admin import OffsetAndMetadata, ScramPassword
from kctl.client.quotas import QuotaEntity
from kctl.sandbox import ClusterSettings
from tests.sim.kit import SimCluster

SETTINGS = ClusterSettings(authorizer=True, super_users=("User:ANONYMOUS",))


class Scene(NamedTuple):
    """Cluster of size n.

    Attributes:
        topics: partitions by topic.
        nodes: number of brokers.
        fill: creates the rest with an admin client.
    """

    topics: Callable[[int], Mapping[str, int]] = lambda _n: {"t": 4}
    nodes: Callable[[int], int] = lambda _n: 3
    fill: Callable[[SimCluster, Admin, int], object] = lambda _cluster, _admin, _n: None


def _groups(cluster: SimCluster, admin: Admin, n: int) -> None:
    for number in range(n):
        offsets = {TopicPartition("t", number % 4): OffsetAndMetadata(0)}
        admin.alter_group_offsets(f"g{number}", offsets).raise_first()
    with cluster.classic_member("s", group_instance_id="one") as member:  # which stays in the group
        while not member.assignment:
            member.poll(1)


def _offsets(_cluster: SimCluster, admin: Admin, n: int) -> None:
    offsets = {TopicPartition("t", number): OffsetAndMetadata(0) for number in range(n)}
    admin.alter_group_offsets("g", offsets).raise_first()


def _groups_of_topics(_cluster: SimCluster, admin: Admin, n: int) -> None:
    for number in range(n):
        offsets = {TopicPartition(f"t{number}", 0): OffsetAndMetadata(0)}
        admin.alter_group_offsets(f"g{number}", offsets).raise_first()


def rules_of(n: int) -> list[AclRule]:
    """Return n different rules."""
    return [
        AclRule(
            AclResourceType.TOPIC,
            f"t{number}",
            PatternType.LITERAL,
            f"User:u{number}",
            "*",
            AclOperation.READ,
            AclPermission.ALLOW,
        )
        for number in range(n)
    ]


def _users(_cluster: SimCluster, admin: Admin, n: int) -> None:
    admin.alter_user_scram_credentials(
        [ScramPassword(f"u{number}", "SCRAM-SHA-256", "secret") for number in range(n)]
    ).raise_first()


def _quotas(_cluster: SimCluster, admin: Admin, n: int) -> None:
    admin.alter_client_quotas(
        {QuotaEntity.of({"user": f"u{number}"}): {"producer_byte_rate": 1000.0} for number in range(n)}
    ).raise_first()


def _records(cluster: SimCluster, _admin: Admin, n: int) -> None:
    for at in range(0, 40 * n, 40):
        for number in range(4):
            cluster.write(number, 40, first=at)


def _one_record_each(cluster: SimCluster, _admin: Admin, n: int) -> None:
    for number in range(n):
        cluster.write(number, 1)


def _half_refuse(cluster: SimCluster, _admin: Admin, n: int) -> None:
    for number in range(1, n, 2):
        cluster.network.stop_listening(f"10.0.0.{number + 1}", 9092)


def _transactions(cluster: SimCluster, _admin: Admin, n: int) -> None:
    for number in range(n):
        with cluster.producer({"transactional.id": f"x{number}"}) as producer:
            producer.init_transactions(timeout=10)


def _open_transactions(cluster: SimCluster, _admin: Admin, n: int) -> None:
    producer = cluster.enter(cluster.producer({"transactional.id": "open"}))
    producer.init_transactions(timeout=10)
    producer.begin_transaction()
    for number in range(n):
        producer.send("t", b"v", partition=number)
    producer.flush(10)


SCENES = {
    "topics": Scene(topics=lambda n: {f"t{number}": 1 for number in range(n)}),
    "partitions": Scene(topics=lambda n: {"t": n}, fill=_one_record_each),
    "offsets": Scene(topics=lambda n: {"t": n}, fill=_offsets),
    "groups": Scene(fill=_groups),
    "groups of topics": Scene(topics=lambda n: {f"t{number}": 1 for number in range(n)}, fill=_groups_of_topics),
    "rules": Scene(fill=lambda _cluster, admin, n: admin.create_acls(rules_of(n)).raise_first()),
    "users": Scene(fill=_users),
    "quotas": Scene(fill=_quotas),
    "records": Scene(fill=_records),
    "brokers": Scene(topics=lambda n: {"t": n}, nodes=lambda n: n),
    "brokers, half of them refuse": Scene(topics=lambda n: {"t": n}, nodes=lambda n: n, fill=_half_refuse),
    "transactions": Scene(fill=_transactions),
    "open transactions": Scene(topics=lambda n: {"t": n}, fill=_open_transactions),
    "arguments": Scene(fill=lambda cluster, _admin, _n: cluster.commit("g", {("t", 0): 0})),
}
"""Scenes by the growing object."""
