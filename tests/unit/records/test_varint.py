"""Variable-length integers at the edges of their ranges, and what is refused."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kctl.client.records._hot.varint import FieldError, encode_varint, size_field, varint, varint_rest, varlong_rest
from tests.unit.records import handmade

EDGES = [0, 1, -1, 63, 64, -64, -65, 2047, 2048, 8191, 8192, (1 << 31) - 1, -(1 << 31), (1 << 62) - 1, 1 << 62]
EDGES += [-(1 << 62), -(1 << 62) - 1, (1 << 63) - 1, -(1 << 63)]


def read_long(data: bytes) -> tuple[int, int]:
    if data[0] < 0x80:
        return (data[0] >> 1) ^ -(data[0] & 1), 1
    return varlong_rest(data, 1, data[0])


@pytest.mark.parametrize("number", EDGES)
def test_the_edges_are_written_and_read(number: int) -> None:
    data = encode_varint(number)
    assert data == varint(number) == handmade.varint(number)
    assert read_long(data + b"\xff") == (number, len(data))


@given(st.integers(-(1 << 63), (1 << 63) - 1))
def test_every_number_is_written_and_read(number: int) -> None:
    data = varint(number)
    assert data == handmade.varint(number)
    assert read_long(data) == (number, len(data))


@given(st.integers(64, (1 << 31) - 1))
def test_a_number_of_32_bits_stays_zigzag(number: int) -> None:
    data = varint(number)
    assert varint_rest(data, 1, data[0]) == (2 * number, len(data))


@pytest.mark.parametrize("data", [b"\x80\x80\x80\x80\x10", b"\xff\xff\xff\xff\x7f", b"\x80\x80\x80\x80\x80\x00"])
def test_more_than_32_bits_are_refused(data: bytes) -> None:
    with pytest.raises(FieldError, match="32 bits"):
        varint_rest(data, 1, data[0])


@pytest.mark.parametrize("last", [b"\x02", b"\x7f", b"\x80\x00"])
def test_more_than_64_bits_are_refused(last: bytes) -> None:
    with pytest.raises(FieldError, match="64 bits"):
        varlong_rest(b"\x80" * 9 + last, 1, 0x80)


def test_a_cut_number_is_an_index_error() -> None:
    with pytest.raises(IndexError):
        varint_rest(b"\x80\x80", 1, 0x80)
    with pytest.raises(IndexError):
        varlong_rest(b"\x80\x80", 1, 0x80)


def test_a_size_is_null_or_fits() -> None:
    assert size_field(b"\x01", 0, 1) == (-1, 1)
    assert size_field(b"\x04ab", 0, 3) == (2, 1)
    with pytest.raises(FieldError, match="length 2 where 1 bytes are left"):
        size_field(b"\x04ab", 0, 2)
    with pytest.raises(FieldError, match="negative length -2"):
        size_field(b"\x03ab", 0, 3)
    with pytest.raises(FieldError, match="negative length -2147483648"):
        size_field(handmade.varint(-(1 << 31)), 0, 9)
