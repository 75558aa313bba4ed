"""Messages as JSON with Kafka's field names, for `kctl api`.

Fields are read in PascalCase, camelCase, or snake_case, and written in camelCase as by Java's converters. Bytes and
records are base64; UUIDs have the form of Kafka's tools.
"""

import base64
import binascii
import math
from collections.abc import Callable
from functools import cache, partial
from typing import Any, TypeVar

from kctl.client.protocol.primitives import parse_uuid, uuid_text
from kctl.client.protocol.schema import Field, Message, Struct

M = TypeVar("M", bound=Message)

_INTEGERS = {
    "int8": (-(2**7), 2**7 - 1),
    "int16": (-(2**15), 2**15 - 1),
    "int32": (-(2**31), 2**31 - 1),
    "int64": (-(2**63), 2**63 - 1),
    "uint16": (0, 2**16 - 1),
    "uint32": (0, 2**32 - 1),
}


class JsonFormError(ValueError):
    """A JSON value that does not describe the message; the text has the place and the expected value."""


def from_json(kind: type[M], value: object, version: int) -> M:
    """Return the message that a JSON object describes; absent fields get Kafka's defaults.

    Raises: JsonFormError: a field is unknown, is not part of `version`, or has a value of another type.
    """
    message: M = _read_struct(kind, value, version, "")
    return message


def to_json(message: Struct, version: int) -> dict[str, object]:
    return {
        name: value if write is None or value is None else write(value)
        for name, attribute, write in _fields_of(type(message), version)
        for value in [getattr(message, attribute)]
    }


def camel_case(name: str) -> str:
    """Return `topicId` for `topic_id`."""
    first, *rest = name.split("_")
    return first + "".join(part.capitalize() for part in rest)


# --- reading ----------------------------------------------------------------------------------------------------------


def _read_struct(kind: type[Any], value: object, version: int, path: str) -> Any:
    if not isinstance(value, dict):
        raise _mistake(path, f"expected an object, not {_short(value)}")
    fields = {folded(entry.name): entry for entry in kind.FIELDS}
    given: dict[str, object] = {}
    for name, item in value.items():
        entry = fields.get(folded(name))
        place = f"{path}.{name}" if path else name
        if entry is None:
            known = ", ".join(camel_case(each.name) for each in kind.FIELDS if each.is_in(version))
            raise _mistake(place, f"the field is unknown. Fields of {kind.__name__}: {known or 'none'}")
        if not entry.is_in(version):
            raise _mistake(
                place, f"the field does not exist in version {version} of this API, only in {_versions(entry)}"
            )
        if entry.name in given:
            raise _mistake(place, "the field is set twice")
        given[entry.name] = _read(entry, item, version, place)
    return kind(**given)


def _read(entry: Field, value: object, version: int, path: str) -> object:
    if value is None:
        if not entry.is_nullable_in(version):
            raise _mistake(path, "the value must not be null")
        return None
    if not entry.is_array:
        return _read_item(entry, value, version, path)
    if not isinstance(value, list):
        raise _mistake(path, f"expected an array, not {_short(value)}")
    return [_read_item(entry, item, version, f"{path}[{place}]") for place, item in enumerate(value)]


def _read_item(entry: Field, value: object, version: int, path: str) -> object:
    kind = entry.kind
    if isinstance(kind, type):
        return _read_struct(kind, value, version, path)
    if kind in _INTEGERS:
        low, high = _INTEGERS[kind]
        if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
            raise _mistake(path, f"expected an integer from {low} to {high}, not {_short(value)}")
        return value
    if kind == "float64":
        return _read_float(value, path)
    if kind == "bool":
        if not isinstance(value, bool):
            raise _mistake(path, f"expected true or false, not {_short(value)}")
        return value
    if not isinstance(value, str):
        raise _mistake(path, f"expected a string, not {_short(value)}")
    if kind == "string":
        return _read_text(value, path)
    return _read_uuid(value, path) if kind == "uuid" else _read_base64(value, path)


def _read_float(value: object, path: str) -> float:
    if not isinstance(value, bool) and isinstance(value, int | float):
        try:
            number = float(value)
        except OverflowError:
            raise _mistake(path, "the number is too large for 64 bits") from None
        if math.isfinite(number):
            return number
    raise _mistake(path, f"expected a number, not {_short(value)}")


def _read_text(value: str, path: str) -> str:
    try:
        value.encode()
    except UnicodeEncodeError:
        raise _mistake(path, "the string is not valid Unicode: it contains a lone surrogate") from None
    return value


def _read_uuid(value: str, path: str) -> bytes:
    try:
        return parse_uuid(value)
    except ValueError:
        raise _mistake(path, f"expected an id of 22 characters, not {_short(value)}") from None


def _read_base64(value: str, path: str) -> bytes:
    try:
        return base64.b64decode(value, validate=True)
    except (binascii.Error, ValueError):
        raise _mistake(path, "expected base64") from None


def _mistake(path: str, text: str) -> JsonFormError:
    return JsonFormError(f"{path}: {text}" if path else text)


def folded(name: str) -> str:
    """Return a form of a field name that is equal for all spellings."""
    return name.replace("_", "").lower()


def _versions(entry: Field) -> str:
    low, high = entry.versions
    return f"{low} and later" if high > 1000 else f"{low} to {high}"


def _short(value: object) -> str:
    if isinstance(value, dict | list):
        return "an object" if isinstance(value, dict) else "an array"
    text = repr(value)
    return text if len(text) <= 40 else f"{text[:40]}..."


# --- writing ----------------------------------------------------------------------------------------------------------


Write = Callable[[Any], object]


@cache
def _fields_of(kind: type[Struct], version: int) -> tuple[tuple[str, str, Write | None], ...]:
    found: list[tuple[str, str, Write | None]] = []
    for entry in kind.FIELDS:
        if entry.is_in(version):
            write = _writer(entry, version)
            found.append((camel_case(entry.name), entry.name, _each(write) if entry.is_array and write else write))
    return tuple(found)


def _writer(entry: Field, version: int) -> Write | None:
    if isinstance(entry.kind, type):
        return partial(to_json, version=version)
    if entry.kind == "uuid":
        return uuid_text
    if entry.kind in ("bytes", "records"):
        return lambda value: base64.b64encode(bytes(value)).decode()
    if entry.kind == "float64":
        return lambda value: value if math.isfinite(value) else str(value)  # JSON has no infinities and no NaN
    return None


def _each(write: Write) -> Write:
    return lambda values: [write(value) for value in values]
