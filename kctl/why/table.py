"""FINDINGS: the table of all findings, with severity, requests, and texts.

`kctl explain ID`, a page of the site, and docs/schemas/why.v1.json use it. `findings/` fills in names in braces.
"""

from kctl.client.broker_errors import ErrorCode
from kctl.why.finding import NEWEST_TIMESTAMPS, PROBE, FindingKind, Scope, Severity
from kctl.why.table_cluster import CLUSTER_FINDINGS
from kctl.why.table_connections import CONNECTION_FINDINGS
from kctl.why.table_groups import GROUP_FINDINGS
from kctl.why.table_partitions import PARTITION_FINDINGS

REQUEST_RIGHTS: dict[str, str] = {
    "ApiVersions": "none",
    PROBE: "none",
    "DescribeCluster": "Describe on the cluster",
    "DescribeConfigs": "DescribeConfigs on the topic or the cluster",
    "DescribeClientQuotas": "DescribeConfigs on the cluster",
    "DescribeGroups": "Describe on the group",
    "DescribeLogDirs": "Describe on the cluster",
    "DescribeProducers": "Read on the topic",
    "DescribeQuorum": "Describe on the cluster",
    "DescribeTopicPartitions": "Describe on the topic",
    "DescribeTransactions": "Describe on the transactional.id",
    "Fetch": "Read on the topic",
    "ListGroups": "Describe on the groups, or on the cluster",
    "ListOffsets": "Describe on the topic",
    NEWEST_TIMESTAMPS: "Describe on the topic",
    "ListPartitionReassignments": "Describe on the cluster",
    "ListTransactions": "Describe on the transactional.ids",
    "Metadata": "Describe on the topic",
    "OffsetFetch": "Describe on the group and its topics",
    "OffsetForLeaderEpoch": "Describe on the topic",
}
"""Permission that each request needs."""
_ONE_OF_THEM: dict[tuple[str, int], str] = {
    ("DescribeConfigs", ErrorCode.TOPIC_AUTHORIZATION_FAILED): "DescribeConfigs on the topic",
    ("DescribeConfigs", ErrorCode.CLUSTER_AUTHORIZATION_FAILED): "DescribeConfigs on the cluster",
    ("ListTransactions", ErrorCode.TOPIC_AUTHORIZATION_FAILED): "Describe on the topic __transaction_state",
    ("OffsetFetch", ErrorCode.GROUP_AUTHORIZATION_FAILED): "Describe on the group",
    ("OffsetFetch", ErrorCode.TOPIC_AUTHORIZATION_FAILED): "Describe on the topics of the group",
}
"""Dict from request and error code to the missing permission, for requests that need several."""

FINDINGS: dict[str, FindingKind] = {
    kind.id: kind for kind in (*GROUP_FINDINGS, *PARTITION_FINDINGS, *CLUSTER_FINDINGS, *CONNECTION_FINDINGS)
}
"""Findings by id, in display order within one severity."""


def rights_of(kind: FindingKind) -> list[str]:
    return list(dict.fromkeys(REQUEST_RIGHTS[request] for request in kind.requests if request in REQUEST_RIGHTS))


def missing_right(request: str, code: int) -> str | None:
    return _ONE_OF_THEM.get((request, code)) or REQUEST_RIGHTS.get(request)


def kinds_of(scopes: tuple[Scope, ...]) -> list[FindingKind]:
    return [kind for kind in FINDINGS.values() if set(kind.scopes) & set(scopes)]


def is_at_least(severity: Severity, least: Severity) -> bool:
    order = list(Severity)
    return order.index(severity) <= order.index(least)
