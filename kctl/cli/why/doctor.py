"""`kctl doctor`: all findings of `kctl why` for the whole cluster, its topics and its groups, or for some of them."""

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
        typer.Option("--group", "-g", metavar="GROUP", help="Check this group instead of all; repeatable."),
    ] = None,
    topics: Annotated[
        list[str] | None,
        typer.Option("--topic", metavar="TOPIC", help="Check this topic instead of all; repeatable."),
    ] = None,
) -> int:
    """Look for everything that `kctl why` finds, in the whole cluster.

    With --group or --topic only these, and the brokers. Exit codes: 0 nothing found, 3 a warning or an error was found.
    """
    from kctl.cli.why.run import show_all  # the client: not wanted for --help

    return show_all(common, groups, topics, options)
