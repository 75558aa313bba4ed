"""A pseudo-terminal of a given size with kctl on it, read to its end."""

import fcntl
import os
import pty
import select
import struct
import subprocess
import termios
from collections.abc import Mapping, Sequence

from tests.cli.processes import BOUND_S, KCTL, environment

READ_BYTES = 65536


class Terminal:
    """kctl, or another program, on a terminal; a context that leaves nothing running."""

    def __init__(
        self,
        *arguments: str,
        columns: int = 80,
        rows: int = 50,
        environ: Mapping[str, str] | None = None,
        with_stderr: bool = False,
        program: Sequence[str] = KCTL,
    ) -> None:
        self._ours, theirs = pty.openpty()
        self.resize(columns, rows)
        variables = environment({"TERM": "xterm-256color", **(environ or {})})
        variables.pop("COLUMNS")
        self.process = subprocess.Popen(
            [*program, *arguments],
            stdin=theirs,
            stdout=theirs,
            stderr=theirs if with_stderr else subprocess.PIPE,
            env=variables,
            start_new_session=True,
        )
        os.close(theirs)

    def resize(self, columns: int, rows: int = 50) -> None:
        """Make the terminal another size."""
        fcntl.ioctl(self._ours, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    @property
    def settings(self) -> list[object]:
        """How the terminal is set: what a program has to leave as it found it."""
        return termios.tcgetattr(self._ours)

    def read_until(self, wanted: bytes) -> bytes:
        """Return what is shown up to and with `wanted`."""
        shown = b""
        while wanted not in shown:
            piece = self._read()
            assert piece, f"the terminal closed before {wanted!r} came: {shown!r}"
            shown += piece
        return shown

    def hang_up(self) -> None:
        """Close the terminal under what runs on it."""
        os.close(self._ours)
        self._ours = -1

    def type(self, keys: bytes) -> None:
        """Type something; \\x04 at the start of a line is the end."""
        os.write(self._ours, keys)

    def read_all(self) -> bytes:
        """Return what is shown until kctl ends."""
        shown = b""
        while piece := self._read():
            shown += piece
        return shown

    def _read(self) -> bytes:
        ready, _, _ = select.select([self._ours], [], [], BOUND_S)
        assert ready, "nothing came within the bound"
        try:
            return os.read(self._ours, READ_BYTES)
        except OSError:  # how Linux says that the other end is closed
            return b""

    def __enter__(self) -> "Terminal":
        return self

    def __exit__(self, *_: object) -> None:
        self.process.kill()
        self.process.communicate(timeout=BOUND_S)
        if self._ours >= 0:
            os.close(self._ours)
