"""Wording of messages: text of others made harmless, numbers with their nouns, sizes.

Shown by tests/unit/test_wording.py.
"""

_CONTROLS = [*range(0x20), *range(0x7F, 0xA0)]
_DIRECTION_MARKS = [0x061C, 0x200E, 0x200F, *range(0x2028, 0x202F), *range(0x2066, 0x206A)]
"""They make a text read differently from what it is (and two separate lines)."""
_THOUSAND, _ROUNDED_UP = 1000, 999.5
_ONE_LINE = {code: f"\\x{code:02x}" for code in _CONTROLS} | {code: f"\\u{code:04x}" for code in _DIRECTION_MARKS}
_LINES = {code: escape for code, escape in _ONE_LINE.items() if chr(code) not in "\n\t"}


def one_line(text: str) -> str:
    """Return a text that a broker sent with its control characters as escapes, so that it stays a part of our line."""
    return text.translate(_ONE_LINE)


def harmless_text(text: str) -> str:
    """Return a text with control characters as escapes, so that it steers no terminal; line feeds and tabs stay."""
    return text.translate(_LINES)


def harmless_bytes(data: bytes) -> bytes:
    """Return UTF-8 that a terminal only prints; what is not UTF-8 is written as \\xNN."""
    if data.isascii() and data.decode().isprintable():
        return data
    return harmless_text(data.decode("utf-8", "backslashreplace")).encode()


def counted(count: int, noun: str) -> str:
    """Return `1 record`, `2 records`."""
    return f"{count} {noun}{'' if count == 1 else 's'}"


def size_text(count: int) -> str:
    """Return a number of bytes as people speak of it: `512 B`, `4.1 GB`."""
    size = float(count)
    for unit in ("B", "kB", "MB", "GB"):
        if abs(size) < _ROUNDED_UP:
            return f"{size:.3g} {unit}"
        size /= _THOUSAND
    return f"{size:,.3g} TB" if size < _THOUSAND else f"{size:,.0f} TB"
