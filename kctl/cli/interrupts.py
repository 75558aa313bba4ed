"""Ctrl-C and SIGTERM: the first stops the command, which then closes within its limit; the second leaves at once.

The terminal gets a notice where closing lasts longer than NOTICE_AFTER_S. Python prints and drops what a callback of a
weak reference or a finalizer raises, of its own import system too: an interrupt that meets one is raised again.
"""

import os
import signal
import sys
from types import FrameType
from typing import TYPE_CHECKING, Never

from kctl.cli.environment import ClosingNotice
from kctl.cli.exit_codes import ExitCode

_CODES = {signal.SIGINT: ExitCode.SIGINT, signal.SIGTERM: ExitCode.SIGTERM}
NOTICE_AFTER_S = 0.5
_AGAIN_AFTER_S = 0.001
"""After an interrupt was dropped: once the callback that it met is over."""
_SHOW_CURSOR = b"\x1b[?25h"

if TYPE_CHECKING:
    from sys import UnraisableHookArgs


class Interrupted(BaseException):
    """A signal asked the command to end; raised in the main thread, wherever it is.

    Not an Exception, as KeyboardInterrupt is not: nothing that handles errors must take it for one.
    """

    def __init__(self, code: ExitCode) -> None:
        super().__init__(code.text)
        self.code = code


class Interrupts:
    """Turns the first signal into `Interrupted` and the second into an immediate end."""

    def __init__(self, program: str, notice: ClosingNotice, *, stdout_is_tty: bool, stderr_is_tty: bool) -> None:
        self._closing = f"{program}: closing (--close-timeout); press Ctrl-C again to quit now"
        self._notice = notice
        self._stdout_is_tty = stdout_is_tty
        self._stderr_is_tty = stderr_is_tty
        self._seen = False

    def install(self) -> None:
        """Take over SIGINT and SIGTERM of this process."""
        sys.unraisablehook = self._on_dropped_error
        for number in _CODES:
            signal.signal(number, self._on_signal)

    def remove(self) -> None:
        """Let both end the process at once, now that nothing is left to close."""
        signal.setitimer(signal.ITIMER_REAL, 0)
        for number in _CODES:
            signal.signal(number, signal.SIG_DFL)

    def _on_signal(self, number: int, _frame: FrameType | None) -> None:
        code = _CODES[signal.Signals(number)]
        if self._seen:
            if self._stdout_is_tty:
                os.write(1, _SHOW_CURSOR)  # a live view may have hidden it
            os._exit(code)
        self._seen = True
        self._end(code)

    def _end(self, code: ExitCode) -> Never:
        if self._stderr_is_tty:
            signal.signal(signal.SIGALRM, self._on_lasting_close)
            signal.setitimer(signal.ITIMER_REAL, NOTICE_AFTER_S)
        raise Interrupted(code)

    def _on_dropped_error(self, dropped: "UnraisableHookArgs") -> None:
        """Raise a dropped interrupt again soon; print any other error as Python does."""
        if not isinstance(dropped.exc_value, Interrupted):
            sys.__unraisablehook__(dropped)
            return
        code = dropped.exc_value.code
        signal.signal(signal.SIGALRM, lambda *_: self._end(code))
        signal.setitimer(signal.ITIMER_REAL, _AGAIN_AFTER_S)

    def _on_lasting_close(self, _number: int, _frame: FrameType | None) -> None:
        if self._notice.show is not None:
            self._notice.show(self._closing)
        else:
            os.write(2, f"\r{self._closing}\n".encode())
