"""`kctl doctor`: all findings for the cluster, or for some topics and groups."""

from typing import Annotated

import typer

from kctl.cli.commands import Commands
from kctl.cli.formats.listing import SHAPES
from kctl.cli.options import Common, with_common, with_options
from kctl.cli.why.options import WhyOptions, why_options

app = Commands()


@app.command()
@with_common(*SHAPES)
@with_options(options=why_options)
def doctor(
    common: Common,
    options: WhyOptions,
    groups: Annotated[
        list[str] | None,
        typer.Option("--group", "-g", metavar="GROUP", help="Group to check. Repeatable [default: all]."),
    ] = None,
    topics: Annotated[
        list[str] | None,
        typer.Option("--topic", metavar="TOPIC", help="Topic to check. Repeatable [default: all]."),
    ] = None,
) -> int:
    """Check the whole cluster and all groups.

    --group and --topic limit the check. Exits with 3 if a warning or an error was found.
    """
    from kctl.cli.why.run import show_all  # the client: not wanted for --help

    return show_all(common, groups, topics, options)
