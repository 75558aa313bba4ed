"""What can go wrong with a job that is not Kafka's fault, and how an error of a task comes to the driver whole.

A task never raises an error of the client: Spark would run it again, and each attempt would spend the limits anew. It
returns the error as data (`carry`), and the driver raises it with all it knew (`restore`).
Light: `kctl.cli.failures` imports it. Knows nothing of Spark. Shown by tests/unit/pipeline/test_job_errors.py.
"""

from typing import NamedTuple

from kctl.client import errors
from kctl.client.errors import Account, BrokerError, KafkaError


class JobError(KafkaError):
    """A job cannot go on; `hint` is one thing to try."""

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.hint = hint


class SparkMissingError(JobError):
    """PySpark, pyarrow or Java is not installed here."""


class SparkSetUpError(JobError):
    """Spark cannot run the job as it was asked for: its settings, its workers or what they have installed."""


class SparkFailedError(JobError):
    """Spark gave a job up for a reason that is neither Kafka's nor the job's own."""


class FolderError(JobError):
    """A folder of an export cannot be read or written, or belongs to another export."""


class ExportDataError(JobError):
    """Records are not there any more, or a file or manifest is not what it says it is."""


class MirrorPositionError(JobError):
    """How far a mirror has come is not known, or was recorded for a topic that was deleted since."""


ALL: tuple[type[JobError], ...] = (
    JobError,
    SparkMissingError,
    SparkSetUpError,
    SparkFailedError,
    FolderError,
    ExportDataError,
    MirrorPositionError,
)


class CarriedError(NamedTuple):
    """An error as plain data, which pickles whatever its constructor wants.

    Attributes:
        kind: the class, or the nearest of its bases, by its name in `kctl.client.errors` or here; of a broker's error
            its code.
        text: what `str` gives.
        state: its attributes; an error among them is carried, too.
    """

    kind: str | int
    text: str
    state: dict[str, object]


def carry(error: KafkaError) -> CarriedError:
    """Return an error as data."""
    known = next(each for each in type(error).__mro__ if each in ALL or vars(errors).get(each.__name__) is each)
    kind: str | int = error.code if isinstance(error, BrokerError) else known.__name__
    return CarriedError(kind, str(error), {name: _packed(value) for name, value in vars(error).items()})


def restore(carried: CarriedError) -> KafkaError:
    """Return the error that was carried; its class, text and attributes are the same."""
    kind = _class_of(carried.kind)
    error = kind.__new__(kind, carried.text)
    error.args = (carried.text,)
    for name, value in carried.state.items():
        setattr(error, name, _unpacked(value))
    return error


def _class_of(kind: str | int) -> type[KafkaError]:
    if isinstance(kind, int):
        from kctl.client.broker_errors import error_class  # every start of kctl imports this file

        return error_class(kind)
    ours = {each.__name__: each for each in ALL}
    found = ours.get(kind) or getattr(errors, kind, None)
    return found if isinstance(found, type) and issubclass(found, KafkaError) else KafkaError


def _packed(value: object) -> object:
    if isinstance(value, KafkaError):
        return carry(value)
    if isinstance(value, Account):
        packed = tuple(_packed(each) for each in value.node_errors)
        return Account(value.ledger, value.attempts, packed)  # type: ignore[arg-type]  # carried ones, until restored
    if isinstance(value, tuple):
        return tuple(_packed(each) for each in value)
    return value if isinstance(value, str | int | float | bytes | None) else str(value)


def _unpacked(value: object) -> object:
    if isinstance(value, CarriedError):
        return restore(value)
    if isinstance(value, Account):
        return Account(value.ledger, value.attempts, _unpacked(value.node_errors))  # type: ignore[arg-type]  # as above
    if isinstance(value, tuple):
        return tuple(_unpacked(each) for each in value)
    return value
