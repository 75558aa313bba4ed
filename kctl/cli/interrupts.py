"""SIGINT, SIGTERM and SIGHUP: the first signal closes the command within its timeout, the second exits immediately.

If closing takes longer than NOTICE_AFTER_MS, a notice is printed on terminals and for commands that can lose data.
"""

import os
import signal
import sys
from contextlib import suppress
from types import FrameType
from typing import TYPE_CHECKING, Never

from kctl.cli.alarms import Alarm, Insistence, RaisedByHandler, cancel_all
from kctl.cli.environment import ClosingNotice
from kctl.cli.exit_codes import ExitCode
from kctl.posix import HANG_UP

_CODES = {signal.SIGINT: ExitCode.SIGINT, signal.SIGTERM: ExitCode.SIGTERM}
if HANG_UP is not None:
    _CODES[HANG_UP] = ExitCode.SIGHUP
NOTICE_AFTER_MS = 500
CLOSING = "closing (--close-timeout)"
_SHOW_CURSOR = b"\x1b[?25h"

if TYPE_CHECKING:
    from sys import UnraisableHookArgs


class Interrupted(RaisedByHandler):
    """Raised in the main thread, at any point, by a signal that stops the command.

    Not a KeyboardInterrupt, for which py4j prints a traceback.
    """

    def __init__(self, code: ExitCode) -> None:
        super().__init__(code.text)
        self.code = code


class Interrupts:
    """Signal handlers that turn the first signal into `Interrupted` and the second into an immediate exit."""

    def __init__(self, notice: ClosingNotice, *, stdout_is_tty: bool, stderr_is_tty: bool) -> None:
        self._notice = notice
        self._stdout_is_tty = stdout_is_tty
        self._stderr_is_tty = stderr_is_tty
        self._taken: list[signal.Signals] = []
        self._is_seen = False

    def install(self) -> None:
        """Install the handlers. SIGHUP stays ignored if the parent process ignores it, as nohup does."""
        sys.unraisablehook = _print_dropped_error
        for number in _CODES:
            if number in (signal.SIGINT, signal.SIGTERM) or signal.getsignal(number) is not signal.SIG_IGN:
                self._taken.append(number)
                signal.signal(number, self._on_signal)

    def remove(self) -> None:
        """Restore the default handlers, which exit immediately, because all clients are closed."""
        cancel_all()
        for number in self._taken:
            signal.signal(number, signal.SIG_DFL)

    def _on_signal(self, number: int, frame: FrameType | None) -> None:
        code = _CODES[signal.Signals(number)]
        if not self._is_seen:
            self._is_seen = True
            cancel_all()  # from here on the limit of the close is the only one
            if self._stderr_is_tty or self._notice.doing is not None:
                Alarm(NOTICE_AFTER_MS, self._on_lasting_close)
            Insistence(lambda: Interrupted(code)).insist(frame)
        elif code is not ExitCode.SIGHUP:  # a terminal that is closed sends two: its shell and the system do
            self._leave(code)

    def _leave(self, code: ExitCode) -> Never:
        if self._notice.restore is not None:
            self._notice.restore()
        if self._stdout_is_tty:
            with suppress(OSError):  # the terminal is gone
                os.write(1, _SHOW_CURSOR)  # a live view may have hidden it
        os._exit(code)

    def _on_lasting_close(self, _frame: FrameType | None) -> None:
        doing = "" if self._notice.doing is None else self._notice.doing()
        if not doing and not self._stderr_is_tty:
            return
        text = f"{self._notice.program}: {doing or CLOSING}. Press Ctrl-C again to exit immediately"
        if self._notice.show is not None:
            self._notice.show(text)
        else:
            start = "\r" if self._stderr_is_tty else ""
            with suppress(OSError):  # the terminal is gone
                os.write(2, f"{start}{text}\n".encode())


def _print_dropped_error(dropped: "UnraisableHookArgs") -> None:
    """Print an error that Python dropped, unless its signal handler raises it again."""
    if not isinstance(dropped.exc_value, RaisedByHandler):
        sys.__unraisablehook__(dropped)
