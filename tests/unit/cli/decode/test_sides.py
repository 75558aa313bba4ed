"""Sides: what cannot be shown is counted like what cannot be decoded."""

import sys

import pytest

from kctl.cli.decode.sides import Side
from kctl.client.records import FieldError
from kctl.serdes.decoder import Decoder, Form
from kctl.serdes.json_schema import JsonSchemaCodec

DEPTH = 600 if sys.version_info < (3, 12) else 1200
"""Deep enough for the recursion of Python, and not for the recursion of its parser of JSON."""
DEEP = b"[" * DEPTH + b"NaN" + b"]" * DEPTH


def side(said: list[str], *, is_strict: bool) -> Side:
    decoder = Decoder(Form.JSON, "h", None, JsonSchemaCodec(""))
    return Side("value", "h", decoder, said.append, is_ascii=False, is_strict=is_strict)


def test_value_that_is_too_deep_for_json_is_printed_raw_and_counted_once() -> None:
    said: list[str] = []
    values = side(said, is_strict=False)
    assert (values.json(DEEP), values.json(DEEP), values.peek(DEEP)) == (None, None, None)
    assert values.failed == 1
    assert said == ["cannot decode a value, printing it raw: the value is nested too deeply"]
    assert values.json(b'"\\ud800"') == b'"\\ud800"'


def test_value_that_is_too_deep_for_json_ends_a_strict_run() -> None:
    with pytest.raises(FieldError, match="cannot decode a value: the value is nested too deeply"):
        side([], is_strict=True).json(DEEP)
