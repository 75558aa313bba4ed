"""`kctl explain`: the page on an exit code, an error, a limit or a fault; the catalogue is in `explanations/`.

Shown by tests/unit/cli/explanations.
"""

from typing import Annotated

import typer

from kctl.cli.data_out import DataOut
from kctl.cli.environment import Environment
from kctl.cli.exit_codes import ExitCode
from kctl.cli.explanations import lookup, pages
from kctl.cli.failures import CommandError

app = typer.Typer(rich_markup_mode=None, add_completion=False)


@app.command(context_settings={"ignore_unknown_options": True})  # an option of kctl may be what is asked about
def explain(
    ctx: typer.Context,
    text: Annotated[
        list[str] | None, typer.Argument(metavar="[CODE|TEXT]...", help="What to explain; nothing lists the codes.")
    ] = None,
) -> int:
    """Explain an exit code, an error, a limit, or a line that kctl has printed.

    Takes 12, CONNECT_TIMEOUT, ConnectTimeout, UNKNOWN_TOPIC_OR_PARTITION, --connect-timeout, linger.ms, "fault 7" or
    any words.
    """
    environment: Environment = ctx.obj
    asked = " ".join(text or ())
    lines = lookup.find_page(asked) if asked else pages.all_codes()
    if lines is None:
        near = lookup.nearest(asked)
        hint = f"nearest: {', '.join(near)}" if near else "kctl explain lists the exit codes"
        raise CommandError(ExitCode.USAGE, f"nothing is known about {asked[:80]!r}", hint)
    out = DataOut(environment.stdout)
    for line in lines:
        out.write_line(line.rstrip())
    out.flush()
    return ExitCode.OK
