"""`kctl quotas`: client quotas by user, client ID and address, and the effective quotas of a client."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated

import typer

from kctl.cli import click
from kctl.cli.changes import DryRun, YesUnneeded, read_pairs, report_failures, word_of
from kctl.cli.commands import Commands
from kctl.cli.exit_codes import ExitCode
from kctl.cli.formats.listing import SHAPES, Listing, write_listing
from kctl.cli.formats.rows import Row
from kctl.cli.options import Common, with_common, with_options
from kctl.cli.output_options import Output
from kctl.client.config import nearest_name
from kctl.grammar.sizes import parse_size_bytes

if TYPE_CHECKING:
    from kctl.client.admin import QuotaEntity

COLUMNS = ("user", "client_id", "ip", "key", "quota")
CHANGE_COLUMNS = (*COLUMNS, "result")
EFFECTIVE_COLUMNS = ("key", "quota", "source", "user", "client_id", "ip")
KEYS = (
    "producer_byte_rate",
    "consumer_byte_rate",
    "request_percentage",
    "controller_mutation_rate",
    "connection_creation_rate",
)
TYPES = ("user", "client-id", "ip")
Names = Mapping[str, str | None]
"""Names by type of entity; None is the default of the type."""

app = Commands(no_args_is_help=True)

Pairs = Annotated[
    list[str], typer.Argument(metavar="KEY=VALUE...", help=f"Quotas to set: {', '.join(KEYS)}.", show_default=False)
]
Keys = Annotated[
    list[str], typer.Argument(metavar="KEY...", help=f"Quotas to remove: {', '.join(KEYS)}.", show_default=False)
]


@app.callback()
def quotas() -> None:
    """Manage client quotas."""


def entity_options(
    user: Annotated[
        str | None, typer.Option("--user", metavar="NAME", help="User name without the prefix User:.")
    ] = None,
    user_default: Annotated[bool, typer.Option("--user-default", help="Select the default for all users.")] = False,
    client_id: Annotated[str | None, typer.Option("--client-id", metavar="ID", help="Client ID.")] = None,
    client_id_default: Annotated[
        bool, typer.Option("--client-id-default", help="Select the default for all client IDs.")
    ] = False,
    ip: Annotated[str | None, typer.Option("--ip", metavar="ADDRESS", help="IP address of clients.")] = None,
    ip_default: Annotated[bool, typer.Option("--ip-default", help="Select the default for all addresses.")] = False,
) -> Names:
    """Return the name of each part of a quota entity; None for its default. Raises: click.UsageError."""
    found: dict[str, str | None] = {}
    for kind, name, is_default in zip(
        TYPES, (user, client_id, ip), (user_default, client_id_default, ip_default), strict=True
    ):
        if name is not None and is_default:
            raise click.UsageError(f"--{kind} and --{kind}-default cannot be combined.")
        if name == "":
            raise click.BadParameter("use a value that is not empty", param_hint=f"'--{kind}'")
        if name is not None or is_default:
            found[kind] = name
    if "ip" in found and len(found) > 1:
        raise click.UsageError("--ip cannot be combined with a user or client ID: addresses have separate quotas.")
    return found


@app.command("list")
@with_common(*SHAPES)
@with_options(names=entity_options)
def list_(common: Common, names: Names) -> int:
    """List all quotas, or the quotas of a user, client ID, or address."""
    from kctl.cli.admin_client import admin_of  # the client: not wanted for --help

    output = common.choose_output(*SHAPES)
    with admin_of(common) as admin:
        found = admin.describe_client_quotas(list(names))
    rows: list[Row] = [
        {**_entity_row(entity), "key": key, "quota": _number(value)}
        for entity in sorted(found, key=_order)
        if all(dict(entity.parts).get(kind, "") == name for kind, name in names.items())
        for key, value in sorted(found[entity].items())
    ]
    write_listing(common.environment, output, Listing("quotas", COLUMNS, rows))
    if not rows and output is Output.TABLE:
        common.say(f"{common.environment.program}: {'no matching quotas found' if names else 'no quotas found'}")
    return ExitCode.OK


@app.command("set")
@with_common(*SHAPES)
@with_options(names=entity_options)
def set_(
    common: Common,
    pairs: Pairs,
    names: Names,
    dry_run: DryRun = False,
    yes: YesUnneeded = False,  # noqa: ARG001 - accepted, and not needed
) -> int:
    """Set quotas for a user, a client ID, a user with a client ID, or an address.

    Each broker applies the quotas separately. Byte rates are bytes per second, such as 500000, 1MB, or 512KiB.
    """
    values = {_key(key, "'KEY=VALUE'"): _value(key, text) for key, text in read_pairs(pairs, "'KEY=VALUE'").items()}
    return _change(common, names, values, dry_run=dry_run)


@app.command()
@with_common(*SHAPES)
@with_options(names=entity_options)
def unset(
    common: Common,
    keys: Keys,
    names: Names,
    dry_run: DryRun = False,
    yes: YesUnneeded = False,  # noqa: ARG001 - as above
) -> int:
    """Remove quotas, so that the defaults apply."""
    return _change(common, names, dict.fromkeys(_key(key, "'KEY'") for key in keys), dry_run=dry_run)


@app.command()
@with_common(*SHAPES)
@with_options(names=entity_options)
def describe(common: Common, names: Names) -> int:
    """Show the effective quotas of a client, with their sources.

    The most specific quota applies, in this order: user with client ID, user, client ID, defaults.
    """
    from kctl.cli.admin_client import admin_of  # the client: not wanted for --help
    from kctl.client.admin import effective_quotas

    _needed(names)
    output = common.choose_output(*SHAPES)
    with admin_of(common) as admin:
        found = admin.describe_client_quotas()
    effective = effective_quotas(found, user=names.get("user"), client_id=names.get("client-id"), ip=names.get("ip"))
    if "ip" not in names:
        effective.pop("connection_creation_rate", None)
    rows: list[Row] = [
        {"key": key, "quota": _number(each.value), "source": str(each.source), **_entity_row(each.source)}
        for key, each in sorted(effective.items())
    ]
    write_listing(common.environment, output, Listing("quotas", EFFECTIVE_COLUMNS, rows, shown=EFFECTIVE_COLUMNS[:3]))
    if not rows:
        common.say(f"{common.environment.program}: no effective quotas found")
    return ExitCode.OK


def _result(value: float | None, *, was_set: bool, dry_run: bool) -> str:
    if value is None and not was_set:
        return "not set"
    done = "unset" if value is None else "set"
    return f"would be {done}" if dry_run else done


def _change(common: Common, names: Names, values: Mapping[str, float | None], *, dry_run: bool) -> int:
    from kctl.cli.admin_client import admin_of  # the client: not wanted for --help
    from kctl.client.admin import QuotaEntity

    _needed(names)
    output = common.choose_output(*SHAPES)
    entity = QuotaEntity.of(names)
    with admin_of(common) as admin:
        before = admin.describe_client_quotas(list(names)).get(entity, {}) if None in values.values() else {}
        results = admin.alter_client_quotas({entity: values}, validate_only=dry_run)
        rows: list[Row] = []
        for key, value in values.items():
            result = word_of(results.failed.get(entity), _result(value, was_set=key in before, dry_run=dry_run))
            quota = None if value is None else _number(value)
            rows.append({**_entity_row(entity), "key": key, "quota": quota, "result": result})
        write_listing(common.environment, output, Listing("quotas", CHANGE_COLUMNS, rows))
        code = report_failures(common, results.done, list(results.failed.values()), "kctl quotas list")
        if results.done and not dry_run:
            from kctl.cli.metadata_wait import wait_for_quotas  # wanted once something was changed

            wait_for_quotas(common, admin, entity, values)
    return code


def _needed(names: Names) -> None:
    if not names:
        raise click.UsageError("Missing option --user, --client-id, --ip, or an option for their defaults.")


def _key(key: str, where: str) -> str:
    if key in KEYS:
        return key
    near = nearest_name(key, KEYS)
    known = f"did you mean {near}?" if near is not None else f"use {', '.join(KEYS)}"
    raise click.BadParameter(f"unknown quota {key!r}: {known}", param_hint=where)


def _value(key: str, text: str) -> float:
    """Return the value of a quota. Byte rates may be sizes. Raises: click.BadParameter: the value is invalid."""
    is_size = key.endswith("_byte_rate")
    try:
        value = parse_size_bytes(text) if is_size and text[-1:].isalpha() and text[:1].isdigit() else float(text)
    except ValueError:
        value = -1
    if not 0 < value < float("inf") or "_" in text:
        sizes = ", or a size such as 1MB or 512KiB" if is_size else ""
        raise click.BadParameter(
            f"invalid quota {key}={text}: use a number greater than 0{sizes}", param_hint="'KEY=VALUE'"
        )
    return value


def _number(value: float) -> float:
    return int(value) if value == int(value) else value


def _entity_row(entity: "QuotaEntity") -> Row:
    from kctl.client.admin import DEFAULT_TEXT

    parts = {kind: DEFAULT_TEXT if name is None else name for kind, name in entity.parts}
    return {"user": parts.get("user"), "client_id": parts.get("client-id"), "ip": parts.get("ip")}


def _order(entity: "QuotaEntity") -> list[tuple[str, bool, str]]:
    return [(kind, name is not None, name or "") for kind, name in entity.parts]
