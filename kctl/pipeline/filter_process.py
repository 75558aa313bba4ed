"""FilterProcess: a RecordFilter that evaluates its regular expression and jq program in a child process.

Python can interrupt neither, so the child sets an alarm (SIGALRM) for each record. The child writes one byte for each
record, so the parent knows which record took too long.
"""

import os
import pickle
import signal
import subprocess
import sys
from collections.abc import Sequence
from contextlib import suppress
from typing import IO

import pyarrow as pa

from kctl.client.clock import duration_text
from kctl.pipeline.job_errors import FilterTimeoutError, RecordDataError
from kctl.pipeline.record_filter import COLUMNS, RecordFilter

_YES, _NO, _ERROR = b"1", b"0", b"E"
_LENGTH_BYTES = 8
_COMMAND = "from kctl.pipeline.filter_process import run; run()"


class FilterProcess:
    """Record filter with a time limit; a context manager.

    Args:
        timeout_ms: maximum time for one record, of the regular expression and the jq program together.
    """

    def __init__(self, wanted: RecordFilter, timeout_ms: int) -> None:
        self._light = wanted._replace(key=None, jq=None)
        self._programs = RecordFilter(key=wanted.key, jq=wanted.jq)
        self._timeout_ms = timeout_ms
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> "FilterProcess":
        return self

    def __exit__(self, *_error: object) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.communicate()

    def wanted(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """Return the matching records of a batch in order.

        Raises:
            RecordDataError: the jq program failed on a record.
            FilterTimeoutError: a record took longer than the time limit.
        """
        batch = self._light.wanted(batch)
        if self._programs == RecordFilter() or not batch.num_rows:
            return batch
        process = self._process = self._process or self._started()
        assert process.stdin is not None
        assert process.stdout is not None
        with suppress(BrokenPipeError):  # the exit code shows the reason
            _write(process.stdin, _packed(batch))
        answer = process.stdout.read(batch.num_rows)
        if _ERROR in answer:
            raise RecordDataError((answer.partition(_ERROR)[2] + process.stdout.read()).decode())
        if len(answer) < batch.num_rows:
            raise self._ended(process.wait(), batch.slice(len(answer), 1))
        return batch.filter(pa.array([each == _YES[0] for each in answer], pa.bool_()))

    def _started(self) -> "subprocess.Popen[bytes]":
        process = subprocess.Popen(
            [sys.executable, "-P", "-c", _COMMAND],  # -P: import nothing from the working directory
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
        )
        assert process.stdin is not None
        with suppress(BrokenPipeError):
            _write(process.stdin, pickle.dumps((self._programs, self._timeout_ms)))
        return process

    def _ended(self, code: int, row: pa.RecordBatch) -> Exception:
        options = [("--key", self._programs.key), ("--jq", self._programs.jq)]
        name = " and ".join(option for option, text in options if text is not None)
        if code != -signal.SIGALRM:
            return RecordDataError(f"cannot evaluate {name}: its process exited with code {code}")
        topic, partition, offset = (row.column(each)[0].as_py() for each in ("topic", "partition", "offset"))
        within = f"it did not finish within {duration_text(self._timeout_ms)} (--api-timeout)"
        return FilterTimeoutError(f"cannot evaluate {name} on {topic}-{partition} offset {offset}: {within}")


def run() -> None:
    """Write, for each record of standard input, whether it matches. The entry point of the child process."""
    source, sink = sys.stdin.buffer, os.fdopen(1, "wb", buffering=0)
    wanted, timeout_ms = pickle.loads(_read(source))
    while data := _read(source):
        with pa.ipc.open_stream(data) as reader:
            batch = reader.read_next_batch()
        decisions = wanted.decisions(batch)
        try:
            for _ in range(batch.num_rows):
                signal.setitimer(signal.ITIMER_REAL, timeout_ms / 1000)
                sink.write(_YES if next(decisions) else _NO)
        except RecordDataError as e:
            sink.write(_ERROR + str(e).encode())
            return
        signal.setitimer(signal.ITIMER_REAL, 0)


def _packed(batch: pa.RecordBatch) -> bytes:
    sink = pa.BufferOutputStream()
    names: Sequence[str] = COLUMNS
    rows = batch.select(names)
    with pa.ipc.new_stream(sink, rows.schema) as writer:
        writer.write_batch(rows)
    packed: bytes = sink.getvalue().to_pybytes()
    return packed


def _write(to: IO[bytes], data: bytes) -> None:
    to.write(len(data).to_bytes(_LENGTH_BYTES, "big") + data)
    to.flush()


def _read(source: IO[bytes]) -> bytes:
    return source.read(int.from_bytes(source.read(_LENGTH_BYTES), "big"))
