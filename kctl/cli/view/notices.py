"""Messages on a terminal: wrapped lines with colored prefixes."""

import re

from kctl.cli.view.painter import coloured, wrapped_line

_HINT, _NOTE, _NAME = map(re.compile, ("hint:", r"(kctl( [a-z]+)?: )?(note|warning):", r"kctl( [a-z]+)?:"))


def terminal_notice(text: str, *, is_error: bool, width: int, colour: bool = True) -> str:
    """Return the text for a terminal, wrapped between words. If `colour`, the prefix is colored."""
    lines = (piece for line in text.split("\n") for piece in wrapped_line(line, width))
    return "\n".join(_line(line, is_error=is_error) if colour else line for line in lines)


def _line(line: str, *, is_error: bool) -> str:
    for start, style in ((_HINT, "cyan"), (_NOTE, "yellow"), (_NAME, "bold red" if is_error else "")):
        found = start.match(line)
        if found is not None and style:
            return coloured(found[0], style) + line[found.end() :]
    return line
