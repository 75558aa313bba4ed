"""One-line errors for exceptions of Spark, its JVM and its servers."""

import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from kctl.pipeline.job_errors import JobError, SparkFailedError, SparkSetUpError, worker_start_error
from kctl.pipeline.session import last_log_line

_NO_JVM = (
    "An error occurred while calling None.None",
    "Answer from Java side is empty",
    "Error while sending or receiving",
)
"""Messages of py4j if the connection to Java is lost."""


def is_of_gateway(error: Exception) -> bool:
    """Return whether an exception comes from the connection to the JVM."""
    return isinstance(error, ConnectionError) or type(error).__module__.startswith("py4j.")


_NO_SERVER = (
    "StatusCode.UNAVAILABLE",
    "failed to connect to all addresses",
    "RETRIES_EXCEEDED",
    "Channel closed!",
    "Cannot invoke RPC",
)
"""Messages of gRPC if a Spark Connect server does not respond. kctl closes the channel of a server that hangs."""
_NO_SESSION = ("INVALID_HANDLE.SESSION_", "Received incorrect server side session identifier")
"""Messages of PySpark if a Spark Connect server does not know the session."""
_NO_PYARROW = ("No module named 'pyarrow'", "PyArrow >= ")
_OTHER_PYTHON = "PYTHON_VERSION_MISMATCH"


def explained(error: Exception, log_path: Path | None) -> JobError:
    """Return a one-line error for an exception of Spark. Spark's log has the traceback."""
    text = str(error)
    is_remote = type(error).__module__.startswith("pyspark.errors.exceptions.connect")
    if is_remote and log_path is not None:
        _keep(text, log_path)
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    where = f"read the log of Spark: {log_path}" if log_path is not None else ""
    if isinstance(error, ConnectionError) or any(words in text for words in _NO_JVM):
        return SparkFailedError("the Java process of Spark exited", where)
    if any(words in text for words in _NO_SERVER):
        return SparkFailedError("the Spark Connect server does not respond", where)
    if any(words in text for words in _NO_SESSION):
        return SparkFailedError("the Spark Connect server restarted, or closed the session", where)
    if "UNAUTHENTICATED" in text:
        return SparkSetUpError("the Spark Connect server rejects the credentials of the URL")
    if _OTHER_PYTHON in text:
        here = f"{sys.version_info.major}.{sys.version_info.minor}"
        return SparkSetUpError(
            f"the workers do not have Python {here}, which kctl runs on", "use one Python version on both"
        )
    if any(words in text for words in _NO_PYARROW):
        return SparkSetUpError(
            "the workers do not have pyarrow", "install pyarrow on the workers with: pip install pyarrow"
        )
    if "Cannot run program" in text:
        return SparkFailedError(f"the workers cannot start Python: {_told(lines, 'Cannot run program')}", where)
    if (late := worker_start_error(text, where)) is not None:
        return late
    if "Python worker exited unexpectedly" in text or "ExecutorLostFailure" in text:
        return SparkFailedError(f"the workers exited repeatedly: {_told(lines, 'ExecutorLostFailure')}", where)
    python = [line for line in lines if _is_python_error(line)]
    if python:
        return SparkFailedError(f"a task failed because of a bug in kctl: {python[0][:500]}", where)
    of_grpc = [line.removeprefix("details = ").strip('"') for line in lines if line.startswith("details = ")]
    reason = "" if is_remote else last_log_line(log_path)
    reason = reason or (of_grpc or [""])[0][:500] or (lines or [type(error).__name__])[0][:500]
    return SparkFailedError(f"Spark failed the job: {reason}", where)


def _keep(text: str, log_path: Path) -> None:
    """Write an error of a Spark Connect server to the log, because the server's own log is elsewhere."""
    with suppress(OSError), log_path.open("a", errors="replace") as log:
        log.write(f"{text}\n")


def _told(lines: Sequence[str], word: str) -> str:
    return next((line[line.index(word) :][:300] for line in lines if word in line), "a Python worker exited")


def _is_python_error(line: str) -> bool:
    name = line.partition(":")[0]
    return (
        name.replace("_", "").replace(".", "").isalnum()
        and name.endswith(("Error", "Exception"))
        and not name.startswith(("org.", "java.", "scala.", "py4j.", "pyspark."))
    )
