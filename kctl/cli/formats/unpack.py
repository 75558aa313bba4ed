"""Modifier `%v{unpack[>bIs]}`: binary numbers in keys and values, in decimal.

    < little endian (default)   > big endian   b B  h H  i I  q Q  signed and unsigned of 1, 2, 4, 8 bytes
    c .  one unchanged byte     s  all remaining bytes   $  an error text unless at the end   x  nothing

The letters are those in rpk and kcl. As there, errors are part of the output.
"""

from struct import Struct
from typing import NamedTuple

from kctl.cli.formats.template_error import LayoutError
from kctl.cli.formats.texts import TextForm

_NUMBERS = "bBhHiIqQ"
_LETTERS = "<>xbBhHiIqQc.s$"


class _Step(NamedTuple):
    letter: str
    number: Struct | None


def compile_unpack(letters: str) -> TextForm:
    """Return the function that formats bytes according to the letters.

    Raises: LayoutError: a letter is unknown, or follows the end of the input.
    """
    steps: list[_Step] = []
    order = "<"
    for position, letter in enumerate(letters):
        if letter not in _LETTERS:
            raise LayoutError(f"unpack does not support {letter!r}: use {' '.join(_LETTERS)}", position)
        if steps and steps[-1].letter in "s$":
            raise LayoutError(f"{steps[-1].letter} must be the last letter of unpack[...]", position)
        if letter in "<>":
            order = letter
        elif letter in _NUMBERS:
            steps.append(_Step(letter, Struct(order + letter)))
        elif letter != "x":
            steps.append(_Step("c" if letter == "." else letter, None))
    if not steps:
        raise LayoutError(f"unpack needs at least one letter: use {' '.join(_LETTERS)}", 0)
    return lambda data: _unpack(steps, data)


def _unpack(steps: list[_Step], data: bytes) -> bytes:
    out: list[bytes] = []
    at = 0
    for letter, number in steps:
        if number is not None:
            if len(data) - at < number.size:
                out.append(b"%%!%b(have %d bytes, need %d)" % (letter.encode(), len(data) - at, number.size))
                at = len(data)
            else:
                out.append(b"%d" % number.unpack_from(data, at)[0])
                at += number.size
        elif letter == "c":
            out.append(data[at : at + 1] or b"%!c(no bytes available)")
            at += 1
        elif letter == "s":
            out.append(data[at:])
        elif at < len(data):
            out.append(b"%!$(not end-of-input)")
    return b"".join(out)
