"""The `kctl acls` commands and their options."""

from typing import TYPE_CHECKING, Annotated

import typer

from kctl.cli import click
from kctl.cli.acls.rules import (
    Operations,
    Resources,
    RuleOptions,
    filters_of,
    operation_of,
    principal_of,
    resource_options,
    rule_options,
    rules_of,
)
from kctl.cli.changes import Consent, ShownDryRun, YesUnneeded, consent_options
from kctl.cli.commands import Commands
from kctl.cli.formats.listing import SHAPES
from kctl.cli.options import Common, with_common, with_options

if TYPE_CHECKING:
    from kctl.client.admin import AclOperation

app = Commands(no_args_is_help=True)

Principals = Annotated[
    list[str] | None,
    typer.Option("--principal", metavar="PRINCIPAL", help="Principal of the rules. Repeatable."),
]


@app.callback()
def acls() -> None:
    """Manage ACLs and test permissions."""


@app.command("list")
@with_common(*SHAPES)
@with_options(resources=resource_options, options=rule_options)
def list_(common: Common, resources: Resources, options: RuleOptions, principals: Principals = None) -> int:
    """List all ACL rules, or the rules that match all options.

    Resource options also match rules for '*' and for prefixes of the name. With --prefixed, they match only rules
    for exactly this prefix.
    """
    from kctl.cli.acls.run import list_rules

    return list_rules(common, filters_of(resources, options, principals or (), matching=True))


@app.command()
@with_common(*SHAPES)
@with_options(resources=resource_options, options=rule_options)
def create(
    common: Common,
    resources: Resources,
    options: RuleOptions,
    producer: Annotated[
        bool,
        typer.Option("--producer", help="Select the operations that producers need on topics and transactional IDs."),
    ] = False,
    consumer: Annotated[
        bool, typer.Option("--consumer", help="Select the operations that consumers need on topics and groups.")
    ] = False,
    dry_run: ShownDryRun = False,
    yes: YesUnneeded = False,  # noqa: ARG001 - accepted, and not needed
) -> int:
    """Create an ACL rule for each combination of principal, operation, resource, and host.

    Existing rules are not changed. Deny rules override allow rules.
    """
    from kctl.cli.acls.run import create_rules, rules_of_clients

    if producer or consumer:
        rules = rules_of_clients(resources, options, producer=producer, consumer=consumer)
    else:
        rules = rules_of(resources, options)
    return create_rules(common, rules, dry_run=dry_run)


@app.command()
@with_common(*SHAPES)
@with_options(resources=resource_options, options=rule_options, consent=consent_options)
def delete(
    common: Common,
    consent: Consent,
    resources: Resources,
    options: RuleOptions,
    principals: Principals = None,
) -> int:
    """Delete the ACL rules that match all options.

    Lists the rules and prompts for confirmation. In scripts, add --execute. Resource options
    match only rules for exactly this name, or with --prefixed for exactly this prefix.
    """
    from kctl.cli.acls.run import delete_rules

    if not (resources.named or options.permissions or options.operations or options.hosts or principals):
        raise click.UsageError("Select the rules to delete by principal, operation, or resource.")
    filters = filters_of(resources, options, principals or (), matching=False)
    return delete_rules(common, filters, consent)


@app.command()
@with_common(*SHAPES)
@with_options(resources=resource_options)
def check(
    common: Common,
    principal: Annotated[str, typer.Argument(metavar="PRINCIPAL", help="Principal to test: User:NAME or NAME.")],
    resources: Resources,
    operations: Operations = None,
    host: Annotated[
        str | None, typer.Option("--host", metavar="ADDRESS", help="Address of the client [default: any].")
    ] = None,
) -> int:
    """Test whether a principal has a permission, and show the deciding rule.

    Exits with 3 if access is denied. The operation defaults to read, or to describe if the resource has no read
    operation.
    """
    from kctl.cli.acls.check import check_access

    if not resources.named:
        raise click.UsageError("Missing option --topic, --group, --cluster, or another resource.")
    if resources.prefixed:
        raise click.UsageError("--prefixed is not supported: the test needs the full name of a resource.")
    chosen: list[AclOperation] = [operation_of(each) for each in operations or ()]
    return check_access(common, principal_of(principal, "'PRINCIPAL'"), resources, chosen, host)
