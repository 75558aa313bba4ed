"""What a user of the data source sees of an error: one line that starts with a mark, and no trace of our own files.

Owns the mark, the way of an error out of a Python process of Spark, and the timeout of a task over its attempts.
"""

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
    """A query cannot continue; the text is one line that starts with MARK and names the error's class."""

    def __init__(self, text: str) -> None:
        super().__init__(text)


def source_error(error: KafkaError) -> SourceError:
    """Return the error as Spark is to show it: one line."""
    words = " ".join(str(error).split())
    return SourceError(f"{MARK} {type(error).__name__}: {words}")


@contextmanager
def reported_in_one_line() -> Iterator[None]:
    """Let an error of the client leave a process of Spark as one line.

    Spark shows the traceback unless this variable is set; it ends the process that an error came out of, so nothing
    else is hidden.
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
    """Run a task's attempt so that a timeout ends the task, whichever attempt it comes in.

    Spark begins a task again after any error, so a timeout would be waited for spark.task.maxFailures times. An attempt
    that times out leaves its error in the executor's folder, and the next attempt there raises it at once. An attempt
    that follows anything else, as a lost worker or executor, has the whole timeout. A write whose rows were not
    acknowledged in time counts as timed out.
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
            with suppress(OSError):  # then the next attempt waits for its own timeout
                left.write_text(str(source_error(error)))
        raise


def reason(error: BaseException) -> str | None:
    """Return kctl's line in what Spark raised, or None where it says nothing of kctl."""
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
    """Return what a query's source ended with, as an error that knows its class; None where it says nothing of kctl."""
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
