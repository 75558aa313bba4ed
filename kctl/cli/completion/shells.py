"""Shell: those that can be completed in, where each looks for its script, and what else it needs."""

import os
from collections.abc import Mapping
from enum import Enum
from pathlib import Path
from typing import NamedTuple


class Shell(Enum):
    """A shell, by the name of its program."""

    BASH = "bash"
    ZSH = "zsh"
    FISH = "fish"
    POWERSHELL = "powershell"


class Installed(NamedTuple):
    """Where a script goes, and the line that a start-up file still needs; empty where the shell finds it by itself."""

    path: Path
    line: str = ""
    file: str = ""


FILE_NAMES = {Shell.BASH: "kctl", Shell.ZSH: "_kctl", Shell.FISH: "kctl.fish", Shell.POWERSHELL: "kctl.ps1"}
"""What each shell wants the file to be called; the folder tells which is which."""

_PROGRAMS = {"bash": Shell.BASH, "zsh": Shell.ZSH, "fish": Shell.FISH, "pwsh": Shell.POWERSHELL}


def shell_of(environ: Mapping[str, str]) -> Shell | None:
    """Return the user's shell, as $SHELL says; None where it says nothing that is known."""
    return _PROGRAMS.get(os.path.basename(environ.get("SHELL", "")))


def place_of(shell: Shell, environ: Mapping[str, str]) -> Installed | None:
    """Return where this user's script of a shell belongs; None for a user without a home."""
    home = environ.get("HOME", "")
    if not os.path.isabs(home):
        return None
    data = _folder(environ, "XDG_DATA_HOME", home, ".local", "share")
    config = _folder(environ, "XDG_CONFIG_HOME", home, ".config")
    name = FILE_NAMES[shell]
    if shell is Shell.BASH:
        # bash-completion looks there; a bash without it needs the line.
        folder = _folder(environ, "BASH_COMPLETION_USER_DIR", str(data), "bash-completion") / "completions"
        return Installed(folder / name, f"source {_for_shell(folder / name, home)}", "~/.bashrc")
    if shell is Shell.ZSH:
        folder = data / "zsh" / "site-functions"
        return Installed(folder / name, f"fpath=({_for_shell(folder, home)} $fpath)", "~/.zshrc, before compinit")
    if shell is Shell.FISH:
        return Installed(config / "fish" / "completions" / name)
    return Installed(config / "powershell" / name, f". {_for_shell(config / 'powershell' / name, home)}", "$PROFILE")


def _folder(environ: Mapping[str, str], variable: str, *otherwise: str) -> Path:
    """Return the folder that a variable names; one that is relative counts for nothing, as XDG has it."""
    named = environ.get(variable, "")
    return Path(named) if os.path.isabs(named) else Path(*otherwise)


def _for_shell(path: Path, home: str) -> str:
    text = str(path)
    return f"~{text[len(home) :]}" if text.startswith(home + "/") else text
