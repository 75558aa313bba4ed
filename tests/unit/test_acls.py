"""ACL rules: which of them a filter matches, and what is decided; tests/conformance compares it with Kafka."""

import pytest

from kctl.client.acls import (
    AclFilter,
    AclOperation,
    AclPermission,
    AclRequest,
    AclResourceType,
    AclRule,
    PatternType,
    decide,
)

TOPIC, GROUP = AclResourceType.TOPIC, AclResourceType.GROUP
READ, WRITE, DESCRIBE, ALL = AclOperation.READ, AclOperation.WRITE, AclOperation.DESCRIBE, AclOperation.ALL
LITERAL, PREFIXED = PatternType.LITERAL, PatternType.PREFIXED


def rule(
    operation: AclOperation = READ,
    name: str = "orders",
    *,
    kind: AclResourceType = TOPIC,
    pattern: PatternType = LITERAL,
    principal: str = "User:ann",
    host: str = "*",
    deny: bool = False,
) -> AclRule:
    permission = AclPermission.DENY if deny else AclPermission.ALLOW
    return AclRule(kind, name, pattern, principal, host, operation, permission)


def request(operation: AclOperation = READ, name: str = "orders", host: str = "10.0.0.1") -> AclRequest:
    return AclRequest("User:ann", operation, TOPIC, name, host)


@pytest.mark.parametrize(
    ("rules", "operation", "is_allowed"),
    [
        ([], READ, False),
        ([rule()], READ, True),
        ([rule()], WRITE, False),
        ([rule()], DESCRIBE, True),
        ([rule(AclOperation.DELETE)], DESCRIBE, True),
        ([rule(AclOperation.CREATE)], DESCRIBE, False),
        ([rule(AclOperation.ALTER_CONFIGS)], AclOperation.DESCRIBE_CONFIGS, True),
        ([rule(DESCRIBE)], AclOperation.DESCRIBE_CONFIGS, False),
        ([rule(ALL)], WRITE, True),
        ([rule(), rule(deny=True)], READ, False),
        ([rule(), rule(deny=True)], DESCRIBE, True),
        ([rule(), rule(ALL, "*", principal="User:*", deny=True)], READ, False),
        ([rule(), rule(ALL, "ord", pattern=PREFIXED, deny=True)], READ, False),
        ([rule(name="ord")], READ, False),
        ([rule(name="ord", pattern=PREFIXED)], READ, True),
        ([rule(name="*")], READ, True),
        ([rule(name="*", pattern=PREFIXED)], READ, False),
        ([rule(principal="User:*")], READ, True),
        ([rule(principal="User:bob")], READ, False),
        ([rule(kind=GROUP)], READ, False),
        ([rule(host="10.0.0.1")], READ, True),
        ([rule(host="10.0.0.2")], READ, False),
    ],
)
def test_decision_of_rules(rules: list[AclRule], operation: AclOperation, is_allowed: bool) -> None:
    assert decide(rules, request(operation)).is_allowed == is_allowed
    assert decide(reversed(rules), request(operation)).is_allowed == is_allowed


def test_decision_names_the_rule_that_made_it() -> None:
    allowing, denying = rule(), rule(WRITE, deny=True)
    assert decide([allowing, denying], request()).rule == allowing
    assert decide([allowing, denying], request(WRITE)).rule == denying
    assert decide([allowing], request(WRITE)).rule is None


def test_super_users_and_resources_without_rules() -> None:
    denying = rule(ALL, deny=True)
    assert decide([denying], request(), super_users=["User:ann"]).is_allowed
    assert decide([], request(), allow_if_no_rule=True).is_allowed
    assert not decide([rule(principal="User:bob")], request(), allow_if_no_rule=True).is_allowed


def test_unknown_numbers_of_newer_brokers_are_kept_apart_from_known_ones() -> None:
    assert AclOperation(99) is AclOperation.UNKNOWN
    assert not decide([rule(AclOperation(99))], request()).is_allowed
    assert not AclFilter(operation=READ).matches(rule(AclOperation(99)))


@pytest.mark.parametrize(
    ("wanted", "names"),
    [
        (AclFilter(), ["orders", "ord*", "*", "group"]),
        (AclFilter(TOPIC), ["orders", "ord*", "*"]),
        (AclFilter(TOPIC, "orders", LITERAL), ["orders"]),
        (AclFilter(TOPIC, "orders", PatternType.MATCH), ["orders", "ord*", "*"]),
        (AclFilter(TOPIC, "other", PatternType.MATCH), ["*"]),
        (AclFilter(TOPIC, "ord", PREFIXED), ["ord*"]),
        (AclFilter(TOPIC, "ord", PatternType.ANY), ["ord*"]),
        (AclFilter(TOPIC, None, PREFIXED), ["ord*"]),
        (AclFilter(principal="User:bob"), ["group"]),
        (AclFilter(operation=WRITE), ["ord*"]),
        (AclFilter(permission=AclPermission.DENY), ["*"]),
        (AclFilter(host="h"), ["group"]),
    ],
)
def test_filter_matches(wanted: AclFilter, names: list[str]) -> None:
    rules = {
        "orders": rule(),
        "ord*": rule(WRITE, "ord", pattern=PREFIXED),
        "*": rule(DESCRIBE, "*", deny=True),
        "group": rule(kind=GROUP, principal="User:bob", host="h"),
    }
    assert [name for name, each in rules.items() if wanted.matches(each)] == names
    for each in rules.values():
        assert [one for one in rules.values() if AclFilter.of(each).matches(one)] == [each]
