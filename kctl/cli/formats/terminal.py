"""Makes bytes from elsewhere harmless for a terminal: nothing that a record or a broker sends may steer it.

Shown by tests/unit/cli/formats/test_terminal.py.
"""

_KEPT = "\n\t"
_CONTROLS = [*range(0x20), *range(0x7F, 0xA0)]
_DIRECTION_MARKS = [0x061C, 0x200E, 0x200F, *range(0x2028, 0x202F), *range(0x2066, 0x206A)]
"""They make a text read differently from what it is (and two separate lines)."""

_ESCAPED = {code: f"\\x{code:02x}" for code in _CONTROLS if chr(code) not in _KEPT} | {
    code: f"\\u{code:04x}" for code in _DIRECTION_MARKS
}


def harmless_text(text: str) -> str:
    """Return `text` with control characters written as escapes; line feeds and tabs stay."""
    return text.translate(_ESCAPED)


def harmless_bytes(data: bytes) -> bytes:
    """Return UTF-8 that a terminal only prints; what is not UTF-8 is written as \\xNN."""
    if data.isascii() and data.decode().isprintable():
        return data
    return harmless_text(data.decode("utf-8", "backslashreplace")).encode()
