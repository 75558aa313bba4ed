"""Width of texts on a terminal. Chinese, Japanese and Korean characters and most emoji take two columns."""

READABLE = 100
"""Maximum width of prose."""


def columns_of(text: str) -> int:
    if text.isascii():
        return len(text)
    from rich.cells import cell_len  # deferred import: takes 2ms

    return cell_len(text)


def fitted(text: str, columns: int) -> str:
    """Cut or pad a text to `columns`."""
    if text.isascii():
        return text[:columns].ljust(columns)
    from rich.cells import set_cell_size  # as above

    return set_cell_size(text, columns)


def wrapped(text: str, columns: int, first: str = "", further: str = "") -> list[str]:
    """Break a text into lines between words. Words longer than a line are not broken.

    Args:
        first: prefix of the first line.
        further: prefix of the other lines.
    """
    lines, line, is_empty = list[str](), first, True
    for word in text.split():
        if not is_empty and columns_of(line) + 1 + columns_of(word) > columns:
            lines.append(line)
            line, is_empty = further, True
        line = f"{line}{word}" if is_empty else f"{line} {word}"
        is_empty = False
    return lines if is_empty else [*lines, line]


def pieces_of(text: str, columns: int) -> list[str]:
    """Break a text into pieces, at spaces if possible."""
    pieces: list[str] = []
    while len(text) > 1 and columns_of(text) > columns:
        fitting = _characters_within(text, columns)
        at = text.rfind(" ", 1, fitting + 1)
        at = at if at > 0 else fitting
        pieces.append(text[:at])
        text = text[at:].lstrip(" ")
    return [*pieces, text]


def _characters_within(text: str, columns: int) -> int:
    if text.isascii():
        return max(1, columns)
    room = columns
    for at, char in enumerate(text):
        room -= columns_of(char)
        if room < 0:
            return max(1, at)
    return len(text)
