"""Property: declaration of one Kafka property, and kinds of values."""

import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Generic, Never, TypeVar, overload

from kctl.client.errors import ConfigError

if TYPE_CHECKING:
    from kctl.client.config.base import BaseConfig

T = TypeVar("T")

INT_MAX = 2**31 - 1
LONG_MAX = 2**63 - 1
LONGEST_NUMBER = 20
"""Maximum length of a number; longer numbers exceed every bound, and their conversion is quadratic."""
LONGEST_SHOWN = 80

_PASSWORD = r":(?!\$\{)(?P<password>[^/?#,\r\n]+)@"
_URL_PASSWORD = re.compile(r"(?P<user>//[^/?#\s:@,]*)" + _PASSWORD)
_USER_PASSWORD = re.compile(r"(?P<user>(?:^|,|//)\s*[^/?#\s:@,]*)" + _PASSWORD)
_WHOLE = re.compile(r"[+-]?[0-9]+")


class Kind(ABC, Generic[T]):
    """Reader and writer of one kind of value.

    `read` gets a trimmed str or a native object, and raises ValueError for invalid values. `accepted` completes the
    error message "NAME takes ...".
    """

    accepted = "a string"

    @abstractmethod
    def read(self, raw: object) -> T: ...

    def write(self, value: T) -> str:
        """Return the value as in a .properties file; `read` accepts it."""
        return str(value)


class Whole(Kind[int]):
    def __init__(self, low: int, high: int) -> None:
        self.low = low
        self.high = high
        if high in (INT_MAX, LONG_MAX):
            self.accepted = f"an integer of {low} or more"
        else:
            self.accepted = f"an integer from {low} to {high}"

    def read(self, raw: object) -> int:
        if isinstance(raw, str) and len(raw) <= LONGEST_NUMBER and _WHOLE.fullmatch(raw):
            raw = int(raw)
        if not isinstance(raw, int) or isinstance(raw, bool) or not self.low <= raw <= self.high:
            raise ValueError
        return raw


class GzipLevel(Whole):
    """1 to 9, or -1 for zlib's default."""

    def __init__(self) -> None:
        super().__init__(-1, 9)
        self.accepted = "-1 (the default of zlib) or an integer from 1 to 9"

    def read(self, raw: object) -> int:
        level = super().read(raw)
        if level == 0:
            raise ValueError
        return level


class Flag(Kind[bool]):
    accepted = "true or false"

    def read(self, raw: object) -> bool:
        if isinstance(raw, bool):
            return raw
        if isinstance(raw, str) and raw.lower() in ("true", "false"):
            return raw.lower() == "true"
        raise ValueError

    def write(self, value: bool) -> str:
        return "true" if value else "false"


class Text(Kind[str]):
    def __init__(self, *, filled: bool = False) -> None:
        self.filled = filled
        if filled:
            self.accepted = "a non-empty string"

    def read(self, raw: object) -> str:
        if not isinstance(raw, str) or (self.filled and not raw):
            raise ValueError
        return raw


class OptionalText(Kind[str | None]):
    """A string; an empty one means not set, unless `filled` rejects it."""

    def __init__(self, *, filled: bool = False) -> None:
        self.filled = filled
        if filled:
            self.accepted = "a non-empty string"

    def read(self, raw: object) -> str | None:
        if not isinstance(raw, str) or (self.filled and not raw):
            raise ValueError
        return raw or None

    def write(self, value: str | None) -> str:
        return value or ""


class Choice(Kind[str]):
    """One of several words, in any case.

    Args: spelled: word for each further spelling, such as a Java class name.
    """

    def __init__(self, words: tuple[str, ...], spelled: Mapping[str, str] | None = None) -> None:
        self.words = words
        self._words = {word.lower(): word for word in words}
        self._words.update({spelling.lower(): word for spelling, word in (spelled or {}).items()})
        self.accepted = "one of " + ", ".join(words)

    def read(self, raw: object) -> str:
        word = self._words.get(raw.lower()) if isinstance(raw, str) else None
        if word is None:
            raise ValueError
        return word


class Function(Kind[Callable[[], object] | None]):
    accepted = "a Python function"

    def read(self, raw: object) -> Callable[[], object] | None:
        if raw == "":
            return None
        if not callable(raw):
            raise ValueError
        return raw

    def write(self, value: Callable[[], object] | None) -> str:
        return "" if value is None else "***"


class OptionalWhole(Kind[int | None]):
    accepted = "an integer of 0 or more"

    def read(self, raw: object) -> int | None:
        return None if raw == "" else Whole(0, INT_MAX).read(raw)

    def write(self, value: int | None) -> str:
        return "" if value is None else str(value)


class Words(Kind[tuple[str, ...]]):
    """A list of strings, given as a comma-separated string, a list, or a tuple. Duplicates are dropped.

    Args:
        each: kind of the members.
        filled: reject an empty list.
    """

    def __init__(self, each: Kind[str] | None = None, *, filled: bool = False) -> None:
        self.each = each or Text(filled=True)
        self.filled = filled
        self.accepted = f"a comma-separated list (each item: {self.each.accepted})"

    def read(self, raw: object) -> tuple[str, ...]:
        if isinstance(raw, str):
            raw = raw.split(",") if raw else []
        if not isinstance(raw, list | tuple) or (self.filled and not raw):
            raise ValueError
        words: list[str] = []
        for entry in raw:
            word = self.each.read(entry.strip() if isinstance(entry, str) else entry)
            if word not in words:
                words.append(word)
        return tuple(words)

    def write(self, value: tuple[str, ...]) -> str:
        return ",".join(value)


class Property(Generic[T]):
    """A property: Kafka's name, default, kind of value, and description. On a config object, it is the typed value.

    Attributes:
        name: name in Kafka's spelling, such as `request.timeout.ms`; `attribute` is in snake_case.
        alias: second name, or None.
        secret: whether the value must never be printed.
    """

    __slots__ = ("alias", "attribute", "default", "doc", "kind", "name", "secret")

    def __init__(
        self, name: str, kind: Kind[T], default: T, doc: str, *, secret: bool = False, alias: str | None = None
    ) -> None:
        self.name = name
        self.attribute = name.replace(".", "_")
        self.kind = kind
        self.default = default
        self.doc = doc
        self.secret = secret
        self.alias = alias

    @overload
    def __get__(self, config: None, owner: type) -> "Property[T]": ...
    @overload
    def __get__(self, config: "BaseConfig", owner: type) -> T: ...
    def __get__(self, config: "BaseConfig | None", owner: type) -> "Property[T] | T":
        if config is None:
            return self
        value: T = config.values[self.name]
        return value

    def __set__(self, config: "BaseConfig", value: Never) -> None:
        raise AttributeError(f"cannot set {self.attribute}: parsed configs are immutable")

    def read(self, raw: object, written_as: str | None = None) -> T:
        """Return the typed value of user input.

        Args: written_as: alias that the user wrote.
        Raises: ConfigError: the value is invalid; the error has the property, the value unless secret, and the accepted
            values.
        """
        name = written_as or self.name
        try:
            return self.kind.read(raw.strip() if isinstance(raw, str) else raw)
        except ValueError as e:
            given = "" if self.secret else f" {shown(raw)}"
            reason = f" ({e})" if str(e) else ""
            raise ConfigError(f"invalid {name}{given}: use {self.kind.accepted}{reason}", key=name) from None

    def show(self, value: T) -> str:
        """Return the value as text for users; a secret as stars."""
        return "***" if self.secret and value else self.kind.write(value)

    def __repr__(self) -> str:
        return f"Property({self.name})"


def shown(raw: object) -> str:
    """Return a quoted value for errors, shortened and escaped."""
    text = ascii(raw) if not isinstance(raw, str) else repr(_mask_users(raw)[: LONGEST_SHOWN + 1])
    return text if len(text) <= LONGEST_SHOWN else text[:LONGEST_SHOWN] + "...'"


def mask_urls(text: str) -> str:
    """Return the text with passwords in URLs masked; references such as ${env:NAME} are kept."""
    return _URL_PASSWORD.sub(r"\g<user>:***@", text)


def passwords_in_urls(text: str) -> list[str]:
    return [match["password"] for match in _URL_PASSWORD.finditer(text) if match["password"] != "***"]


def _mask_users(text: str) -> str:
    """Mask `user:password@` even without a scheme, in a server that is written like a URL."""
    return _USER_PASSWORD.sub(r"\g<user>:***@", text)


# --- the short forms that the declarations are written in ------------------------------------------------------------


def whole(
    name: str, default: int, doc: str, *, low: int = 0, high: int = INT_MAX, alias: str | None = None
) -> Property[int]:
    return Property(name, Whole(low, high), default, doc, alias=alias)


def duration(name: str, default_ms: int, doc: str, *, low: int = 0, alias: str | None = None) -> Property[int]:
    return Property(name, Whole(low, LONG_MAX), default_ms, doc, alias=alias)


def flag(name: str, default: bool, doc: str) -> Property[bool]:
    return Property(name, Flag(), default, doc)


def text(name: str, default: str, doc: str) -> Property[str]:
    return Property(name, Text(), default, doc)


def optional_text(name: str, doc: str, *, filled: bool = False, alias: str | None = None) -> Property[str | None]:
    return Property(name, OptionalText(filled=filled), None, doc, alias=alias)


def secret(name: str, doc: str) -> Property[str | None]:
    return Property(name, OptionalText(), None, doc, secret=True)


def choice(
    name: str, default: str, words: tuple[str, ...], doc: str, spelled: Mapping[str, str] | None = None
) -> Property[str]:
    return Property(name, Choice(words, spelled), default, doc)


def words(name: str, default: tuple[str, ...], doc: str, each: Kind[str] | None = None) -> Property[tuple[str, ...]]:
    return Property(name, Words(each), default, doc)


AnyProperty = Property[Any]
