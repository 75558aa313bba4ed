"""`kctl explain`: the page on an exit code, an error, a limit, a property or a fault, from `explanations/`."""

from typing import Annotated

import typer

from kctl.cli.commands import Commands
from kctl.cli.environment import Environment
from kctl.cli.exit_codes import ExitCode
from kctl.cli.formats.columns import READABLE
from kctl.cli.formats.listing import SHAPES, write_lines, write_listing
from kctl.cli.options import AsJson, Output, output_option, shape_of_json

app = Commands()


@app.command(context_settings={"ignore_unknown_options": True})  # an option of kctl may be what is asked about
def explain(
    ctx: typer.Context,
    text: Annotated[
        list[str] | None,
        typer.Argument(metavar="[CODE|TEXT]...", help="What to explain. Without it, all exit codes are listed."),
    ] = None,
    list_: Annotated[bool, typer.Option("--list", help="List everything that can be explained.")] = False,
    output: Annotated[
        Output | None,
        output_option(*SHAPES),
    ] = None,
    as_json: AsJson = False,
) -> int:
    """Explain an exit code, an error, a timeout, a property, a finding of kctl why, or a line that kctl has printed.

    Takes 12, CONNECT_TIMEOUT, ConnectTimeout, UNKNOWN_TOPIC_OR_PARTITION, "error 3", --connect-timeout, linger.ms,
    retention.ms, lag, group-stuck, "fault 7" or any words.
    """
    from kctl.cli.explanations.answer import listing_of, text_lines  # the whole catalogue: not wanted for --help

    environment: Environment = ctx.obj
    asked = " ".join(text or ())
    output = shape_of_json(output) if as_json else output
    if output is None or output is Output.TABLE:
        columns = environment.columns if environment.stdout_is_tty else READABLE
        write_lines(environment, (line.rstrip() for line in text_lines(asked, is_list=list_, columns=columns)))
    else:
        write_listing(environment, output, listing_of(asked, is_list=list_))
    return ExitCode.OK
