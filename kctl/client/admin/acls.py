"""ACL rules described, created and deleted. Shown by tests/sim/admin/test_acls.py.

Changes go to the controller, so that no second broker is asked to make them too. A rule is the same seven fields in all
three requests, under other names.
"""

from collections.abc import Iterator, Sequence

from kctl.client.acls import AclFilter, AclOperation, AclPermission, AclResourceType, AclRule, PatternType
from kctl.client.admin.call import Build, Call, Results, any_node, controller
from kctl.client.admin.topics import item_error
from kctl.client.broker_errors import broker_error
from kctl.client.errors import KafkaError, RemoteProtocolError
from kctl.client.protocol.api.create_acls import AclCreation, CreateAclsRequest, CreateAclsResponse
from kctl.client.protocol.api.delete_acls import (
    DeleteAclsFilter,
    DeleteAclsMatchingAcl,
    DeleteAclsRequest,
    DeleteAclsResponse,
)
from kctl.client.protocol.api.describe_acls import DescribeAclsRequest, DescribeAclsResponse
from kctl.client.requests.retry import ADMIN_GROUPS, ADMIN_TOPICS
from kctl.client.wording import one_line


def describe_acls(call: Call, wanted: AclFilter) -> list[AclRule]:
    """Return the rules that a filter matches, sorted."""

    def attempt(keys: list[AclFilter]) -> dict[AclFilter, list[AclRule] | KafkaError]:
        return call.ask_items(any_node, build, DescribeAclsResponse, keys, read)

    def build(_: int) -> DescribeAclsRequest:
        return DescribeAclsRequest(
            resource_type_filter=wanted.resource_type,
            resource_name_filter=wanted.resource_name,
            pattern_type_filter=wanted.pattern_type,
            principal_filter=wanted.principal,
            host_filter=wanted.host,
            operation=wanted.operation,
            permission_type=wanted.permission,
        )

    def read(response: DescribeAclsResponse) -> list[tuple[AclFilter, list[AclRule] | KafkaError]]:
        if response.error_code:
            return [(wanted, broker_error(response.error_code, "DescribeAcls", response.error_message or None))]
        found = {
            _rule(
                resource.resource_type,
                resource.resource_name,
                resource.pattern_type,
                each.principal,
                each.host,
                each.operation,
                each.permission_type,
            )
            for resource in response.resources
            for each in resource.acls
        }
        return [(wanted, sorted(found))]

    return call.each([wanted], attempt, ADMIN_GROUPS.is_retried)[wanted]


def create_acls(call: Call, rules: Sequence[AclRule]) -> Results[AclRule, None]:
    """Return what became of each rule; one that exists already is created."""

    def attempt(pending: list[AclRule]) -> dict[AclRule, bool | KafkaError]:
        def read(response: CreateAclsResponse) -> Iterator[tuple[AclRule, bool | KafkaError]]:
            _check_count(response.NAME, len(response.results), len(pending))
            for rule, entry in zip(pending, response.results, strict=True):
                error = item_error(call, entry.error_code, f"CreateAcls {one_line(str(rule))}", entry.error_message)
                yield rule, error or True

        return call.ask_items(controller, _creating(pending), CreateAclsResponse, pending, read)

    results = call.each(rules, attempt, ADMIN_TOPICS.is_retried)
    return Results(dict.fromkeys(results.done), results.failed)


def delete_acls(call: Call, filters: Sequence[AclFilter]) -> Results[AclFilter, Results[AclRule, None]]:
    """Return for each filter the rules that it deleted, and those that it could not delete."""

    def attempt(pending: list[AclFilter]) -> dict[AclFilter, Results[AclRule, None] | KafkaError]:
        def read(response: DeleteAclsResponse) -> Iterator[tuple[AclFilter, Results[AclRule, None] | KafkaError]]:
            _check_count(response.NAME, len(response.filter_results), len(pending))
            for wanted, entry in zip(pending, response.filter_results, strict=True):
                error = item_error(call, entry.error_code, "DeleteAcls", entry.error_message)
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
    entries = [
        DeleteAclsFilter(
            resource_type_filter=each.resource_type,
            resource_name_filter=each.resource_name,
            pattern_type_filter=each.pattern_type,
            principal_filter=each.principal,
            host_filter=each.host,
            operation=each.operation,
            permission_type=each.permission,
        )
        for each in filters
    ]
    return lambda _: DeleteAclsRequest(filters=entries)


def _deleted(entries: Sequence[DeleteAclsMatchingAcl]) -> Results[AclRule, None]:
    done: dict[AclRule, None] = {}
    failed: dict[AclRule, KafkaError] = {}
    for entry in entries:
        rule = _rule(
            entry.resource_type,
            entry.resource_name,
            entry.pattern_type,
            entry.principal,
            entry.host,
            entry.operation,
            entry.permission_type,
        )
        if entry.error_code:
            failed[rule] = broker_error(
                entry.error_code, f"DeleteAcls {one_line(str(rule))}", entry.error_message or None
            )
        else:
            done[rule] = None
    return Results(done, failed)


def _rule(
    resource_type: int, name: str, pattern_type: int, principal: str, host: str, operation: int, permission: int
) -> AclRule:
    return AclRule(
        AclResourceType(resource_type),
        name,
        PatternType(pattern_type),
        principal,
        host,
        AclOperation(operation),
        AclPermission(permission),
    )


def _check_count(api: str, found: int, wanted: int) -> None:
    if found != wanted:
        raise RemoteProtocolError(f"{api}: the response has {found} results for {wanted} items", api=api)
