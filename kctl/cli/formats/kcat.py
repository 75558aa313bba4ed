"""The tokens of kcat's -f, for `--kcat-format`: what they mean there, they mean here.

    %s %S %R  value, its length, its length as 32 bits big endian     %k %K  key, its length     %h  headers, n=v,n=v
    %t topic   %p partition   %o offset   %T timestamp (ms)   %%      \\n \\t \\r \\\\ \\xXX \\NNN (octal after a 0)

A null has length -1. Differs: an unknown escape is refused (kcat writes its letter); \\x00 is a byte (kcat ends the
text there).
"""

from collections.abc import Sequence

from kctl.cli.formats.escapes import HEX_DIGITS, check_length
from kctl.cli.formats.output import Part
from kctl.cli.formats.template_error import TemplateError
from kctl.cli.formats.texts import header_name_bytes
from kctl.client.records import Header, OutputField
from kctl.client.wording import harmless_bytes

TOKENS = "sSRkKhtpoT%"
"""What may follow a percent sign."""
_ESCAPES = {"n": b"\n", "t": b"\t", "r": b"\r", "\\": b"\\"}
_NO_LENGTH = b"-1"
_NO_LENGTH_BINARY = b"\xff\xff\xff\xff"


def kcat_parts(text: str, *, null: bytes, for_terminal: bool) -> list[Part]:
    """Return the parts that a text of kcat's tokens stands for.

    Raises: TemplateError: an unknown token or escape, or a text that ends in the middle of one.
    """
    check_length(text)
    fields = _fields(null, for_terminal=for_terminal)
    parts: list[Part] = []
    position = 0
    while position < len(text):
        character = text[position]
        if character == "%":
            token = text[position + 1 : position + 2]
            if not token:
                raise TemplateError("a single % at the end: write %% for a percent sign", text, position, 1)
            if token not in TOKENS:
                known = " ".join(f"%{each}" for each in TOKENS)
                raise TemplateError(f"kcat has no token %{token}; it has {known}", text, position, 2)
            parts.append(fields[token])
            position += 2
        elif character == "\\":
            literal, position = _read_escape(text, position)
            parts.append(literal)
        else:
            parts.append(character.encode("utf-8", "surrogateescape"))
            position += 1
    return parts


def _fields(null: bytes, *, for_terminal: bool) -> dict[str, Part]:
    harmless = harmless_bytes if for_terminal else None

    def headers(pairs: Sequence[Header]) -> bytes:
        text = b",".join(
            header_name_bytes(name) + b"=" + (b"NULL" if value is None else value) for name, value in pairs
        )
        return text if harmless is None else harmless(text)

    return {
        "s": OutputField("value", harmless, null),
        "S": OutputField("value", _length, _NO_LENGTH),
        "R": OutputField("value", _binary_length, _NO_LENGTH_BINARY),
        "k": OutputField("key", harmless, null),
        "K": OutputField("key", _length, _NO_LENGTH),
        "h": OutputField("headers", headers),
        "t": OutputField("topic"),
        "p": OutputField("partition"),
        "o": OutputField("offset"),
        "T": OutputField("timestamp"),
        "%": b"%",
    }


def _length(data: bytes) -> bytes:
    return b"%d" % len(data)


def _binary_length(data: bytes) -> bytes:
    return len(data).to_bytes(4, "big")


def _digits_of(letter: str, text: str, position: int) -> tuple[str, int]:
    """Return the digits and the base of a number in an escape."""
    if letter == "x":
        return HEX_DIGITS, 16
    if letter == "0":
        return "01234567", 8
    if letter.isascii() and letter.isdigit():
        return "0123456789", 10
    known = "\\n \\t \\r \\\\ \\xXX \\NNN"
    raise TemplateError(f"unknown escape \\{letter}; there are {known}", text, position, 1 + len(letter))


def _read_escape(text: str, position: int) -> tuple[bytes, int]:
    """Return the byte of an escape and the position after it; of a number the lowest eight bits count, as in kcat."""
    letter = text[position + 1 : position + 2]
    if letter in _ESCAPES:
        return _ESCAPES[letter], position + 2
    digits, base = _digits_of(letter, text, position)
    end = first = position + (2 if letter == "x" else 1)
    while text[end : end + 1] and text[end] in digits:
        end += 1
    if end == first:
        raise TemplateError("\\x needs hexadecimal digits", text, position, 2)
    return bytes([int(text[first:end], base) & 0xFF]), end
