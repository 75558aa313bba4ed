"""MessagePackCodec: conversion between MessagePack and JSON values, by msgpack.

Values that JSON does not have become objects: bytes `{"base64": "..."}`, a map with keys other than strings `{"map":
[[key, value], ...]}`, an extension type `{"ext": 5, "base64": "..."}`. Maps that look like one of these are written as
`map`, so every value is restored exactly.
"""

from base64 import b64decode, b64encode
from typing import Any

from kctl.serdes.errors import DecodeError, EncodeError
from kctl.serdes.libraries import import_library

_BYTES, _MAP, _EXT = {"base64"}, {"map"}, {"ext", "base64"}


class _Pairs(list[tuple[Any, Any]]):
    """Keys and values of a map in their order.

    A dict would be slow with hostile values: hashes of numbers and arrays are known, so thousands of keys can share
    one.
    """


class MessagePackCodec:
    def __init__(self) -> None:
        self._msgpack = import_library("msgpack", "msgpack")

    def decode(self, data: bytes) -> Any:
        """Return the value.

        Raises: DecodeError: the bytes are not exactly one MessagePack value.
        """
        try:
            unpacked = self._msgpack.unpackb(
                data, raw=False, strict_map_key=False, timestamp=0, use_list=False, object_pairs_hook=_Pairs
            )
            return self._to_json(unpacked)
        except Exception as e:  # noqa: BLE001 - what the library raises for damaged bytes is not documented
            raise DecodeError(f"not MessagePack: {str(e) or type(e).__name__}"[:300]) from None

    def encode(self, value: Any) -> bytes:
        """Return a JSON value as MessagePack.

        Raises: EncodeError: a number is too large, or an object is malformed.
        """
        try:
            packed: bytes = self._msgpack.packb(self._from_json(value))
            return packed
        except Exception as e:  # noqa: BLE001 - as above
            raise EncodeError(f"the value does not fit MessagePack: {str(e) or type(e).__name__}"[:300]) from None

    def _to_json(self, value: Any) -> Any:
        if isinstance(value, _Pairs):
            if all(isinstance(key, str) for key, _ in value) and {key for key, _ in value} not in (_BYTES, _MAP, _EXT):
                return {key: self._to_json(each) for key, each in value}
            return {"map": [[self._to_json(key), self._to_json(each)] for key, each in value]}
        if isinstance(value, tuple) and not isinstance(value, self._msgpack.ExtType):
            return [self._to_json(each) for each in value]
        if isinstance(value, bytes):
            return {"base64": b64encode(value).decode()}
        if isinstance(value, self._msgpack.ExtType):
            return {"ext": value.code, "base64": b64encode(value.data).decode()}
        if isinstance(value, self._msgpack.Timestamp):
            return {"ext": -1, "base64": b64encode(value.to_bytes()).decode()}
        return value

    def _from_json(self, value: Any) -> Any:
        if isinstance(value, list):
            return tuple(self._from_json(each) for each in value)
        if not isinstance(value, dict):
            return value
        names = set(value)
        if names == _BYTES:
            return b64decode(value["base64"], validate=True)
        if names == _EXT:
            code, data = value["ext"], b64decode(value["base64"], validate=True)
            return self._msgpack.Timestamp.from_bytes(data) if code == -1 else self._msgpack.ExtType(code, data)
        if names == _MAP:
            return {self._from_json(key): self._from_json(each) for key, each in value["map"]}
        return {key: self._from_json(each) for key, each in value.items()}
