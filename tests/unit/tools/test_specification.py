"""docs/specification.md has a row for every sentence, with one of three verdicts, its code and its tests.

That the files, symbols and tests exist is checked for all pages by tests/unit/test_references.py.
"""

import re
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).parents[3]
PAGE = ROOT / "docs" / "specification.md"
VERDICTS = ("done", "partly", "deviates")
REFERENCE = re.compile(r"`((?:kctl|tests)/[^`]+)`")


class SpecRow(NamedTuple):
    """One sentence of a document."""

    number: str
    sentence: str
    verdict: str
    code: str
    test: str
    remark: str


def rows() -> list[SpecRow]:
    lines = [line for line in PAGE.read_text().splitlines() if re.match(r"\| [\w-]+-\d+ \|", line)]
    return [SpecRow(*(cell.strip() for cell in line.strip("|").split(" | "))) for line in lines]


@pytest.mark.parametrize("row", rows(), ids=lambda row: row.number)
def test_row_has_a_verdict_and_names_code_and_tests(row: SpecRow) -> None:
    assert row.verdict in VERDICTS
    assert row.code or row.test, "a sentence without code is shown by tests"
    assert row.remark or row.verdict == "done", "say what differs"
    assert all(each.startswith("tests/") for each in REFERENCE.findall(row.test))


def test_every_sentence_of_the_five_documents_has_a_row() -> None:
    numbers = [row.number for row in rows()]
    expected = [
        *(f"102-{n}" for n in range(1, 15)),
        *(f"601-{n}" for n in range(1, 21)),
        *(f"15-{n}" for n in range(1, 15)),
        *(f"266-{n}" for n in range(1, 43)),
        *(f"CT-{n}" for n in range(1, 16)),
    ]
    assert numbers == expected
