"""A real tmux with a shell in it: what a user sees on the screen, and the keys that a user presses."""

import shutil
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path

from tests.cli.processes import BOUND_S, KCTL, environment
from tests.support.kafka.requirements import give_up
from tests.support.kafka.waiting import WaitTimeout, wait_until

_SHELL = ("env", "-u", "COLUMNS", "PS1=prompt$ ", "bash", "--norc", "--noprofile", "-i")


class Tmux:
    """A server of its own with one window; a context that leaves nothing running."""

    def __init__(self, folder: Path, *, columns: int = 80, rows: int = 24) -> None:
        if shutil.which("tmux") is None:
            give_up("tmux is not installed")
        self._socket = folder / "tmux"
        self._tmux("-f", "/dev/null", "new-session", "-d", "-x", str(columns), "-y", str(rows), *_SHELL)
        self._tmux("set-option", "-g", "window-size", "manual")
        self.wait_for(lambda screen: "prompt$" in screen)

    def kctl(self, *arguments: str, program: Sequence[str] = KCTL) -> None:
        """Type a command line of kctl, or of another program."""
        self.type(" ".join(["clear;", *program, *arguments]))

    def type(self, line: str) -> None:
        """Type a line and press Enter."""
        self._tmux("send-keys", "-l", line)
        self.press("Enter")

    def press(self, key: str) -> None:
        """Press a key by tmux's name of it: `C-z`, `C-c`."""
        self._tmux("send-keys", key)

    def resize(self, columns: int, rows: int = 24) -> None:
        """Make the window another size."""
        self._tmux("resize-window", "-x", str(columns), "-y", str(rows))

    @property
    def screen(self) -> str:
        """What is on the screen now."""
        return self._tmux("capture-pane", "-p")

    @property
    def is_cursor_shown(self) -> bool:
        return self._tmux("display-message", "-p", "#{cursor_flag}").strip() == "1"

    def wait_for(self, condition: Callable[[str], bool]) -> str:
        """Return the screen as soon as a condition holds for it."""
        seen = [""]

        def holds() -> bool:
            seen[0] = self.screen
            return condition(seen[0])

        try:
            wait_until(holds, BOUND_S * 1000, "the screen")
        except WaitTimeout:
            raise AssertionError(f"this stayed on the screen:\n{seen[0]}") from None
        return seen[0]

    def _tmux(self, *arguments: str) -> str:
        command = ["tmux", "-S", str(self._socket), *arguments]
        variables = environment({"TERM": "xterm-256color", "LC_ALL": "C.UTF-8"})
        done = subprocess.run(command, capture_output=True, timeout=BOUND_S, check=True, env=variables)
        return done.stdout.decode()

    def __enter__(self) -> "Tmux":
        return self

    def __exit__(self, *_: object) -> None:
        self._tmux("kill-server")
