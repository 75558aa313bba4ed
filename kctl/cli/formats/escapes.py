r"""Escapes of templates and separators: \n \t \r \0 \\ \xNN."""

from kctl.cli.formats.template_error import TemplateError

LONGEST_TEMPLATE = 10_000

_ESCAPES = {"n": b"\n", "t": b"\t", "r": b"\r", "0": b"\0", "\\": b"\\"}
HEX_DIGITS = "0123456789abcdefABCDEF"


def check_length(text: str) -> None:
    if len(text) > LONGEST_TEMPLATE:
        raise TemplateError(f"the template has more than {LONGEST_TEMPLATE} characters", text, LONGEST_TEMPLATE, 1)


def parse_literal(text: str) -> bytes:
    """Return the bytes of a text with escapes. Raises: TemplateError: an escape is unknown."""
    check_length(text)
    literal = bytearray()
    position = 0
    while position < len(text):
        part, position = read_literal(text, position)
        literal += part
    return bytes(literal)


def parse_delimiter(text: str) -> bytes:
    """Return the bytes of a separator. Raises: ValueError: the text is empty or has an unknown escape."""
    delimiter = parse_literal(text)
    if not delimiter:
        raise ValueError("the separator is empty")
    return delimiter


def read_literal(text: str, position: int) -> tuple[bytes, int]:
    """Return the bytes of the character or escape at a position, and the next position. Raises: TemplateError."""
    if text[position] == "\\":
        return _read_escape(text, position)
    return text[position].encode("utf-8", "surrogateescape"), position + 1


def _read_escape(text: str, position: int) -> tuple[bytes, int]:
    letter = text[position + 1 : position + 2]
    if letter == "x":
        digits = text[position + 2 : position + 4]
        if len(digits) == 2 and all(digit in HEX_DIGITS for digit in digits):
            return bytes([int(digits, 16)]), position + 4
        raise TemplateError("\\x needs two hexadecimal digits", text, position, 2 + len(digits))
    if letter in _ESCAPES:
        return _ESCAPES[letter], position + 2
    if not letter:
        raise TemplateError("a single \\ at the end is not an escape: write \\\\ for a backslash", text, position, 1)
    raise TemplateError(f"unknown escape \\{letter}: use \\n \\t \\r \\0 \\\\ \\xNN", text, position, 2)
