"""Environment: streams, terminal and variables of the process. Tests pass other objects.

No other module in `kctl/cli` reads sys.stdin, sys.stdout, sys.stderr or os.environ.
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
    """Hooks for the notice of a slow close. Live views show the notice themselves, since they would overwrite it.

    Attributes:
        show: shows the notice; None to write it to stderr. Called in a signal handler, so it only stores the text.
        doing: returns the current work of the close; None if unknown. Called in a signal handler.
        restore: restores the terminal before an immediate exit; None if no view changed it.
    """

    def __init__(self) -> None:
        self.program = "kctl"
        self.show: Callable[[str], None] | None = None
        self.doing: Callable[[], str] | None = None
        self.restore: Callable[[], None] | None = None


class WaitingInput(RawIOBase):
    """Input stream of a descriptor. Reads wait for data even if another process made the descriptor non-blocking."""

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
    """Secrets that no message on stderr and no trace may contain, even if a broker repeats them."""

    def __init__(self) -> None:
        self.values: tuple[str, ...] = ()

    def masked(self, text: str) -> str:
        for value in self.values:
            if value:
                text = text.replace(value, "***")
        return text


class Environment(NamedTuple):
    """The streams, the terminal and the variables of one command."""

    stdin: BufferedIOBase
    stdout: RawStream
    """Data only; unbuffered."""
    stderr: TextIO
    """All messages for people."""
    environ: Mapping[str, str]
    clock: Clock
    closing_notice: ClosingNotice
    secrets: Secrets
    stdin_is_tty: bool = False
    stdout_is_tty: bool = False
    stderr_is_tty: bool = False
    columns: int = 80
    resources: ExitStack | None = None
    """Resources closed when the command exits, such as shared connections."""
    program: str = "kctl"
    """Prefix of messages on stderr, such as `kctl consume`, which distinguishes two commands in one pipe."""
    errors_as_json: bool = False
    """Whether each failure is printed as one JSON object on stderr, for programs."""
    limits: DerivedLimits | None = None
    """Limits that the command derives from others."""

    @property
    def colour(self) -> bool:
        """Return whether output on stdout may be colored (https://no-color.org)."""
        return self.stdout_is_tty and not self.environ.get("NO_COLOR") and not self.is_dumb

    @property
    def colours_stderr(self) -> bool:
        return self.stderr_is_tty and not self.environ.get("NO_COLOR") and not self.is_dumb

    @property
    def can_redraw(self) -> bool:
        return self.stdout_is_tty and not self.is_dumb

    @property
    def is_dumb(self) -> bool:
        """Return whether the terminal cannot show colors or move the cursor."""
        return self.environ.get("TERM") in ("dumb", "unknown", "")

    def size(self) -> tuple[int, int]:
        """Return the current columns and rows of the terminal on stdout, or defaults if it is not a terminal."""
        try:
            columns, rows = os.get_terminal_size(self.stdout.fileno())
        except (OSError, ValueError):  # no terminal, or a stream in memory
            columns, rows = self.columns, DEFAULT_ROWS
        return max(NARROWEST, columns or self.columns), max(LOWEST, rows or DEFAULT_ROWS)

    @property
    def stderr_columns(self) -> int:
        """Return the current columns of the terminal on stderr, or the default if it is not a terminal."""
        try:
            columns = os.get_terminal_size(self.stderr.fileno()).columns
        except (OSError, ValueError):  # a stream in memory
            columns = self.columns
        return max(NARROWEST, columns or self.columns)

    @property
    def table_width(self) -> int | None:
        """Return the maximum columns of a table, or None if stdout is not a terminal."""
        return self.size()[0] if self.stdout_is_tty else None

    def styled(self, text: str, style: str) -> str:
        """Return a text in a style, unless stderr has no colors."""
        if not style or not self.colours_stderr:
            return text
        from kctl.cli.view.painter import coloured  # rich: wanted on a terminal

        return coloured(text, style)

    def say(self, line: str, *, is_error: bool = False, painted: str = "") -> None:
        """Write one line to stderr. Write errors are ignored.

        Args:
            line: text from any source. Control characters and secrets are replaced.
            painted: end of the line, written by kctl, which may have colors.
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
        """Write a failure to stderr, as text or JSON."""
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
    """Open /dev/null for closed standard streams, since sockets would get their descriptors otherwise.

    Reads from stdin and writes to stdout still fail.
    """
    for descriptor in (0, 1, 2):
        try:
            os.fstat(descriptor)
        except OSError:
            # the lowest free number, which is this one
            os.open(os.devnull, (os.O_WRONLY, os.O_RDONLY, os.O_RDWR)[descriptor])
