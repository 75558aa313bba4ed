"""DataOut: buffered output of a command's data to stdout."""

import select
from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol

from kctl.cli.failures import CommandError, file_exit_code
from kctl.posix import has_reader

if TYPE_CHECKING:
    from kctl.client.records import ValuePlaces

FLUSH_BYTES = 64 * 1024


class OutputClosed(Exception):
    """The reader of our stdout has left; there is nothing more to do or to print."""


class StdoutFailed(CommandError):
    """Stdout is closed or its disk is full.

    Args: error: the system's. unwritten: the data that it did not take.
    """

    def __init__(self, error: OSError, unwritten: bytes, details: Sequence[str] = ()) -> None:
        message = f"cannot write to stdout: {error.strerror or error}"
        super().__init__(file_exit_code(error), message, details=details)
        self._error = error
        self._unwritten = unwritten

    def with_result(self) -> "StdoutFailed":
        """Return the same error with the unwritten data, for commands that changed something."""
        lines = self._unwritten.decode("utf-8", "replace").split("\n")
        return StdoutFailed(self._error, self._unwritten, ["the unwritten output is:", *filter(None, lines)])


def encoded(text: str) -> bytes:
    """Return the text as UTF-8. Bytes of names that are not UTF-8 are kept, and other lone surrogates are escaped."""
    try:
        return text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        return text.encode("utf-8", "backslashreplace")


class RawStream(Protocol):
    """An unbuffered stream: write() may take a part, or return None if it would block."""

    def write(self, data: memoryview, /) -> int | None: ...

    def fileno(self) -> int: ...


class DataOut:
    """A buffer before a stream, flushed when full, when the command is idle, and at the end."""

    def __init__(self, stream: RawStream, *, flush_bytes: int = FLUSH_BYTES) -> None:
        self._stream = stream
        self._flush_bytes = flush_bytes
        self._pending: list[bytes] = []
        self._pending_bytes = 0

    def write(self, data: bytes) -> None:
        """Buffer `data`, and flush the buffer if it has at least `flush_bytes`.

        Raises: OutputClosed, StdoutFailed: see `flush`.
        """
        self._pending.append(data)
        self._pending_bytes += len(data)
        if self._pending_bytes >= self._flush_bytes:
            self.flush()

    def write_places(self, places: "ValuePlaces") -> None:
        """Write values from their buffers. Values of at least `flush_bytes` are not copied.

        Raises: OutputClosed, StdoutFailed: see `flush`.
        """
        if len(places) < self._flush_bytes or self._descriptor() is None:
            self.write(bytes(places))
            return
        self.flush()
        self._write_all(places)

    def write_line(self, text: str) -> None:
        self.write(encoded(text) + b"\n")

    def write_at_once(self, text: str) -> None:
        """Write text to a terminal and flush. Raises: OutputClosed, StdoutFailed: see `flush`."""
        self.write(text.encode("utf-8", "replace"))
        self.flush()

    def flush(self) -> None:
        """Write the buffered data.

        Raises:
            OutputClosed: the reader closed the pipe.
            StdoutFailed: the data cannot be written, for example because the disk is full.
        """
        if not self._pending:
            return
        data = b"".join(self._pending)
        self._pending.clear()
        self._pending_bytes = 0
        self._write_all(data)

    def _write_all(self, data: "bytes | ValuePlaces") -> None:
        try:
            if isinstance(data, bytes):
                self._write_bytes(memoryview(data))
            else:
                self._write_places(data)
        except BrokenPipeError:
            raise OutputClosed from None
        except OSError as e:
            raise StdoutFailed(e, bytes(data)) from None

    def _write_bytes(self, data: memoryview) -> None:
        while data:
            written = self._stream.write(data)
            if written is None:  # somebody made the stream non-blocking, and it is full
                select.select([], [self._stream], [])
            else:
                data = data[written:]

    def _write_places(self, places: "ValuePlaces") -> None:
        descriptor = self._stream.fileno()
        while len(places):
            try:
                places.write_some(descriptor)
            except BlockingIOError:
                select.select([], [self._stream], [])

    def _descriptor(self) -> int | None:
        try:
            return self._stream.fileno()
        except OSError:
            return None  # a stream in memory

    def check_reader(self) -> None:
        """Check without writing whether stdout still has a reader, so that idle commands exit too.

        Raises: OutputClosed: the reader closed the pipe.
        """
        descriptor = self._descriptor()
        if descriptor is None:
            return  # it has no reader that could leave
        if not has_reader(descriptor):
            raise OutputClosed
