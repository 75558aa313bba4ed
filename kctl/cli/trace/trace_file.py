"""File of `--trace-file`: client events as JSON lines. Write errors stop the trace, but not the command."""

import json
from collections.abc import Callable
from pathlib import Path
from threading import Lock
from typing import Any

from kctl.cli.failures import file_error
from kctl.cli.private_file import open_private
from kctl.cli.trace.event_objects import ending, event_object, opening, with_texts
from kctl.client.clock import Clock
from kctl.client.events import Event


class TraceFile:
    """Trace file of one command. Pass `on_event` to the client, and call `finish` once.

    Raises: CommandError: the file cannot be created.
    """

    def __init__(
        self, path: Path, clock: Clock, say: Callable[[str], None], masked: Callable[[str], str] = str
    ) -> None:
        try:
            self._file = open(open_private(str(path)), "wb", buffering=0)  # noqa: SIM115 - `finish` closes it
        except OSError as e:
            raise file_error(f"cannot write --trace-file {path}", e) from None
        self._path = path
        self._clock = clock
        self._say = say
        self._masked = masked
        self._started_at_ms = clock.now_ms()
        self._lock = Lock()  # clients can have several threads
        self._error: OSError | None = None
        self._write(opening(clock.wall_ms()))

    def on_event(self, event: Event) -> None:
        self._write(event_object(event, self._started_at_ms))

    def finish(self) -> None:
        """Write the last object and close the file. Print a note if a write failed."""
        self._write(ending(self._clock.now_ms() - self._started_at_ms))
        with self._lock:
            self._file.close()
        if self._error is not None:
            self._say(f"note: --trace-file {self._path} is incomplete: {self._error.strerror}")

    def _write(self, one: dict[str, Any]) -> None:
        data = memoryview(json.dumps(with_texts(self._masked, one)).encode() + b"\n")
        with self._lock:
            if self._error is not None or self._file.closed:
                return
            try:
                while data:
                    data = data[self._file.write(data) :]
            except OSError as e:
                self._error = e
