"""DescribeAcls: the rules that a filter matches, by resource."""

from kctl.client.acls import AclFilter, AclOperation, AclPermission, AclResourceType, PatternType
from kctl.client.broker_errors import ErrorCode
from kctl.client.protocol.api.acls import (
    AclDescription,
    DescribeAclsRequest,
    DescribeAclsResource,
    DescribeAclsResponse,
)
from kctl.sandbox.access.authorizer import NO_AUTHORIZER
from kctl.sandbox.call import Call, Handler


def _answer(call: Call, request: DescribeAclsRequest) -> DescribeAclsResponse:
    authorizer = call.cluster.authorizer
    if not authorizer.is_enabled:
        return DescribeAclsResponse(error_code=ErrorCode.SECURITY_DISABLED, error_message=NO_AUTHORIZER)
    wanted = AclFilter(
        AclResourceType(request.resource_type_filter),
        request.resource_name_filter,
        PatternType(request.pattern_type_filter),
        request.principal_filter,
        request.host_filter,
        AclOperation(request.operation),
        AclPermission(request.permission_type),
    )
    resources: dict[tuple[AclResourceType, str, PatternType], DescribeAclsResource] = {}
    for rule in authorizer.matching(wanted):
        resource = resources.setdefault(
            rule[:3],
            DescribeAclsResource(
                resource_type=rule.resource_type, resource_name=rule.resource_name, pattern_type=rule.pattern_type
            ),
        )
        entry = AclDescription(
            principal=rule.principal, host=rule.host, operation=rule.operation, permission_type=rule.permission
        )
        resource.acls.append(entry)
    return DescribeAclsResponse(resources=list(resources.values()))


HANDLER = Handler(DescribeAclsRequest, 1, 3, _answer)
