"""Completion scripts by shell."""

from collections.abc import Callable

from kctl.cli.completion.bash import bash_script
from kctl.cli.completion.fish import fish_script
from kctl.cli.completion.places import CommandSpec, read_places
from kctl.cli.completion.powershell import powershell_script
from kctl.cli.completion.shells import Shell
from kctl.cli.completion.zsh import zsh_script

_MAKERS: dict[Shell, Callable[[list[CommandSpec]], str]] = {
    Shell.BASH: bash_script,
    Shell.ZSH: zsh_script,
    Shell.FISH: fish_script,
    Shell.POWERSHELL: powershell_script,
}


def script(shell: Shell) -> str:
    return _MAKERS[shell](read_places())
