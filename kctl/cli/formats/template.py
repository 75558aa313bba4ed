"""The grammar of `consume -f`: text in, a list of parts out. What is not understood is shown with a caret.

    %t topic      %p partition   %o offset    %d timestamp (ms)   %i count of records so far   %% a percent sign
    %k key        %v value       %h headers (name=value, joined by commas)
    %T %K %V      lengths of topic, key and value in bytes      %H number of headers
    \\n \\t \\r \\0 \\\\ \\xNN

Verbs are those of rpk and kcl. Knows no records: plans.py carries a template out.
Shown by tests/unit/cli/formats/test_template.py.
"""

from enum import Enum

LONGEST_TEMPLATE = 10_000


class Verb(Enum):
    """What of a record to print; the value is its letter."""

    TOPIC = "t"
    PARTITION = "p"
    OFFSET = "o"
    KEY = "k"
    VALUE = "v"
    HEADERS = "h"
    TOPIC_BYTES = "T"
    KEY_BYTES = "K"
    VALUE_BYTES = "V"
    HEADER_COUNT = "H"
    TIMESTAMP = "d"
    COUNT = "i"


Part = bytes | Verb
Template = tuple[Part, ...]

_VERBS = {verb.value: verb for verb in Verb}
_ESCAPES = {"n": b"\n", "t": b"\t", "r": b"\r", "0": b"\0", "\\": b"\\"}
_HEX = "0123456789abcdefABCDEF"


class TemplateError(ValueError):
    """A template with something in it that is not understood; the text points at it."""

    def __init__(self, problem: str, template: str, position: int, length: int) -> None:
        shown, start, width = _window(template, position, length)
        super().__init__(f"{problem}\n  {shown}\n  {' ' * start}{'^' * width}")
        self.position = position


def parse_template(text: str) -> Template:
    """Return the parts of a template, literal bytes joined.

    Raises: TemplateError: an unknown verb or escape, or a text that ends in the middle of one.
    """
    if len(text) > LONGEST_TEMPLATE:
        raise TemplateError(f"a template has at most {LONGEST_TEMPLATE} characters", text, LONGEST_TEMPLATE, 1)
    parts: list[Part] = []
    literal = bytearray()
    position = 0
    while position < len(text):
        character = text[position]
        if character == "%":
            part, position = _read_verb(text, position)
        elif character == "\\":
            part, position = _read_escape(text, position)
        else:
            part, position = character.encode("utf-8", "surrogateescape"), position + 1
        if isinstance(part, bytes):
            literal += part
            continue
        if literal:
            parts.append(bytes(literal))
            literal.clear()
        parts.append(part)
    if literal:
        parts.append(bytes(literal))
    return tuple(parts)


def parse_literal(text: str) -> bytes:
    """Return the bytes of a text with the escapes of a template, in which % means itself.

    Raises: TemplateError: an unknown escape.
    """
    parts = parse_template(text.replace("%", "%%"))
    return b"".join(part for part in parts if isinstance(part, bytes))


def _read_verb(text: str, position: int) -> tuple[Part, int]:
    letter = text[position + 1 : position + 2]
    if letter == "%":
        return b"%", position + 2
    if letter in _VERBS and letter:
        return _VERBS[letter], position + 2
    if not letter:
        raise TemplateError("a single % at the end: write %% for a percent sign", text, position, 1)
    known = " ".join(f"%{known}" for known in _VERBS)
    raise TemplateError(f"unknown verb %{letter}; there are {known} %%", text, position, 2)


def _read_escape(text: str, position: int) -> tuple[bytes, int]:
    letter = text[position + 1 : position + 2]
    if letter == "x":
        digits = text[position + 2 : position + 4]
        if len(digits) == 2 and all(digit in _HEX for digit in digits):
            return bytes([int(digits, 16)]), position + 4
        raise TemplateError("\\x needs two hexadecimal digits", text, position, 2 + len(digits))
    if letter in _ESCAPES:
        return _ESCAPES[letter], position + 2
    if not letter:
        raise TemplateError("a single \\ at the end: write \\\\ for a backslash", text, position, 1)
    raise TemplateError(f"unknown escape \\{letter}; there are \\n \\t \\r \\0 \\\\ \\xNN", text, position, 2)


_SHOWN_AROUND = 30


def _window(template: str, position: int, length: int) -> tuple[str, int, int]:
    """Return what of a template to show on one line, where the caret starts in it, and how wide it is."""
    first = max(0, position - _SHOWN_AROUND)
    last = position + length + _SHOWN_AROUND
    shown = "".join(c if c.isprintable() else " " for c in template[first:last])
    prefix = "..." if first else ""
    suffix = "..." if last < len(template) else ""
    return prefix + shown + suffix, len(prefix) + position - first, length
