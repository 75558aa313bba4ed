"""`kctl configs`: show, set and unset configs of topics, brokers, groups and client metrics subscriptions."""

import shlex
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Annotated

import typer

from kctl.cli import click
from kctl.cli.changes import DryRun, YesUnneeded, read_pairs, report_failures, word_of
from kctl.cli.commands import Commands
from kctl.cli.formats.listing import SHAPES, Listing, write_listing
from kctl.cli.formats.rows import Row
from kctl.cli.options import Common, with_common
from kctl.cli.output_options import Words

if TYPE_CHECKING:
    from kctl.client.admin import ConfigEntry, ConfigResource
    from kctl.client.errors import KafkaError

SHOW_COLUMNS = ("key", "value", "source", "default", "type", "read_only", "sensitive")
SHOWN = ("key", "value", "source", "default", "sensitive")
CHANGE_COLUMNS = ("resource", "key", "value", "result")
DEFAULTS = "broker-defaults"
UNITS_MS = {"hours": 3_600_000, "minutes": 60_000}
TYPES = Words(("topic", "broker", DEFAULTS, "group", "client-metrics"))

app = Commands(no_args_is_help=True)

Type = Annotated[str, typer.Argument(metavar="TYPE", parser=TYPES, help=f"{', '.join(TYPES.words)}.")]
Rest = Annotated[list[str], typer.Argument(metavar="[NAME] KEY=VALUE...", show_default=False)]
Keys = Annotated[list[str], typer.Argument(metavar="[NAME] KEY...", show_default=False)]


@app.callback()
def configs() -> None:
    """Show and change configs of topics, brokers, and groups."""


@app.command()
@with_common(*SHAPES)
def show(
    common: Common,
    kind: Type,
    name: Annotated[
        str | None,
        typer.Argument(metavar="[NAME]", help=f"Resource name, or broker ID. Omit this argument for {DEFAULTS}."),
    ] = None,
    changed: Annotated[bool, typer.Option("--changed", help="Hide configs that have the default value.")] = False,
    docs: Annotated[bool, typer.Option("--docs", help="Add the description of each config.")] = False,
) -> int:
    """Show configs with their values, sources, and defaults.

    Values of secret configs are not shown.
    """
    from kctl.cli.admin_client import admin_of  # the client: not wanted for --help
    from kctl.cli.nearest_names import suggest_resources

    output = common.choose_output(*SHAPES)
    [resource], rest = _resource(kind, [] if name is None else [name])
    if rest:
        raise click.UsageError(f"The type {DEFAULTS} does not accept a name.")
    with admin_of(common) as admin:
        results = admin.describe_configs([resource], include_synonyms=True, include_documentation=docs)
        suggest_resources(admin, results.failed)
    rows = [row for found in results.done.values() for row in entry_rows(found.values(), changed=changed, docs=docs)]
    more = ["documentation"] if docs else []
    if results.done:
        listing = Listing("configs", (*SHOW_COLUMNS, *more), rows, shown=(*SHOWN, *more))
        write_listing(common.environment, output, listing)
    return report_failures(common, results.done, list(results.failed.values()))


@app.command("set")
@with_common(*SHAPES)
def set_(common: Common, kind: Type, rest: Rest, dry_run: DryRun = False, yes: YesUnneeded = False) -> int:  # noqa: ARG001
    """Set configs of a resource, without changing its other configs."""
    resources, pairs = _resource(kind, rest)
    return change(common, dict.fromkeys(resources, _some(read_pairs(pairs, "'KEY=VALUE'"))), dry_run=dry_run)


@app.command()
@with_common(*SHAPES)
def unset(common: Common, kind: Type, rest: Keys, dry_run: DryRun = False, yes: YesUnneeded = False) -> int:  # noqa: ARG001
    """Restore configs to their defaults."""
    resources, keys = _resource(kind, rest)
    return change(common, dict.fromkeys(resources, _some(dict.fromkeys(keys))), dry_run=dry_run)


def change(common: Common, changes: "Mapping[ConfigResource, Mapping[str, str | None]]", *, dry_run: bool) -> int:
    """Change configs, show the results, and return the exit code."""
    from kctl.cli.admin_client import admin_of  # the client: not wanted for --help

    output = common.choose_output(*SHAPES)
    with admin_of(common) as admin:
        results = admin.alter_configs(changes, validate_only=dry_run)
        rows: list[Row] = [
            {
                "resource": str(resource),
                "key": key,
                "value": value,
                "result": result_of(value, results.failed.get(resource), dry_run=dry_run),
            }
            for resource, entries in changes.items()
            for key, value in entries.items()
        ]
        write_listing(common.environment, output, Listing("configs", CHANGE_COLUMNS, rows))
        check = f"kctl configs show {shown_name(next(iter(changes)))}"
        code = report_failures(common, results.done, list(results.failed.values()), check)
        if results.done and not dry_run:
            from kctl.cli.metadata_wait import wait_for_configs  # wanted once something was changed

            wait_for_configs(common, admin, {each: changes[each] for each in results.done})
    return code


def shown_name(resource: "ConfigResource") -> str:
    return shlex.join(str(resource).split(" ", 1))


def result_of(value: str | None, error: "KafkaError | None", *, dry_run: bool) -> str:
    done = "unset" if value is None else "set"
    return word_of(error, f"would be {done}" if dry_run else done)


def entry_rows(entries: "Iterable[ConfigEntry]", *, changed: bool = False, docs: bool = False) -> list[Row]:
    """Return a row for each entry, sorted by name.

    Args:
        changed: omit entries that have the default.
        docs: add the documentation.
    """
    from kctl.client.admin import CONFIG_SOURCES, CONFIG_TYPES

    rows: list[Row] = []
    for entry in sorted(entries):
        source = CONFIG_SOURCES.get(entry.source)
        if changed and source == "DEFAULT_CONFIG":
            continue
        row: Row = {
            "key": entry.name,
            "value": entry.value,
            "source": source,
            "default": entry.value if source == "DEFAULT_CONFIG" else default_of(entry),
            "type": CONFIG_TYPES.get(entry.type),
            "read_only": entry.is_read_only,
            "sensitive": entry.is_sensitive,
        }
        rows.append({**row, "documentation": entry.documentation or None} if docs else row)
    return rows


def default_of(entry: "ConfigEntry") -> str | None:
    """Return the default of an entry, or None. Broker defaults in hours or minutes are converted to ms."""
    from kctl.client.admin import CONFIG_SOURCES
    from kctl.grammar.integers import integer_in

    for name, value, source in entry.synonyms:
        if CONFIG_SOURCES.get(source) == "DEFAULT_CONFIG":
            unit_ms = UNITS_MS.get(name.rpartition(".")[2]) if entry.name.endswith(".ms") else None
            number = integer_in(value or "") if unit_ms else None
            return value if unit_ms is None or number is None else str(number * unit_ms)
    return None


def _some(entries: Mapping[str, str | None]) -> Mapping[str, str | None]:
    if not entries:
        raise click.UsageError("Missing argument: the name of the config to change.")
    return entries


def _resource(kind: str, words: list[str]) -> "tuple[list[ConfigResource], list[str]]":
    from kctl.client.admin import ConfigResource, ResourceType

    if kind == DEFAULTS:
        return [ConfigResource(ResourceType.BROKER, "")], words
    if not words:
        raise click.UsageError(f"Missing argument NAME: the name of the {kind}.")
    name, *rest = words
    if kind == "broker" and not (name.isascii() and name.isdigit()):
        raise click.UsageError(f"Invalid broker ID {name!r}: use an integer.")
    return [ConfigResource(ResourceType[kind.upper().replace("-", "_")], name)], rest
