"""Binary numbers in decimal."""

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kctl.cli.formats.template_error import LayoutError
from kctl.cli.formats.unpack import compile_unpack


@pytest.mark.parametrize(
    ("letters", "data", "expected"),
    [
        ("bB", b"\xff\xff", b"-1255"),
        ("h>h", b"\x01\x02\x01\x02", b"513258"),
        (">Ix<I", b"\x00\x00\x00\x01\x00\x00\x00\x01", b"116777216"),
        ("q", b"\xfe" + b"\xff" * 7, b"-2"),
        ("c.s", b"abcd", b"abcd"),
        ("b", b"\x01\x02", b"1"),
        ("b$", b"\x01\x02", b"1%!$(not end-of-input)"),
        ("b$", b"\x01", b"1"),
        ("I", b"\x01", b"%!I(have 1 bytes, need 4)"),
        ("c", b"", b"%!c(no bytes available)"),
        ("Hb", b"\x01", b"%!H(have 1 bytes, need 2)%!b(have 0 bytes, need 1)"),
    ],
)
def test_writes(letters: str, data: bytes, expected: bytes) -> None:
    assert compile_unpack(letters)(data) == expected


@given(st.sampled_from("bBhHiIqQ"), st.sampled_from("<>"), st.binary(min_size=8, max_size=8))
def test_numbers_are_those_of_struct(letter: str, order: str, data: bytes) -> None:
    (number,) = struct.unpack_from(order + letter, data)
    assert compile_unpack(order + letter)(data) == str(number).encode()


@pytest.mark.parametrize(("letters", "position"), [("bz", 1), ("s$", 1), ("$b", 1), ("", 0), ("<>", 0)])
def test_refuses(letters: str, position: int) -> None:
    with pytest.raises(LayoutError) as e:
        compile_unpack(letters)
    assert e.value.position == position


@given(st.text(alphabet="<>xbBhHiIqQc.", min_size=1).filter(lambda text: text.strip("<>x")), st.binary(max_size=12))
def test_any_bytes_are_written(letters: str, data: bytes) -> None:
    compile_unpack(letters)(data)
