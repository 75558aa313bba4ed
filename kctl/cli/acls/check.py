"""Execution of `kctl acls check`, which decides as Kafka's authorizer does."""

from collections.abc import Sequence

from kctl.cli.acls.rules import EVERY, Resources, check_operations, line_of
from kctl.cli.admin_client import admin_of
from kctl.cli.exit_codes import ExitCode
from kctl.cli.formats.listing import SHAPES, Listing, write_listing
from kctl.cli.formats.rows import Row
from kctl.cli.options import Common
from kctl.client.admin import (
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
from kctl.client.wording import one_line

COLUMNS = ("principal", "host", "operation", "resource_type", "resource", "result", "rule", "needed")
SHOWN = ("principal", "operation", "resource_type", "resource", "result", "rule")
ANYONE = "User:*"


def check_access(
    common: Common, principal: str, resources: Resources, operations: Sequence[AclOperation], host: str | None
) -> int:
    """Print the decision and its rule for each resource and operation, and return the exit code."""
    output = common.choose_output(*SHAPES)
    wanted = [
        AclRule(
            AclResourceType[kind.upper().replace("-", "_")],
            name,
            PatternType.LITERAL,
            principal,
            host or EVERY,
            operation,
            AclPermission.ALLOW,
        )
        for kind, name in resources.named
        for operation in operations or [_usual(kind)]
    ]
    check_operations(wanted)
    rows: list[Row] = []
    hints: list[str] = []
    with admin_of(common) as admin:
        about: dict[tuple[AclResourceType, str], list[AclRule]] = {}
        for needed in wanted:
            resource = needed.resource_type, needed.resource_name
            if resource not in about:
                about[resource] = admin.describe_acls(AclFilter(*resource, PatternType.MATCH))
    for needed in wanted:
        rules = about[needed.resource_type, needed.resource_name]
        request = AclRequest(principal, needed.operation, *needed[:2], needed.host)
        decision = decide(rules, request)
        is_missing = not decision.is_allowed and decision.rule is None
        rows.append(
            {
                "principal": principal,
                "host": needed.host,
                "operation": needed.operation.word,
                "resource_type": needed.resource_type.word,
                "resource": needed.resource_name,
                "result": "allowed" if decision.is_allowed else "denied",
                "rule": None if decision.rule is None else str(decision.rule),
                "needed": str(needed) if is_missing else None,
            }
        )
        if host is None:
            _note_hosts(common, rules, request)
        if not decision.is_allowed:
            hints.append(_hint(needed, decision.rule))
    write_listing(common.environment, output, Listing("access", COLUMNS, rows, shown=SHOWN))
    for hint in dict.fromkeys(hints):
        common.say(hint)
    return ExitCode.PARTIAL_FAILURE if hints else ExitCode.OK


def _usual(kind: str) -> AclOperation:
    supported = SUPPORTED_OPERATIONS[AclResourceType[kind.upper().replace("-", "_")]]
    for each in (AclOperation.READ, AclOperation.DESCRIBE):
        if each in supported:
            return each
    return min(supported)


def _hint(needed: AclRule, denying: AclRule | None) -> str:
    if denying is not None:
        return f"hint: remove the deny rule with: {one_line(line_of(denying, 'delete'))}"
    return f"hint: unless the principal is a super user, allow access with: {one_line(line_of(needed, 'create'))}"


def _note_hosts(common: Common, rules: Sequence[AclRule], request: AclRequest) -> None:
    hosts = [
        rule.host
        for rule in rules
        if rule.host != EVERY and rule.principal in (request.principal, ANYONE) and rule.applies_to(request.operation)
    ]
    if hosts:
        names = one_line(", ".join(sorted(set(hosts))))
        common.say(
            f"{common.environment.program}: note: some rules apply only to clients at {names}. Add --host to check "
            "an address"
        )
