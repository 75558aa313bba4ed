"""Primitive types of the wire. Bounds are checked before memory is allocated.

| type | bytes | |---|---| | int8 .. int64, uint16, uint32, float64, bool, uuid | fixed width, big endian; bool is 0 or
not 0; uuid is 16 bytes | | uvarint | 7 bits a byte, lowest first, high bit set on all but the last byte; at most 5
bytes and 32 bits | | string | int16 length, -1 = null, then UTF-8; compact: uvarint length + 1, 0 = null | | bytes,
records | int32 length, -1 = null; compact: uvarint length + 1, 0 = null | | array | int32 count, -1 = null; compact:
uvarint count + 1, 0 = null | | tag section | uvarint count, then (uvarint tag, uvarint size, bytes) in strictly
ascending order of tags |

The compiled codec repeats these rules inline; tests/fuzz/protocol compares the two.
"""

import struct
from binascii import a2b_base64, b2a_base64
from collections.abc import Iterable
from typing import Final

ZERO_UUID: Final = bytes(16)
MAX_STRING_BYTES: Final = 0x7FFF
MOST_STRUCTS: Final = 1_000_000
"""Maximum number of structs in arrays of one decoded message.

Each needs some hundred bytes of memory, but as few as two in the encoded message.
"""
MAX_TAG: Final = 0x7FFF_FFFE
"""Maximum tag; Kafka stores tags in an int32 and reserves its maximum."""

FIXED_FORMATS: Final[dict[str, str]] = {
    "bool": "?",
    "int8": "b",
    "int16": "h",
    "int32": "i",
    "int64": "q",
    "uint16": "H",
    "uint32": "I",
    "float64": "d",
    "uuid": "16s",
}
"""Struct letters of the fixed-width types."""

_PACKERS: Final = {kind: struct.Struct(">" + letters) for kind, letters in FIXED_FORMATS.items()}

FIXED_SIZES: Final = {kind: packer.size for kind, packer in _PACKERS.items()}

SMALL_UVARINTS: Final = tuple(bytes((value,)) for value in range(128))
"""Varints of one byte, encoded in advance."""


class Malformed(Exception):
    """A value that breaks a rule of the protocol; the codec turns it into a ProtocolError with the field."""

    def __init__(self, reason: str, offset: int = 0) -> None:
        super().__init__(reason)
        self.offset = offset


def uuid_text(value: bytes) -> str:
    """Return a UUID as Kafka prints it: 22 characters of URL-safe base64."""
    return b2a_base64(value, newline=False).rstrip(b"=").translate(_TO_URL).decode("ascii")


def parse_uuid(text: str) -> bytes:
    """Return the 16 bytes of a UUID in Kafka's form. Raises: ValueError: the text is not a UUID."""
    value = a2b_base64(text.encode("ascii").translate(_FROM_URL) + b"==", strict_mode=True)
    if len(value) != 16:
        raise ValueError(f"a UUID must have 16 bytes, but {text!r} has {len(value)}")
    return value


_TO_URL: Final = bytes.maketrans(b"+/", b"-_")
_FROM_URL: Final = bytes.maketrans(b"-_", b"+/")


def uvarint(value: int) -> bytes:
    """Return the unsigned varint of `value`. Raises: Malformed: more than 32 bits."""
    if 0 <= value < 128:
        return SMALL_UVARINTS[value]
    if not 0 <= value <= 0xFFFF_FFFF:
        raise Malformed(f"{value} does not fit an unsigned varint of 32 bits")
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    out.append(value)
    return bytes(out)


def read_uvarint(buf: bytes | memoryview, pos: int) -> tuple[int, int]:
    """Return the unsigned varint at `pos` and the position after it.

    Raises: IndexError: the bytes end first. Malformed: more than 5 bytes or 32 bits.
    """
    byte = buf[pos]
    value = byte & 127
    shift = 7
    start = pos
    pos += 1
    while byte > 127:
        byte = buf[pos]
        value |= (byte & 127) << shift
        shift += 7
        pos += 1
        if shift == 35 and byte > 15:
            raise Malformed("the varint has more than 32 bits", start)
    return value, pos


class Reader:
    """Reads values from bytes; failures are Malformed with the offset at which the value starts."""

    def __init__(self, buf: bytes | memoryview, pos: int = 0, end: int | None = None) -> None:
        self.buf = buf
        self.pos = pos
        self.end = len(buf) if end is None else end

    @property
    def left(self) -> int:
        return self.end - self.pos

    def read(self, size: int, what: str) -> bytes:
        """Return the next `size` bytes; `what` is their name in errors."""
        if size > self.left:
            raise Malformed(f"cannot read {what}: {size} bytes needed, {self.left} bytes left", self.pos)
        start = self.pos
        self.pos += size
        return bytes(self.buf[start : self.pos])

    def fixed(self, kind: str) -> object:
        packer = _PACKERS[kind]
        value: object = packer.unpack(self.read(packer.size, kind))[0]
        return value

    def uvarint(self) -> int:
        start = self.pos
        try:
            value, pos = read_uvarint(self.buf, start)
        except IndexError:
            pos = self.end + 1
        if pos > self.end:
            raise Malformed(f"the varint is incomplete: only {self.left} bytes are left", start)
        self.pos = pos
        return value

    def length(self, what: str, prefix: str, nullable: bool) -> int | None:
        """Return the length of a string, bytes, or an array, None for null; `prefix`: int16, int32, or uvarint."""
        start = self.pos
        if prefix == "uvarint":
            value = self.uvarint() - 1
        else:
            packer = _PACKERS[prefix]
            (value,) = packer.unpack(self.read(packer.size, f"length of {what}"))
        if value == -1 and nullable:
            return None
        if value < 0:
            raise Malformed(f"{what} is null" if value == -1 else f"invalid {what} length: {value}", start)
        return int(value)

    def string(self, compact: bool, nullable: bool, errors: str = "strict") -> str | None:
        """Return the next string; `errors` as in bytes.decode()."""
        start = self.pos
        size = self.length("string", "uvarint" if compact else "int16", nullable)
        if size is None:
            return None
        if size > MAX_STRING_BYTES:
            raise Malformed(f"the string has {size} bytes, more than the limit of {MAX_STRING_BYTES} bytes", start)
        raw = self.read(size, "string")
        try:
            return raw.decode("utf-8", errors)
        except UnicodeDecodeError as error:
            raise Malformed(f"the string is not UTF-8: {error.reason}", self.pos - size + error.start) from None

    def byte_string(self, compact: bool, nullable: bool) -> bytes | None:
        size = self.length("bytes", "uvarint" if compact else "int32", nullable)
        return None if size is None else self.read(size, "bytes")

    def count(self, compact: bool, nullable: bool, min_item_bytes: int) -> int | None:
        """Return the item count of the next array. Raises: Malformed: more than the bytes left can hold."""
        start = self.pos
        count = self.length("array", "uvarint" if compact else "int32", nullable)
        if count is not None and count * min_item_bytes > self.left:
            raise Malformed(f"the array has {count} items, but only {self.left} bytes are left", start)
        return count


class Writer:
    """Collects the parts of a message; raises Malformed for values that do not fit."""

    def __init__(self) -> None:
        self.parts: list[bytes] = []

    def fixed(self, kind: str, value: object) -> None:
        if kind == "uuid" and not (isinstance(value, bytes) and len(value) == FIXED_SIZES[kind]):
            raise Malformed(f"a UUID must have 16 bytes, not {value!r}")
        try:
            self.parts.append(_PACKERS[kind].pack(value))
        except struct.error:
            raise Malformed(f"{value!r} is not a valid {kind}") from None

    def length(self, prefix: str, size: int | None) -> None:
        value = -1 if size is None else size
        if prefix == "uvarint":
            self.parts.append(uvarint(value + 1))
        else:
            self.fixed(prefix, value)

    def string(self, value: str | None, compact: bool) -> None:
        raw = b""
        if value is not None:
            try:
                raw = value.encode()
            except (AttributeError, UnicodeEncodeError):
                raise Malformed(f"{value!r} is not a string that UTF-8 can encode") from None
            if len(raw) > MAX_STRING_BYTES:
                raise Malformed(f"the string has {len(raw)} bytes, more than the limit of {MAX_STRING_BYTES} bytes")
        self.length("uvarint" if compact else "int16", None if value is None else len(raw))
        self.parts.append(raw)

    def byte_string(self, value: bytes | None, compact: bool) -> None:
        if value is not None and not isinstance(value, bytes):
            raise Malformed(f"expected bytes, not {type(value).__name__}")
        self.length("uvarint" if compact else "int32", None if value is None else len(value))
        self.parts.append(value or b"")

    def pieces(self, pieces: Iterable[bytes], compact: bool) -> None:
        pieces = list(pieces)
        self.length("uvarint" if compact else "int32", sum(map(len, pieces)))
        self.parts += pieces

    def tags(self, tagged: dict[int, bytes]) -> None:
        self.parts.append(tag_section(tagged))


def tag_section(tagged: dict[int, bytes]) -> bytes:
    parts = [uvarint(len(tagged))]
    for tag in sorted(tagged):
        if not 0 <= tag <= MAX_TAG:
            raise Malformed(f"tag {tag} is not between 0 and {MAX_TAG}")
        raw = tagged[tag]
        parts += (uvarint(tag), uvarint(len(raw)), raw)
    return b"".join(parts)
