"""The decisions of `kctl acls check` and the sandbox against Kafka's own StandardAuthorizer, over generated rules."""

import subprocess
from pathlib import Path
from random import Random

import pytest

from kctl.client.acls import (
    SUPPORTED_OPERATIONS,
    AclOperation,
    AclPermission,
    AclRequest,
    AclRule,
    PatternType,
    decide,
)
from tests.support.bounds import bound
from tests.support.kafka.requirements import have
from tests.support.kafka.toolchain import compiled_class_path, java_command

pytestmark = pytest.mark.nightly

PROGRAM = Path(__file__).parent / "java" / "Authorize.java"
SEED = 18_011
SETS, REQUESTS = 600, 40
NAMES = ("a", "ab", "abc", "abd", "b", "ba", "z-1", "z-12")
PRINCIPALS = ("User:ann", "User:bob", "User:*", "Group:ann", "User:a*")
HOSTS = ("10.0.0.1", "10.0.0.2")
KINDS = tuple(SUPPORTED_OPERATIONS)
OPERATIONS = (AclOperation.ALL, *sorted({each for kind in KINDS for each in SUPPORTED_OPERATIONS[kind]}))
Set = tuple[list[AclRule], bool, list[str], list[AclRequest]]


def rule(rng: Random) -> AclRule:
    is_prefixed = rng.random() < 0.35
    name = rng.choice(NAMES) if is_prefixed or rng.random() < 0.75 else "*"
    return AclRule(
        rng.choice(KINDS[:2] if rng.random() < 0.7 else KINDS),
        name,
        PatternType.PREFIXED if is_prefixed else PatternType.LITERAL,
        rng.choice(PRINCIPALS),
        rng.choice(("*", "*", *HOSTS)),
        rng.choice(OPERATIONS),
        AclPermission.DENY if rng.random() < 0.3 else AclPermission.ALLOW,
    )


def request(rng: Random) -> AclRequest:
    kind = rng.choice(KINDS[:2] if rng.random() < 0.7 else KINDS)
    principal = rng.choice([each for each in PRINCIPALS if each != "User:*"])
    return AclRequest(principal, rng.choice(OPERATIONS[1:]), kind, rng.choice(NAMES), rng.choice(HOSTS))


def generated() -> list[Set]:
    rng = Random(SEED)
    found = []
    for _ in range(SETS):
        rules = list(dict.fromkeys(rule(rng) for _ in range(rng.randrange(0, 25))))
        super_users = [rng.choice(["User:bob", "Group:ann"])] if rng.random() < 0.2 else []
        found.append((rules, rng.random() < 0.3, super_users, [request(rng) for _ in range(REQUESTS)]))
    return found


def java(sets: list[Set]) -> list[bool]:
    """Return what Kafka decides on each request."""
    lines = []
    for rules, is_open, super_users, requests in sets:
        lines.append(f"set {str(is_open).lower()} {';'.join(super_users)}")
        lines += [
            " ".join(["rule", *(str(each) if isinstance(each, str) else str(int(each)) for each in one)])
            for one in rules
        ]
        lines += [
            f"ask {one.principal} {one.host} {int(one.operation)} {int(one.resource_type)} {one.resource_name}"
            for one in requests
        ]
    command = have(lambda: java_command(compiled_class_path(PROGRAM), "Authorize"))
    done = subprocess.run(
        command, input="\n".join(lines) + "\n", capture_output=True, encoding="utf-8", timeout=bound(120)
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return [line == "1" for line in done.stdout.split()]


def test_decisions_are_those_of_the_standard_authorizer() -> None:
    sets = generated()
    expected = java(sets)
    asked = [(rules, is_open, super_users, one) for rules, is_open, super_users, requests in sets for one in requests]
    assert len(expected) == len(asked) == SETS * REQUESTS
    share = sum(expected) / len(expected)
    assert 0.1 < share < 0.9, share
    for (rules, is_open, super_users, one), is_allowed in zip(asked, expected, strict=True):
        ours = decide(rules, one, super_users=super_users, allow_if_no_rule=is_open)
        assert ours.is_allowed == is_allowed, (one, [str(each) for each in rules], is_open, super_users)
