"""Users read plain words: no text or page has words that a stranger to kctl has to guess."""

import re
from collections.abc import Iterable
from functools import cache
from pathlib import Path

import pytest

from kctl.cli.exit_codes import ExitCode
from kctl.why.table import FINDINGS
from tools.manual.texts import all_texts

ROOT = Path(__file__).parents[3]
INSIDE = {"architecture.md", "design.md", "specification.md", "licences.md", "performance.md"}
"""Pages for those who change kctl."""
PAGES = [ROOT / "README.md", *(page for page in sorted((ROOT / "docs").glob("*.md")) if page.name not in INSIDE)]
MANUALS = sorted((ROOT / "man").iterdir())
HELPS = sorted((ROOT / "tests" / "cli" / "help").iterdir())

INSTEAD = {
    r"anew": "again, recreated",
    r"in vain": "without success",
    r"save for|but for": "except",
    r"its kin|of one's own": "related, custom",
    r"lets? us in": "accepts the connection",
    r"cannot be had": "unavailable",
    r"homeless": "awaiting metadata",
    r"farewell|goodbye|parting": "close, LeaveGroup",
    r"forgiv\w+": "clear failures",
    r"seams?|desks?|parcels?": "the name of the thing",
    r"with where \w+ secrets are": "with references to secrets",
}
"""Words and phrases, and what to write instead, in texts and pages."""
INSTEAD_IN_TEXTS = {
    r"told|tells?|telling|says?|saying|said": "report, return, print, log",
    r"given up|gives? up|giving up": "abandoned, failed, cancelled",
    r"whoever|whatever|what is there": "the caller, the client; the name of the thing",
    r"nobody": "no response; the actual subject",
    r"so (?:many|long|much)": "N, DURATION, SIZE; at most N",
    r"goes on|go on|went on": "continues",
    r"unanswered": "pending, in flight",
    r"ledger": "time breakdown",
    r"the peers?": "the broker, the server",
    r"in \{\} ms of \{\} ms": "times as people write them: 5s, 1.2s",
    r"passed while": "timed out after 5s while",
    r"at the end of (?:all|the partition)": "Reached the end of",
    r"is left out by --grep": "N records read, but none matched --grep or --jq",
    r"names no property|does nothing here|is gone from|nothing to say": "see the table of words",
    r"is no name for|are perhaps written": "is not a valid name, may be written",
}
"""More of them, in the strings of modules, helps and manuals; pages use some in other meanings."""
OTHER_TOOLS = "kctl/cli/other_tools.py"
"""A module of words of other tools and of former names."""


@cache
def _texts() -> list[tuple[str, str]]:
    """Return each text of users, each line of pages and helps, with its place."""
    texts = [(place, text) for place, texts in all_texts().items() if place != OTHER_TOOLS for text in texts]
    return [*texts, *_lines((*MANUALS, *HELPS))]


def _lines(paths: Iterable[Path]) -> list[tuple[str, str]]:
    return [
        (f"{path.relative_to(ROOT)}:{number}", line.replace("\\-", "-"))
        for path in paths
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1)
    ]


@pytest.mark.parametrize("words", [*INSTEAD, *INSTEAD_IN_TEXTS])
def test_texts_have_no_word_that_has_to_be_guessed(words: str) -> None:
    pattern = re.compile(rf"\b(?:{words})\b", re.IGNORECASE)
    pages = _lines(PAGES) if words in INSTEAD else []
    found = [f"{place}: {text.strip()}" for place, text in (*_texts(), *pages) if pattern.search(text)]
    assert not found, "\n".join([f"instead of {words}: {(INSTEAD | INSTEAD_IN_TEXTS)[words]}", *found])


BRITISH = re.compile(
    r"\b(?:\w*(?:author|organ|recogn|synchron|initial|serial|optim|normal|summar|minim|maxim|util|final)is(?:e|ed|es|ing"
    r"|ation)|(?:\w*colou|favou|honou|neighbou|behaviou)r\w*|(?:mis)?label(?:led|ling)|catalogue\w*|centre\w*|grey"
    r"|licence\w*|analyse\w*|defence\w*)\b",
    re.IGNORECASE,
)
"""British spellings; Kafka and Python write American English, with "cancelled"."""


def test_spelling_is_american() -> None:
    names = [("kctl explain", f"{name} ") for name in (*FINDINGS, *ExitCode.__members__)]
    found = [f"{place}: {text.strip()}" for place, text in (*_texts(), *_lines(PAGES), *names) if BRITISH.search(text)]
    assert not found, "\n".join(found)
    assert all(map(BRITISH.search, ("not authorised", "behaviour", "A colourless licence")))


def test_a_word_of_the_list_would_be_found() -> None:
    assert len(_texts()) > 3000
    assert re.search(rf"\b(?:{next(iter(INSTEAD_IN_TEXTS))})\b", "the counts are told", re.IGNORECASE)
