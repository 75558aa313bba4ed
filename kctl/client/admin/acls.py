from collections.abc import Iterator, Sequence
from typing import Any

from kctl.client.acls import AclFilter, AclOperation, AclPermission, AclResourceType, AclRule, PatternType
from kctl.client.admin.call import Build, Call, Results, any_node, broker, controller
from kctl.client.admin.topics import item_error
from kctl.client.broker_errors import broker_error
from kctl.client.errors import KafkaError, RemoteProtocolError
from kctl.client.protocol.api.acls import (
    AclCreation,
    AclDescription,
    CreateAclsRequest,
    CreateAclsResponse,
    DeleteAclsFilter,
    DeleteAclsMatchingAcl,
    DeleteAclsRequest,
    DeleteAclsResponse,
    DescribeAclsRequest,
    DescribeAclsResource,
    DescribeAclsResponse,
)
from kctl.client.requests.retry import ADMIN_GROUPS, ADMIN_TOPICS
from kctl.client.wording import one_line


def describe_acls(call: Call, wanted: AclFilter, broker_id: int | None = None) -> list[AclRule]:
    def read(response: DescribeAclsResponse) -> list[tuple[AclFilter, list[AclRule] | KafkaError]]:
        if response.error_code:
            return [(wanted, broker_error(response.error_code, "describe ACLs", response.error_message))]
        found = {_rule(resource, each) for resource in response.resources for each in resource.acls}
        return [(wanted, sorted(found))]

    request = DescribeAclsRequest(**_fields(wanted))
    route = any_node if broker_id is None else broker(broker_id)
    results = call.ask_each([wanted], route, lambda *_: request, DescribeAclsResponse, read, ADMIN_GROUPS.is_retried)
    return results[wanted]


def create_acls(call: Call, rules: Sequence[AclRule]) -> Results[AclRule, None]:
    def attempt(pending: list[AclRule]) -> dict[AclRule, bool | KafkaError]:
        def read(response: CreateAclsResponse) -> Iterator[tuple[AclRule, bool | KafkaError]]:
            _check_count(response.NAME, len(response.results), len(pending))
            for rule, entry in zip(pending, response.results, strict=True):
                error = item_error(call, entry.error_code, f"create ACL {one_line(str(rule))}", entry.error_message)
                yield rule, error or True

        return call.ask_items(controller, _creating(pending), CreateAclsResponse, pending, read)

    return call.each(rules, attempt, ADMIN_TOPICS.is_retried).without_values()


def delete_acls(call: Call, filters: Sequence[AclFilter]) -> Results[AclFilter, Results[AclRule, None]]:
    def attempt(pending: list[AclFilter]) -> dict[AclFilter, Results[AclRule, None] | KafkaError]:
        def read(response: DeleteAclsResponse) -> Iterator[tuple[AclFilter, Results[AclRule, None] | KafkaError]]:
            _check_count(response.NAME, len(response.filter_results), len(pending))
            for wanted, entry in zip(pending, response.filter_results, strict=True):
                error = item_error(call, entry.error_code, "delete ACLs", entry.error_message)
                yield wanted, error or _deleted(entry.matching_acls)

        return call.ask_items(controller, _deleting(pending), DeleteAclsResponse, pending, read)

    return call.each(filters, attempt, ADMIN_TOPICS.is_retried)


def _creating(rules: Sequence[AclRule]) -> Build:
    entries = [
        AclCreation(
            resource_type=rule.resource_type,
            resource_name=rule.resource_name,
            resource_pattern_type=rule.pattern_type,
            principal=rule.principal,
            host=rule.host,
            operation=rule.operation,
            permission_type=rule.permission,
        )
        for rule in rules
    ]
    return lambda _: CreateAclsRequest(creations=entries)


def _deleting(filters: Sequence[AclFilter]) -> Build:
    entries = [DeleteAclsFilter(**_fields(each)) for each in filters]
    return lambda _: DeleteAclsRequest(filters=entries)


def _fields(wanted: AclFilter) -> dict[str, Any]:
    return {
        "resource_type_filter": wanted.resource_type,
        "resource_name_filter": wanted.resource_name,
        "pattern_type_filter": wanted.pattern_type,
        "principal_filter": wanted.principal,
        "host_filter": wanted.host,
        "operation": wanted.operation,
        "permission_type": wanted.permission,
    }


def _deleted(entries: Sequence[DeleteAclsMatchingAcl]) -> Results[AclRule, None]:
    done: dict[AclRule, None] = {}
    failed: dict[AclRule, KafkaError] = {}
    for entry in entries:
        rule = _rule(entry, entry)
        if entry.error_code:
            failed[rule] = broker_error(
                entry.error_code, f"delete ACL {one_line(str(rule))}", entry.error_message or None
            )
        else:
            done[rule] = None
    return Results(done, failed)


def _rule(
    resource: DescribeAclsResource | DeleteAclsMatchingAcl, entry: AclDescription | DeleteAclsMatchingAcl
) -> AclRule:
    return AclRule(
        AclResourceType(resource.resource_type),
        resource.resource_name,
        PatternType(resource.pattern_type),
        entry.principal,
        entry.host,
        AclOperation(entry.operation),
        AclPermission(entry.permission_type),
    )


def _check_count(api: str, found: int, wanted: int) -> None:
    if found != wanted:
        raise RemoteProtocolError(f"the {api} response contains {found} results instead of {wanted}", api=api)
