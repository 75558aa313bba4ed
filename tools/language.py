"""Odd constructions in help, messages and pages; tests/unit/tools/test_language.py holds their number to ceilings.

python -m tools.language            # lists each one with its place, its rule and what to write instead
python -m tools.language --lower    # lowers the ceilings of files that have become better
"""

import re
import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from tools.manual.texts import all_texts

ROOT = Path(__file__).parents[1]
CEILINGS = ROOT / "tests" / "unit" / "tools" / "language_ceilings.txt"
INSIDE = {"architecture.md", "design.md", "specification.md", "licences.md", "performance.md"}
"""Pages for those who change kctl."""


class Rule(NamedTuple):
    """A construction that makes a text read as translated, and what to write instead."""

    pattern: re.Pattern[str]
    instead: str


RULES = tuple(
    Rule(re.compile(pattern, re.MULTILINE), instead)
    for pattern, instead in (
        (r"[;,.(] ?[Ee]lse\b(?! if)|\band else\b", "otherwise; in help: [default: X]"),
        (r"\b(?:that|those) (?:of|for|with|from)\b", "the noun again"),
        (
            r"(?:^|[.;:] |\| )Where (?!to\b)\w+|\b(?:also|only|except|even|and|or|but) where\b"
            r"|, where (?:it|they|there|none|nothing|one|no|that)\b",
            "if, when, even if",
        ),
        (
            r"\b[Ww]hat (?:is|was|are|were|has|have|had|it|they|cannot|could|can|must|may|stands?|comes?|goes|follows"
            r"|waits|became)\b(?! (?:wrong|new|happening|your|the difference)\b)",
            "the noun: records, bytes, the result",
        ),
        (r"\bat once\b", "immediately, at the same time"),
        (r"\b(?:of|with|on|by) (?:its|their|your|our|his) own\b", "own + noun, separate, itself"),
        (
            r"\bend(?:s|ed|ing)? (?:with (?:an? |the )?(?:\d|error|exit|code|traceback)|it\b|in an? error|no call)",
            "exits with, fails with",
        ),
        (r"\banswer(?:s|ed|ing)?\b", "respond, response"),
        (r"\bask(?:s|ed|ing)?\b(?! (?:on a terminal|for confirmation))", "request, query, send, prompt"),
        (
            r"\balso (?:where|those|that|of|in|with|when|while|for|if|after|what|by)\b|\w, too\b",
            "including, even if; or nothing",
        ),
        (
            r"\b(?:names?|naming) (?:the|an?|it|no|what|which|them|one|each|its|those|both|another)\b"
            r"|\b(?:is|are) named\b",
            "lists, shows, identifies, specifies",
        ),
        (
            r"\b(?:[Mm]eanwhile|for good|once more|by itself|by themselves|anew|in turns)\b",
            "in the meantime, permanently, again, automatically",
        ),
        (
            r"\b(?:stands?|lies?|stood|lay) (?:for|in|at|behind|beside|before|on|there|between|below|still)\b",
            "is, represents, stalls",
        ),
        (r"\bcures?\b|\bbesides?\b|\bsave (?:for|with)\b|\bheed\w*", "fix; next to, except, honor"),
    )
)


class Hit(NamedTuple):
    """An odd construction in a text."""

    place: str
    words: str
    instead: str
    text: str


def hits_of(place: str, text: str) -> list[Hit]:
    """Return the odd constructions of a text."""
    return [Hit(place, found[0], rule.instead, text) for rule in RULES for found in rule.pattern.finditer(text)]


def all_hits() -> Iterator[Hit]:
    """Yield the odd constructions of all modules (help and messages) and pages."""
    for place, texts in all_texts().items():
        for text in texts if place.startswith("kctl/") else ():
            yield from hits_of(place, text)
    for page in (ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))):
        for line in page.read_text(encoding="utf-8").splitlines() if page.name not in INSIDE else ():
            yield from hits_of(page.relative_to(ROOT).as_posix(), line)


def count_by_file(hits: Iterable[Hit]) -> dict[str, int]:
    """Return the number of odd constructions by file; a file without one is left out."""
    return Counter(hit.place for hit in hits)


def read_ceilings() -> dict[str, int]:
    """Return the highest count that each file may have; 0 for a file that is not listed."""
    rows = [line.split() for line in CEILINGS.read_text(encoding="utf-8").splitlines() if not line.startswith("#")]
    return {place: int(count) for count, place in rows}


def main(arguments: list[str]) -> int:
    """List the constructions, or lower the ceilings."""
    if "--lower" in arguments:
        now, head = count_by_file(all_hits()), CEILINGS.read_text(encoding="utf-8").splitlines()[0]
        lowered = {place: min(most, now.get(place, 0)) for place, most in read_ceilings().items()}
        rows = [f"{most} {place}" for place, most in sorted(lowered.items()) if most]
        CEILINGS.write_text("\n".join([head, *rows]) + "\n", encoding="utf-8")
        return 0
    for hit in all_hits():
        print(f"{hit.place}: {hit.words!r} in {hit.text!r}: write {hit.instead}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
