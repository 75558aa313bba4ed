"""JSON text of decoded values."""

import math

import pytest

from kctl.serdes.errors import DecodeError, EncodeError, SerdesError
from kctl.serdes.json_schema import JsonSchemaCodec
from kctl.serdes.json_text import read_json, show_json


def test_numbers_that_json_has_not_are_texts() -> None:
    assert show_json({"a": [math.nan, math.inf, -math.inf, 1.5]}) == '{"a":["NaN","Infinity","-Infinity",1.5]}'


def test_terminal_gets_ascii() -> None:
    assert show_json("é\x1b\x9b", is_ascii=True) == '"\\u00e9\\u001b\\u009b"'


@pytest.mark.parametrize("data", [b"", b"nothing", b"\xff", b"[" * 100_000])
def test_malformed_json_is_an_encode_error(data: bytes) -> None:
    with pytest.raises(EncodeError):
        read_json(data)


def test_half_a_surrogate_pair_is_an_escape() -> None:
    assert show_json({"é": "\ud800"}) == '{"\\u00e9":"\\ud800"}'


@pytest.mark.parametrize("leaf", [1, math.nan])
def test_value_that_is_nested_too_deeply_is_an_error(leaf: float) -> None:
    value: object = leaf
    for _ in range(500_000):
        value = [value]
    with pytest.raises(SerdesError, match="nested too deeply"):
        show_json(value)


@pytest.mark.parametrize("data", [b"\x00\x00\x00\x05", b"\x00\x00\x00\x001", '{"a":1}'.encode("utf-16"), b"\xff"])
def test_json_that_is_not_utf8_is_refused(data: bytes) -> None:
    """json.loads takes bytes with NULs for UTF-16 or UTF-32: a schema's id in front of a value would be one."""
    with pytest.raises(EncodeError, match="not JSON"):
        read_json(data)
    with pytest.raises(DecodeError, match="not JSON"):
        JsonSchemaCodec("").decode(data)
    assert read_json(b'\xef\xbb\xbf{"a":1}') == {"a": 1}
