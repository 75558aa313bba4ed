"""Fault: one thing that goes wrong with a cluster or on the way to it, as kctl tells it.

Owns the pattern language of reasons and hints: `#` stands for a number, `...` for anything. Shown by
tests/unit/cli/explanations/test_catalogue.py.
"""

import re
from typing import NamedTuple

from kctl.cli.exit_codes import ExitCode


class Fault(NamedTuple):
    """One row of docs/faults.md.

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
    parts = re.split(r"(\.\.\.|#)", pattern)
    wildcards = {"...": ".*", "#": r"\d+"}
    return re.search("".join(wildcards.get(part, re.escape(part)) for part in parts), text) is not None
