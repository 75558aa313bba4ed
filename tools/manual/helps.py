"""The help of each command at 80 columns, as a terminal shows it: the golden texts of tests/cli/help."""

import contextlib
import io

from kctl.cli.app import run
from kctl.cli.command_tree import read_tree
from kctl.cli.environment import ClosingNotice, Environment, Secrets
from kctl.client.clock import SystemClock


def all_helps() -> dict[str, str]:
    """Return the text of each help by its file's name."""
    return {f"{'-'.join(command.path)}.txt": _help_of(command.path[1:]) for command in read_tree().walk()}


def _help_of(path: tuple[str, ...]) -> str:
    streams = io.BytesIO(), io.BytesIO(), io.StringIO()
    environment = Environment(*streams, {}, SystemClock(), ClosingNotice(), Secrets(), columns=80)
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        run([*path, "--help"], environment)
    return printed.getvalue()
