"""Number formats of templates, such as `%o{hex16}`. Numbers that are too large are cut, as in rpk and kcl."""

from collections.abc import Callable

NumberForm = Callable[[int], bytes]


def _hexadecimal(bits: int) -> NumberForm:
    mask, form = (1 << bits) - 1, b"%%0%dx" % (bits // 4)
    return lambda number: form % (number & mask)


def _big(bits: int) -> NumberForm:
    mask, size = (1 << bits) - 1, bits // 8
    return lambda number: (number & mask).to_bytes(size, "big")


def _little(bits: int) -> NumberForm:
    mask, size = (1 << bits) - 1, bits // 8
    return lambda number: (number & mask).to_bytes(size, "little")


def ascii_number(number: int) -> bytes:
    return b"%d" % number


NUMBER_FORMS: dict[str, NumberForm] = {
    "ascii": ascii_number,
    "number": ascii_number,
    "hex": lambda number: b"%x" % (number & (1 << 64) - 1),
    **{f"hex{bits}": _hexadecimal(bits) for bits in (64, 32, 16, 8, 4)},
    **{f"big{bits}": _big(bits) for bits in (64, 32, 16, 8)},
    **{f"little{bits}": _little(bits) for bits in (64, 32, 16, 8)},
    "byte": _big(8),
    "bool": lambda number: b"true" if number else b"false",
}
"""Formats by modifier, for numbers as 64 bits in two's complement."""
