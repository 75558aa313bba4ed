"""How bytes name their schema."""

from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kctl.serdes.errors import DecodeError
from kctl.serdes.wire import VALUE_HEADER, Framed, read_frame, read_indexes, write_frame, write_indexes

GUID = UUID("8265c1eb-c133-5642-8dbd-3a722d494f44")


@pytest.mark.parametrize(
    ("data", "headers", "expected"),
    [
        (b"\0\0\0\0\x07abc", (), Framed(7, b"abc")),
        (b"\0\xff\xff\xff\xff", (), Framed(2**32 - 1, b"")),
        (b"\x01" + GUID.bytes + b"abc", (), Framed(GUID, b"abc")),
        (b"abc", ((VALUE_HEADER, b"\x01" + GUID.bytes),), Framed(GUID, b"abc")),
        (b"abc", ((VALUE_HEADER, b"\0\0\0\0\x07"),), Framed(7, b"abc")),
        (b"abc", ((VALUE_HEADER, b"\0\0\0\0\x07"), (VALUE_HEADER, b"\0\0\0\0\x08")), Framed(8, b"abc")),
        (b"abc", ((VALUE_HEADER, b"\x05"),), None),
        (b"abc", ((VALUE_HEADER, None),), None),
        (b"\0\0\0\0", (), None),
        (b"\x01" + GUID.bytes[:15], (), None),
        (b"", (), None),
        (b"{}", (), None),
    ],
)
def test_schema_is_read_from_bytes_or_header(data: bytes, headers: object, expected: Framed | None) -> None:
    assert read_frame(data, headers, VALUE_HEADER) == expected  # type: ignore[arg-type]  # tuples of pairs


def test_written_frame_is_read_again() -> None:
    assert read_frame(write_frame(300, b"x")) == Framed(300, b"x")


@given(st.lists(st.integers(0, 1000), min_size=1, max_size=5), st.binary(max_size=5))
def test_written_message_indexes_are_read_again(indexes: list[int], payload: bytes) -> None:
    assert read_indexes(write_indexes(indexes) + payload) == (tuple(indexes), payload)


def test_first_message_is_a_single_byte() -> None:
    assert write_indexes((0,)) == b"\0"


@pytest.mark.parametrize("data", [b"", b"\x02", b"\x80", b"\xff" * 8, b"\x01", b"\xff\x01", b"\x02\x01"])
def test_damaged_message_indexes_are_decode_errors(data: bytes) -> None:
    with pytest.raises(DecodeError):
        read_indexes(data)
