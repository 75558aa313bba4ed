"""As much of a terminal as a painter uses, fed with what a program wrote. Lines are not wrapped: they must fit."""

import re

_PIECE = re.compile(r"\x1b\[(\d*)([A-Za-z])|\x1b\[\?\d+[hl]|\x1b\[[\d;]*m|(\r)|(\n)|([^\x1b\r\n]+)")


class Screen:
    """Lines on a screen; `lines` holds what a reader sees, from the start of the program on."""

    def __init__(self, *before: str) -> None:
        self.lines = list(before)
        self._row, self._column = len(before), 0

    def show(self, written: str) -> list[str]:
        """Take what was written and return the lines."""
        for match in _PIECE.finditer(written):
            number, letter, carriage_return, feed, text = match.groups()
            if letter == "A":
                self._row -= int(number or 1)
                assert self._row >= 0, "the cursor left the screen"
            elif letter == "K":
                self._reach()
                self.lines[self._row] = ""
            elif letter == "J":
                kept = [line[: self._column] for line in self.lines[self._row : self._row + 1] if self._column]
                self.lines[self._row :] = kept
            elif carriage_return:
                self._column = 0
            elif feed:
                self._row, self._column = self._row + 1, 0  # as the terminal's driver writes it
            elif text:
                self._reach()
                line = self.lines[self._row].ljust(self._column)
                self.lines[self._row] = line[: self._column] + text + line[self._column + len(text) :]
                self._column += len(text)
        return self.lines

    def _reach(self) -> None:
        self.lines += [""] * (self._row + 1 - len(self.lines))
