"""Odd constructions in help, messages and pages; tests/unit/tools/test_language.py holds their number to ceilings.

python -m tools.language            # list each construction with file, line, rule, words and replacement
python -m tools.language FILE...    # list the constructions of these files
python -m tools.language --lower    # lower the ceilings of files that have become better
python -m tools.language --rates    # print the constructions in 1,000 words of kctl's texts and of the pages
"""

import re
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from tools.manual.texts import all_texts, located_texts

ROOT = Path(__file__).parents[1]
CEILINGS = ROOT / "tests" / "unit" / "tools" / "language_ceilings.txt"
INSIDE = {"architecture.md", "design.md", "specification.md", "licences.md", "performance.md", "releasing.md"}
"""Pages for those who change kctl, and who release it."""


class Rule(NamedTuple):
    """A construction that makes a text read as translated, and what to write instead."""

    name: str
    pattern: re.Pattern[str]
    instead: str


RULES = tuple(
    Rule(f"P{number}", re.compile(pattern, re.MULTILINE), instead)
    for number, (pattern, instead) in enumerate(
        (
            (r"[;,.(] ?[Ee]lse\b(?! if)|\band else\b", "otherwise; in help: [default: X]"),
            (r"\b(?:that|those) (?:of|for|with|from)\b", "the noun again"),
            (
                r"(?:^|[.;:] |\| )Where (?!to\b)\w+|\b(?:also|only|except|even|and|or|but) where\b"
                r"|, where (?:it|they|there|none|nothing|one|no|that)\b",
                "if, when, even if",
            ),
            (
                r"\b[Ww]hat (?:is|was|are|were|has|have|had|it|they|cannot|could|can|must|may|stands?|comes?|goes"
                r"|follows|waits|became)\b(?! (?:wrong|new|happening|your|the difference)\b)",
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
        ),
        1,
    )
)


class Hit(NamedTuple):
    """An odd construction in a text."""

    place: str
    line: int
    rule: str
    words: str
    instead: str
    text: str

    def __str__(self) -> str:
        return f"{self.place}:{self.line}: {self.rule} {self.words!r}: write {self.instead}: {self.text.strip()!r}"


def hits_of(place: str, line: int, text: str) -> list[Hit]:
    """Return the odd constructions of a text."""
    return [
        Hit(place, line, rule.name, found[0].strip(), rule.instead, text)
        for rule in RULES
        for found in rule.pattern.finditer(text)
    ]


def all_texts_by_line() -> Iterator[tuple[str, int, str]]:
    """Yield file, line and text of all texts of kctl (help and messages) and of all lines of the user's pages."""
    for place in all_texts():
        if place.startswith("kctl/"):
            for line, text in located_texts((ROOT / place).read_text(encoding="utf-8")):
                yield place, line, text
    for page in (ROOT / "README.md", ROOT / "CHANGELOG.md", *sorted((ROOT / "docs").glob("*.md"))):
        if page.name not in INSIDE:
            for line, text in enumerate(page.read_text(encoding="utf-8").splitlines(), 1):
                yield page.relative_to(ROOT).as_posix(), line, text


def all_hits() -> Iterator[Hit]:
    """Yield the odd constructions of all texts."""
    for place, line, text in all_texts_by_line():
        yield from hits_of(place, line, text)


def count_by_file(hits: Iterable[Hit]) -> Mapping[tuple[str, str], int]:
    """Return the number of odd constructions by file and rule."""
    return Counter((hit.place, hit.rule) for hit in hits)


def worse_hits(hits: Iterable[Hit], ceilings: Mapping[tuple[str, str], int]) -> list[Hit]:
    """Return the hits of each rule that a file breaks more often than its ceiling; 0 for a file without a row."""
    found = list(hits)
    worse = {key for key, count in count_by_file(found).items() if count > ceilings.get(key, 0)}
    return [hit for hit in found if (hit.place, hit.rule) in worse]


def read_ceilings() -> dict[tuple[str, str], int]:
    """Return the highest count of each file and rule."""
    rows = [line.split() for line in CEILINGS.read_text(encoding="utf-8").splitlines() if not line.startswith("#")]
    return {(place, rule): int(count) for place, rule, count in rows}


def write_lower_ceilings() -> None:
    """Lower the ceiling of each file and rule to its present count."""
    now, head = count_by_file(all_hits()), CEILINGS.read_text(encoding="utf-8").splitlines()[0]
    lowered = {key: min(most, now.get(key, 0)) for key, most in read_ceilings().items()}
    rows = [f"{place} {rule} {most}" for (place, rule), most in sorted(lowered.items()) if most]
    CEILINGS.write_text("\n".join([head, *rows]) + "\n", encoding="utf-8")


def words_of_pages() -> int:
    """Return the number of words of README and the user's pages."""
    return sum(
        len(text.split()) for place, _, text in all_texts_by_line() if place.endswith(".md") and place != "CHANGELOG.md"
    )


def rates() -> Iterator[str]:
    """Yield the constructions in 1,000 words of kctl's texts and of the user's pages."""
    words, found = Counter[bool](), Counter[bool]()
    for place, line, text in all_texts_by_line():
        is_page = place.endswith(".md")
        words[is_page] += len(text.split())
        found[is_page] += len(hits_of(place, line, text))
    for is_page, name in ((False, "help and messages"), (True, "pages")):
        rate = 1000 * found[is_page] / words[is_page]
        yield f"{name}: {found[is_page]} in {words[is_page]:,} words, {rate:.1f} in 1,000"


def main(arguments: list[str]) -> int:
    """List the constructions, lower the ceilings, or print the rates."""
    if "--lower" in arguments:
        write_lower_ceilings()
    elif "--rates" in arguments:
        print("\n".join(rates()))
    else:
        for hit in all_hits():
            if not arguments or hit.place in arguments:
                print(hit)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
