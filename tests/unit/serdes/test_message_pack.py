"""MessagePackCodec: each value comes back as it was."""

from collections.abc import Iterator
from typing import Any

import msgpack
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kctl.serdes import message_pack
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


def test_keys_are_not_hashed(monkeypatch: pytest.MonkeyPatch) -> None:
    """A dict of 50,000 arrays with the same hash, in 1 MB, would take a minute."""
    hashes = _array_hashes()
    keys = [next(hashes) for _ in range(500)]
    assert len({hash(key) for key in keys}) == 1
    kinds: list[type] = []
    to_json = MessagePackCodec._to_json

    def noting_kinds(codec: MessagePackCodec, value: Any) -> Any:
        kinds.append(type(value))
        return to_json(codec, value)

    monkeypatch.setattr(MessagePackCodec, "_to_json", noting_kinds)
    data = b"\xde" + len(keys).to_bytes(2, "big") + b"".join(msgpack.packb(key) + b"\xc0" for key in keys)
    assert MessagePackCodec().decode(data) == {"map": [[list(key), None] for key in keys]}
    assert kinds[0] is message_pack._Pairs
    assert dict not in kinds


def test_maps_and_repeated_keys_are_shown_as_they_are() -> None:
    assert MessagePackCodec().decode(b"\x81\x81\x01\x02\x03") == {"map": [[{"map": [[1, 2]]}, 3]]}
    assert MessagePackCodec().decode(b"\x82\x01\x02\x01\x03") == {"map": [[1, 2], [1, 3]]}


def _array_hashes() -> Iterator[tuple[int, int]]:
    """Yield pairs of numbers with the same hash. Source: tuplehash in CPython's Objects/tupleobject.c."""
    first, second, start, bits, target = 11400714785074694791, 14029467366897019727, 2870177450012600261, 2**64, 12345

    def turned(number: int, left: int) -> int:
        return (number << left | number >> (64 - left)) % bits

    before = turned(target * pow(first, -1, bits) % bits, 33)
    number = 1
    while True:
        number += 1
        middle = turned((start + number * second) % bits, 31) * first % bits
        other = (before - middle) * pow(second, -1, bits) % bits
        other -= bits if other >= 2**63 else 0
        if -(2**61) < other < 2**61 - 1 and other != -1:
            yield number, other
