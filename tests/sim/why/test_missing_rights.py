"""Looks that are refused by ACL rules: each request that is, with the right whose rule is missing, and no other."""

from typing import NamedTuple

import pytest

from kctl.client.acls import CLUSTER_NAME
from kctl.client.admin import (
    AclOperation,
    AclPermission,
    AclResourceType,
    AclRule,
    ConfigResource,
    PatternType,
    ResourceType,
)
from kctl.client.broker_errors import ErrorCode
from kctl.sandbox import ClusterSettings
from kctl.why import Look, Looks, Scope, Selection, diagnose
from tests.sim.kit import settle
from tests.sim.why.story import Story, run_story

_T, _O = AclResourceType, AclOperation
EVERYBODY = "User:*"
EVERYTHING = [(_T.TOPIC, "*"), (_T.GROUP, "*"), (_T.TRANSACTIONAL_ID, "*"), (_T.CLUSTER, CLUSTER_NAME)]
ALL = Selection(groups=("behind", "g"), topics=None, has_brokers=True, has_ages=True)

ACLS = ClusterSettings(authorizer=True)


class Denied(NamedTuple):
    """A right that is taken away, its name as a user reads it, and the requests that are refused then."""

    kind: AclResourceType
    name: str
    operation: AclOperation
    right: str
    requests: frozenset[str]


DENIED = (
    Denied(_T.TOPIC, "t", _O.READ, "Read on the topic", frozenset({"Fetch", "DescribeProducers"})),
    Denied(_T.TOPIC, "t", _O.DESCRIBE_CONFIGS, "DescribeConfigs on the topic", frozenset({"DescribeConfigs"})),
    Denied(
        _T.CLUSTER,
        CLUSTER_NAME,
        _O.DESCRIBE_CONFIGS,
        "DescribeConfigs on the cluster",
        frozenset({"DescribeConfigs", "DescribeClientQuotas"}),
    ),
    Denied(
        _T.CLUSTER,
        CLUSTER_NAME,
        _O.DESCRIBE,
        "Describe on the cluster",
        frozenset({"DescribeLogDirs", "DescribeQuorum", "ListPartitionReassignments"}),
    ),
)


INJECTED = {
    "DescribeTransactions": (ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED, "Describe on the transactional.id"),
    "ListGroups": (ErrorCode.CLUSTER_AUTHORIZATION_FAILED, "Describe on the groups, or on the cluster"),
    "ListOffsets": (ErrorCode.TOPIC_AUTHORIZATION_FAILED, "Describe on the topic"),
    "ListTransactions": (ErrorCode.CLUSTER_AUTHORIZATION_FAILED, "Describe on the transactional.ids"),
    "OffsetFetch": (ErrorCode.GROUP_AUTHORIZATION_FAILED, "Describe on the group"),
}
"""Requests that rules do not deny: lists omit objects without permission, so no request is sent about them."""


def rule(kind: AclResourceType, name: str, operation: AclOperation, permission: AclPermission) -> AclRule:
    return AclRule(kind, name, PatternType.LITERAL, EVERYBODY, "*", operation, permission)


def look_without(story: Story, denied: Denied | None) -> Looks:
    """Return a look at a group that is behind, a transaction that is open and a throttle, without one right."""
    authorizer = story.sim.sandbox.cluster.authorizer
    for kind, name in EVERYTHING:
        authorizer.create(rule(kind, name, _O.ALL, AclPermission.ALLOW))
    settle(story.enter(story.sim.classic_member("g", enable_auto_commit=False)))
    story.sim.commit("behind", {("t", 0): 0})
    story.produce(3)
    producer = story.sim.producer({"transactional.id": "copier"})
    producer.init_transactions()
    producer.begin_transaction()
    producer.send("t", b"x", partition=0)
    producer.flush()
    throttled = {ConfigResource(ResourceType.TOPIC, "t"): {"leader.replication.throttled.replicas": "*"}}
    story.admin.alter_configs(throttled).raise_first()
    if denied is not None:
        authorizer.create(rule(denied.kind, denied.name, denied.operation, AclPermission.DENY))
    try:
        return story.looks(ALL)
    finally:
        producer.abort_transaction(timeout=10)
        producer.close()


def refused(look: Look) -> dict[str, set[str | None]]:
    """Return the missing permissions by request."""
    found: dict[str, set[str | None]] = {}
    for gap in look.gaps:
        assert gap.right is not None, gap
        found.setdefault(gap.request, set()).add(gap.right)
    return found


def test_look_with_all_rights_has_no_gap() -> None:
    def body(story: Story) -> None:
        assert look_without(story, None).now.gaps == ()

    run_story(body, settings=ACLS)


@pytest.mark.parametrize("denied", DENIED, ids=lambda each: each.right)
def test_right_that_a_rule_denies_is_the_one_that_is_named(denied: Denied) -> None:
    def body(story: Story) -> None:
        looks = look_without(story, denied)
        assert refused(looks.now) == {name: {denied.right} for name in denied.requests}
        unchecked = diagnose(looks, tuple(Scope)).unchecked
        assert {each.gap.request for each in unchecked} == denied.requests
        assert all(each.ids for each in unchecked)

    run_story(body, settings=ACLS)


@pytest.mark.parametrize("request_name", INJECTED)
def test_request_that_is_refused_names_its_right(request_name: str) -> None:
    def body(story: Story) -> None:
        code, right = INJECTED[request_name]
        story.sim.commit("g", {("t", 0): 0})
        story.produce(2)
        story.sim.enter(story.sim.producer({"transactional.id": "copier"})).init_transactions()
        story.sim.sandbox.fail_requests(request_name, code, times=1_000)
        looks = story.looks(ALL._replace(groups=None))
        found = {name.removesuffix(" by timestamp"): rights for name, rights in refused(looks.now).items()}
        assert found == {request_name: {right}}

    run_story(body)


def test_topic_that_may_not_be_described_is_missing_for_its_group() -> None:
    def body(story: Story) -> None:
        authorizer = story.sim.sandbox.cluster.authorizer
        for kind, name in EVERYTHING:
            authorizer.create(rule(kind, name, _O.ALL, AclPermission.ALLOW))
        settle(story.enter(story.sim.classic_member("g")))
        authorizer.create(rule(_T.TOPIC, "t", _O.DESCRIBE, AclPermission.DENY))
        found = story.group()
        assert (
            found["topic-missing"].sentence
            == "g reads topic t, which does not exist or which this principal may not describe"
        )

    run_story(body, settings=ACLS)


def test_transaction_whose_id_may_not_be_described_does_not_hang() -> None:
    """Its coordinator has it and does not report it: for the first 15 minutes the verdict is open."""
    denied = Denied(_T.TRANSACTIONAL_ID, "copier", _O.DESCRIBE, "Describe on the transactional.id", frozenset())

    def body(story: Story) -> None:
        looks = look_without(story, denied)
        young = {each.id for each in diagnose(looks, tuple(Scope)).findings}
        assert young & {"transaction-open", "transaction-hanging"} == set()
        later = looks.now._replace(wall_ms=looks.now.wall_ms + 5 * 60_000)
        found = {each.id: each for each in diagnose(Looks(later), tuple(Scope)).findings}
        assert found.keys() & {"transaction-open", "transaction-hanging"} == {"transaction-open"}
        assert "or you need Describe on its transactional.id" in found["transaction-open"].sentence

    run_story(body, settings=ACLS)
