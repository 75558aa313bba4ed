"""ACL rules of a cluster and decisions about requests. Source: Kafka's StandardAuthorizer."""

from kctl.client.acls import (
    CLUSTER_NAME,
    SUPPORTED_OPERATIONS,
    AclFilter,
    AclOperation,
    AclPermission,
    AclRequest,
    AclResourceType,
    AclRule,
    PatternType,
    decide,
)
from kctl.client.broker_errors import ErrorCode
from kctl.sandbox.groups.outbox import Refused
from kctl.sandbox.groups.surroundings import CLIENT_HOST
from kctl.sandbox.settings import ClusterSettings

NO_AUTHORIZER = "No Authorizer is configured."
HOST = CLIENT_HOST.removeprefix("/")
_LITERAL_OR_PREFIXED = (PatternType.LITERAL, PatternType.PREFIXED)
_DECIDED = (AclPermission.ALLOW, AclPermission.DENY)
_OF_FILTERS = (AclOperation.UNKNOWN, AclOperation.ANY)


class RuleRefused(Refused):
    """Invalid rule or filter; the text is sent to the client."""

    def __init__(self, text: str) -> None:
        super().__init__(ErrorCode.INVALID_REQUEST)
        self.text = text


class Authorizer:
    """ACL rules and decisions. If the setting `authorizer` is off, allows everything."""

    def __init__(self, settings: ClusterSettings) -> None:
        self.is_enabled = settings.authorizer
        self._super_users = frozenset(settings.super_users)
        self._allow_if_no_rule = settings.allow_everyone_if_no_acl_found
        self._rules: dict[AclRule, None] = {}

    def allows(self, principal: str, operation: AclOperation, kind: AclResourceType, name: str) -> bool:
        if not self.is_enabled:
            return True
        request = AclRequest(principal, operation, kind, name, HOST)
        return decide(
            self._rules, request, super_users=self._super_users, allow_if_no_rule=self._allow_if_no_rule
        ).is_allowed

    def allows_some(self, principal: str, operation: AclOperation, kind: AclResourceType) -> bool:
        """Return whether a principal may do an operation on any resource of a type. Source: authorizeByResourceType."""
        if not self.is_enabled or principal in self._super_users:
            return True
        names = [rule.resource_name for rule in self._rules if rule.resource_type is kind]
        return self._allow_if_no_rule or any(self.allows(principal, operation, kind, name) for name in names)

    def operations(self, principal: str, kind: AclResourceType, name: str) -> int:
        """Return the allowed operations on a resource, as a bit field."""
        allowed = (each for each in SUPPORTED_OPERATIONS[kind] if self.allows(principal, each, kind, name))
        return sum(1 << each for each in allowed)

    # --- changes ------------------------------------------------------------------------------------------------------

    def create(self, rule: AclRule) -> None:
        _check_resource(rule)
        if rule.operation in _OF_FILTERS:
            raise RuleRefused(f"Invalid operation {rule.operation.name}")
        if rule.permission not in _DECIDED:
            raise RuleRefused(f"Invalid permissionType {rule.permission.name}")
        if ":" not in rule.principal:
            raise RuleRefused(
                f"Could not parse principal from `{rule.principal}` (no colon is present separating the principal "
                "type from the principal name)"
            )
        self._rules[rule] = None

    def matching(self, wanted: AclFilter) -> list[AclRule]:
        return [rule for rule in self._rules if wanted.matches(rule)]

    def delete(self, rules: list[AclRule]) -> None:
        for rule in rules:
            self._rules.pop(rule, None)


def _check_resource(rule: AclRule) -> None:
    if rule.resource_type is AclResourceType.CLUSTER and rule.resource_name != CLUSTER_NAME:
        raise RuleRefused(f"The only valid name for the CLUSTER resource is {CLUSTER_NAME}")
    if rule.resource_type in (AclResourceType.UNKNOWN, AclResourceType.ANY):
        raise RuleRefused(f"Invalid resourceType {rule.resource_type.name}")
    if rule.pattern_type not in _LITERAL_OR_PREFIXED:
        raise RuleRefused(f"Invalid patternType {rule.pattern_type.name}")
    if not rule.resource_name:
        raise RuleRefused("Resource name should not be empty")
