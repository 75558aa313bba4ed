"""As much of a terminal as a painter uses, fed with what a program wrote. Lines are not wrapped: they must fit."""

import re

_PIECE = re.compile(r"\x1b\[(\d*)([A-Za-z])|\x1b\[\?\d+[hl]|\x1b\[[\d;]*m|(\r)|(\n)|([^\x1b\r\n]+)")


class Screen:
    """Lines on a screen; `lines` holds what a reader sees, from the start of the program on."""

    def __init__(self, *before: str) -> None:
        self.lines = list(before)
        self._row = len(before)

    def show(self, written: str) -> list[str]:
        """Take what was written and return the lines."""
        for match in _PIECE.finditer(written):
            number, letter, _, feed, text = match.groups()
            if letter == "A":
                self._row -= int(number or 1)
                assert self._row >= 0, "the cursor left the screen"
            elif letter == "K":
                self._reach()
                self.lines[self._row] = ""
            elif letter == "J":
                del self.lines[self._row :]
            elif feed:
                self._row += 1
            elif text:
                self._reach()
                self.lines[self._row] += text
        return self.lines

    def _reach(self) -> None:
        self.lines += [""] * (self._row + 1 - len(self.lines))
