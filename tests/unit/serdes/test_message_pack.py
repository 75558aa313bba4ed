"""MessagePackCodec: each value comes back as it was."""

from typing import Any

import msgpack
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kctl.serdes.errors import DecodeError, EncodeError
from kctl.serdes.json_text import read_json, show_json
from kctl.serdes.message_pack import MessagePackCodec

LEAVES = st.none() | st.booleans() | st.integers(-(2**63), 2**64 - 1) | st.text(max_size=5) | st.binary(max_size=5)
KEYS = st.text(max_size=3) | st.integers(0, 9) | st.binary(max_size=3) | st.sampled_from(["base64", "map", "ext"])
VALUES = st.recursive(
    LEAVES, lambda each: st.lists(each, max_size=3) | st.dictionaries(KEYS, each, max_size=3), max_leaves=8
)


@given(VALUES)
def test_any_value_comes_back_over_json(value: Any) -> None:
    codec = MessagePackCodec()
    data = msgpack.packb(value)
    assert codec.encode(read_json(show_json(codec.decode(data)).encode())) == data


def test_extension_types_and_timestamps_come_back() -> None:
    codec = MessagePackCodec()
    for value in (msgpack.ExtType(5, b"ab"), msgpack.Timestamp(1_700_000_000, 5)):
        assert codec.encode(codec.decode(msgpack.packb(value))) == msgpack.packb(value)


@pytest.mark.parametrize("data", [b"", b"\xc1", b"\xdd\xff\xff\xff\xff", b"\x01\x02", b"\x91" * 5000, b"\xa1\xff"])
def test_damaged_bytes_are_decode_errors(data: bytes) -> None:
    with pytest.raises(DecodeError):
        MessagePackCodec().decode(data)


@pytest.mark.parametrize("value", [2**64, {"base64": "!"}, {"map": 1}, {"ext": 500, "base64": ""}])
def test_value_that_does_not_fit_is_an_encode_error(value: Any) -> None:
    with pytest.raises(EncodeError):
        MessagePackCodec().encode(value)
