"""Commands of `kctl completion`. scripts.py generates the scripts."""

from typing import Annotated

import typer

from kctl.cli import click
from kctl.cli.changes import YesUnneeded
from kctl.cli.commands import Commands
from kctl.cli.completion.shells import Shell, place_of, shell_of
from kctl.cli.data_out import DataOut
from kctl.cli.environment import Environment
from kctl.cli.exit_codes import ExitCode
from kctl.cli.failures import CommandError

MARK = "Made by tools/write_manuals.py"
"""Text that identifies files that kctl wrote."""

app = Commands(no_args_is_help=True)


@app.callback()
def completion() -> None:
    """Set up completion for bash, zsh, fish, or PowerShell.

    Completion queries the cluster for topics and groups, for at most 300ms (KCTL_COMPLETION_TIMEOUT_MS). If the cluster
    does not respond, kctl offers names that are up to a day old.
    """


@app.command()
def bash(ctx: typer.Context) -> int:
    """Print the completion script for bash. Load it with: source <(kctl completion bash)."""
    return _print(ctx, Shell.BASH)


@app.command()
def zsh(ctx: typer.Context) -> int:
    """Print the completion script for zsh. Save it as _kctl in a directory of $fpath."""
    return _print(ctx, Shell.ZSH)


@app.command()
def fish(ctx: typer.Context) -> int:
    """Print the completion script for fish. Load it with: kctl completion fish | source."""
    return _print(ctx, Shell.FISH)


@app.command()
def powershell(ctx: typer.Context) -> int:
    """Print the completion script for PowerShell. Load it with: kctl completion powershell | Out-String |
    Invoke-Expression."""
    return _print(ctx, Shell.POWERSHELL)


@app.command()
def install(
    ctx: typer.Context,
    shell: Annotated[
        Shell | None,
        typer.Argument(metavar="[SHELL]", help="Shell: bash, zsh, fish, or powershell [default: from $SHELL]."),
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace a file that kctl did not write.")] = False,
    quiet: Annotated[bool, typer.Option("-q", "--quiet", help="Print only errors on stderr.")] = False,
    yes: YesUnneeded = False,  # noqa: ARG001 - accepted, and not needed
) -> int:
    """Install the completion script for your shell.

    kctl does not change start-up files. If a start-up file needs a line, kctl prints the line.
    """
    from kctl.cli.completion.install import write_script

    environment: Environment = ctx.obj
    chosen = shell or shell_of(environment.environ)
    if chosen is None:
        words = ", ".join(each.value for each in Shell)
        raise click.UsageError(f"kctl does not support the shell in $SHELL: choose one of {words}.")
    place = place_of(chosen, environment.environ)
    if place is None:
        hint = f"write the script with: kctl completion {chosen.value} > FILE"
        raise CommandError(ExitCode.USAGE, "cannot install completion: $HOME is not set", hint)
    write_script(place.path, _script(chosen), MARK, force=force)
    if not quiet:
        environment.say(f"kctl completion: wrote {place.path}. New sessions of {chosen.value} use it")
        if place.line:
            environment.say(f"hint: if it is missing, add this line to {place.file}: {place.line}")
    return ExitCode.OK


def _print(ctx: typer.Context, shell: Shell) -> int:
    environment: Environment = ctx.obj
    out = DataOut(environment.stdout)
    out.write(_script(shell).encode())
    out.flush()
    return ExitCode.OK


def _script(shell: Shell) -> str:
    from kctl.cli.completion.scripts import script  # deferred import: loads all commands

    return script(shell)
