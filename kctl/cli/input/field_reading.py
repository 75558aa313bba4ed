"""Readers of template fields: numbers, and texts in hex or base64.

They reverse kctl.cli.formats.numbers and texts. Lengths count bytes of data, not of hex or base64.
"""

import binascii
from base64 import b64decode
from collections.abc import Callable
from typing import NamedTuple

from kctl.cli.input.input_bytes import InputBytes

_DIGITS = b"0123456789"
_HEX_DIGITS = b"0123456789abcdefABCDEF"
_MOST_DIGITS = 20

NumberReader = Callable[[InputBytes, str], int]


class TextReader(NamedTuple):
    """Size of the text for N bytes of data, and the function that decodes the text."""

    size: Callable[[int], int]
    decode: Callable[[bytes], bytes]


def _digits(digits: bytes, base: int, *, signed: bool) -> NumberReader:
    def read(source: InputBytes, what: str) -> int:
        at = source.offset
        text = bytearray()
        if signed and source.peek() == 0x2D:
            text += source.read(1) or b""
        while len(text) <= _MOST_DIGITS and source.peek() in digits:
            text += source.read(1) or b""
        if not text.strip(b"-") or len(text) > _MOST_DIGITS:
            raise source.bad(f"expected a number for {what}", at)
        return int(text, base)

    return read


def _fixed_hex(size: int) -> NumberReader:
    def read(source: InputBytes, what: str) -> int:
        at = source.offset
        text = source.read(size)
        if text is None or any(digit not in _HEX_DIGITS for digit in text):
            raise source.bad(f"expected {size} hexadecimal digits for {what}", at)
        return int(text, 16)

    return read


def _binary(size: int, *, little: bool = False) -> NumberReader:
    def read(source: InputBytes, what: str) -> int:
        data = source.read(size)
        if data is None:
            raise source.bad(f"the input ends inside {what}, which has {size} bytes")
        return int.from_bytes(data, "little" if little else "big")

    return read


def _bool(source: InputBytes, what: str) -> int:
    for number, text in enumerate((b"false", b"true")):
        if source.starts_with(text):
            source.read(len(text))
            return number
    raise source.bad(f"expected true or false for {what}")


NUMBER_READERS: dict[str, NumberReader] = {
    "": _digits(_DIGITS, 10, signed=True),
    "ascii": _digits(_DIGITS, 10, signed=True),
    "number": _digits(_DIGITS, 10, signed=True),
    "hex": _digits(_HEX_DIGITS, 16, signed=False),
    **{f"hex{bits}": _fixed_hex(bits // 4) for bits in (64, 32, 16, 8, 4)},
    **{f"big{bits}": _binary(bits // 8) for bits in (64, 32, 16, 8)},
    **{f"little{bits}": _binary(bits // 8, little=True) for bits in (64, 32, 16, 8)},
    "byte": _binary(1),
    "bool": _bool,
}
"""Readers by modifier. Numbers of fixed size are unsigned."""
OPEN_NUMBERS = frozenset({"", "ascii", "number", "hex"})
"""Formats that end after their last digit."""


def _base64_raw(text: bytes) -> bytes:
    if b"=" in text:
        raise ValueError("base64raw must not contain padding")
    return b64decode(text + b"=" * (-len(text) % 4), validate=True)


TEXT_READERS: dict[str, TextReader] = {
    "": TextReader(lambda size: size, bytes),
    "hex": TextReader(lambda size: 2 * size, binascii.unhexlify),
    "base64": TextReader(lambda size: -(-size // 3) * 4, lambda text: b64decode(text, validate=True)),
    "base64raw": TextReader(lambda size: -(-size * 4 // 3), _base64_raw),
}
"""Readers by modifier, without `json`."""
