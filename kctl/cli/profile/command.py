"""`kctl profile`: declares the commands; what they do is in show.py, change.py, editor.py, transfer.py and check.py."""

from pathlib import Path
from typing import Annotated

import typer

from kctl.cli import click
from kctl.cli.changes import YesUnneeded
from kctl.cli.commands import Commands
from kctl.cli.formats.listing import SHAPES
from kctl.cli.options import AsJson, Common, Output, Words, output_option, shape_of_json, with_common

FORMAT = Words(("java", "librdkafka", "rpk"))

app = Commands(no_args_is_help=True)

Name = Annotated[str, typer.Argument(metavar="NAME", show_default=False)]
Shape = Annotated[Output | None, output_option(*SHAPES)]
Project = Annotated[bool, typer.Option("--project", help="In the project's .kctl.toml, not in your own file.")]
Use = Annotated[bool, typer.Option("--use", help="Make it the current profile.")]
Quiet = Annotated[bool, typer.Option("-q", "--quiet", help="Print only errors on stderr.")]
Force = Annotated[bool, typer.Option("--force", help="Replace a profile of that name.")]
Overrides = Annotated[
    list[str] | None,
    typer.Option("-X", metavar="KEY=VALUE", help="A property, by its official name; repeatable."),
]


@app.callback()
def profile() -> None:
    """Keep clusters by name: list, show, use, create, edit, delete, import, export, check, trust.

    Do not write secrets down: a value can be ${env:NAME}, ${file:PATH}, ${cmd:COMMAND},
    ${keyring:SERVICE/USER} or ${prompt:WORDS}.
    """


@app.command("list")
def list_(ctx: typer.Context, output: Shape = None, as_json: AsJson = False) -> int:
    """List the profiles, and which one is current."""
    from kctl.cli.profile.show import list_profiles

    return list_profiles(ctx.obj, (shape_of_json(output) if as_json else output) or Output.TABLE)


@app.command()
@with_common(*SHAPES, fetches=False, profile="name")
def show(
    common: Common,
    name: Annotated[str | None, typer.Argument(metavar="[PROFILE]", show_default=False)] = None,
    origin: Annotated[
        bool, typer.Option("--origin", help="Show every property and where its value comes from, including defaults.")
    ] = False,
) -> int:
    """Show the properties that a call would use: flags, -X, variables, profile. Secrets stay hidden."""
    from kctl.cli.profile.show import show_settings

    return show_settings(common, common.choose_output(*SHAPES), origin=origin, named=name)


@app.command()
def use(
    ctx: typer.Context,
    name: Annotated[str | None, typer.Argument(metavar="[PROFILE]", show_default=False)] = None,
    none: Annotated[bool, typer.Option("--none", help="Make no profile the current one.")] = False,
    project: Project = False,
    yes: YesUnneeded = False,  # noqa: ARG001 - accepted, and not needed
    quiet: Quiet = False,
) -> int:
    """Make a profile the current one: calls without -C use it."""
    if (name is None) is not none:
        raise click.UsageError("give the name of a profile, or --none.", ctx)
    from kctl.cli.profile.change import use_profile

    return use_profile(ctx.obj, name, project=project, quiet=quiet)


@app.command()
def create(
    ctx: typer.Context,
    name: Name,
    bootstrap: Annotated[
        list[str] | None,
        typer.Option(
            "--bootstrap", "-b", metavar="HOST:PORT", help="Bootstrap servers, separated by commas or repeated."
        ),
    ] = None,
    security_protocol: Annotated[
        str | None,
        typer.Option("--security-protocol", metavar="NAME", help="PLAINTEXT, SSL, SASL_PLAINTEXT or SASL_SSL."),
    ] = None,
    mechanism: Annotated[
        str | None,
        typer.Option(
            "--sasl-mechanism",
            metavar="NAME",
            help="PLAIN, SCRAM-SHA-256, SCRAM-SHA-512 or OAUTHBEARER.",
        ),
    ] = None,
    user: Annotated[
        str | None,
        typer.Option(
            "--user", metavar="NAME", help="User name for SASL over SASL_SSL, unless --security-protocol differs."
        ),
    ] = None,
    password_from: Annotated[
        str | None,
        typer.Option(
            "--password-from",
            metavar="SOURCE",
            help="Where the password is: env:NAME, file:PATH, cmd:COMMAND, keyring:SERVICE/USER or prompt:WORDS.",
        ),
    ] = None,
    override: Overrides = None,
    make_current: Use = False,
    force: Force = False,
    project: Project = False,
    yes: YesUnneeded = False,  # noqa: ARG001 - accepted, and not needed
    quiet: Quiet = False,
) -> int:
    """Create a profile. The first one becomes the current profile."""
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
        list[str] | None, typer.Option("--unset", metavar="KEY", help="Remove a property; repeatable.")
    ] = None,
    project: Project = False,
    yes: YesUnneeded = False,  # noqa: ARG001 - accepted, and not needed
) -> int:
    """Change a profile: with -X and --unset directly, without them by opening its file in $VISUAL or $EDITOR.

    The edited file is checked before it replaces the old one.
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
    file: Annotated[str, typer.Argument(metavar="FILE", help="A configuration file of another tool; - is stdin.")],
    form: Annotated[
        str | None,
        typer.Option(
            "--from",
            parser=FORMAT,
            metavar=FORMAT.metavar,
            help="Tool that the file belongs to [default: detected from its contents].",
        ),
    ] = None,
    rpk_profile: Annotated[
        str | None, typer.Option("--rpk-profile", metavar="NAME", help="Which of rpk's profiles; else its current one.")
    ] = None,
    make_current: Use = False,
    force: Force = False,
    project: Project = False,
    yes: YesUnneeded = False,  # noqa: ARG001 - accepted, and not needed
) -> int:
    """Create a profile from a Java .properties file, a configuration of kcat or librdkafka, or rpk's."""
    from kctl.cli.profile.transfer import import_profile

    return import_profile(
        ctx.obj, name, file, form, rpk_profile, make_current=make_current, force=force, project=project
    )


@app.command()
def export(
    ctx: typer.Context,
    name: Name,
    form: Annotated[
        str, typer.Option("--as", parser=FORMAT, metavar=FORMAT.metavar, help="Tool to write for.")
    ] = "java",
    with_secrets: Annotated[
        bool, typer.Option("--with-secrets", help="Include passwords and keys, which are left out otherwise.")
    ] = False,
    to: Annotated[Path | None, typer.Option("--to", metavar="FILE", help="Write a file (0600), not stdout.")] = None,
) -> int:
    """Write a profile as a Java .properties file, for kcat and librdkafka, or for rpk."""
    from kctl.cli.profile.transfer import export_profile

    return export_profile(ctx.obj, name, form, with_secrets=with_secrets, to=to)


@app.command()
def check(
    ctx: typer.Context,
    names: Annotated[list[str] | None, typer.Argument(metavar="[PROFILE]...", show_default=False)] = None,
    strict: Annotated[bool, typer.Option("--strict", help="Exit with 3 on warnings as well.")] = False,
    output: Shape = None,
    as_json: AsJson = False,
) -> int:
    """Look for mistakes in profiles without asking any server; exits with 2 when one cannot work.

    Checks names, values and their combinations, references, files and their permissions, and ports.
    """
    from kctl.cli.profile.check import check_profiles

    shape = (shape_of_json(output) if as_json else output) or Output.TABLE
    return check_profiles(ctx.obj, names or (), shape, strict=strict)


@app.command()
def trust(
    ctx: typer.Context,
    revoke: Annotated[bool, typer.Option("--revoke", help="Withdraw the trust.")] = False,
    yes: YesUnneeded = False,  # noqa: ARG001 - accepted, and not needed
) -> int:
    """Trust the project's .kctl.toml as it is now. Without this, and after each later change, it is not used."""
    from kctl.cli.profile.change import trust_project

    return trust_project(ctx.obj, revoke=revoke)
