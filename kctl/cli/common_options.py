"""`kctl options`: the shared options, which the help of commands omits."""

import typer

from kctl.cli.app import command_of
from kctl.cli.commands import Commands
from kctl.cli.data_out import DataOut
from kctl.cli.environment import Environment
from kctl.cli.exit_codes import ExitCode
from kctl.cli.formats.listing import SHAPES
from kctl.cli.help_sections import write_common_options
from kctl.cli.options import Common, with_common

app = Commands()
_example = Commands()


@_example.command()
@with_common(*SHAPES)
def _listing(common: Common) -> int:
    raise NotImplementedError  # only its options are read


@app.command("options")
def options(ctx: typer.Context) -> int:
    """Show connection, timeout, and output options."""
    environment: Environment = ctx.obj
    formatter = ctx.make_formatter()
    write_common_options(command_of(_example), ctx, formatter)
    out = DataOut(environment.stdout)
    for line in formatter.getvalue().strip("\n").splitlines():
        out.write_line(line)
    out.flush()
    return ExitCode.OK
