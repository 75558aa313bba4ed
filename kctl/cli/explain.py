"""`kctl explain`: pages on exit codes, errors, limits, properties and faults, from `explanations/`."""

from typing import Annotated

import typer

from kctl.cli.commands import Commands
from kctl.cli.environment import Environment
from kctl.cli.exit_codes import ExitCode
from kctl.cli.formats.columns import READABLE
from kctl.cli.formats.listing import SHAPES, write_lines, write_listing
from kctl.cli.output_options import AsJson, Output, output_option, shape_of_json

app = Commands()


@app.command(context_settings={"ignore_unknown_options": True})  # an option of kctl may be what is asked about
def explain(
    ctx: typer.Context,
    text: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[CODE|TEXT]...", help="Code, name, or message to explain [default: list all exit codes]."
        ),
    ] = None,
    list_: Annotated[bool, typer.Option("--list", help="List all available explanations.")] = False,
    output: Annotated[
        Output | None,
        output_option(*SHAPES),
    ] = None,
    as_json: AsJson = False,
) -> int:
    """Explain an exit code, an error, a finding, a property, a timeout, a topic config, or a message.

    Examples: 12, CONNECT_TIMEOUT, UNKNOWN_TOPIC_OR_PARTITION, --connect-timeout, linger.ms, retention.ms,
    group-stuck, or a line from a log.
    """
    from kctl.cli.explanations.answer import listing_of, text_lines  # not wanted for --help

    environment: Environment = ctx.obj
    asked = " ".join(text or ())
    output = shape_of_json(output) if as_json else output
    if output is None or output is Output.TABLE:
        columns = environment.columns if environment.stdout_is_tty else READABLE
        write_lines(environment, (line.rstrip() for line in text_lines(asked, is_list=list_, columns=columns)))
    else:
        write_listing(environment, output, listing_of(asked, is_list=list_))
    return ExitCode.OK
