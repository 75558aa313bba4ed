"""Fault: one thing that goes wrong with a cluster or on the way to it, as kctl tells it.

Owns the pattern language of reasons and hints: `#` stands for a number, `...` for anything.
"""

import re
from typing import NamedTuple

from kctl.cli.exit_codes import ExitCode


class Fault(NamedTuple):
    """One row of the page of failures.

    Attributes:
        number: its own for ever, for links.
        title: what is wrong.
        code: the exit code when it blocks the call.
        reason: what kctl says, `#` for a number and `...` for anything.
        hint: what kctl proposes, the same way; empty where the reason says it all.
        causes: where it comes from, and what to look at.
        shown_by: the test in which kctl meets it; or
        not_shown: why no test makes it yet.
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
    """Return whether some line of `text` holds `pattern`."""
    return place_of(pattern, text) is not None


def place_of(pattern: str, text: str) -> int | None:
    """Return where in `text` a pattern begins, on one line; None where it does not hold it."""
    wildcards = {"...": ".*?", "#": r"\d+"}
    found = re.search("".join(wildcards.get(part, re.escape(part)) for part in _parts(pattern)), text)
    return None if found is None else found.start()


def literal_length(pattern: str) -> int:
    """Return how many characters of a pattern stand for themselves: the more, the more specific it is."""
    return sum(len(part) for part in _parts(pattern) if part not in ("...", "#"))


def _parts(pattern: str) -> list[str]:
    return re.split(r"(\.\.\.|#)", pattern)
