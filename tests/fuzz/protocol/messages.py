"""Random messages of every declared class and version, for the fuzz and conformance tests."""

import pkgutil
import struct
from importlib import import_module
from random import Random
from types import ModuleType
from typing import Any

from kctl.client.protocol import api
from kctl.client.protocol.primitives import FIXED_FORMATS, MAX_TAG
from kctl.client.protocol.schema import Field, Message, Request, Response, Struct

BITS = {"int8": 8, "int16": 16, "int32": 32, "int64": 64}
TEXTS = ("", "a", "topic-1", "\0", "naïve", "日本", "🦀🦀", "é" * 70, "x" * 126, "x" * 127, "x" * 128, "y" * 300)
FIRST_UNKNOWN_TAG = 50
EDGES = (0, 1, 2, 0x7F, 0x80, 0x81, 0xFF)


def every_version() -> list[tuple[type[Message], int]]:
    """Every (message, version) that is declared in kctl/client/protocol/api, headers included."""
    modules = [import_module(f"{api.__name__}.{module.name}") for module in pkgutil.iter_modules(api.__path__)]
    return versions_of([cls for module in modules for cls in messages_of(module)])


def messages_of(module: ModuleType) -> list[type[Message]]:
    """The message classes that a declaration file defines."""
    classes = [value for value in vars(module).values() if isinstance(value, type) and issubclass(value, Message)]
    return [cls for cls in classes if cls not in (Message, Request, Response)]


def versions_of(classes: list[type[Message]]) -> list[tuple[type[Message], int]]:
    """Every valid (message, version)."""
    return [(cls, version) for cls in classes for version in range(cls.VALID_VERSIONS[0], cls.VALID_VERSIONS[1] + 1)]


def mutate(rng: Random, data: bytes) -> bytes:
    """`data` with one to three bytes changed, put in or taken out."""
    result = bytearray(data)
    for _ in range(rng.randrange(1, 4)):
        at = rng.randrange(len(result) + 1)
        kind = rng.randrange(4)
        if kind == 0:
            result[at:at] = bytes([rng.choice(EDGES)])
        elif kind == 1:
            del result[at : at + 1]
        elif kind == 2:
            result[at : at + 1] = bytes([rng.choice(EDGES)])
        else:
            result[at : at + 4] = rng.choice(
                (b"\xff\xff\xff\xff", b"\x7f\xff\xff\xff", b"\x00\x00\x00\x05", b"\xff\xff")
            )
    return bytes(result)


def same(one: object, other: object) -> bool:
    """Return whether two decoded values are equal, with floats compared by their bytes: a NaN equals itself."""
    return one == other or _with_float_bytes(one) == _with_float_bytes(other)


def _with_float_bytes(value: object) -> object:
    if isinstance(value, Struct):
        fields = {entry.name: _with_float_bytes(getattr(value, entry.name)) for entry in value.FIELDS}
        return type(value), fields, value.unknown_tagged_fields
    if isinstance(value, list | tuple):
        return [_with_float_bytes(item) for item in value]
    return struct.pack(">d", value) if isinstance(value, float) else value


def with_floats(value: Any, number: float) -> Any:
    """Return the message with each float set to `number`."""
    if isinstance(value, Struct):
        for entry in value.FIELDS:
            is_float = entry.kind == "float64" and not entry.is_array
            setattr(value, entry.name, number if is_float else with_floats(getattr(value, entry.name), number))
    elif isinstance(value, list):
        for item in value:
            with_floats(item, number)
    return value


def random_message(rng: Random, cls: type[Message], version: int) -> Any:
    """A message whose fields are all within `version`; absent ones are at their default."""
    return _struct(rng, cls, version, version >= cls.FLEXIBLE_FROM)


def _struct(rng: Random, cls: type[Struct], version: int, flexible: bool) -> Any:
    result: Any = cls()
    for entry in cls.FIELDS:
        stays_default = entry.is_tagged_in(version) and rng.random() < 0.5
        if entry.is_in(version) and not stays_default:
            setattr(result, entry.name, _field(rng, entry, version, flexible))
    if flexible and rng.random() < 0.2:
        for _ in range(rng.choice((1, 2, 2, 130))):
            tag = rng.choice((rng.randrange(FIRST_UNKNOWN_TAG, 1000), rng.randrange(FIRST_UNKNOWN_TAG, MAX_TAG + 1)))
            result.unknown_tagged_fields[tag] = rng.randbytes(rng.choice((0, 1, 3, 130)))
    return result


def _field(rng: Random, entry: Field, version: int, flexible: bool) -> Any:
    if entry.is_nullable_in(version) and rng.random() < 0.25:
        return None
    if not entry.is_array:
        return _value(rng, entry.kind, version, flexible)
    is_fixed = entry.kind in FIXED_FORMATS
    count = rng.choice((0, 1, 2, 2, 130) if is_fixed else (0, 1, 1, 2))
    return [_value(rng, entry.kind, version, flexible) for _ in range(count)]


def _value(rng: Random, kind: str | type[Struct], version: int, flexible: bool) -> Any:
    if isinstance(kind, type):
        return _struct(rng, kind, version, flexible)
    if kind == "string":
        return rng.choice(TEXTS)
    if kind in ("bytes", "records"):
        return rng.randbytes(rng.choice((0, 1, 5, 126, 127, 128, 300)))
    if kind == "uuid":
        return rng.choice((bytes(16), rng.randbytes(16)))
    if kind == "bool":
        return rng.random() < 0.5
    if kind == "float64":
        return rng.choice((0.0, -1.5, rng.random()))
    if kind.startswith("uint"):
        return rng.choice((0, 1, (1 << int(kind[4:])) - 1))
    bits = BITS[kind]
    return rng.choice((0, 1, -1, -(1 << bits - 1), (1 << bits - 1) - 1, rng.randrange(1 << bits - 1)))
