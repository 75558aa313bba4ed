"""Rule options of the `kctl acls` commands: principals, operations and resources."""

import re
import shlex
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Annotated, NamedTuple

import typer

from kctl.cli import click

if TYPE_CHECKING:
    from kctl.client.admin import AclFilter, AclOperation, AclRule

Resource = tuple[str, str]
"""Type and name, such as `("topic", "orders")`."""
_TYPED = re.compile(r"[A-Za-z]+:.", re.DOTALL)
CLUSTER_NAME = "kafka-cluster"
EVERY = "*"

Principals = list[str] | None
Names = list[str] | None
Operations = Annotated[
    list[str] | None,
    typer.Option(
        "--operation",
        metavar="NAME",
        help="Operation, such as read, write, describe, alter-configs, or all. Repeatable.",
    ),
]


class Resources(NamedTuple):
    """Resources that the options name.

    Attributes: prefixed: whether the names are prefixes.
    """

    named: tuple[Resource, ...]
    prefixed: bool


def resource_options(
    topics: Annotated[
        list[str] | None, typer.Option("--topic", metavar="TOPIC", help="Topic, or '*' for all. Repeatable.")
    ] = None,
    groups: Annotated[
        list[str] | None, typer.Option("--group", "-g", metavar="GROUP", help="Group, or '*' for all. Repeatable.")
    ] = None,
    cluster: Annotated[bool, typer.Option("--cluster", help="Select the cluster resource.")] = False,
    transactional_ids: Annotated[
        list[str] | None, typer.Option("--transactional-id", metavar="ID", help="Transactional ID. Repeatable.")
    ] = None,
    delegation_tokens: Annotated[
        list[str] | None, typer.Option("--delegation-token", metavar="ID", help="ID of a delegation token. Repeatable.")
    ] = None,
    users: Annotated[
        list[str] | None,
        typer.Option("--user", metavar="NAME", help="User whose delegation tokens the rules apply to. Repeatable."),
    ] = None,
    prefixed: Annotated[bool, typer.Option("--prefixed", help="Treat resource names as prefixes.")] = False,
) -> Resources:
    named = [
        *_each("topic", topics),
        *_each("group", groups),
        *([("cluster", CLUSTER_NAME)] if cluster else []),
        *_each("transactional-id", transactional_ids),
        *_each("delegation-token", delegation_tokens),
        *(("user", principal_of(name, "'--user'") if name != EVERY else name) for name in users or ()),
    ]
    for kind, name in named:
        if not name:
            raise click.BadParameter(f"the {kind} name is empty", param_hint=f"'--{kind}'")
        if len(name) > 1 and name.endswith(EVERY) and kind == "topic":
            raise click.BadParameter(
                f"topic {name!r} ends with '*': use --topic {shlex.quote(name[:-1])} --prefixed to match a prefix",
                param_hint="'--topic'",
            )
        if prefixed and name == EVERY:
            raise click.BadParameter("'*' already matches all names", param_hint="'--prefixed'")
    return Resources(tuple(dict.fromkeys(named)), prefixed)


class RuleOptions(NamedTuple):
    """Options that describe rules.

    Attributes:
        permissions: principal and permission, such as `("User:ann", "allow")`.
        hosts: hosts of the clients; empty for all hosts.
    """

    permissions: tuple[tuple[str, str], ...]
    operations: "tuple[AclOperation, ...]"
    hosts: tuple[str, ...]


def rule_options(
    allow: Annotated[
        list[str] | None,
        typer.Option(
            "--allow", metavar="PRINCIPAL", help="Principal to allow: User:NAME, or User:* for all. Repeatable."
        ),
    ] = None,
    deny: Annotated[
        list[str] | None, typer.Option("--deny", metavar="PRINCIPAL", help="Principal to deny. Repeatable.")
    ] = None,
    operations: Operations = None,
    hosts: Annotated[
        list[str] | None,
        typer.Option("--host", metavar="ADDRESS", help="Address of clients. Repeatable [default: any]."),
    ] = None,
) -> RuleOptions:
    permissions = [(principal_of(each, "'--allow'"), "allow") for each in allow or ()]
    permissions += [(principal_of(each, "'--deny'"), "deny") for each in deny or ()]
    return RuleOptions(
        tuple(dict.fromkeys(permissions)),
        tuple(dict.fromkeys(operation_of(each) for each in operations or ())),
        tuple(dict.fromkeys(hosts or ())),
    )


def principal_of(text: str, where: str) -> str:
    """Return a principal with its type, such as User:ann for `ann`. Raises: click.BadParameter: the name is empty."""
    found = text if _TYPED.match(text) else f"User:{text}"
    if found == "User:" or text.endswith(":"):
        raise click.BadParameter(f"use a principal such as User:ann instead of {text!r}", param_hint=where)
    return found


def operation_of(text: str) -> "AclOperation":
    """Return an operation, spelled as in kctl or in Kafka's tools. Raises: click.BadParameter: the operation is
    unknown.
    """
    from kctl.client.admin import AclOperation

    wanted = _letters(text)
    known = [each for each in AclOperation if each not in (AclOperation.UNKNOWN, AclOperation.ANY)]
    for each in known:
        if _letters(each.word) == wanted:
            return each
    names = ", ".join(each.word for each in known)
    raise click.BadParameter(f"{text!r} is not one of {names}", param_hint="'--operation'")


def rules_of(resources: Resources, options: RuleOptions) -> "list[AclRule]":
    """Return a rule for each combination of resource, permission, host and operation.

    Raises: click.UsageError: an option is missing, or a resource does not support an operation.
    """
    from kctl.client.admin import AclPermission, AclResourceType, AclRule, PatternType

    for is_there, what in (
        (options.permissions, "--allow or --deny"),
        (options.operations, "--operation"),
        (resources.named, "--topic, --group, --cluster, or another resource"),
    ):
        if not is_there:
            raise click.UsageError(f"Missing option {what}.")
    rules = [
        AclRule(
            AclResourceType[_upper(kind)],
            name,
            PatternType.PREFIXED if resources.prefixed and kind != "cluster" else PatternType.LITERAL,
            principal,
            host,
            operation,
            AclPermission[_upper(permission)],
        )
        for kind, name in resources.named
        for principal, permission in options.permissions
        for host in options.hosts or (EVERY,)
        for operation in options.operations
    ]
    check_operations(rules)
    return rules


def check_operations(rules: "Iterable[AclRule]") -> None:
    """Raise click.BadParameter if a resource type does not support the operation of a rule."""
    from kctl.client.admin import SUPPORTED_OPERATIONS, AclOperation

    for rule in rules:
        supported = SUPPORTED_OPERATIONS[rule.resource_type]
        if rule.operation not in (*supported, AclOperation.ALL):
            names = ", ".join(each.word for each in sorted({*supported, AclOperation.ALL}))
            raise click.BadParameter(
                f"operation {rule.operation.word} does not apply to a {rule.resource_type.word}: use {names}",
                param_hint="'--operation'",
            )


def filters_of(
    resources: Resources, options: RuleOptions, principals: Iterable[str] = (), *, matching: bool
) -> "list[AclFilter]":
    """Return a filter for each combination of the options. Missing options match everything.

    Args:
        principals: principals whose rules match with any permission.
        matching: include rules that match a resource by prefix or '*'.
    """
    from kctl.client.admin import AclFilter, AclOperation, AclPermission, AclResourceType, PatternType

    pattern = PatternType.PREFIXED if resources.prefixed else PatternType.MATCH if matching else PatternType.LITERAL
    found: list[tuple[AclResourceType, str | None, PatternType]] = [
        (AclResourceType[_upper(kind)], name, PatternType.LITERAL if kind == "cluster" else pattern)
        for kind, name in resources.named
    ]
    anything = PatternType.PREFIXED if resources.prefixed else PatternType.ANY
    who: list[tuple[str | None, AclPermission]] = [
        *((name, AclPermission[_upper(permission)]) for name, permission in options.permissions),
        *((principal_of(name, "'--principal'"), AclPermission.ANY) for name in principals),
    ]
    return [
        AclFilter(*resource, principal, host, operation, permission)
        for resource in found or [(AclResourceType.ANY, None, anything)]
        for principal, permission in who or [(None, AclPermission.ANY)]
        for host in options.hosts or (None,)
        for operation in options.operations or (AclOperation.ANY,)
    ]


def line_of(rule: "AclRule", command: str) -> str:
    words = ["kctl", "acls", command, f"--{rule.permission.word}", rule.principal, "--operation", rule.operation.word]
    words += ["--cluster"] if rule.resource_type.word == "cluster" else [f"--{rule.resource_type.word}"]
    words += [] if rule.resource_type.word == "cluster" else [rule.resource_name]
    words += ["--prefixed"] if rule.pattern_type.word == "prefixed" else []
    words += [] if rule.host == EVERY else ["--host", rule.host]
    return shlex.join(words)


def _each(kind: str, names: list[str] | None) -> Iterator[Resource]:
    yield from ((kind, name) for name in names or ())


def _letters(text: str) -> str:
    return text.lower().replace("-", "").replace("_", "")


def _upper(word: str) -> str:
    return word.upper().replace("-", "_")
