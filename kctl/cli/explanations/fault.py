"""Fault entries, and the pattern language of their texts: `#` matches a number, `...` any text."""

import re
from typing import NamedTuple

from kctl.cli.exit_codes import ExitCode


class Fault(NamedTuple):
    """Failure of a cluster or connection.

    Attributes:
        number: permanent number, used in links.
        code: exit code if the fault fails the command.
        reason: pattern of the message.
        hint: pattern of the hint; empty if there is no hint.
        shown_by: test that causes the fault.
        not_shown: reason if no test causes the fault.
    """

    number: int
    title: str
    code: ExitCode
    reason: str
    hint: str
    causes: str
    shown_by: str = ""
    not_shown: str = ""


def matches(pattern: str, text: str) -> bool:
    return place_of(pattern, text) is not None


def place_of(pattern: str, text: str) -> int | None:
    """Return the index at which a pattern matches a line of `text`, or None."""
    wildcards = {"...": ".*?", "#": r"\d+"}
    found = re.search("".join(wildcards.get(part, re.escape(part)) for part in _parts(pattern)), text)
    return None if found is None else found.start()


def literal_length(pattern: str) -> int:
    """Return the number of literal characters in a pattern. More specific patterns have more."""
    return sum(len(part) for part in _parts(pattern) if part not in ("...", "#"))


def _parts(pattern: str) -> list[str]:
    return re.split(r"(\.\.\.|#)", pattern)
