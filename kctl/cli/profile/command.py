"""Options of the `kctl profile` commands."""

from pathlib import Path
from typing import Annotated

import typer

from kctl.cli import click
from kctl.cli.changes import YesUnneeded
from kctl.cli.commands import Commands
from kctl.cli.formats.listing import SHAPES
from kctl.cli.options import Common, with_common
from kctl.cli.output_options import AsJson, Output, Words, output_option, shape_of_json

FORMAT = Words(("java", "librdkafka", "rpk"))

app = Commands(no_args_is_help=True)

Name = Annotated[str, typer.Argument(metavar="NAME", show_default=False)]
Shape = Annotated[Output | None, output_option(*SHAPES)]
Project = Annotated[bool, typer.Option("--project", help="Use the project file .kctl.toml instead of your file.")]
Use = Annotated[bool, typer.Option("--use", help="Make the profile the current profile.")]
Quiet = Annotated[bool, typer.Option("-q", "--quiet", help="Print only errors on stderr.")]
Force = Annotated[bool, typer.Option("--force", help="Replace an existing profile.")]
Overrides = Annotated[
    list[str] | None,
    typer.Option("-X", metavar="KEY=VALUE", help="Kafka client property by its official name. Repeatable."),
]


@app.callback()
def profile() -> None:
    """Manage connection profiles.

    Values can be references to secrets: ${env:NAME}, ${file:PATH}, ${cmd:COMMAND}, ${keyring:SERVICE/USER}, or
    ${prompt:WORDS}.
    """


@app.command("list")
def list_(ctx: typer.Context, output: Shape = None, as_json: AsJson = False) -> int:
    """List profiles, and show the current profile."""
    from kctl.cli.profile.show import list_profiles

    return list_profiles(ctx.obj, (shape_of_json(output) if as_json else output) or Output.TABLE)


@app.command()
@with_common(*SHAPES, fetches=False, profile="name")
def show(
    common: Common,
    name: Annotated[str | None, typer.Argument(metavar="[PROFILE]", show_default=False)] = None,
    origin: Annotated[
        bool, typer.Option("--origin", help="Show all properties including defaults, with the source of each value.")
    ] = False,
) -> int:
    """Show the effective properties from options, -X, variables, and the profile. Secrets are hidden."""
    from kctl.cli.profile.show import show_settings

    return show_settings(common, common.choose_output(*SHAPES), origin=origin, named=name)


@app.command()
def use(
    ctx: typer.Context,
    name: Annotated[str | None, typer.Argument(metavar="[PROFILE]", show_default=False)] = None,
    none: Annotated[bool, typer.Option("--none", help="Unset the current profile.")] = False,
    project: Project = False,
    yes: YesUnneeded = False,  # noqa: ARG001 - accepted, and not needed
    quiet: Quiet = False,
) -> int:
    """Set the current profile, which commands without -C use."""
    if (name is None) is not none:
        raise click.UsageError("Missing argument PROFILE: use the name of a profile, or --none.", ctx)
    from kctl.cli.profile.change import use_profile

    return use_profile(ctx.obj, name, project=project, quiet=quiet)


@app.command()
def create(
    ctx: typer.Context,
    name: Name,
    bootstrap: Annotated[
        list[str] | None,
        typer.Option("--bootstrap", "-b", metavar="HOST:PORT", help="Bootstrap servers, comma-separated."),
    ] = None,
    security_protocol: Annotated[
        str | None,
        typer.Option(
            "--security-protocol",
            metavar="NAME",
            help="Security protocol: PLAINTEXT, SSL, SASL_PLAINTEXT, or SASL_SSL.",
        ),
    ] = None,
    mechanism: Annotated[
        str | None,
        typer.Option(
            "--sasl-mechanism",
            metavar="NAME",
            help="SASL mechanism: PLAIN, SCRAM-SHA-256, SCRAM-SHA-512, or OAUTHBEARER.",
        ),
    ] = None,
    user: Annotated[
        str | None,
        typer.Option(
            "--user",
            metavar="NAME",
            help="User name for SASL. The protocol is SASL_SSL unless --security-protocol is set.",
        ),
    ] = None,
    password_from: Annotated[
        str | None,
        typer.Option(
            "--password-from",
            metavar="SOURCE",
            help="Source of the password: env:NAME, file:PATH, cmd:COMMAND, keyring:SERVICE/USER, or prompt:WORDS.",
        ),
    ] = None,
    override: Overrides = None,
    make_current: Use = False,
    force: Force = False,
    project: Project = False,
    yes: YesUnneeded = False,  # noqa: ARG001 - accepted, and not needed
    quiet: Quiet = False,
) -> int:
    """Create a profile. The first profile becomes the current profile."""
    from kctl.cli.profile.change import Login, create_profile

    servers = None if bootstrap is None else ",".join(bootstrap)
    given = {"bootstrap.servers": servers, "security.protocol": security_protocol}
    return create_profile(
        ctx.obj,
        name,
        {key: value for key, value in given.items() if value is not None},
        override or (),
        Login(mechanism, user, password_from),
        make_current=make_current,
        force=force,
        project=project,
        quiet=quiet,
    )


@app.command()
def edit(
    ctx: typer.Context,
    name: Annotated[str | None, typer.Argument(metavar="[PROFILE]", show_default=False)] = None,
    override: Overrides = None,
    unset: Annotated[
        list[str] | None, typer.Option("--unset", metavar="KEY", help="Property to remove. Repeatable.")
    ] = None,
    project: Project = False,
    yes: YesUnneeded = False,  # noqa: ARG001 - accepted, and not needed
) -> int:
    """Change a profile with -X and --unset, or open its file in $VISUAL or $EDITOR.

    kctl checks the edited file before it replaces the old file.
    """
    if override or unset:
        if name is None:
            raise click.UsageError("-X and --unset need the name of a profile.", ctx)
        from kctl.cli.profile.change import change_profile

        return change_profile(ctx.obj, name, override or (), unset or ())
    from kctl.cli.profile.editor import edit_file

    return edit_file(ctx.obj, name, project=project)


@app.command()
def delete(
    ctx: typer.Context,
    names: Annotated[list[str], typer.Argument(metavar="PROFILE...", show_default=False)],
    yes: YesUnneeded = False,  # noqa: ARG001 - accepted, and not needed
    quiet: Quiet = False,
) -> int:
    """Delete profiles."""
    from kctl.cli.profile.change import delete_profiles

    return delete_profiles(ctx.obj, list(dict.fromkeys(names)), quiet=quiet)


@app.command("import")
def import_(
    ctx: typer.Context,
    name: Name,
    file: Annotated[str, typer.Argument(metavar="FILE", help="Configuration file of another tool. - reads stdin.")],
    form: Annotated[
        str | None,
        typer.Option(
            "--from",
            parser=FORMAT,
            metavar=FORMAT.metavar,
            help="Tool that the file was written for [default: detected from the content].",
        ),
    ] = None,
    rpk_profile: Annotated[
        str | None,
        typer.Option(
            "--rpk-profile", metavar="NAME", help="Profile of rpk to import [default: rpk's current profile]."
        ),
    ] = None,
    make_current: Use = False,
    force: Force = False,
    project: Project = False,
    yes: YesUnneeded = False,  # noqa: ARG001 - accepted, and not needed
) -> int:
    """Create a profile from a file of Java clients, kcat, librdkafka, or rpk."""
    from kctl.cli.profile.transfer import import_profile

    return import_profile(
        ctx.obj, name, file, form, rpk_profile, make_current=make_current, force=force, project=project
    )


@app.command()
def export(
    ctx: typer.Context,
    name: Name,
    with_secrets: Annotated[bool, typer.Option("--with-secrets", help="Include passwords and keys.")] = False,
    to: Annotated[
        Path | None, typer.Option("--to", metavar="FILE", help="Write to this file, with mode 0600 [default: stdout].")
    ] = None,
) -> int:
    """Write a profile as a properties file for Java clients."""
    from kctl.cli.profile.transfer import export_profile

    return export_profile(ctx.obj, name, with_secrets=with_secrets, to=to)


@app.command()
def check(
    ctx: typer.Context,
    names: Annotated[list[str] | None, typer.Argument(metavar="[PROFILE]...", show_default=False)] = None,
    strict: Annotated[bool, typer.Option("--strict", help="Exit with 3 if there are warnings.")] = False,
    output: Shape = None,
    as_json: AsJson = False,
) -> int:
    """Find mistakes in profiles without connecting. Exits with 2 if a profile cannot work.

    Checks names, values, combinations, references, file permissions, and ports.
    """
    from kctl.cli.profile.check import check_profiles

    shape = (shape_of_json(output) if as_json else output) or Output.TABLE
    return check_profiles(ctx.obj, names or (), shape, strict=strict)


@app.command()
def trust(
    ctx: typer.Context,
    revoke: Annotated[bool, typer.Option("--revoke", help="Stop trusting the project file.")] = False,
    yes: YesUnneeded = False,  # noqa: ARG001 - accepted, and not needed
) -> int:
    """Trust the project file .kctl.toml in its current state.

    kctl uses a project file only if the file is trusted and unchanged since.
    """
    from kctl.cli.profile.change import trust_project

    return trust_project(ctx.obj, revoke=revoke)
