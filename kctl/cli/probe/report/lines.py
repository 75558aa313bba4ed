"""Validation of probe and trace lines against docs/schemas. Raises ValueError for invalid fields."""

import json
from collections.abc import Mapping
from typing import Any, TypeVar

from kctl.client.wording import place_text

PHASES = ("dns", "tcp", "tls", "apiversions", "sasl", "metadata")
VERSION = 1
_LONGEST_NAME = 300
_LARGEST = 2**53
_KINDS = {
    str: "a string",
    int: "an integer",
    dict: "an object",
    list: "an array",
    bool: "a boolean",
    type(None): "null",
}

Fields = Mapping[str, Any]
Kind = TypeVar("Kind", str, int, dict[str, Any], list[Any])


def parse_line(data: bytes) -> dict[str, Any]:
    """Return the object of a line. Raises: ValueError: the line is invalid."""
    try:
        found = checked(json.loads(data.strip().decode("utf-8-sig")), dict)
    except UnicodeDecodeError:
        raise ValueError("the line is not UTF-8") from None
    except json.JSONDecodeError as e:
        cut = "" if data.endswith(b"\n") else " (the last line may be truncated)"
        raise ValueError(f"the line is not JSON: {e.msg} at column {e.colno}{cut}") from None
    except RecursionError:
        raise ValueError("the line is not supported: JSON is nested too deeply") from None
    if "event" not in found:
        raise ValueError("the line is not from kctl probe or --trace-file: the field 'event' is missing")
    if get(found, "v", int) != VERSION:
        raise ValueError(f"schema version {found['v']} is not supported: this kctl reads version {VERSION}")
    return found


def node_of(fields: Fields) -> str:
    return place_text(get(fields, "host", str), get(fields, "port", int))


def error_of(fields: Fields) -> str:
    return get(get(fields, "error", dict), "name", str)


def one_of(fields: Fields, name: str, known: tuple[str, ...]) -> str:
    """Return a field whose value must be in `known`."""
    value = get(fields, name, str)
    if value not in known:
        raise ValueError(f"invalid {name} {value[:40]!r}: use {', '.join(known)}")
    return value


def get(fields: Fields, name: str, kind: type[Kind]) -> Kind:
    """Return a required field, whose value must have type `kind`."""
    if name not in fields:
        raise ValueError(f"{name}: missing")
    try:
        return checked(fields[name], kind)
    except ValueError as e:
        raise ValueError(f"{name}: {e}") from None


def checked(value: Any, kind: type[Kind]) -> Kind:
    """Return the value, which must have type `kind`. Strings must be short, and integers not negative."""
    if type(value) is not kind:
        raise ValueError(f"expected {_KINDS[kind]}, found {_KINDS.get(type(value), 'a fraction')}")
    if isinstance(value, str) and len(value) > _LONGEST_NAME:
        raise ValueError(f"the string has {len(value)} characters, more than {_LONGEST_NAME}")
    if isinstance(value, int) and not 0 <= value <= _LARGEST:
        raise ValueError("out of range")
    return value
