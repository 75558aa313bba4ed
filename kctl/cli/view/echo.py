"""Echo of a terminal. Views switch it off, because echoed keys would move the cursor."""

import os
from contextlib import suppress
from typing import TYPE_CHECKING, TextIO

from kctl.posix import set_echo

if TYPE_CHECKING:
    from kctl.cli.data_out import RawStream
    from kctl.cli.environment import ClosingNotice


class Echo:
    """Echo of the terminal of a stream. Without a terminal, or in the background, there is no effect.

    Args: notice: gets the function that restores the terminal before an immediate exit.
    """

    def __init__(self, stream: "RawStream | TextIO | None", notice: "ClosingNotice") -> None:
        self._notice = notice
        self._terminal: int | None = None
        self._is_off = False
        with suppress(OSError, ValueError, AttributeError):  # a stream in memory
            if stream is not None and os.isatty(stream.fileno()):
                self._terminal = stream.fileno()

    def off(self) -> None:
        if self._terminal is not None and not self._is_off and self._set(is_on=False):
            self._is_off = True
            self._notice.restore = self.on

    def on(self) -> None:
        """Switch the echo on if `off` switched it off."""
        if self._is_off:
            self._is_off = False
            self._notice.restore = None
            self._set(is_on=True)

    def _set(self, *, is_on: bool) -> bool:
        return self._terminal is not None and set_echo(self._terminal, is_on=is_on)
