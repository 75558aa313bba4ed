"""Errors of the data source: one marked line without a traceback, and one timeout for all attempts of a task."""

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

from kctl.client import errors
from kctl.client.broker_errors import BY_CODE
from kctl.client.errors import KafkaError, KafkaTimeoutError, UndeliveredError
from kctl.pipeline import job_errors
from kctl.pipeline.job_errors import StreamSourceError
from kctl.serdes import errors as serdes_errors

MARK: Final = "KCTL:"
_HIDE_TRACEBACK: Final = "SPARK_HIDE_TRACEBACK"
_DEEPEST_CAUSE: Final = 10


class SourceError(KafkaError):
    """A query failed; the message is one line that starts with MARK and the name of the error class."""

    def __init__(self, text: str) -> None:
        super().__init__(text)


def source_error(error: KafkaError) -> SourceError:
    words = " ".join(str(error).split())
    return SourceError(f"{MARK} {type(error).__name__}: {words}")


@contextmanager
def reported_in_one_line() -> Iterator[None]:
    """Convert client errors that leave a process of Spark into one line.

    Sets an environment variable to hide the traceback. Later tracebacks are not affected, because Spark ends a process
    after its first error.
    """
    try:
        yield
    except SourceError:
        os.environ[_HIDE_TRACEBACK] = "1"
        raise
    except KafkaError as error:
        os.environ[_HIDE_TRACEBACK] = "1"
        raise source_error(error) from None


@contextmanager
def one_timeout() -> Iterator[None]:
    """If an earlier attempt at this task timed out, raise its error again immediately.

    Spark repeats a failed task, so the job would otherwise wait for a timeout spark.task.maxFailures times. An attempt
    that times out, also by missing acknowledgments, stores its error in the executor's directory for the next attempt.
    """
    from pyspark import TaskContext

    context = TaskContext.get()
    folder = os.environ.get("SPARK_LOCAL_DIRS", "").partition(",")[0]
    if context is None or not folder:
        yield
        return
    left = Path(folder, f"kctl-timeout-{context.stageId()}-{context.partitionId()}")
    if context.attemptNumber() > 0 and left.exists():
        raise SourceError(left.read_text())
    try:
        yield
    except KafkaError as error:
        if isinstance(error.cause if isinstance(error, UndeliveredError) else error, KafkaTimeoutError):
            with suppress(OSError):  # otherwise the next attempt waits for its own timeout
                left.write_text(str(source_error(error)))
        raise


def reason(error: BaseException) -> str | None:
    seen: BaseException | None = error
    for _ in range(_DEEPEST_CAUSE):
        if seen is None:
            break
        for line in str(seen).splitlines():
            at = line.find(MARK)
            if at >= 0:
                return line[at + len(MARK) :].strip()
        seen = seen.__cause__ or getattr(seen, "_cause", None)
    return None


def source_failure(error: BaseException) -> StreamSourceError | None:
    """Return kctl's error in the exception of a streaming query, with its error kind, or None."""
    text = reason(error)
    if text is None:
        return None
    name, _, words = text.partition(": ")
    of_broker = next((each for each in BY_CODE.values() if each.__name__ == name), None)
    if of_broker is not None:
        return StreamSourceError(words, of_broker.kind)
    found = next((vars(module)[name] for module in (errors, job_errors, serdes_errors) if name in vars(module)), None)
    if isinstance(found, type) and issubclass(found, KafkaError):
        return StreamSourceError(words, found.kind)
    return StreamSourceError(text, KafkaError.kind)
