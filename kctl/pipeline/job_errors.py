"""Errors of a job that are not Kafka's: no Spark, a folder, damaged data. Light: command lines import it.

A task returns such an error instead of raising it, because Spark runs a task that raises again, and each attempt would
have the whole timeouts. Knows nothing of Spark.
"""

import errno
from collections.abc import Iterable

from kctl.client.errors import ErrorKind, KafkaError

LONGEST_REASON = 300
MOST_NAMED = 5
"""Topics, partitions or groups that one message names."""


class JobError(KafkaError):
    """A job cannot continue; `hint` is one thing to try."""

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.hint = hint


class SparkMissingError(JobError):
    """PySpark, pyarrow or Java is not installed here."""

    kind = ErrorKind.USAGE


class SparkSetUpError(JobError):
    """Spark cannot run the job as it was asked for: its settings, its workers or what they have installed."""

    kind = ErrorKind.USAGE


class StreamSourceError(JobError):
    """The source of a streaming query ended with an error of the client, in a process of Spark.

    Its `kind` is the kind of that error.
    """

    def __init__(self, message: str, kind: ErrorKind) -> None:
        super().__init__(message)
        self.kind = kind


class SparkFailedError(JobError):
    """Spark gave a job up for a reason that is neither Kafka's nor the job's own."""


class WorkerStartError(SparkFailedError):
    """A Python worker did not connect to Spark in time: the machine is overloaded."""

    kind = ErrorKind.TIMEOUT


_LATE_WORKER = (
    "Python worker failed to connect back",
    "Timed out while waiting for the Python worker to connect back",
    "CANNOT_OPEN_SOCKET",
)
"""Spark's words if a worker connects too late, or finds that Spark does not listen any more."""


def worker_start_error(spark_text: str, log: str) -> WorkerStartError | None:
    """Return the error of a worker that started too late, if Spark's error says so. Args: log: where its log is."""
    if not any(words in spark_text for words in _LATE_WORKER):
        return None
    hint = "; ".join(filter(None, ("run again to continue", log)))
    return WorkerStartError("a Python worker did not connect to Spark in time: the machine is overloaded", hint)


class FolderError(JobError):
    """A folder of an export cannot be read or written, or belongs to another export."""

    kind = ErrorKind.USAGE


class DiskError(FolderError):
    """The disk of a folder is full or failing."""

    kind = ErrorKind.DISK


DISK_ERRORS = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO)
"""The system's errors where a disk takes no more."""


def folder_error(path: object, error: OSError, hint: str = "") -> FolderError:
    """Return the error of a file or folder. Args: path: where the system's error names none."""
    kind = DiskError if error.errno in DISK_ERRORS else FolderError
    return kind(f"{error.filename or path}: {error.strerror or error}", hint)


class ExportDataError(JobError):
    """Records are gone, or a file differs from its manifest."""

    kind = ErrorKind.DATA


class MirrorPositionError(JobError):
    """How far a mirror has come is not known, or was recorded for a topic that was deleted since."""

    kind = ErrorKind.DATA


class RecordLossError(JobError):
    """A target would delete or reject records of its source."""

    kind = ErrorKind.DATA


class LakesMissingError(JobError):
    """A library of the extra `lakes` is not installed here."""

    kind = ErrorKind.USAGE


class StoreError(JobError):
    """An object store or a catalog of tables refused or failed a request."""


class StoreUnreachableError(StoreError):
    """An object store refuses connections, or answers each request with an error of its own."""

    kind = ErrorKind.CONNECTION


class StoreTimeoutError(StoreError):
    """An object store did not respond in time."""

    kind = ErrorKind.TIMEOUT


class StoreLoginError(StoreError):
    """There are no credentials for an object store, or it does not accept them."""

    kind = ErrorKind.AUTHENTICATION


class StoreDeniedError(StoreError):
    """The credentials do not allow a request."""

    kind = ErrorKind.AUTHORIZATION


class StoreMissingError(StoreError):
    """A bucket, catalog or table does not exist."""

    kind = ErrorKind.UNKNOWN_RESOURCE


class RecordDataError(JobError):
    """A record cannot be handled as was asked."""

    kind = ErrorKind.DATA


class FilterTimeoutError(JobError):
    """A regular expression or a jq program did not end on a record."""

    kind = ErrorKind.TIMEOUT


def reason_of(error: Exception) -> str:
    """Return why data of others is not valid, by the error of its reader: short, and harmless to a terminal."""
    text = f"{type(error).__name__}: {error}"[:LONGEST_REASON]
    return "".join(each if each.isprintable() else ascii(each)[1:-1] for each in text)


def listed(names: Iterable[object]) -> str:
    """Return the first names, and how many more there are.

    As `kctl.client.wording.listed`; that module is not among the internal ones of the client that the pipeline uses.
    """
    found = [str(each) for each in names]
    more = f" and {len(found) - MOST_NAMED} more" if len(found) > MOST_NAMED else ""
    return ", ".join(found[:MOST_NAMED]) + more
