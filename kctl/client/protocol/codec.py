"""Message codec: functions compiled from declarations; the walker (walker.py) for first uses and errors.

Compiled functions only detect that bytes or values are wrong; the walker then finds the field and the offset.
"""

import struct
from collections.abc import Callable
from typing import Any, TypeVar

from kctl.client.errors import RemoteProtocolError
from kctl.client.protocol import walker
from kctl.client.protocol.decoder import compile_decoder
from kctl.client.protocol.encoder import compile_encoder
from kctl.client.protocol.primitives import Malformed
from kctl.client.protocol.schema import Message, Struct

M = TypeVar("M", bound=Message)
_MEMBER_DATA_VERSION = struct.Struct(">h")

FAILURES = (Malformed, struct.error, IndexError, AttributeError, TypeError, ValueError, OverflowError)
"""Exceptions of compiled code for wrong bytes or values (ValueError includes Unicode errors)."""

WALKED_USES = 2
WALKED_BYTES = 1024
WALKED_ITEMS = 50
"""Limits up to which the walker is used.

Compiling costs more than the first uses of a small message, and short commands use most messages once or twice.
"""

_walked: dict[tuple[type[Message], int, str], int] = {}
_decoders: dict[tuple[type[Message], int, bool, bool], Callable[[Any, int], tuple[Any, int]]] = {}
_encoders: dict[tuple[type[Message], int], Callable[[Any, list[bytes]], None]] = {}


def decoder(
    cls: type[M], version: int, view: bool = False, in_place: bool = False
) -> Callable[[Any, int], tuple[M, int]]:
    """Return the compiled function (buffer, position) -> (message, position after it), which raises one of FAILURES.

    Args:
        view: whether the buffer is a memoryview, not bytes.
        in_place: whether records become FrameSlices of the buffer.
    Raises: LocalProtocolError: the version is not declared.
    """
    function = _decoders.get((cls, version, view, in_place))
    if function is None:
        walker.check_version(cls, version)
        function = _decoders[cls, version, view, in_place] = compile_decoder(cls, version, view, in_place)
    return function


def encoder(cls: type[Message], version: int) -> Callable[[Any, list[bytes]], None]:
    """Return the compiled function (message, parts), which appends to `parts` or raises one of FAILURES.

    Raises: LocalProtocolError: the version is not declared.
    """
    function = _encoders.get((cls, version))
    if function is None:
        walker.check_version(cls, version)
        function = _encoders[cls, version] = compile_encoder(cls, version)
    return function


def decode(cls: type[M], data: bytes | bytearray | memoryview, version: int, offset: int = 0) -> M:
    """Decode the message in `data` from `offset` to the end.

    Fields of type bytes are copied if `data` is a memoryview or bytearray.

    Raises:
        RemoteProtocolError: the bytes are not a valid message. It has API, version, field path, and offset.
        LocalProtocolError: the version is not declared.
    """
    message, pos = decode_prefix(cls, data, version, offset)
    if pos != len(data):
        data = data if isinstance(data, bytes) else memoryview(data).cast("B")
        return walker.decode(cls, data, version, offset)  # reports how many bytes are left
    return message


def decode_prefix(
    cls: type[M], data: bytes | bytearray | memoryview, version: int, offset: int = 0, *, in_place: bool = False
) -> tuple[M, int]:
    """Decode the message at `offset`; return it and the position after it.

    Args: in_place: whether records may become FrameSlices of `data`.
    Raises: as `decode`, but bytes may follow the message.
    """
    if not isinstance(data, bytes):
        data = memoryview(data).cast("B")
    if len(data) - offset <= WALKED_BYTES and _count_use(cls, version, "decode"):
        return walker.decode_header(cls, data, version, offset)
    function = decoder(cls, version, not isinstance(data, bytes), in_place)
    try:
        return function(data, offset)
    except FAILURES:
        return walker.decode_header(cls, data, version, offset)  # reports field and offset


def decode_header(cls: type[M], data: bytes | bytearray | memoryview, version: int) -> tuple[M, int]:
    """Decode the message at the start of `data`; return it and the position after it. Raises: as `decode`."""
    if not isinstance(data, bytes):
        data = memoryview(data).cast("B")
    if _count_use(cls, version, "decode"):
        return walker.decode_header(cls, data, version)
    function = decoder(cls, version, not isinstance(data, bytes))
    try:
        return function(data, 0)
    except FAILURES:
        return walker.decode_header(cls, data, version)


def encode(message: Message, version: int) -> bytes:
    """Encode `message` without a header.

    Raises: LocalProtocolError: a value does not fit its type or the version. It has the field.
    """
    return b"".join(encode_parts(message, version))


def encode_parts(message: Message, version: int) -> list[bytes]:
    """Encode `message` in pieces, without a header."""
    function = _encoders.get((type(message), version))
    if function is None:
        if _items(message) <= WALKED_ITEMS and _count_use(type(message), version, "encode"):
            return walker.encode_parts(message, version)
        function = encoder(type(message), version)
    parts: list[bytes] = []
    try:
        function(message, parts)
    except FAILURES:
        parts = walker.encode_parts(message, version)
    return parts


def encode_member_data(message: Message, version: int) -> bytes:
    """Encode data that members of a classic group exchange: an int16 version, then the message.

    Raises: LocalProtocolError: a value cannot be encoded.
    """
    return _MEMBER_DATA_VERSION.pack(version) + encode(message, version)


def decode_member_data(cls: type[M], data: bytes) -> M:
    """Decode the result of `encode_member_data`.

    A newer version is decoded as the newest declared version, because versions only append fields.

    Raises: RemoteProtocolError: the bytes are not a valid message, or the version is negative.
    """
    if len(data) < _MEMBER_DATA_VERSION.size:
        raise RemoteProtocolError(
            f"{cls.NAME}: the data has {len(data)} bytes, which is too short for a version number"
        )
    (version,) = _MEMBER_DATA_VERSION.unpack_from(data)
    if version < 0:
        raise RemoteProtocolError(f"{cls.NAME}: version {version}")
    newest = cls.VALID_VERSIONS[1]
    if version > newest:
        return decode_header(cls, data[_MEMBER_DATA_VERSION.size :], newest)[0]
    return decode(cls, data, version, _MEMBER_DATA_VERSION.size)


def _items(message: Struct) -> int:
    count = 0
    for field in message.FIELDS:
        items = getattr(message, field.name) if field.is_array and isinstance(field.kind, type) else None
        if isinstance(items, list):
            for item in items:
                count += 1 + (_items(item) if isinstance(item, Struct) else 0)
                if count > WALKED_ITEMS:
                    return count
    return count


def _count_use(cls: type[Message], version: int, direction: str) -> bool:
    key = (cls, version, direction)
    uses = _walked.get(key, 0)
    if uses < WALKED_USES:
        _walked[key] = uses + 1
    return uses < WALKED_USES
