"""Buffered input stream, which knows offsets and lines for errors."""

from typing import Protocol

from kctl.cli.exit_codes import ExitCode
from kctl.cli.failures import CommandError

READ_BYTES = 64 * 1024
_SHOWN_BEFORE, _SHOWN_AFTER = 24, 24


class Source(Protocol):
    """Stream that returns available bytes instead of waiting for more."""

    def read1(self, size: int, /) -> bytes: ...


class Scan(Protocol):
    """Function that returns the size of the item at an index of a buffer, or None."""

    def __call__(self, buffer: bytearray, start: int, *, is_whole: bool) -> int | None: ...


class BytesRead:
    """Number of bytes read from all inputs."""

    __slots__ = ("read_bytes",)

    def __init__(self) -> None:
        self.read_bytes = 0


class InputBytes:
    """Input stream whose bytes are consumed from the front.

    Args: longest_bytes: maximum size of one piece.
    """

    def __init__(self, source: Source, name: str, longest_bytes: int, progress: BytesRead | None = None) -> None:
        self.name = name
        self.longest_bytes = longest_bytes
        self._source = source
        self._progress = progress or BytesRead()
        self._buffer = bytearray()
        self._at = 0
        self._taken_bytes = 0
        """Number of bytes dropped from the buffer."""
        self._is_at_end = False
        self._first_line = 1
        """Line of the first byte of the buffer."""
        self._mark, self._marked_line = 0, 0
        """Index of the mark in the buffer, and its line if it was dropped."""

    @property
    def offset(self) -> int:
        return self._taken_bytes + self._at

    def mark(self) -> None:
        """Remember the position of the next byte for `marked_line`."""
        self._mark, self._marked_line = self._at, 0

    def marked_line(self) -> int:
        """Return the line of the marked position, counted from 1."""
        return self._marked_line or self._first_line + self._buffer.count(b"\n", 0, self._mark)

    def has_more(self) -> bool:
        """Return whether there is a next byte. Waits for input."""
        return self._at < len(self._buffer) or self._read()

    def peek(self) -> int:
        """Return the next byte without consuming it, or -1 at the end."""
        return self._buffer[self._at] if self.has_more() else -1

    def read_until(self, delimiter: bytes) -> bytes | None:
        """Consume and return the bytes before a delimiter; consume the delimiter too.

        If the delimiter is missing, return None and consume nothing. Raises: CommandError: more than `longest_bytes`.
        """
        searched = 0
        while (found := self._buffer.find(delimiter, self._at + searched)) < 0:
            waiting = len(self._buffer) - self._at
            if waiting > self.longest_bytes + len(delimiter):
                return self._too_long(delimiter)
            searched = max(0, waiting - len(delimiter) + 1)
            if not self._read():
                return None
        if found - self._at > self.longest_bytes:
            return self._too_long(delimiter)
        taken = bytes(self._buffer[self._at : found])
        self._at = found + len(delimiter)
        return taken

    def read(self, size_bytes: int) -> bytes | None:
        """Consume and return `size_bytes` bytes. If the input is shorter, return None and consume nothing."""
        while len(self._buffer) - self._at < size_bytes:
            if not self._read():
                return None
        taken = bytes(self._buffer[self._at : self._at + size_bytes])
        self._at += size_bytes
        return taken

    def read_rest(self) -> bytes:
        while self._read():
            if len(self._buffer) - self._at > self.longest_bytes:
                raise self.bad(f"the last field is longer than {self.longest_bytes} bytes (max.request.size)")
        taken = bytes(self._buffer[self._at :])
        self._at = len(self._buffer)
        return taken

    def read_scanned(self, scan: "Scan") -> bytes | None:
        """Consume and return the item whose size `scan` finds, or return None if the input ends before.

        Args: scan: called with the buffer, the start, and whether the input is complete. Returns the size, or None.
        """
        while (size := scan(self._buffer, self._at, is_whole=self._is_at_end)) is None:
            if len(self._buffer) - self._at > self.longest_bytes:
                raise self.bad(f"the field is longer than {self.longest_bytes} bytes (max.request.size)")
            if not self._read() and scan(self._buffer, self._at, is_whole=True) is None:
                return None
        return self.read(size)

    def starts_with(self, text: bytes) -> bool:
        """Return whether the next bytes equal `text`. Waits for input."""
        while len(self._buffer) - self._at < len(text):
            if not text.startswith(bytes(self._buffer[self._at :])) or not self._read():
                return False
        return self._buffer.startswith(text, self._at)

    def bad(self, problem: str, offset: int | None = None) -> CommandError:
        """Return the error for a byte of the input. If `offset` is None, it is the next byte."""
        return bad_input(problem, self._buffer, (self.offset if offset is None else offset) - self._taken_bytes)

    def _too_long(self, delimiter: bytes) -> bytes:
        raise self.bad(f"no {show_bytes(delimiter)} found within {self.longest_bytes} bytes (max.request.size)")

    def _read(self) -> bool:
        if self._is_at_end:
            return False
        data = self._source.read1(READ_BYTES)
        if not data:
            self._is_at_end = True
            return False
        self._progress.read_bytes += len(data)
        if self._at > READ_BYTES:  # messages need the bytes before it
            drop = self._at - _SHOWN_BEFORE
            if self._mark < drop:
                self._marked_line = self.marked_line()
            self._mark -= drop
            self._first_line += self._buffer.count(b"\n", 0, drop)
            del self._buffer[:drop]
            self._at -= drop
            self._taken_bytes += drop
        self._buffer += data
        return True


def bad_input(problem: str, data: bytes | bytearray, at: int) -> CommandError:
    """Return an error that shows the data around index `at`, with a caret."""
    at = max(0, at)
    line = data.rfind(b"\n", 0, at) + 1  # show only the line of the error
    first, last = max(line, at - _SHOWN_BEFORE), min(len(data), at + _SHOWN_AFTER)
    shown = "".join(chr(byte) if 0x20 <= byte < 0x7F else "." for byte in data[first:last])
    before, after = "..." if first else "", "..." if last < len(data) else ""
    caret = " " * (len(before) + at - first) + "^"
    return CommandError(ExitCode.DATA, problem, details=(f"{before}{shown}{after}", caret))


def show_bytes(data: bytes) -> str:
    return "'" + ascii(data)[2:-1] + "'"
