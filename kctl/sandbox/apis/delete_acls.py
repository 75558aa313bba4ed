"""DeleteAcls: deletes matching rules. As in Kafka, a rule that two filters match is in both results."""

from kctl.client.acls import AclFilter, AclOperation, AclPermission, AclResourceType, AclRule, PatternType
from kctl.client.broker_errors import ErrorCode
from kctl.client.protocol.api.acls import (
    DeleteAclsFilter,
    DeleteAclsFilterResult,
    DeleteAclsMatchingAcl,
    DeleteAclsRequest,
    DeleteAclsResponse,
)
from kctl.sandbox.access.authorizer import NO_AUTHORIZER
from kctl.sandbox.call import Call, Handler


def _answer(call: Call, request: DeleteAclsRequest) -> DeleteAclsResponse:
    authorizer = call.cluster.authorizer
    if not authorizer.is_enabled:
        code = ErrorCode.SECURITY_DISABLED
        refused = [DeleteAclsFilterResult(error_code=code, error_message=NO_AUTHORIZER) for _ in request.filters]
        return DeleteAclsResponse(filter_results=refused)
    found = [authorizer.matching(_filter(each)) for each in request.filters]
    for rules in found:
        authorizer.delete(rules)
    return DeleteAclsResponse(
        filter_results=[
            DeleteAclsFilterResult(error_message=None, matching_acls=[_matching(rule) for rule in rules])
            for rules in found
        ]
    )


def _filter(asked: DeleteAclsFilter) -> AclFilter:
    return AclFilter(
        AclResourceType(asked.resource_type_filter),
        asked.resource_name_filter,
        PatternType(asked.pattern_type_filter),
        asked.principal_filter,
        asked.host_filter,
        AclOperation(asked.operation),
        AclPermission(asked.permission_type),
    )


def _matching(rule: AclRule) -> DeleteAclsMatchingAcl:
    return DeleteAclsMatchingAcl(
        error_message=None,
        resource_type=rule.resource_type,
        resource_name=rule.resource_name,
        pattern_type=rule.pattern_type,
        principal=rule.principal,
        host=rule.host,
        operation=rule.operation,
        permission_type=rule.permission,
    )


HANDLER = Handler(DeleteAclsRequest, 1, 3, _answer)
