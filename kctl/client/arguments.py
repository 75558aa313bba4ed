"""Checks of the arguments of public methods by their annotations, on the caller's thread.

Datetimes with a time zone become milliseconds. The methods themselves check the meaning of values.
"""

import re
from collections.abc import Callable, Collection, Iterable, Mapping
from collections.abc import Callable as AnyCallable
from datetime import UTC, datetime, timedelta
from functools import cache, partial, wraps
from operator import is_
from types import NoneType, UnionType
from typing import (
    Any,
    Concatenate,
    Literal,
    NamedTuple,
    ParamSpec,
    TypeVar,
    Union,
    get_args,
    get_origin,
    get_type_hints,
)

from kctl.client.cluster import TopicPartition

S = TypeVar("S")
P = ParamSpec("P")
R = TypeVar("R")

INT64 = (-(2**63), 2**63 - 1)
INT32 = (-(2**31), 2**31 - 1)
INT16 = (-(2**15), 2**15 - 1)
BOUNDS = {
    "level": INT16,
    "port": (0, 2**16 - 1),
    "replication_factor": INT16,
    "iterations": (1, 2**20),
    **dict.fromkeys(
        (
            "assignments",
            "broker",
            "broker_id",
            "broker_ids",
            "counts",
            "epochs",
            "leader_epoch",
            "num_partitions",
            "partition",
            "targets",
            "voter_id",
            "version",
        ),
        INT32,
    ),
}
"""Bounds of integers by the name of the parameter or field; other integers have 64 bits."""
LONGEST_STRING_BYTES = 2**15 - 1
"""Maximum length of a string in the protocol."""
_LONGEST_SHOWN = 80
_SECRET = re.compile("password|secret|token|jaas|ssl.*key", re.IGNORECASE)
_TIMEOUTS = ("timeout", "partial_timeout")
"""Parameters that `clock.to_timeout_ms` checks."""
NOT_LISTS = (str, bytes, bytearray, memoryview)
"""Types that have a length and items, but are a single value."""


class Kind(NamedTuple):
    """Values that an annotation accepts.

    Attributes:
        noun, plural: names of such values in errors.
        fits: returns whether a value is of this kind, regardless of its contents.
        taken: checks the contents, and returns the argument for the method.
    """

    noun: str
    plural: str
    fits: Callable[[Any], bool]
    taken: Callable[[str, Any], Any]

    def check(self, where: str, given: Any) -> Any:
        if not self.fits(given):
            raise wrong_type(where, given, self.noun)
        return self.taken(where, given)


def checked(method: Callable[Concatenate[S, P], R]) -> Callable[Concatenate[S, P], R]:
    """Decorate a method to check its arguments by their annotations, except timeouts.

    Strings and bytes do not count as lists; iterators are read once.
    """

    @wraps(method)
    def checking(self: S, /, *args: P.args, **kwargs: P.kwargs) -> R:
        order, kinds = _parameters(method)
        given = [
            kinds[name].check(name, value) if name in kinds else value for name, value in zip(order, args, strict=False)
        ]
        named = {name: kinds[name].check(name, value) if name in kinds else value for name, value in kwargs.items()}
        return method(self, *given, *args[len(given) :], **named)  # type: ignore[arg-type]

    return checking


def check(parameter: str, given: Any, annotation: Any) -> Any:
    """Return one checked argument. Raises: TypeError, ValueError: with parameter and value."""
    return _kind(annotation, parameter).check(parameter, given)


def instant_ms(parameter: str, given: int | datetime) -> int:
    """Return an aware datetime as ms since the epoch, and an integer unchanged. Raises: TypeError, ValueError."""
    found: int = check(parameter, given, int | datetime)
    return found


def wrong_type(where: str, given: Any, noun: str) -> TypeError:
    hint = f"; use [{shown(where, given)}]" if isinstance(given, str) and noun.startswith("a list of strings") else ""
    return TypeError(f"{where} must be {noun}, not {shown(where, given)}{hint}")


def shown(where: str, given: Any) -> str:
    """Return a shortened value for errors; of secrets and other types, only the name of the type."""
    if _SECRET.search(where) or not isinstance(given, str | bytes | int | float | datetime | NoneType):
        return f"{type(given).__name__}"
    text = ascii(given) if isinstance(given, str | bytes) else repr(given)
    return text if len(text) <= _LONGEST_SHOWN else f"{text[:_LONGEST_SHOWN]}..."


# --- kinds by annotation ----------------------------------------------------------------------------------------------


@cache
def _parameters(method: Callable[..., Any]) -> tuple[tuple[str, ...], dict[str, Kind]]:
    code = method.__code__
    wanted = {name: hint for name, hint in method.__annotations__.items() if name not in ("return", *_TIMEOUTS)}
    return code.co_varnames[1 : code.co_argcount], {name: _kind(hint, name) for name, hint in wanted.items()}


@cache
def _kind(annotation: Any, name: str) -> Kind:
    origin, args = get_origin(annotation), get_args(annotation)
    if origin in (Union, UnionType):
        return _union([_kind(each, name) for each in args])
    if origin is Literal:
        noun = " or ".join(map(repr, args))
        return Kind(noun, noun, lambda given: isinstance(given, str), partial(_literal, args))
    if origin is re.Pattern:
        return Kind("a compiled pattern", "patterns", _is_text_pattern, _as_is)
    if origin is AnyCallable:
        return Kind("a function", "functions", callable, _as_is)
    if origin is tuple and Ellipsis not in args:
        kinds = [_kind(each, name) for each in args]
        noun = f"a tuple ({', '.join(kind.noun for kind in kinds)})"
        return Kind(noun, "tuples", partial(_is_row, len(kinds)), partial(_row, kinds))
    if isinstance(origin, type) and issubclass(origin, Mapping):
        key, value = _kind(args[0], name), _kind(args[1], name)
        noun = f"a mapping of {key.plural} to {value.plural}"
        return Kind(noun, "mappings", lambda given: isinstance(given, Mapping), partial(_mapping, key, value))
    if isinstance(origin, type) and issubclass(origin, Iterable):
        item = _kind(args[0], name)
        noun = f"a list of {item.plural}"
        return Kind(noun, noun.replace("a list", "lists"), _is_list, partial(_list, item))
    if annotation is int:
        return Kind("an integer", "integers", _is_integer, partial(_integer, BOUNDS.get(name, INT64)))
    if annotation in _PLAIN:
        return _PLAIN[annotation]
    if annotation is TopicPartition:
        return Kind("a TopicPartition", "TopicPartition", _is_partition, _partition)
    if isinstance(annotation, type) and not getattr(annotation, "_is_protocol", False):
        noun = f"{'an' if annotation.__name__[0] in 'AEIO' else 'a'} {annotation.__name__}"
        fields = _fields(annotation) if issubclass(annotation, tuple) else None
        taken = _as_is if fields is None else partial(_values, fields)
        return Kind(noun, annotation.__name__, lambda given: isinstance(given, annotation), taken)
    raise TypeError(f"{name}: no rule for arguments of type {annotation}")


def _fields(annotation: type) -> dict[str, Kind]:
    return {field: _kind(hint, field) for field, hint in get_type_hints(annotation).items()}


def _union(kinds: list[Kind]) -> Kind:
    noun = " or ".join(kind.noun for kind in kinds)
    plural = " or ".join(kind.plural for kind in kinds)
    return Kind(noun, plural, lambda given: any(kind.fits(given) for kind in kinds), partial(_first_of, kinds))


def _first_of(kinds: list[Kind], where: str, given: Any) -> Any:
    return next(kind for kind in kinds if kind.fits(given)).taken(where, given)


def _as_is(_: str, given: Any) -> Any:
    return given


def _text(where: str, given: str) -> str:
    size_bytes = len(given)
    if not given.isascii():
        try:
            size_bytes = len(given.encode())
        except UnicodeEncodeError as error:
            text = f"{where} must be a string that UTF-8 can encode, not {shown(where, given)}: {error.reason}"
            raise ValueError(text) from None
    if size_bytes > LONGEST_STRING_BYTES:
        raise ValueError(f"{where} must have at most {LONGEST_STRING_BYTES} bytes, not {size_bytes}")
    return given


def _literal(words: tuple[str, ...], where: str, given: str) -> str:
    if given not in words:
        raise ValueError(f"{where} must be {' or '.join(map(repr, words))}, not {shown(where, given)}")
    return given


def _is_integer(given: Any) -> bool:
    return not isinstance(given, bool) and hasattr(type(given), "__index__")


def _integer(bounds: tuple[int, int], where: str, given: Any) -> int:
    number: int = given if isinstance(given, int) else given.__index__()  # integers of NumPy
    low, high = bounds
    if not low <= number <= high:
        raise ValueError(f"{where} must be from {low} to {high}, not {shown(where, number)}")
    return number


def _instant(where: str, given: datetime) -> int:
    if given.utcoffset() is None:
        raise ValueError(f"{where} must be a datetime with a time zone, not {given!r}")
    return (given - _EPOCH) // timedelta(milliseconds=1)


def _is_text_pattern(given: Any) -> bool:
    return isinstance(given, re.Pattern) and isinstance(given.pattern, str)


def _is_partition(given: Any) -> bool:
    return _is_row(2, given) and isinstance(given[0], str) and _is_integer(given[1])


def _partition(where: str, given: Any) -> TopicPartition:
    topic, partition = given
    _text(f"{where}.topic", topic)
    number = _integer(INT32, f"{where}.partition", partition)
    return given if type(given) is TopicPartition and number is partition else TopicPartition(topic, number)


def _is_row(size: int, given: Any) -> bool:
    return isinstance(given, tuple) and len(given) == size


def _row(kinds: list[Kind], where: str, given: tuple[Any, ...]) -> tuple[Any, ...]:
    taken = [kind.check(f"{where}[{at}]", item) for at, (kind, item) in enumerate(zip(kinds, given, strict=True))]
    return given if all(map(is_, given, taken)) else tuple(taken)


def _values(kinds: dict[str, Kind], where: str, given: Any) -> Any:
    changed = {}
    for field, kind in kinds.items():
        value = getattr(given, field)
        taken = kind.check(f"{where}.{field}", value)
        if taken is not value:
            changed[field] = taken
    return given._replace(**changed) if changed else given


def _is_list(given: Any) -> bool:
    return isinstance(given, Iterable) and not isinstance(given, NOT_LISTS)


def _list(item: Kind, where: str, given: Iterable[Any]) -> Collection[Any]:
    items = given if isinstance(given, Collection) else tuple(given)
    taken = [item.check(f"{where}[{at}]", each) for at, each in enumerate(items)]
    if all(map(is_, items, taken)):
        return items
    return tuple(taken) if isinstance(items, tuple) else taken


def _mapping(key: Kind, value: Kind, where: str, given: Mapping[Any, Any]) -> Mapping[Any, Any]:
    taken = {}
    for each, content_of in given.items():
        name = key.check(f"a key of {where}", each)
        taken[name] = value.check(f"{where}[{name}]", content_of)
    return taken


_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_PLAIN: dict[Any, Kind] = {
    Any: Kind("anything", "values", lambda _: True, _as_is),
    object: Kind("anything", "values", lambda _: True, _as_is),
    NoneType: Kind("None", "None", lambda given: given is None, _as_is),
    str: Kind("a string", "strings", lambda given: isinstance(given, str), _text),
    bytes: Kind("bytes", "bytes", lambda given: isinstance(given, bytes), _as_is),
    bool: Kind("True or False", "flags", lambda given: isinstance(given, bool), _as_is),
    float: Kind(
        "a number", "numbers", lambda given: isinstance(given, int | float) and not isinstance(given, bool), _as_is
    ),
    datetime: Kind("a datetime", "datetimes", lambda given: isinstance(given, datetime), _instant),
}
