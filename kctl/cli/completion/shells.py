"""Supported shells, and the paths of their completion scripts."""

import os
from collections.abc import Mapping
from enum import Enum
from pathlib import Path
from typing import NamedTuple


class Shell(Enum):
    """Shell, by program name."""

    BASH = "bash"
    ZSH = "zsh"
    FISH = "fish"
    POWERSHELL = "powershell"


class Installed(NamedTuple):
    """Path of an installed script, and the line that the user must add to a start-up file, if any."""

    path: Path
    line: str = ""
    file: str = ""


FILE_NAMES = {Shell.BASH: "kctl", Shell.ZSH: "_kctl", Shell.FISH: "kctl.fish", Shell.POWERSHELL: "kctl.ps1"}
"""File names that the shells require."""

_PROGRAMS = {"bash": Shell.BASH, "zsh": Shell.ZSH, "fish": Shell.FISH, "pwsh": Shell.POWERSHELL}


def shell_of(environ: Mapping[str, str]) -> Shell | None:
    """Return the user's shell according to $SHELL, or None if unknown."""
    return _PROGRAMS.get(os.path.basename(environ.get("SHELL", "")))


def place_of(shell: Shell, environ: Mapping[str, str]) -> Installed | None:
    """Return the path for the user's script, or None if $HOME is not set to an absolute path."""
    home = environ.get("HOME", "")
    if not os.path.isabs(home):
        return None
    data = _folder(environ, "XDG_DATA_HOME", home, ".local", "share")
    config = _folder(environ, "XDG_CONFIG_HOME", home, ".config")
    name = FILE_NAMES[shell]
    if shell is Shell.BASH:
        # bash-completion reads this directory; bash without it needs the line.
        folder = _folder(environ, "BASH_COMPLETION_USER_DIR", str(data), "bash-completion") / "completions"
        return Installed(folder / name, f"source {_for_shell(folder / name, home)}", "~/.bashrc")
    if shell is Shell.ZSH:
        folder = data / "zsh" / "site-functions"
        return Installed(folder / name, f"fpath=({_for_shell(folder, home)} $fpath)", "~/.zshrc, before compinit")
    if shell is Shell.FISH:
        return Installed(config / "fish" / "completions" / name)
    return Installed(config / "powershell" / name, f". {_for_shell(config / 'powershell' / name, home)}", "$PROFILE")


def _folder(environ: Mapping[str, str], variable: str, *otherwise: str) -> Path:
    """Return the directory in `variable` if it is absolute (XDG base directories), otherwise the default."""
    named = environ.get(variable, "")
    return Path(named) if os.path.isabs(named) else Path(*otherwise)


def _for_shell(path: Path, home: str) -> str:
    text = str(path)
    return f"~{text[len(home) :]}" if text.startswith(home + "/") else text
