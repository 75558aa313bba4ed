"""Forms of numbers."""

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kctl.cli.formats.numbers import NUMBER_FORMS


@pytest.mark.parametrize(
    ("form", "number", "expected"),
    [
        ("ascii", -12, b"-12"),
        ("number", 12, b"12"),
        ("hex", 0, b"0"),
        ("hex", 300, b"12c"),
        ("hex", -1, b"ffffffffffffffff"),
        ("hex64", 300, b"000000000000012c"),
        ("hex32", -1, b"ffffffff"),
        ("hex16", 0x12345, b"2345"),
        ("hex8", 300, b"2c"),
        ("hex4", 300, b"c"),
        ("big16", 0x12345, b"\x23\x45"),
        ("little16", 0x12345, b"\x45\x23"),
        ("byte", 300, b"\x2c"),
        ("big8", -1, b"\xff"),
        ("little8", 1, b"\x01"),
        ("bool", 0, b"false"),
        ("bool", -1, b"true"),
    ],
)
def test_forms(form: str, number: int, expected: bytes) -> None:
    assert NUMBER_FORMS[form](number) == expected


@given(st.integers(-(2**63), 2**63 - 1))
def test_binary_forms_are_those_of_struct(number: int) -> None:
    cut = number & 0xFFFFFFFF
    assert NUMBER_FORMS["big64"](number) == struct.pack(">q", number)
    assert NUMBER_FORMS["little64"](number) == struct.pack("<q", number)
    assert NUMBER_FORMS["big32"](number) == struct.pack(">I", cut)
    assert NUMBER_FORMS["little32"](number) == struct.pack("<I", cut)
    assert NUMBER_FORMS["hex32"](number) == struct.pack(">I", cut).hex().encode()
