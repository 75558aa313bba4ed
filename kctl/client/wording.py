"""Text of messages: escaped external text, numbers with nouns, lists, sizes."""

from collections.abc import Collection, Iterable

MOST_NAMED = 5
"""Maximum number of topics, partitions, brokers, or groups in a message."""
_CONTROLS = [*range(0x20), *range(0x7F, 0xA0)]
_DIRECTION_MARKS = [0x061C, 0x200E, 0x200F, *range(0x2028, 0x202F), *range(0x2066, 0x206A)]
"""Characters that change the direction in which text is read, and line separators."""
_THOUSAND, _ROUNDED_UP = 1000, 999.5
_ONE_LINE = {code: f"\\x{code:02x}" for code in _CONTROLS} | {code: f"\\u{code:04x}" for code in _DIRECTION_MARKS}
_LINES = {code: escape for code, escape in _ONE_LINE.items() if chr(code) not in "\n\t"}


def place_text(host: str, port: int) -> str:
    """Return `HOST:PORT`, with IPv6 addresses in brackets."""
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def one_line(text: str) -> str:
    """Return the text with control characters and lone surrogates escaped."""
    return text if text.isprintable() else _without_surrogates(text).translate(_ONE_LINE)


def harmless_text(text: str) -> str:
    """Return the text for terminals, with control characters escaped, except line feeds and tabs."""
    return _without_surrogates(text).translate(_LINES)


def _without_surrogates(text: str) -> str:
    """Return the text with lone surrogates escaped, which JSON may contain and UTF-8 may not."""
    return text.encode("utf-8", "backslashreplace").decode()


def harmless_bytes(data: bytes) -> bytes:
    """Return the data as UTF-8 for terminals: control characters are escaped, invalid bytes become \\xNN."""
    if data.isascii() and data.decode().isprintable():
        return data
    return harmless_text(data.decode("utf-8", "backslashreplace")).encode()


def counted(count: int, noun: str, plural: str = "") -> str:
    """Return `1 record`, `2 records`; `plural` is for irregular nouns."""
    return f"{count} {noun if count == 1 else plural or noun + 's'}"


def listed(names: Iterable[object], most: int = MOST_NAMED) -> str:
    """Return `a, b, c`; a long list is shortened and ends with the number of other items."""
    found = [str(each) for each in names]
    more = f" and {len(found) - most} more" if len(found) > most else ""
    return ", ".join(found[:most]) + more


def brokers_text(node_ids: Collection[int]) -> str:
    """Return `broker 1`, `brokers 1 and 2`, or `brokers 1, 2 and 3`; a long list is shortened."""
    ids = sorted(node_ids)
    if len(ids) <= 1:
        return f"broker {ids[0]}" if ids else "no broker"
    return f"brokers {listed(ids)}" if len(ids) > MOST_NAMED else f"brokers {listed(ids[:-1])} and {ids[-1]}"


def size_text(count: int) -> str:
    """Return a size such as `512 B` or `4.1 GB`."""
    size = float(count)
    for unit in ("B", "kB", "MB", "GB"):
        if abs(size) < _ROUNDED_UP:
            return f"{size:.3g} {unit}"
        size /= _THOUSAND
    return f"{size:,.3g} TB" if size < _THOUSAND else f"{size:,.0f} TB"
