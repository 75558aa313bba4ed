"""CreateAcls: adds ACL rules, each separately."""

from kctl.client.acls import AclOperation, AclPermission, AclResourceType, AclRule, PatternType
from kctl.client.broker_errors import ErrorCode
from kctl.client.protocol.api.acls import AclCreation, AclCreationResult, CreateAclsRequest, CreateAclsResponse
from kctl.sandbox.access.authorizer import NO_AUTHORIZER, RuleRefused
from kctl.sandbox.call import Call, Handler


def _answer(call: Call, request: CreateAclsRequest) -> CreateAclsResponse:
    return CreateAclsResponse(results=[_create(call, each) for each in request.creations])


def _create(call: Call, asked: AclCreation) -> AclCreationResult:
    authorizer = call.cluster.authorizer
    if not authorizer.is_enabled:
        return AclCreationResult(error_code=ErrorCode.SECURITY_DISABLED, error_message=NO_AUTHORIZER)
    try:
        authorizer.create(_rule(asked))
    except RuleRefused as refusal:
        return AclCreationResult(error_code=refusal.code, error_message=refusal.text)
    return AclCreationResult(error_message=None)


def _rule(asked: AclCreation) -> AclRule:
    return AclRule(
        AclResourceType(asked.resource_type),
        asked.resource_name,
        PatternType(asked.resource_pattern_type),
        asked.principal,
        asked.host,
        AclOperation(asked.operation),
        AclPermission(asked.permission_type),
    )


HANDLER = Handler(CreateAclsRequest, 1, 3, _answer)
