"""What is said on a terminal, with colours: the name before an error is red, `note:` yellow, `hint:` cyan.

Shown by tests/unit/cli/view/test_notices.py and tests/cli/test_terminals.py.
"""

import re

from kctl.cli.view.painter import coloured

_NOTE = re.compile(r"(?:kctl(?: [a-z]+)?: )?note:|(?:kctl(?: [a-z]+)?: )?warning:")
_NAME = re.compile(r"kctl(?: [a-z]+)?:")


def coloured_notice(text: str, *, is_error: bool) -> str:
    """Return the text as a terminal takes it; only what stands before the words is coloured."""
    return "\n".join(_line(line, is_error=is_error) for line in text.split("\n"))


def _line(line: str, *, is_error: bool) -> str:
    for start, style in ((re.compile("hint:"), "cyan"), (_NOTE, "yellow"), (_NAME, "bold red" if is_error else "")):
        found = start.match(line)
        if found is not None and style:
            return coloured(found[0], style) + line[found.end() :]
    return line
