"""`kctl schemas`: the schemas of a registry.

Does not connect to brokers. Needs schema.registry.url from -X, $KCTL_SCHEMA_REGISTRY_URL, a file or a profile.
"""

from typing import TYPE_CHECKING, Annotated

import typer

from kctl.cli import click
from kctl.cli.changes import Consent, ShownDryRun, YesUnneeded, consent_options, is_confirmed, say_dry_run
from kctl.cli.commands import Commands
from kctl.cli.exit_codes import ExitCode
from kctl.cli.formats.listing import SHAPES, Listing, write_listing
from kctl.cli.options import Common, with_common, with_options
from kctl.cli.output_options import Words
from kctl.grammar.integers import integer_in

if TYPE_CHECKING:
    from kctl.cli.formats.rows import Row
    from kctl.serdes.registry import Reference, Registered, Schema, SchemaRegistry

LIST_COLUMNS = ("subject", "versions", "latest_version")
SHOW_COLUMNS = ("subject", "version", "schema_id", "schema_type", "references", "schema")
CHECK_COLUMNS = ("subject", "version", "compatible", "messages")
RESULT_COLUMNS = ("subject", "version", "schema_id", "result")
CONFIG_COLUMNS = ("subject", "compatibility", "result")
LEVELS = Words(("BACKWARD", "BACKWARD_TRANSITIVE", "FORWARD", "FORWARD_TRANSITIVE", "FULL", "FULL_TRANSITIVE", "NONE"))
TYPES = Words(("avro", "protobuf", "json"))
LATEST = "latest"

app = Commands(no_args_is_help=True)

Subject = Annotated[str, typer.Argument(metavar="SUBJECT", help="Subject name, such as orders-value.")]
SchemaFile = Annotated[str, typer.Argument(metavar="FILE", help="Schema file. - reads stdin.")]
Type = Annotated[
    str | None,
    typer.Option("--type", parser=TYPES, metavar=TYPES.metavar, help="Schema type [default: from the file extension]."),
]
References = Annotated[
    list[str] | None,
    typer.Option(
        "--reference",
        metavar="REFERENCE",
        help="Referenced schema as NAME=SUBJECT@VERSION. Repeatable.",
    ),
]
Version = Annotated[
    str | None,
    typer.Option("--version", metavar="N", help="Version of the schema [default: latest].", show_default=False),
]


@app.callback()
def schemas() -> None:
    """Manage schemas of a schema registry."""


@app.command("list")
@with_common(*SHAPES)
def list_(
    common: Common,
    prefix: Annotated[
        str, typer.Argument(metavar="[PREFIX]", help="Prefix of the subjects to list.", show_default=False)
    ] = "",
    deleted: Annotated[bool, typer.Option("--deleted", help="Include deleted subjects that can be restored.")] = False,
) -> int:
    """List subjects with their versions."""
    output = common.choose_output(*SHAPES)
    registry = _registry(common)
    rows: list[Row] = []
    for subject in registry.subjects(prefix=prefix, deleted=deleted):
        versions = registry.versions(subject, deleted=deleted)
        rows.append({"subject": subject, "versions": versions, "latest_version": versions[-1] if versions else None})
    write_listing(common.environment, output, Listing("schemas", LIST_COLUMNS, rows))
    if not rows:
        common.say(f"{common.environment.program}: no subjects found")
    return ExitCode.OK


@app.command()
@with_common(*SHAPES)
def show(
    common: Common,
    name: Annotated[str, typer.Argument(metavar="SUBJECT|ID", help="Subject name, or schema ID.")],
    version: Version = None,
) -> int:
    """Show a schema by subject and version, or by ID."""
    output = common.choose_output(*SHAPES)
    registry = _registry(common)
    row: Row
    if name.isdecimal() and version is None:
        schema_id = _number(name, "'SUBJECT|ID'")
        row = _shown(registry.schema(schema_id), subject=None, version=None, schema_id=schema_id)
    else:
        found = registry.version(name, _version(version))
        row = _shown(found.schema, subject=found.subject, version=found.version, schema_id=found.id)
    write_listing(common.environment, output, Listing("schemas", SHOW_COLUMNS, [row]))
    return ExitCode.OK


@app.command()
@with_common(*SHAPES)
def check(
    common: Common,
    subject: Subject,
    file: SchemaFile,
    version: Version = None,
    kind: Type = None,
    references: References = None,
) -> int:
    """Check whether a schema is compatible with a subject.

    Exits with 24 if the schema is incompatible.
    """
    output = common.choose_output(*SHAPES)
    schema = _schema(common, file, kind, references)
    wanted = _version(version)
    compatible, messages = _registry(common).check(subject, schema, wanted)
    row: Row = {
        "subject": subject,
        "version": wanted if isinstance(wanted, int) else None,
        "compatible": compatible,
        "messages": "; ".join(messages) or None,
    }
    write_listing(common.environment, output, Listing("schemas", CHECK_COLUMNS, [row]))
    return ExitCode.OK if compatible else ExitCode.DATA


@app.command()
@with_common(*SHAPES)
def register(
    common: Common,
    subject: Subject,
    file: SchemaFile,
    kind: Type = None,
    references: References = None,
    dry_run: ShownDryRun = False,
    yes: YesUnneeded = False,  # noqa: ARG001 - accepted by every change
) -> int:
    """Register a schema as the next version of a subject.

    If the subject already has this schema, its ID does not change.
    """
    output = common.choose_output(*SHAPES)
    schema = _schema(common, file, kind, references)
    registry = _registry(common)
    if dry_run:
        return _check_registration(common, registry, subject, schema)
    number = registry.register(subject, schema)
    row: Row = {"subject": subject, "version": None, "schema_id": number, "result": "registered"}
    found = _version_with(registry, subject, number)
    write_listing(common.environment, output, Listing("schemas", RESULT_COLUMNS, [{**row, "version": found}]))
    return ExitCode.OK


@app.command()
@with_common(*SHAPES)
@with_options(consent=consent_options)
def delete(
    common: Common,
    consent: Consent,
    subject: Subject,
    version: Version = None,
    permanent: Annotated[
        bool,
        typer.Option(
            "--permanent", help="Permanently delete a subject that is already deleted, including its schema IDs."
        ),
    ] = False,
) -> int:
    """Delete a subject, or one version of a subject.

    Shows the versions and prompts for confirmation. In scripts, add --execute. Records stay readable unless
    you add --permanent.
    """
    output = common.choose_output(*SHAPES)
    registry = _registry(common)
    versions = registry.versions(subject, deleted=permanent) if version is None else [_number(version, "'--version'")]
    how = "permanently deleted" if permanent else "deleted"
    what = f"subject {subject}, version{'' if len(versions) == 1 else 's'} {', '.join(map(str, versions))}"
    question = "Permanently delete these versions?" if permanent else "Delete these versions?"
    is_wanted = consent is Consent.GIVEN or is_confirmed(common, consent, [what], question)
    if is_wanted:
        versions = registry.delete(subject, None if version is None else versions[0], permanent=permanent)
    result = how if is_wanted else f"would be {how}"
    rows: list[Row] = [{"subject": subject, "version": each, "schema_id": None, "result": result} for each in versions]
    write_listing(common.environment, output, Listing("schemas", RESULT_COLUMNS, rows, shown=_shown_results(rows)))
    if not is_wanted:
        say_dry_run(common, f"{what} would be {how}")
    return ExitCode.OK


@app.command()
@with_common(*SHAPES)
def config(
    common: Common,
    subject: Annotated[
        str | None,
        typer.Argument(metavar="[SUBJECT]", help="Subject name [default: the whole registry]."),
    ] = None,
    level: Annotated[
        str | None,
        typer.Option("--set", parser=LEVELS, metavar="LEVEL", help=f"Compatibility level: {', '.join(LEVELS.words)}."),
    ] = None,
    dry_run: ShownDryRun = False,
    yes: YesUnneeded = False,  # noqa: ARG001 - accepted by every change
) -> int:
    """Show or set the compatibility level of a subject or the registry."""
    output = common.choose_output(*SHAPES)
    registry = _registry(common)
    row: Row = {"subject": subject, "compatibility": registry.compatibility(subject), "result": "unchanged"}
    if level is not None:
        if not dry_run:
            registry.set_compatibility(level, subject)
        row = {"subject": subject, "compatibility": level, "result": "would be set" if dry_run else "set"}
    write_listing(common.environment, output, Listing("schemas", CONFIG_COLUMNS, [row]))
    return ExitCode.OK


def _registry(common: Common) -> "SchemaRegistry":
    from kctl.cli.decode.registry_access import open_registry  # the client: not wanted for --help

    return open_registry(common, one_timeout=True).registry


def _shown(schema: "Schema", *, subject: str | None, version: int | None, schema_id: int) -> "Row":
    references = ", ".join(f"{each.name}={each.subject}@{each.version}" for each in schema.references)
    return {
        "subject": subject,
        "version": version,
        "schema_id": schema_id,
        "schema_type": schema.type,
        "references": references or None,
        "schema": schema.text,
    }


def _shown_results(rows: "list[Row]") -> tuple[str, ...]:
    return tuple(name for name in RESULT_COLUMNS if any(row[name] is not None for row in rows))


def _check_registration(common: Common, registry: "SchemaRegistry", subject: str, schema: "Schema") -> int:
    from kctl.serdes.errors import SchemaNotFoundError  # the client: not wanted for --help

    try:
        compatible, messages = registry.check(subject, schema)
    except SchemaNotFoundError:
        compatible, messages = True, ()
    result = "would be registered" if compatible else "would be refused"
    row: Row = {"subject": subject, "version": None, "schema_id": None, "result": result}
    output = common.choose_output(*SHAPES)
    write_listing(common.environment, output, Listing("schemas", RESULT_COLUMNS, [row], shown=("subject", "result")))
    for message in messages:
        common.say(f"{common.environment.program}: {message}")
    return ExitCode.OK if compatible else ExitCode.DATA


def _version_with(registry: "SchemaRegistry", subject: str, number: int) -> int | None:
    found: Registered = registry.version(subject)
    return found.version if found.id == number else None


def _schema(common: Common, file: str, kind: str | None, references: list[str] | None) -> "Schema":
    from kctl.cli.decode.local_schemas import schema_text  # these are not wanted for --help
    from kctl.cli.decode.registry_access import NO_CLUSTER
    from kctl.cli.overtime import interrupted_after
    from kctl.client.config import AdminConfig
    from kctl.serdes.schema_file import read_reference, schema_of

    timeout_ms = common.settings.with_defaults(NO_CLUSTER).parse(AdminConfig).default_api_timeout_ms
    stdin = common.environment.stdin if file == "-" else None
    with interrupted_after(timeout_ms, common.environment.clock, f"reading {file if stdin is None else 'stdin'}"):
        text = schema_text(file, "FILE", stdin)
    found: list[Reference] = [click.parsed(read_reference, each, "'--reference'") for each in references or ()]
    return schema_of(text, file, kind, found)


def _version(version: str | None) -> int | str:
    return LATEST if version in (None, LATEST) else _number(version or "", "'--version'")


def _number(text: str, where: str) -> int:
    number = integer_in(text)
    if number is None or not 0 < number < 2**31:
        raise click.BadParameter(f"{text!r} is not an integer from 1 to {2**31 - 1}.", param_hint=where)
    return number
