"""AvroCodec: conversion between Avro's binary encoding and JSON values, by fastavro.

Values have Avro's JSON encoding, with three differences: a union of null and one other type has no branch name, a
decimal is a string such as "12.50", and NaN and infinities are strings (json_text.py). Bytes are strings with one
character for each byte. Dates and timestamps are numbers.

Source: Avro 1.12 specification, "JSON encoding".
"""

import math
from collections.abc import Mapping, Sequence
from io import BytesIO
from typing import Any

from kctl.client.records import MOST_JSON_BYTES
from kctl.serdes.avro_reader import AvroReader
from kctl.serdes.avro_schema import MOST_PRECISION, is_decimal
from kctl.serdes.avro_shape import Convert, Leaf, Shape
from kctl.serdes.errors import EncodeError
from kctl.serdes.json_text import check_json_size
from kctl.serdes.libraries import import_library

_NOT_FINITE = {"NaN": math.nan, "Infinity": math.inf, "-Infinity": -math.inf}


class AvroCodec:
    """Codec of values that were written with one schema.

    Args:
        text: the writer's schema.
        dependencies: referenced schemas, each after the schemas that it references.
        reader: another schema to read with (schema evolution).
    Raises: SchemaError: a schema is invalid; LibraryMissingError.
    """

    def __init__(self, text: str, dependencies: Sequence[str] = (), reader: str | None = None) -> None:
        self._reader = AvroReader(text, TO_JSON, dependencies, reader)
        self._most_unchecked_bytes = self._reader.most_bytes_of_json(MOST_JSON_BYTES)
        self._fastavro = import_library("fastavro", "avro")
        self._schema: Any = None
        self._from_json: Convert | None = None

    def decode(self, data: bytes) -> Any:
        """Return the JSON value.

        Raises: DecodeError: the bytes do not fit, or are too large as JSON.
        """
        value = self._reader.read(data)
        if len(data) > self._most_unchecked_bytes:
            check_json_size(value)
        return value

    def encode(self, value: Any) -> bytes:
        """Return a JSON value as Avro.

        Raises: EncodeError: the value does not fit.
        """
        if self._schema is None:
            self._schema = self._reader.parsed()
            self._from_json = Shape(self._reader.schema, _FROM_JSON, is_unchecked=True).convert
        out = BytesIO()
        try:
            if self._from_json is not None:
                value = self._from_json(value)
            self._fastavro.schemaless_writer(out, self._schema, value, strict_allow_default=True)
        except RecursionError:
            raise EncodeError("the value is nested too deeply") from None
        except Exception as e:  # noqa: BLE001 - what the library raises for a wrong value is not documented
            raise EncodeError(f"the value does not fit the Avro schema: {str(e) or type(e).__name__}"[:300]) from None
        return out.getvalue()


# --- to JSON ----------------------------------------------------------------------------------------------------------


class _FieldByField:
    def record(self, name: str, *, is_top: bool) -> Leaf:  # noqa: ARG002 - of Leaves
        return None


class _ToJson(_FieldByField):
    def leaf(self, kind: str, schema: Any) -> Leaf:
        if kind not in ("bytes", "fixed"):
            return None
        return _decimal_to_json(schema.get("scale", 0)) if is_decimal(schema) else _BYTES_TO_JSON

    def union(self, branches: Mapping[str, Convert | None]) -> dict[str, str]:
        return {name: name for name in branches}


TO_JSON = _ToJson()
_BYTES_TO_JSON = 'x.decode("latin-1") if x.__class__ is bytes else x'
"""Expression that converts bytes. Default values are strings already."""


def unscaled_of(value: bytes | str) -> int:
    """Return the integer of a decimal, without its scale. Raise ValueError if it is too long."""
    data = value.encode("latin-1") if isinstance(value, str) else value
    if len(data) > MOST_PRECISION:
        raise ValueError(f"the decimal has too many bytes ({len(data)})")
    return int.from_bytes(data, signed=True)


def _decimal_to_json(scale: int) -> Convert:
    def convert(value: bytes | str) -> str:
        number = unscaled_of(value)
        if not scale:
            return str(number)
        digits = str(abs(number)).zfill(scale + 1)
        return f"{'-' if number < 0 else ''}{digits[:-scale]}.{digits[-scale:]}"

    return convert


# --- from JSON --------------------------------------------------------------------------------------------------------


class _FromJson(_FieldByField):
    def leaf(self, kind: str, schema: Any) -> Leaf:
        if kind in ("bytes", "fixed"):
            return _decimal_from_json(schema) if is_decimal(schema) else _bytes_from_json
        return _LEAVES_FROM_JSON.get(kind)

    def union(self, branches: Mapping[str, Convert | None]) -> Convert:
        def convert(value: Any) -> Any:
            if not isinstance(value, dict) or len(value) != 1 or next(iter(value)) not in branches:
                return value  # no branch name: fastavro uses the first branch that fits
            name, inner = next(iter(value.items()))
            of_branch = branches[name]
            return name, inner if of_branch is None else of_branch(inner)

        return convert


_FROM_JSON = _FromJson()
_LARGEST_FLOAT = (2 - 2**-23) * 2.0**127


def _decimal_from_json(schema: Mapping[str, Any]) -> Convert:
    from decimal import Context, Decimal

    scale, precision, size = schema.get("scale", 0), schema["precision"], schema.get("size")
    exact = Context(prec=100_000, Emax=999_999, Emin=-999_999)

    def convert(value: Any) -> bytes:
        given = Decimal(value if isinstance(value, str) else str(value))
        unscaled = given.scaleb(scale, exact)
        if not given.is_finite() or unscaled != unscaled.to_integral_value() or unscaled.adjusted() >= precision:
            raise ValueError(f"{value!r} is not a decimal({precision}, {scale})")
        number = int(unscaled)
        return number.to_bytes(size if size is not None else number.bit_length() // 8 + 1, signed=True)

    return convert


# fastavro does not check these values: it would write others, or bytes that other readers reject


def _double_from_json(value: Any) -> Any:
    if isinstance(value, bool):
        raise ValueError(f"expected a number, not {value!r}")
    return _NOT_FINITE[value] if isinstance(value, str) else value


def _float_from_json(value: Any) -> Any:
    number = _double_from_json(value)
    if math.isfinite(number) and abs(number) > _LARGEST_FLOAT:
        raise ValueError(f"{number!r} is too large for a float"[:80])
    return number


def _whole_number(bits: int) -> Convert:
    def convert(value: Any) -> int:
        if not isinstance(value, int) or isinstance(value, bool):
            raise ValueError(f"expected an integer, not {value!r}"[:80])
        if not -(1 << bits - 1) <= value < 1 << bits - 1:
            raise ValueError(f"expected an integer of {bits} bits, not {value!r}"[:80])
        return value

    return convert


def _boolean_from_json(value: Any) -> bool:
    if not isinstance(value, bool):
        raise ValueError(f"expected true or false, not {value!r}"[:80])
    return value


_LEAVES_FROM_JSON: dict[str, Convert] = {
    "float": _float_from_json,
    "double": _double_from_json,
    "int": _whole_number(32),
    "long": _whole_number(64),
    "boolean": _boolean_from_json,
}


def _bytes_from_json(value: Any) -> bytes:
    if not isinstance(value, str):
        raise ValueError(f"expected a string with one character per byte, not {type(value).__name__}")
    return value.encode("latin-1")
