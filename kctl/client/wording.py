"""Wording of messages: text of others made harmless, numbers with their nouns, sizes."""

from collections.abc import Collection, Iterable

MOST_NAMED = 5
"""Topics, partitions, brokers or groups that one message names."""
_CONTROLS = [*range(0x20), *range(0x7F, 0xA0)]
_DIRECTION_MARKS = [0x061C, 0x200E, 0x200F, *range(0x2028, 0x202F), *range(0x2066, 0x206A)]
"""They make a text read differently from what it is (and two separate lines)."""
_THOUSAND, _ROUNDED_UP = 1000, 999.5
_ONE_LINE = {code: f"\\x{code:02x}" for code in _CONTROLS} | {code: f"\\u{code:04x}" for code in _DIRECTION_MARKS}
_LINES = {code: escape for code, escape in _ONE_LINE.items() if chr(code) not in "\n\t"}


def place_text(host: str, port: int) -> str:
    """Return `HOST:PORT`, with the address of IPv6 in brackets."""
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def one_line(text: str) -> str:
    """Return a text that a broker sent with its control characters as escapes, so that it stays a part of our line."""
    return text if text.isprintable() else text.translate(_ONE_LINE)


def harmless_text(text: str) -> str:
    """Return a text with control characters as escapes, so that it steers no terminal; line feeds and tabs stay."""
    return text.translate(_LINES)


def harmless_bytes(data: bytes) -> bytes:
    """Return UTF-8 that a terminal only prints; what is not UTF-8 is written as \\xNN."""
    if data.isascii() and data.decode().isprintable():
        return data
    return harmless_text(data.decode("utf-8", "backslashreplace")).encode()


def counted(count: int, noun: str, plural: str = "") -> str:
    """Return `1 record`, `2 records`; `plural` is that of a noun to which no `s` is added."""
    return f"{count} {noun if count == 1 else plural or noun + 's'}"


def listed(names: Iterable[object], most: int = MOST_NAMED) -> str:
    """Return `a, b, c`, and of more than a message can hold the first and how many more there are."""
    found = [str(each) for each in names]
    more = f" and {len(found) - most} more" if len(found) > most else ""
    return ", ".join(found[:most]) + more


def brokers_text(node_ids: Collection[int]) -> str:
    """Return `broker 1`, `brokers 1 and 2`, `brokers 1, 2 and 3`, or the first and how many more there are."""
    ids = sorted(node_ids)
    if len(ids) <= 1:
        return f"broker {ids[0]}" if ids else "no broker"
    return f"brokers {listed(ids)}" if len(ids) > MOST_NAMED else f"brokers {listed(ids[:-1])} and {ids[-1]}"


def size_text(count: int) -> str:
    """Return a number of bytes as people speak of it: `512 B`, `4.1 GB`."""
    size = float(count)
    for unit in ("B", "kB", "MB", "GB"):
        if abs(size) < _ROUNDED_UP:
            return f"{size:.3g} {unit}"
        size /= _THOUSAND
    return f"{size:,.3g} TB" if size < _THOUSAND else f"{size:,.0f} TB"
