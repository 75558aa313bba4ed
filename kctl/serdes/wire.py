"""Wire format of keys and values with a schema ID.

    magic 0: 0x00, schema ID as big-endian int32, payload (Protobuf: message indexes first)
    magic 1: 0x01, schema GUID of 16 bytes, payload; also alone in the header __key_schema_id or __value_schema_id

Message indexes are zigzag varints, preceded by their count. A single 0 means the first message of the file.

Source: Confluent's wire format, with GUIDs as in its clients 8.0.
"""

from collections.abc import Sequence
from typing import NamedTuple
from uuid import UUID

from kctl.serdes.errors import DecodeError

KEY_HEADER = "__key_schema_id"
VALUE_HEADER = "__value_schema_id"
MAGIC_ID = 0
MAGIC_GUID = 1
_ID_BYTES = 5
_GUID_BYTES = 17
MOST_INDEXES = 100
"""Maximum nesting levels of messages in a file."""

Header = tuple[str, bytes | None]


class Framed(NamedTuple):
    schema: int | UUID
    payload: bytes


def read_frame(data: bytes, headers: Sequence[Header] = (), header: str = "") -> Framed | None:
    """Return the schema and the payload of a key or value, or None if it has no schema.

    Args:
        header: name of the header that may have the schema. The last one counts.
    """
    for name, value in reversed(headers):
        if name == header and value is not None:
            if len(value) == _GUID_BYTES and value[0] == MAGIC_GUID:
                return Framed(UUID(bytes=value[1:]), data)
            if len(value) == _ID_BYTES and value[0] == MAGIC_ID:
                return Framed(int.from_bytes(value[1:]), data)
            return None
    if len(data) >= _ID_BYTES and data[0] == MAGIC_ID:
        return Framed(int.from_bytes(data[1:_ID_BYTES]), data[_ID_BYTES:])
    if len(data) >= _GUID_BYTES and data[0] == MAGIC_GUID:
        return Framed(UUID(bytes=data[1:_GUID_BYTES]), data[_GUID_BYTES:])
    return None


def write_frame(schema_id: int, payload: bytes) -> bytes:
    return bytes([MAGIC_ID]) + schema_id.to_bytes(4) + payload


def read_indexes(data: bytes) -> tuple[tuple[int, ...], bytes]:
    """Return the message indexes of a Protobuf payload, and the message after them.

    Raises: DecodeError: the indexes are incomplete, negative, or too many.
    """
    count, at = _read_zigzag(data, 0)
    if not 0 <= count <= MOST_INDEXES:
        raise DecodeError(f"{count} message indexes")
    if count == 0:
        return (0,), data[at:]
    indexes: list[int] = []
    for _ in range(count):
        index, at = _read_zigzag(data, at)
        if index < 0:
            raise DecodeError(f"message index {index}")
        indexes.append(index)
    return tuple(indexes), data[at:]


def write_indexes(indexes: Sequence[int]) -> bytes:
    if tuple(indexes) == (0,):
        return b"\x00"
    return b"".join(_zigzag(number) for number in (len(indexes), *indexes))


def _read_zigzag(data: bytes, at: int) -> tuple[int, int]:
    raw = shift = 0
    while True:
        if at >= len(data) or shift > 28:
            raise DecodeError("the message indexes are truncated or too long")
        byte = data[at]
        at += 1
        raw |= (byte & 0x7F) << shift
        if byte < 0x80:
            return (raw >> 1) ^ -(raw & 1), at
        shift += 7


def _zigzag(number: int) -> bytes:
    raw = number << 1 if number >= 0 else (-number << 1) - 1
    out = bytearray()
    while raw > 0x7F:
        out.append(raw & 0x7F | 0x80)
        raw >>= 7
    out.append(raw)
    return bytes(out)
