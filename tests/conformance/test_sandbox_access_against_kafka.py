"""ACLs, SCRAM users and quotas stay honest: the sandbox and the newest Kafka, both with an authorizer, answer alike."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from kctl.client.protocol.api.acls import (
    AclCreation,
    CreateAclsRequest,
    CreateAclsResponse,
    DeleteAclsFilter,
    DeleteAclsRequest,
    DeleteAclsResponse,
    DescribeAclsRequest,
    DescribeAclsResponse,
)
from kctl.client.protocol.api.client_quotas import (
    AlterClientQuotasRequest,
    AlterClientQuotasRequestEntryData,
    AlterClientQuotasResponse,
    EntityData,
    OpData,
)
from kctl.client.protocol.api.scram_credentials import (
    AlterUserScramCredentialsRequest,
    AlterUserScramCredentialsResponse,
    DescribeUserScramCredentialsRequest,
    DescribeUserScramCredentialsResponse,
    ScramCredentialDeletion,
    ScramCredentialUpsertion,
    UserName,
)
from kctl.sandbox import ClusterSettings, Sandbox
from tests.conformance.group_talk import NAMES
from tests.loopback.sandbox.peer import Peer
from tests.support.kafka.cluster import KafkaCluster

pytestmark = pytest.mark.nightly

TOPIC, GROUP, CLUSTER = 2, 3, 4
LITERAL, PREFIXED = 3, 4
READ, ALLOW = 3, 3
Talk = Callable[[Peer], Iterator[Any]]


def acls(peer: Peer) -> Iterator[Any]:
    good = AclCreation(
        resource_type=TOPIC,
        resource_name="conf-a",
        resource_pattern_type=LITERAL,
        principal="User:conf",
        host="*",
        operation=READ,
        permission_type=ALLOW,
    )
    changes: list[dict[str, Any]] = [
        {},
        {},
        {"resource_name": "conf-", "resource_pattern_type": PREFIXED},
        {"resource_name": "*"},
        {"resource_name": ""},
        {"resource_type": CLUSTER, "resource_name": "other"},
        {"principal": "conf"},
    ]
    for version in (1, 3):
        for each in changes:
            fields = {one.name: getattr(good, one.name) for one in AclCreation.FIELDS}
            request = CreateAclsRequest(creations=[AclCreation(**{**fields, **each})])
            answer = peer.call(request, CreateAclsResponse, version)
            yield each, [NAMES[one.error_code] for one in answer.results]
    for name, pattern in (("conf-a", 2), ("conf-a", LITERAL), ("conf-", PREFIXED), (None, 1), ("nothing", LITERAL)):
        asked = DescribeAclsRequest(
            resource_type_filter=TOPIC,
            resource_name_filter=name,
            pattern_type_filter=pattern,
            principal_filter="User:conf",
            host_filter=None,
            operation=1,
            permission_type=1,
        )
        found = peer.call(asked, DescribeAclsResponse, 3)
        rules = sorted(
            (one.resource_name, one.pattern_type, each.principal, each.host, each.operation, each.permission_type)
            for one in found.resources
            for each in one.acls
        )
        yield name, pattern, NAMES[found.error_code], found.error_message, rules
    both = [
        DeleteAclsFilter(
            resource_type_filter=TOPIC,
            resource_name_filter=name,
            pattern_type_filter=pattern,
            principal_filter="User:conf",
            host_filter=None,
            operation=1,
            permission_type=1,
        )
        for name, pattern in (("conf-a", LITERAL), (None, 1))
    ]
    deleted = peer.call(DeleteAclsRequest(filters=both), DeleteAclsResponse, 3)
    for result in deleted.filter_results:
        yield NAMES[result.error_code], sorted((one.resource_name, one.pattern_type) for one in result.matching_acls)


def scram(peer: Peer) -> Iterator[Any]:
    def upsert(name: str, mechanism: int = 1, iterations: int = 4096) -> ScramCredentialUpsertion:
        salted = b"x" * (32 if mechanism == 1 else 64)
        return ScramCredentialUpsertion(
            name=name, mechanism=mechanism, iterations=iterations, salt=b"salt", salted_password=salted
        )

    changes: list[tuple[list[ScramCredentialDeletion], list[ScramCredentialUpsertion]]] = [
        ([], [upsert("conf")]),
        ([], [upsert("conf", 2)]),
        ([], [upsert("conf-two"), upsert("conf-two", 2)]),
        ([], [upsert("conf-few", iterations=1)]),
        ([], [upsert("conf-many", iterations=20_000)]),
        ([], [upsert("")]),
        ([], [upsert("conf-x", 9)]),
        ([ScramCredentialDeletion(name="conf-none", mechanism=1)], []),
        ([ScramCredentialDeletion(name="conf", mechanism=1)], [upsert("conf-b")]),
        ([ScramCredentialDeletion(name="conf-b", mechanism=1)], [upsert("conf-b")]),
    ]
    for deletions, upsertions in changes:
        request = AlterUserScramCredentialsRequest(deletions=deletions, upsertions=upsertions)
        answer = peer.call(request, AlterUserScramCredentialsResponse, 0)
        yield sorted((one.user, NAMES[one.error_code]) for one in answer.results)
    for names in (["conf"], ["conf-none"], ["conf", "conf"]):
        asked = DescribeUserScramCredentialsRequest(users=[UserName(name=name) for name in names])
        found = peer.call(asked, DescribeUserScramCredentialsResponse, 0)
        yield [
            (one.user, NAMES[one.error_code], [(each.mechanism, each.iterations) for each in one.credential_infos])
            for one in found.results
        ]


def quotas(peer: Peer) -> Iterator[Any]:
    changes: list[tuple[list[tuple[str, str | None]], str, float]] = [
        ([("user", "conf")], "producer_byte_rate", 10.0),
        ([("user", "conf"), ("client-id", None)], "request_percentage", 1.5),
        ([("ip", "10.0.0.1")], "connection_creation_rate", 3.0),
        ([("user", "conf")], "connection_creation_rate", 3.0),
        ([("ip", "10.0.0.1")], "producer_byte_rate", 3.0),
        ([("user", "conf"), ("ip", "10.0.0.1")], "producer_byte_rate", 3.0),
        ([("user", "conf")], "producer_byte_rate", 0.5),
        ([("user", "conf")], "producer_byte_rate", -1.0),
        ([("user", "conf")], "no_such_rate", 1.0),
        ([("planet", "mars")], "producer_byte_rate", 1.0),
        ([("user", "")], "producer_byte_rate", 1.0),
        ([], "producer_byte_rate", 1.0),
    ]
    for parts, key, value in changes:
        entity = [EntityData(entity_type=kind, entity_name=name) for kind, name in parts]
        entry = AlterClientQuotasRequestEntryData(entity=entity, ops=[OpData(key=key, value=value)])
        answer = peer.call(AlterClientQuotasRequest(entries=[entry]), AlterClientQuotasResponse, 1)
        yield parts, key, value, [NAMES[one.error_code] for one in answer.entries]


@pytest.mark.parametrize("talk", [acls, scram, quotas])
def test_sandbox_answers_as_kafka_does(kafka_newest: KafkaCluster, talk: Talk) -> None:
    settings = ClusterSettings(authorizer=True, super_users=("User:ANONYMOUS",))
    with Sandbox(nodes=1, settings=settings).serve() as served, Peer(served.listens_on(1)) as ours:
        found = list(talk(ours))
    host, _, port = kafka_newest.bootstrap().rpartition(":")
    with Peer((host, int(port))) as theirs:
        expected = list(talk(theirs))
    assert found == expected
