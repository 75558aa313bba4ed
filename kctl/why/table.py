"""FINDINGS: every finding once: id, severity, requests, sentence, what it leads to, and the command that cures it.

`kctl explain ID`, a page of the site and docs/schemas/why.v1.json come from it. Braces are names and numbers that
`findings/` fills in.
"""

from kctl.client.broker_errors import ErrorCode
from kctl.client.errors import AuthorizationError
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
"""By request, the right of Kafka that it needs."""
_ONE_OF_THEM: dict[tuple[str, int], str] = {
    ("DescribeConfigs", ErrorCode.TOPIC_AUTHORIZATION_FAILED): "DescribeConfigs on the topic",
    ("DescribeConfigs", ErrorCode.CLUSTER_AUTHORIZATION_FAILED): "DescribeConfigs on the cluster",
    ("ListTransactions", ErrorCode.TOPIC_AUTHORIZATION_FAILED): "Describe on the topic __transaction_state",
    ("OffsetFetch", ErrorCode.GROUP_AUTHORIZATION_FAILED): "Describe on the group",
    ("OffsetFetch", ErrorCode.TOPIC_AUTHORIZATION_FAILED): "Describe on the topic",
}
"""By request that needs rights on several resources, and by refusal, the right that is missing."""

FINDINGS: dict[str, FindingKind] = {
    kind.id: kind for kind in (*GROUP_FINDINGS, *PARTITION_FINDINGS, *CLUSTER_FINDINGS, *CONNECTION_FINDINGS)
}
"""By id, in the order in which findings of one severity are shown."""


def rights_of(kind: FindingKind) -> list[str]:
    """Return the rights that a finding needs."""
    return list(dict.fromkeys(REQUEST_RIGHTS[request] for request in kind.requests if request in REQUEST_RIGHTS))


def missing_right(request: str, refusal: AuthorizationError) -> str | None:
    """Return the right without which a request was refused."""
    return _ONE_OF_THEM.get((request, refusal.code)) or REQUEST_RIGHTS.get(request)


def kinds_of(scopes: tuple[Scope, ...]) -> list[FindingKind]:
    """Return the findings that are looked for."""
    return [kind for kind in FINDINGS.values() if set(kind.scopes) & set(scopes)]


def is_at_least(severity: Severity, least: Severity) -> bool:
    """Return whether a severity is that or a graver one."""
    order = list(Severity)
    return order.index(severity) <= order.index(least)
