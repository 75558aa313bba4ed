"""Varints, uuids, and the reader and writer of single values with their bounds."""

import pytest

from kctl.client.protocol.primitives import (
    MAX_TAG,
    Malformed,
    Reader,
    Writer,
    parse_uuid,
    read_uvarint,
    tag_section,
    uuid_text,
    uvarint,
)

UVARINTS = {
    0: "00",
    1: "01",
    127: "7f",
    128: "8001",
    300: "ac02",
    16383: "ff7f",
    16384: "808001",
    2**31 - 1: "ffffffff07",
    2**32 - 1: "ffffffff0f",
}


@pytest.mark.parametrize(("value", "data"), UVARINTS.items())
def test_uvarint(value: int, data: str) -> None:
    assert uvarint(value).hex() == data
    raw = bytes.fromhex("ee" + data + "ee")
    assert read_uvarint(raw, 1) == (value, len(raw) - 1)


def test_uvarint_may_be_longer_than_it_needs() -> None:
    assert read_uvarint(b"\x80\x80\x00", 0) == (0, 3)


@pytest.mark.parametrize("value", [-1, 2**32])
def test_uvarint_has_32_bits(value: int) -> None:
    with pytest.raises(Malformed):
        uvarint(value)


@pytest.mark.parametrize("data", ["ffffffff10", "ffffffffff01", "80808080808000"])
def test_uvarint_of_more_than_32_bits_is_refused(data: str) -> None:
    with pytest.raises(Malformed, match="more than 32 bits"):
        Reader(bytes.fromhex(data)).uvarint()


def test_uvarint_cut_off() -> None:
    with pytest.raises(Malformed, match="the varint is incomplete: only 2 bytes are left"):
        Reader(b"\x80\x80").uvarint()


def test_uvarint_may_not_leave_its_section() -> None:
    with pytest.raises(Malformed, match="the varint is incomplete: only 1 bytes are left"):
        Reader(b"\x80\x01", 0, end=1).uvarint()


def test_uuid_text_is_that_of_kafka() -> None:
    value = bytes.fromhex("fb00ff10203040508090a0b0c0d0e0ff")
    assert uuid_text(value) == "-wD_ECAwQFCAkKCwwNDg_w"
    assert parse_uuid(uuid_text(value)) == value
    assert uuid_text(bytes(16)) == "A" * 22


@pytest.mark.parametrize("text", ["", "AAAA", "A" * 23, "A" * 21 + "!", "é" * 22])
def test_malformed_uuid_is_refused(text: str) -> None:
    with pytest.raises(ValueError):
        parse_uuid(text)


def test_string_length_is_compared_with_the_bytes_left() -> None:
    with pytest.raises(Malformed, match="cannot read string: 5 bytes needed, 4 bytes left") as caught:
        Reader(b"\x00\x05abcd").string(compact=False, nullable=False)
    assert caught.value.offset == 2


def test_a_cut_last_string_is_no_shorter_string() -> None:
    data = b"\x0eSCRAM-SHA-256"
    assert Reader(data).string(compact=True, nullable=False) == "SCRAM-SHA-256"
    with pytest.raises(Malformed, match="cannot read string: 13 bytes needed, 12 bytes left"):
        Reader(data[:-1]).string(compact=True, nullable=False)


@pytest.mark.parametrize(
    ("data", "compact", "reason"),
    [
        ("ffff", False, "string is null"),
        ("fffe", False, "invalid string length: -2"),
        ("00", True, "string is null"),
        ("818002" + "61" * 32768, True, "the string has 32768 bytes, more than the limit of 32767 bytes"),
        ("0002c328", False, "not UTF-8"),
        ("00", False, "cannot read length of string: 2 bytes needed, 1 bytes left"),
    ],
)
def test_strings_that_are_refused(data: str, compact: bool, reason: str) -> None:
    with pytest.raises(Malformed, match=reason):
        Reader(bytes.fromhex(data)).string(compact, nullable=False)


def test_utf8_errors_name_the_byte() -> None:
    with pytest.raises(Malformed) as caught:
        Reader(b"\x00\x03ab\xff").string(compact=False, nullable=False)
    assert caught.value.offset == 4


def test_null_and_empty_are_two_things() -> None:
    assert Reader(b"\xff\xff").string(compact=False, nullable=True) is None
    assert Reader(b"\x00\x00").string(compact=False, nullable=True) == ""
    assert Reader(b"\x00").byte_string(compact=True, nullable=True) is None
    assert Reader(b"\x01").byte_string(compact=True, nullable=True) == b""


def test_an_array_larger_than_the_bytes_left_is_refused_before_it_is_read() -> None:
    with pytest.raises(Malformed, match="the array has 2147483647 items, but only 3 bytes are left"):
        Reader(b"\x7f\xff\xff\xff123").count(compact=False, nullable=False, min_item_bytes=1)
    with pytest.raises(Malformed, match="the array has 2 items, but only 7 bytes are left"):
        Reader(b"\x031234567").count(compact=True, nullable=False, min_item_bytes=4)
    assert Reader(b"\x0312345678").count(compact=True, nullable=False, min_item_bytes=4) == 2


@pytest.mark.parametrize(
    ("kind", "value"),
    [("int8", 128), ("int16", -32769), ("int32", "1"), ("int64", None), ("uuid", b"short"), ("uuid", "x" * 16)],
)
def test_values_that_do_not_fit_are_refused(kind: str, value: object) -> None:
    with pytest.raises(Malformed):
        Writer().fixed(kind, value)


def test_strings_that_utf8_cannot_carry_are_refused() -> None:
    with pytest.raises(Malformed, match="not a string"):
        Writer().string("\ud800", compact=False)
    with pytest.raises(Malformed, match="32768 bytes"):
        Writer().string("x" * 32768, compact=True)


def test_tag_section_is_in_ascending_order() -> None:
    assert tag_section({}) == b"\0"
    assert tag_section({200: b"b", 3: b""}) == b"\x02\x03\x00\xc8\x01\x01b"


@pytest.mark.parametrize("tag", [-1, MAX_TAG + 1])
def test_tags_out_of_range_are_refused(tag: int) -> None:
    with pytest.raises(Malformed, match="tag"):
        tag_section({tag: b""})
