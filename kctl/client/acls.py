"""ACL rules, filters, and the decision of Kafka's authorizer.

Source: StandardAuthorizerData and AclBindingFilter of Kafka 4.3.
"""

from collections.abc import Iterable
from enum import IntEnum
from typing import NamedTuple, Self

WILDCARD = "*"
ANYONE = "User:*"
"""Principal of rules for everyone."""
CLUSTER_NAME = "kafka-cluster"
"""Resource name of the cluster in rules."""


class _Code(IntEnum):
    """A number of Kafka; an unknown number is UNKNOWN, as in Java."""

    @classmethod
    def _missing_(cls, value: object) -> Self | None:  # noqa: ARG003 - enum's signature
        return cls["UNKNOWN"]

    @property
    def word(self) -> str:
        """Name for users, such as `transactional-id`."""
        return self.name.lower().replace("_", "-")


class AclResourceType(_Code):
    """Type of a rule's resource."""

    UNKNOWN = 0
    ANY = 1
    TOPIC = 2
    GROUP = 3
    CLUSTER = 4
    TRANSACTIONAL_ID = 5
    DELEGATION_TOKEN = 6
    USER = 7


class PatternType(_Code):
    """How a rule's resource name is compared; ANY and MATCH occur only in filters."""

    UNKNOWN = 0
    ANY = 1
    MATCH = 2
    LITERAL = 3
    PREFIXED = 4


class AclOperation(_Code):
    """Operation of a rule."""

    UNKNOWN = 0
    ANY = 1
    ALL = 2
    READ = 3
    WRITE = 4
    CREATE = 5
    DELETE = 6
    ALTER = 7
    DESCRIBE = 8
    CLUSTER_ACTION = 9
    DESCRIBE_CONFIGS = 10
    ALTER_CONFIGS = 11
    IDEMPOTENT_WRITE = 12
    CREATE_TOKENS = 13
    DESCRIBE_TOKENS = 14
    TWO_PHASE_COMMIT = 15


class AclPermission(_Code):
    """Effect of a rule."""

    UNKNOWN = 0
    ANY = 1
    DENY = 2
    ALLOW = 3


IMPLIED_BY: dict[AclOperation, frozenset[AclOperation]] = {
    AclOperation.DESCRIBE: frozenset(
        {AclOperation.READ, AclOperation.WRITE, AclOperation.DELETE, AclOperation.ALTER, AclOperation.DESCRIBE}
    ),
    AclOperation.DESCRIBE_CONFIGS: frozenset({AclOperation.ALTER_CONFIGS, AclOperation.DESCRIBE_CONFIGS}),
}
"""Operations that imply the key if they are allowed; denied operations imply nothing."""
SUPPORTED_OPERATIONS: dict[AclResourceType, frozenset[AclOperation]] = {
    AclResourceType.TOPIC: frozenset(
        {
            AclOperation.READ,
            AclOperation.WRITE,
            AclOperation.CREATE,
            AclOperation.DELETE,
            AclOperation.ALTER,
            AclOperation.DESCRIBE,
            AclOperation.DESCRIBE_CONFIGS,
            AclOperation.ALTER_CONFIGS,
        }
    ),
    AclResourceType.GROUP: frozenset(
        {
            AclOperation.READ,
            AclOperation.DELETE,
            AclOperation.DESCRIBE,
            AclOperation.DESCRIBE_CONFIGS,
            AclOperation.ALTER_CONFIGS,
        }
    ),
    AclResourceType.CLUSTER: frozenset(
        {
            AclOperation.CREATE,
            AclOperation.ALTER,
            AclOperation.DESCRIBE,
            AclOperation.CLUSTER_ACTION,
            AclOperation.DESCRIBE_CONFIGS,
            AclOperation.ALTER_CONFIGS,
            AclOperation.IDEMPOTENT_WRITE,
        }
    ),
    AclResourceType.TRANSACTIONAL_ID: frozenset(
        {AclOperation.WRITE, AclOperation.DESCRIBE, AclOperation.TWO_PHASE_COMMIT}
    ),
    AclResourceType.DELEGATION_TOKEN: frozenset({AclOperation.DESCRIBE}),
    AclResourceType.USER: frozenset({AclOperation.CREATE_TOKENS, AclOperation.DESCRIBE_TOKENS}),
}
"""Operations that Kafka authorizes, by type of resource. Source: AclEntry."""


class AclRule(NamedTuple):
    """A rule: Kafka's AclBinding.

    Attributes:
        principal: type and name, such as `User:ann`; `User:*` is everyone.
        host: client address, or `*`.
    """

    resource_type: AclResourceType
    resource_name: str
    pattern_type: PatternType
    principal: str
    host: str
    operation: AclOperation
    permission: AclPermission

    def __str__(self) -> str:
        host = "" if self.host == WILDCARD else f" from {self.host}"
        pattern = "prefix " if self.pattern_type is PatternType.PREFIXED else ""
        return (
            f"{self.permission.word} {self.principal}{host} {self.operation.word} "
            f"{self.resource_type.word} {pattern}{self.resource_name}"
        )

    def covers(self, resource_type: AclResourceType, name: str) -> bool:
        """Return whether the rule is about this resource."""
        if self.resource_type is not resource_type:
            return False
        if self.pattern_type is PatternType.PREFIXED:
            return name.startswith(self.resource_name)
        return self.pattern_type is PatternType.LITERAL and self.resource_name in (name, WILDCARD)

    def applies_to(self, operation: AclOperation) -> bool:
        """Return whether the rule is about this operation: by name, by `all`, or by implication."""
        if self.operation in (AclOperation.ALL, operation):
            return True
        return self.permission is AclPermission.ALLOW and self.operation in IMPLIED_BY.get(operation, ())


class AclFilter(NamedTuple):
    """Filter of rules: Kafka's AclBindingFilter. None and ANY match everything.

    Attributes: pattern_type: MATCH selects all rules about the named resource, including prefixes and wildcards.
    """

    resource_type: AclResourceType = AclResourceType.ANY
    resource_name: str | None = None
    pattern_type: PatternType = PatternType.ANY
    principal: str | None = None
    host: str | None = None
    operation: AclOperation = AclOperation.ANY
    permission: AclPermission = AclPermission.ANY

    @classmethod
    def of(cls, rule: AclRule) -> "AclFilter":
        """Return the filter that matches exactly this rule."""
        return cls(*rule)

    def matches(self, rule: AclRule) -> bool:
        """Return whether the filter matches a rule."""
        return (
            self.resource_type in (AclResourceType.ANY, rule.resource_type)
            and self.principal in (None, rule.principal)
            and self.host in (None, rule.host)
            and self.operation in (AclOperation.ANY, rule.operation)
            and self.permission in (AclPermission.ANY, rule.permission)
            and self._matches_name(rule)
        )

    def _matches_name(self, rule: AclRule) -> bool:
        if self.pattern_type is PatternType.MATCH:
            return self.resource_name is None or rule.covers(rule.resource_type, self.resource_name)
        return self.pattern_type in (PatternType.ANY, rule.pattern_type) and self.resource_name in (
            None,
            rule.resource_name,
        )


class AclRequest(NamedTuple):
    """An operation to authorize. Attributes: host: client address; `*` is a host that no rule names."""

    principal: str
    operation: AclOperation
    resource_type: AclResourceType
    resource_name: str
    host: str = WILDCARD


class AclDecision(NamedTuple):
    """Decision of an authorizer. Attributes: rule: decisive rule; None for super users, or if no rule applies."""

    is_allowed: bool
    rule: AclRule | None


def decide(
    rules: Iterable[AclRule],
    request: AclRequest,
    *,
    super_users: Iterable[str] = (),
    allow_if_no_rule: bool = False,
) -> AclDecision:
    """Return whether a request is allowed, and the decisive rule. Denials take precedence.

    Args:
        super_users: principals with all permissions (super.users).
        allow_if_no_rule: resources without rules are open to everyone (allow.everyone.if.no.acl.found).
    """
    if request.principal in super_users:
        return AclDecision(True, None)
    allowing: AclRule | None = None
    has_rules = False
    for rule in rules:
        if not rule.covers(request.resource_type, request.resource_name):
            continue
        has_rules = True
        is_about = (
            rule.principal in (request.principal, ANYONE)
            and rule.host in (request.host, WILDCARD)
            and rule.applies_to(request.operation)
        )
        if is_about and rule.permission is AclPermission.DENY:
            return AclDecision(False, rule)
        if is_about and rule.permission is AclPermission.ALLOW:
            allowing = allowing or rule
    return AclDecision(allowing is not None or (allow_if_no_rule and not has_rules), allowing)
