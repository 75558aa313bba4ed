"""Command lines to copy, filled from templates such as `kctl groups describe {group}`.

Names come from brokers, clients, and users, and must reach kctl unchanged through the shell.
"""

import shlex
from collections.abc import Mapping

from kctl.client.wording import one_line

STOP, _REST = "{stop}", "{rest}"
"""Placeholders for an instruction before a command and for further commands, filled as is."""


class Words(str):
    __slots__ = ()


def fill_command(template: str, values: Mapping[str, object]) -> str:
    """Return a command line that passes names to kctl unchanged, whatever characters they contain.

    If a name begins with a hyphen, the options precede the names, which follow `--`.
    """
    _, stop, command = template.rpartition(STOP)
    command, rest, _ = command.partition(_REST)
    return stop.format_map(values) + _filled(command, values) + rest.format_map(values)


def _filled(template: str, values: Mapping[str, object]) -> str:
    words = {name: value if isinstance(value, Words) else quoted(str(value)) for name, value in values.items()}
    head, hyphen, options = template.partition(" -")
    command = head.partition("{")[0].split()
    names = [word.format_map(words) for word in head.split()[len(command) :]]
    if not any(name.lstrip("'$").startswith("-") for name in names):
        return template.format_map(words)
    return " ".join([*command, *(hyphen + options).format_map(words).split(" ")[1:], "--", *names])


def quoted(word: str) -> str:
    """Return a word quoted for a POSIX shell, with control characters as $'...'."""
    if word == one_line(word):
        return shlex.quote(word)
    escaped = "".join(
        f"\\{char}" if char in "\\'" else char if char == one_line(char) else _octal(char) for char in word
    )
    return f"$'{escaped}'"


def _octal(char: str) -> str:
    errors = "surrogateescape" if "\udc80" <= char <= "\udcff" else "surrogatepass"
    return "".join(f"\\{byte:03o}" for byte in char.encode("utf-8", errors))
