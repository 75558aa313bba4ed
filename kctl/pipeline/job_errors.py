"""Errors of jobs that do not come from Kafka.

Tasks return them instead of raising, because Spark repeats a task that raises, with the full timeouts.
"""

import errno
from collections.abc import Iterable

from kctl.client.errors import ErrorKind, KafkaError

LONGEST_REASON = 300
MOST_NAMED = 5
"""Maximum number of topics, partitions or groups in one message."""


class JobError(KafkaError):
    """A job cannot continue; `hint` suggests one remedy."""

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.hint = hint


class SparkMissingError(JobError):
    """PySpark, pyarrow or Java is not installed on this machine."""

    kind = ErrorKind.USAGE


class SparkSetUpError(JobError):
    """Spark cannot start the job because of its settings, its workers or the packages on the workers."""

    kind = ErrorKind.USAGE


class StreamSourceError(JobError):
    """The source of a streaming query failed in a process of Spark. Its `kind` is the kind of the client error."""

    def __init__(self, message: str, kind: ErrorKind) -> None:
        super().__init__(message)
        self.kind = kind


class SparkFailedError(JobError):
    """Spark failed the job for a reason outside of Kafka and the job."""


class WorkerStartError(SparkFailedError):
    """A Python worker did not connect to Spark in time: the machine is overloaded."""

    kind = ErrorKind.TIMEOUT


_LATE_WORKER = (
    "Python worker failed to connect back",
    "Timed out while waiting for the Python worker to connect back",
    "CANNOT_OPEN_SOCKET",
)
"""Messages of Spark if a worker connects too late, or if Spark no longer listens."""


def worker_start_error(spark_text: str, log: str) -> WorkerStartError | None:
    """Return the error if Spark's text says that a worker started too late, otherwise None.

    Args:
        log: location of Spark's log, for the hint.
    """
    if not any(words in spark_text for words in _LATE_WORKER):
        return None
    hint = ", or ".join(filter(None, ("run the command again to continue", log)))
    return WorkerStartError("a Python worker did not connect to Spark in time: the machine is overloaded", hint)


class FolderError(JobError):
    """A directory of an export cannot be read or written, or belongs to another export."""

    kind = ErrorKind.USAGE


class DiskError(FolderError):
    """The disk of a directory is full or failing."""

    kind = ErrorKind.DISK


DISK_ERRORS = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO)
"""Error numbers of a full or failing disk."""


def folder_error(path: object, error: OSError, hint: str = "") -> FolderError:
    """Return the error for a file or directory; `path` is used if the system's error has no path."""
    kind = DiskError if error.errno in DISK_ERRORS else FolderError
    return kind(f"{error.filename or path}: {error.strerror or error}", hint)


class ExportDataError(JobError):
    """Records no longer exist, or a file differs from its manifest."""

    kind = ErrorKind.DATA


class MirrorPositionError(JobError):
    """The position of a mirror is unknown, or belongs to a topic that was deleted."""

    kind = ErrorKind.DATA


class RecordLossError(JobError):
    """A target would delete or reject records of its source."""

    kind = ErrorKind.DATA


class LakesMissingError(JobError):
    """A library of the extra `lakes` is not installed on this machine."""

    kind = ErrorKind.USAGE


class StoreError(JobError):
    """An object store or a table catalog rejected or failed a request."""


class StoreUnreachableError(StoreError):
    """An object store refuses connections, or fails each request with a server error."""

    kind = ErrorKind.CONNECTION


class StoreTimeoutError(StoreError):
    """An object store did not respond in time."""

    kind = ErrorKind.TIMEOUT


class StoreLoginError(StoreError):
    """Credentials for an object store are missing or rejected."""

    kind = ErrorKind.AUTHENTICATION


class StoreDeniedError(StoreError):
    """The credentials do not allow a request."""

    kind = ErrorKind.AUTHORIZATION


class StoreMissingError(StoreError):
    """A bucket, catalog or table does not exist."""

    kind = ErrorKind.UNKNOWN_RESOURCE


class RecordDataError(JobError):
    """A record cannot be processed with the given options."""

    kind = ErrorKind.DATA


class FilterTimeoutError(JobError):
    """A regular expression or a jq program did not finish on a record."""

    kind = ErrorKind.TIMEOUT


def reason_of(error: Exception) -> str:
    """Return why external data is invalid, as one short line that is safe to print on a terminal."""
    text = f"{type(error).__name__}: {error}"[:LONGEST_REASON]
    return "".join(each if each.isprintable() else ascii(each)[1:-1] for each in text)


def listed(names: Iterable[object]) -> str:
    """Return the first names and the number of further names. The layers forbid `kctl.client.wording.listed`."""
    found = [str(each) for each in names]
    more = f" and {len(found) - MOST_NAMED} more" if len(found) > MOST_NAMED else ""
    return ", ".join(found[:MOST_NAMED]) + more
