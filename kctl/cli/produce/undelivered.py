"""UndeliveredFile: undelivered records as JSON lines for `produce -i jsonl`.

Records that were sent but not acknowledged have `perhaps_written`.
"""

import contextlib
import os
from collections.abc import Sequence
from io import BufferedWriter
from typing import NamedTuple

from kctl.cli.exit_codes import ExitCode
from kctl.cli.failures import CommandError, file_error
from kctl.cli.formats.texts import JsonForm
from kctl.cli.private_file import open_private
from kctl.client.records import Header

_FORM = JsonForm(is_ascii=False)


class UndeliveredRecord(NamedTuple):
    """An undelivered record and the cause. `partition` is None if it was not chosen yet."""

    topic: str
    partition: int | None
    timestamp_ms: int | None
    key: bytes | None
    value: bytes | None
    headers: Sequence[Header]
    cause: str
    perhaps_written: bool = False


class UndeliveredFile:
    """A new file, which is deleted at the end if it is empty.

    Raises: CommandError: the file exists and is not empty, or cannot be created.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self.records = 0
        """Number of flushed records."""
        self._buffered = 0
        self._error = ""
        self._file = _make(name)

    @property
    def error(self) -> str:
        """Return the first write error, or ""."""
        return self._error

    def write(self, record: UndeliveredRecord) -> None:
        """Write a record. A write error is stored in `error`, and later records are dropped."""
        if self._error:
            return
        try:
            self._file.write(as_json_line(record))
            self._buffered += 1
        except OSError as e:
            self._error = e.strerror or str(e)

    def flush(self) -> None:
        try:
            self._file.flush()
        except OSError as e:
            self._error = self._error or e.strerror or str(e)
        if not self._error:
            self.records += self._buffered
            self._buffered = 0

    def close(self) -> None:
        """Close the file, and delete it if it is empty."""
        self.flush()
        with contextlib.suppress(OSError):
            self._file.close()
        if not self.records and os.path.isfile(self.name) and not os.path.getsize(self.name):
            os.unlink(self.name)


def as_json_line(record: UndeliveredRecord) -> bytes:
    partition = b"null" if record.partition is None else b"%d" % record.partition
    timestamp = b"null" if record.timestamp_ms is None else b"%d" % record.timestamp_ms
    return (
        b'{"topic":%b,"partition":%b,"offset":null,"timestamp":%b,"key":%b,"value":%b,"headers":%b,"cause":%b%b}\n'
        % (
            _FORM.value(record.topic.encode("utf-8", "surrogateescape")),
            partition,
            timestamp,
            _FORM.value(record.key),
            _FORM.value(record.value),
            _FORM.headers(record.headers),
            _FORM.value(record.cause.encode("utf-8", "backslashreplace")),
            b',"perhaps_written":true' if record.perhaps_written else b"",
        )
    )


def _make(name: str) -> BufferedWriter:
    try:
        if os.path.isfile(name) and os.path.getsize(name):
            raise CommandError(ExitCode.USAGE, f"cannot write --undelivered {name}: the file exists and is not empty")
        return open(open_private(name), "wb")
    except OSError as e:
        raise file_error(f"cannot write --undelivered {name}", e) from None
