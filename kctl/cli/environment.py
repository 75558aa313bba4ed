"""Environment: what a command takes from the process around it. Tests hand in their own.

Nothing else in `kctl/cli` reads sys.stdin, sys.stdout, sys.stderr or os.environ.
"""

import os
import select
import shutil
import sys
from collections.abc import Callable, Mapping
from contextlib import ExitStack, suppress
from io import BufferedIOBase, BufferedReader, FileIO, RawIOBase
from typing import TYPE_CHECKING, NamedTuple, TextIO

from kctl.cli.data_out import RawStream
from kctl.cli.limit_names import DerivedLimits, with_options
from kctl.client.clock import Clock, SystemClock
from kctl.client.wording import one_line

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer as Buffer

    from kctl.cli.failures import Failure

NARROWEST = 20
LOWEST, DEFAULT_ROWS = 5, 24


class ClosingNotice:
    """How the notice of a lasting close is shown: a live view that would paint over it shows it itself.

    Attributes:
        program: how the notice begins.
        show: called in a signal handler, so it may only leave the text for another thread; None: it is written.
        doing: returns what the close does; called in a signal handler. None: no more is known than that it closes.
        restore: restores the terminal before the process exits immediately; None: no view has changed it.
    """

    def __init__(self) -> None:
        self.program = "kctl"
        self.show: Callable[[str], None] | None = None
        self.doing: Callable[[], str] | None = None
        self.restore: Callable[[], None] | None = None


class WaitingInput(RawIOBase):
    """A descriptor to read from, even if another process has set it non-blocking: no data yet is not the end."""

    def __init__(self, descriptor: int) -> None:
        super().__init__()
        self._file = FileIO(descriptor, closefd=False)

    def readable(self) -> bool:
        return True

    def fileno(self) -> int:
        return self._file.fileno()

    def isatty(self) -> bool:
        return self._file.isatty()

    def readinto(self, buffer: "Buffer", /) -> int:
        while (count := self._file.readinto(buffer)) is None:
            select.select([self._file], [], [])
        return count


class Secrets:
    """The values of a run that no message on stderr and no trace may contain, even if a broker repeats them."""

    def __init__(self) -> None:
        self.values: tuple[str, ...] = ()

    def masked(self, text: str) -> str:
        """Return the text with `***` in the place of each secret."""
        for value in self.values:
            if value:
                text = text.replace(value, "***")
        return text


class Environment(NamedTuple):
    """The streams, the terminal and the variables of one run."""

    stdin: BufferedIOBase
    stdout: RawStream
    """Data and nothing else; unbuffered."""
    stderr: TextIO
    """Everything said to people."""
    environ: Mapping[str, str]
    clock: Clock
    closing_notice: ClosingNotice
    secrets: Secrets
    stdin_is_tty: bool = False
    stdout_is_tty: bool = False
    stderr_is_tty: bool = False
    columns: int = 80
    resources: ExitStack | None = None
    """Closed at the end of the command line that `run` runs: connections that the command shares."""
    program: str = "kctl"
    """How messages on stderr begin: `kctl consume`, so that two commands in one pipe can be distinguished."""
    errors_as_json: bool = False
    """Whether each failure is one JSON object on stderr, for programs."""
    limits: DerivedLimits | None = None
    """Limits that the command derives from others; each command line of `run` has its own."""

    @property
    def colour(self) -> bool:
        """Whether stdout may be coloured (https://no-color.org)."""
        return self.stdout_is_tty and not self.environ.get("NO_COLOR") and not self.is_dumb

    @property
    def colours_stderr(self) -> bool:
        """The same of stderr."""
        return self.stderr_is_tty and not self.environ.get("NO_COLOR") and not self.is_dumb

    @property
    def can_redraw(self) -> bool:
        """Whether stdout is a terminal on which a view can be painted over."""
        return self.stdout_is_tty and not self.is_dumb

    @property
    def is_dumb(self) -> bool:
        """Whether the terminal has no colors and no cursor movement."""
        return self.environ.get("TERM") in ("dumb", "unknown", "")

    def size(self) -> tuple[int, int]:
        """Return columns and rows of the terminal on stdout as they are now; it may be resized at any time."""
        try:
            columns, rows = os.get_terminal_size(self.stdout.fileno())
        except (OSError, ValueError):  # no terminal, or a stream in memory
            columns, rows = self.columns, DEFAULT_ROWS
        return max(NARROWEST, columns or self.columns), max(LOWEST, rows or DEFAULT_ROWS)

    @property
    def stderr_columns(self) -> int:
        """How wide the terminal on stderr is now."""
        try:
            columns = os.get_terminal_size(self.stderr.fileno()).columns
        except (OSError, ValueError):  # a stream in memory
            columns = self.columns
        return max(NARROWEST, columns or self.columns)

    @property
    def table_width(self) -> int | None:
        """How wide a table may be: as the terminal; None where no terminal shows it."""
        return self.size()[0] if self.stdout_is_tty else None

    def styled(self, text: str, style: str) -> str:
        """Return a text for stderr in a style, if stderr has colors."""
        if not style or not self.colours_stderr:
            return text
        from kctl.cli.view.painter import coloured  # rich: wanted on a terminal

        return coloured(text, style)

    def say(self, line: str, *, is_error: bool = False, painted: str = "") -> None:
        """Write a line for people to stderr. If stderr is closed, the command continues.

        Args:
            line: stays one line, and steers no terminal, whatever a broker or a member of a group put into it.
            painted: the rest of the line, kctl's own, which may have colours.
        """
        text = one_line(self._named(with_options(self.secrets.masked(line))))
        if self.stderr_is_tty and not painted:
            from kctl.cli.view.notices import terminal_notice  # wanted on a terminal

            colour = self.colours_stderr
            text = terminal_notice(text, is_error=is_error, width=self.stderr_columns, colour=colour)
        with suppress(OSError):  # stderr has no reader any more
            self.stderr.write(f"{text}{painted}\n")
            self.stderr.flush()

    def _named(self, text: str) -> str:
        return text if self.limits is None else self.limits.named(text)

    def say_failure(self, failure: "Failure", *, is_error: bool = True) -> None:
        """Write what failed, where, and what to do about it."""
        if self.errors_as_json:
            import json  # for programs

            failure = failure.masked(lambda text: self._named(self.secrets.masked(text)))
            text = json.dumps(failure.fields())
            with suppress(OSError):  # as in say()
                self.stderr.write(f"{text}\n")
                self.stderr.flush()
            return
        first, *others = failure.lines()
        self.say(f"{self.program}: {first}", is_error=is_error)
        for line in others:
            self.say(line)


def system_environment() -> Environment:
    """Return the environment of this process."""
    _open_what_is_closed()
    return Environment(
        stdin=BufferedReader(WaitingInput(0)),
        stdout=open(1, "wb", buffering=0, closefd=False),
        stderr=sys.stderr or open(2, "w", closefd=False),
        environ={"TERM": "dumb", **os.environ},
        clock=SystemClock(),
        stdin_is_tty=os.isatty(0),
        stdout_is_tty=os.isatty(1),
        stderr_is_tty=os.isatty(2),
        columns=max(NARROWEST, shutil.get_terminal_size().columns),
        closing_notice=ClosingNotice(),
        secrets=Secrets(),
    )


def _open_what_is_closed() -> None:
    """Put /dev/null where our caller closed a stream; a socket opened later would take its place and get our output.

    stdin cannot be read and stdout not written to then, as without them: nothing must count as read or printed.
    """
    for descriptor in (0, 1, 2):
        try:
            os.fstat(descriptor)
        except OSError:
            # the lowest free number, which is this one
            os.open(os.devnull, (os.O_WRONLY, os.O_RDONLY, os.O_RDWR)[descriptor])
