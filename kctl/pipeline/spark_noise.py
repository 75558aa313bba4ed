"""Redirection of PySpark's and py4j's warnings, log records and thread exceptions in this process to Spark's log."""

import logging
import threading
import traceback
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import IO, TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyspark import SparkContext

SPARK = frozenset({"pyspark", "py4j"})
IMPORTED = SPARK | {"pandas", "numpy", "pyarrow"}
"""PySpark and its dependencies, whose warnings do not help users of kctl."""
_OF_QUERIES = "SQLQueryContextLogger"
"""Logger with a separate handler, to which PySpark writes exceptions that it also raises."""
_CALLERS = frozenset({"threading.py", "socketserver.py"})
"""Modules whose frames precede a thread's own code in a traceback."""


class _PrintedBySpark(logging.Filter):
    """Filter that moves records of PySpark and py4j to the session's log. Without a session, it drops them."""

    log: IO[bytes] | None = None

    def filter(self, record: logging.LogRecord) -> bool:
        if not _is_in(record.pathname, SPARK):
            return True
        if self.log is not None:
            _write(self.log, logging.Formatter("%(levelname)s %(name)s: %(message)s").format(record))
        return False


_PRINTED_BY_SPARK = _PrintedBySpark()


@contextmanager
def noise_to(log: IO[bytes]) -> Iterator[None]:
    """Write the output of Spark's packages to the log of a session while the context lasts."""
    show_warning, thread_hook = warnings.showwarning, threading.excepthook

    def show(
        message: Warning | str,
        category: type[Warning],
        filename: str,
        lineno: int,
        file: Any = None,
        line: str | None = None,
    ) -> None:
        if file is None and _is_in(filename, IMPORTED):
            _write(log, warnings.formatwarning(message, category, filename, lineno, line))
        else:
            show_warning(message, category, filename, lineno, file, line)

    def end_thread(error: threading.ExceptHookArgs) -> None:
        if _is_of_spark(error.exc_traceback):
            _write(log, "".join(traceback.format_exception(error.exc_value)))
        else:
            thread_hook(error)

    for name in ("", _OF_QUERIES):
        logging.getLogger(name).addFilter(_PRINTED_BY_SPARK)
    _PRINTED_BY_SPARK.log = log
    warnings.showwarning, threading.excepthook = show, end_thread
    try:
        yield
    finally:
        warnings.showwarning, threading.excepthook = show_warning, thread_hook
        _PRINTED_BY_SPARK.log = None


def send_accumulator_errors(context: "SparkContext", log: IO[bytes]) -> None:
    """Write errors of a context's accumulator server to the log. The server fails when the JVM exits."""
    server: Any = getattr(context, "_accumulatorServer", None)
    if server is not None:
        server.handle_error = lambda *_: _write(log, traceback.format_exc())


def _is_in(filename: str, packages: frozenset[str]) -> bool:
    return not packages.isdisjoint(Path(filename).parts)


def _is_of_spark(trace: TracebackType | None) -> bool:
    """Return whether a thread's code starts in Spark's packages."""
    for frame, _ in traceback.walk_tb(trace):
        path = Path(frame.f_code.co_filename)
        if path.name not in _CALLERS:
            return _is_in(str(path), SPARK)
    return False


def _write(log: IO[bytes], text: str) -> None:
    if not log.closed:
        log.write(text.rstrip().encode(errors="replace") + b"\n")
        log.flush()
