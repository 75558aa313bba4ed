"""How many columns of a terminal a text takes: Chinese, Japanese and Korean characters and most emoji take two.

rich knows that of each character; it is asked, and imported, where a text is not ASCII.
"""

READABLE = 100
"""Prose is not wider, however wide the terminal is."""


def columns_of(text: str) -> int:
    """Return how many columns a text takes."""
    if text.isascii():
        return len(text)
    from rich.cells import cell_len  # 2 ms of import, wanted for what is drawn on a terminal

    return cell_len(text)


def fitted(text: str, columns: int) -> str:
    """Return a text cut or filled up with spaces to exactly these columns."""
    if text.isascii():
        return text[:columns].ljust(columns)
    from rich.cells import set_cell_size  # as above

    return set_cell_size(text, columns)


def wrapped(text: str, columns: int, first: str = "", further: str = "") -> list[str]:
    """Return a text in lines of at most these columns, broken between words; a word that is longer stays whole.

    Args: first, further: what the first line begins with, and the others.
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
    """Return a text in pieces of at most these columns, broken at spaces where there are any."""
    pieces: list[str] = []
    while len(text) > 1 and columns_of(text) > columns:
        fitting = _characters_within(text, columns)
        at = text.rfind(" ", 1, fitting + 1)
        at = at if at > 0 else fitting
        pieces.append(text[:at])
        text = text[at:].lstrip(" ")
    return [*pieces, text]


def _characters_within(text: str, columns: int) -> int:
    """Return how many characters fit, at least one: a terminal may be narrower than a character."""
    if text.isascii():
        return max(1, columns)
    room = columns
    for at, char in enumerate(text):
        room -= columns_of(char)
        if room < 0:
            return max(1, at)
    return len(text)
