"""KafkaError: base class of all errors, which can be compared, copied, and pickled. Account: time breakdown of a call.

Errors are equal if type, message, and attributes are equal. A `__cause__` from another library is pickled if possible.
"""

from collections.abc import Collection
from enum import Enum
from typing import NamedTuple, Self, TypeVar

from kctl.client.wording import counted, one_line


class ErrorKind(Enum):
    """Cause of an error, in the words of `kctl explain`; each kind has an exit code."""

    UNEXPECTED = "unexpected error"
    USAGE = "usage or configuration"
    PARTIAL = "partial failure"
    DNS = "name resolution failed"
    CONNECTION = "connection refused or reset, or host unreachable"
    CONNECT_TIMEOUT = "connect timeout"
    TLS = "TLS handshake failed"
    AUTHENTICATION = "authentication failed"
    WRONG_PROTOCOL = "wrong protocol on this port"
    REQUEST_TIMEOUT = "request timeout"
    TIMEOUT = "API timeout"
    ADVERTISED_ADDRESS = "advertised address unreachable or wrong"
    UNAVAILABLE = "no leader or coordinator available"
    UNDELIVERED = "undelivered records"
    CLOSE_TIMEOUT = "close timed out"
    AUTHORIZATION = "not authorized"
    UNKNOWN_RESOURCE = "unknown topic, group, or resource"
    DATA = "invalid data (decoding, schema, or size)"
    DISK = "disk full or failing"


class KafkaError(Exception):
    """Base class of the errors that the client raises.

    Attributes:
        kind: cause of the error.
        retriable: a later call may succeed.
        outcome_unknown: the change may have been made: its request was sent without a response that confirmed it.
    """

    kind: ErrorKind = ErrorKind.UNEXPECTED
    retriable: bool = False
    outcome_unknown: bool = False

    def __str__(self) -> str:
        """Return the message as one line, with control characters escaped."""
        return one_line(super().__str__())

    def __eq__(self, other: object) -> bool:
        if type(self) is not type(other):
            return NotImplemented
        return self.args == other.args and vars(self) == vars(other)

    def __hash__(self) -> int:
        return hash((type(self), str(self)))

    def __reduce__(self) -> tuple[object, ...]:
        """Support pickle without the constructor, whose arguments are not kept."""
        state = dict(vars(self), __suppress_context__=self.__suppress_context__)
        if _can_travel(self.__cause__):
            state["__cause__"] = self.__cause__
        return _bare, (type(self), *self.args), state

    def without_traceback(self) -> Self:
        """Return an equal error with the same cause, to raise it while this object is kept.

        A traceback keeps the objects of its frames alive, and grows with each raise of an error.
        """
        other = _bare(type(self), *self.args)
        vars(other).update(vars(self))
        other.__cause__, other.__suppress_context__ = self.__cause__, self.__suppress_context__
        return other


E = TypeVar("E", bound=KafkaError)


def _bare(kind: type[E], *args: object) -> E:
    return kind.__new__(kind, *args)


def _can_travel(cause: BaseException | None) -> bool:
    if cause is None or isinstance(cause, KafkaError):
        return cause is not None
    import pickle  # deferred import: only for errors that leave the process

    try:
        pickle.loads(pickle.dumps(cause))
    except Exception:  # noqa: BLE001 - a foreign class can raise anything
        return False
    return True


class Account(NamedTuple):
    """Time breakdown of a call, for its timeout error.

    Attributes:
        time_breakdown: one text with its time per activity.
        attempts: number of connection attempts.
        node_errors: last error of each failed node, latest phase first.
    """

    time_breakdown: tuple[str, ...] = ()
    attempts: int = 0
    node_errors: tuple[KafkaError, ...] = ()

    def __str__(self) -> str:
        tries = counted(self.attempts, "connection attempt") if self.attempts else ""
        return "; ".join(part for part in (", ".join(self.time_breakdown), tries) if part)


def class_of_code(name: str) -> type[KafkaError]:
    """Return the class of an error code by its name; `kctl.client.errors` has it as an attribute.

    Raises: AttributeError: there is no such class.
    """
    if name.endswith("Error"):
        for kind in _codes():
            if kind.__name__ == name:
                return kind
    raise AttributeError(f"module 'kctl.client.errors' has no attribute {name!r}")


def names_of_errors() -> list[str]:
    """Return the names in `kctl.client.errors`, including classes of error codes."""
    from importlib import import_module

    return sorted({*vars(import_module("kctl.client.errors")), *(kind.__name__ for kind in _codes())})


def _codes() -> Collection[type[KafkaError]]:
    from importlib import import_module  # deferred import: only for programs that use one of the classes

    codes: Collection[type[KafkaError]] = import_module("kctl.client.broker_errors").BY_CODE.values()
    return codes
