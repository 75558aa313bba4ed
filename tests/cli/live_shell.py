"""A real shell on a pseudo-terminal, into which keys are typed; `kctl` in it tells what it was called with.

Completion is what keys do: Tab included, nothing here knows how a shell asks for it.
"""

import fcntl
import os
import pty
import select
import shutil
import subprocess
import termios
from collections.abc import Mapping
from pathlib import Path

from tests.cli.processes import BOUND_S, KCTL, ROOT, environment
from tests.support.kafka.requirements import give_up

SHELLS = ("bash", "zsh", "fish")
_PROGRAMS = {
    "bash": ["bash", "--norc", "--noprofile", "-i"],
    "zsh": ["zsh", "-f", "-i"],
    "fish": ["fish", "--no-config", "-i"],
}
_POSIX = r"""
kctl() {{
    if [ "$1" = __complete ]; then
        echo "$*" >>asked
        {kctl} "$@"
    else
        printf '<<%s>>\n' "$(printf '%s|' "$@")"
    fi
}}
"""
_SET_UP = {
    "bash": _POSIX + "source {completions}/bash/kctl\n",
    "zsh": "fpath=({completions}/zsh $fpath); autoload -Uz compinit; compinit -u -D\n" + _POSIX,
    "fish": r"""
function fish_prompt; end
function fish_right_prompt; end
function kctl
    if [ "$argv[1]" = __complete ]
        echo "$argv" >>asked
        {kctl} $argv
    else if [ "$argv[1]" = completion ]
        {kctl} $argv
    else
        printf '<<%s>>\n' (printf '%s|' $argv | string collect)
    end
end
source {completions}/fish/kctl.fish
""",
}


def _take_terminal() -> None:
    """Make the pseudo-terminal the one that signals come from; fish does not start without."""
    fcntl.ioctl(0, termios.TIOCSCTTY, 0)


class LiveShell:
    """A shell; a context that leaves nothing running."""

    def __init__(self, name: str, folder: Path, environ: Mapping[str, str] | None = None) -> None:
        if shutil.which(name) is None:
            give_up(f"{name} is not here")
        self.folder = folder
        script = folder / "set-up"
        script.write_text(_SET_UP[name].format(kctl=" ".join(KCTL), completions=ROOT / "completions"))
        (folder / "home").mkdir()
        self._ours, theirs = pty.openpty()
        config = str(folder / "home" / "config")  # fish makes a folder in it, wherever that is
        home = {
            "HOME": str(folder / "home"),
            "XDG_CONFIG_HOME": config,
            "TERM": "xterm",
            "PS1": "",
            "LC_ALL": "C.UTF-8",
        }
        self.process = subprocess.Popen(
            _PROGRAMS[name],
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
            cwd=folder,
            env=environment({**home, **(environ or {})}),
            start_new_session=True,
            preexec_fn=_take_terminal,
        )
        os.close(theirs)
        self._shown = b""

    def press(self, keys: str) -> None:
        """Press keys, one after the other; a tab is a tab."""
        os.write(self._ours, keys.encode())

    def arguments(self) -> list[str]:
        """Return what `kctl` was called with next."""
        return self._until(b"|>>").rsplit(b"<<", 1)[1].decode().split("|")

    def run(self, keys: str) -> list[str]:
        """Press keys and Enter, and return what `kctl` was called with."""
        self.press(keys + "\n")
        return self.arguments()

    def see(self, *wanted: str) -> None:
        """Wait until all of this has been shown, in any order."""
        shown = b""
        while not all(each.encode() in shown for each in wanted):
            shown += self._read()

    @property
    def lookups(self) -> list[str]:
        """What kctl was asked for by completion so far."""
        file = self.folder / "asked"
        return file.read_text().splitlines() if file.exists() else []

    def _until(self, wanted: bytes) -> bytes:
        while wanted not in self._shown:
            self._shown += self._read()
        found, _, self._shown = self._shown.partition(wanted)
        return found

    def _read(self) -> bytes:
        ready, _, _ = select.select([self._ours], [], [], BOUND_S)
        assert ready, f"nothing more is shown after {self._shown!r}"
        return os.read(self._ours, 65536)

    def __enter__(self) -> "LiveShell":
        try:
            self.run(f"source {self.folder / 'set-up'}; kctl ready")
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.process.kill()
        self.process.wait(BOUND_S)
        os.close(self._ours)
