"""The `kctl apply` command and its options."""

from typing import Annotated

import typer

from kctl.cli import click
from kctl.cli.changes import DryRun, Yes, consent_options
from kctl.cli.commands import Commands
from kctl.cli.exit_codes import ExitCode
from kctl.cli.formats.listing import SHAPES
from kctl.cli.options import Common, with_common
from kctl.cli.output_options import Output

app = Commands()


@app.command()
@with_common(*SHAPES)
def apply(
    common: Common,
    positional: Annotated[
        str | None, typer.Argument(metavar="[FILE]", help="YAML file, same as --file.", show_default=False)
    ] = None,
    file: Annotated[str | None, typer.Option("--file", "-f", metavar="FILE", help="YAML file. - reads stdin.")] = None,
    diff: Annotated[
        bool, typer.Option("--diff", help="Show the differences, and exit with 3 if the cluster differs.")
    ] = False,
    export: Annotated[
        bool,
        typer.Option("--export", help="Print the existing topics and ACLs in the format of --file."),
    ] = False,
    prune: Annotated[
        bool,
        typer.Option("--prune", help="Delete topics, ACLs, and configs that the file does not contain."),
    ] = False,
    dry_run: DryRun = False,
    execute: Annotated[bool, typer.Option("--execute", help="With --prune, delete without confirmation.")] = False,
    yes: Yes = False,
) -> int:
    """Create and change topics and ACLs to match a YAML file.

    First shows the changes and validates them on the brokers. --prune also deletes resources, after a prompt for
    confirmation. In scripts, add --execute.
    """
    from kctl.cli.admin_client import admin_of  # deferred import: keeps --help fast

    if None not in (positional, file):
        raise click.UsageError("FILE and --file cannot be combined.")
    file = file or positional
    if export:
        if file is not None or diff or prune:
            raise click.UsageError(
                "--export cannot be combined with --file, --diff, or --prune: it only reads the cluster."
            )
        from kctl.cli.apply.state import export_topics

        output = common.choose_output(Output.YAML, Output.JSON)
        with admin_of(common) as admin:
            export_topics(common, output, admin)
        return ExitCode.OK
    if file is None:
        raise click.UsageError("Missing FILE, the file to apply. To create a file from the cluster, use --export.")
    if diff and (dry_run or execute or yes):
        raise click.UsageError("--diff cannot be combined with --dry-run, --execute, or --yes.")
    from kctl.cli.apply.run import Wish, run_apply

    wish = Wish(file, diff=diff, prune=prune, consent=consent_options(dry_run, execute, yes))
    return run_apply(common, common.choose_output(*SHAPES), wish)
