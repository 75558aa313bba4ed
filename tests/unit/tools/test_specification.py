"""docs/specification.md: every file, symbol and test that it names exists, and every verdict is one of three."""

import ast
import re
from functools import cache
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


@cache
def names_of(path: Path) -> frozenset[str]:
    """Return the names that a module defines, `Class.member` for what a class defines or sets on self."""
    found: set[str] = set()

    def collect(body: list[ast.stmt], prefix: str) -> None:
        for each in body:
            if isinstance(each, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
                found.add(prefix + each.name)
                if isinstance(each, ast.ClassDef):
                    collect(each.body, f"{prefix}{each.name}.")
            elif isinstance(each, ast.Assign | ast.AnnAssign):
                targets = each.targets if isinstance(each, ast.Assign) else [each.target]
                found.update(prefix + target.id for target in targets if isinstance(target, ast.Name))

    collect(ast.parse(path.read_text()).body, "")
    return frozenset(found)


def missing(reference: str) -> str:
    """Return what is wrong with a reference; empty where it leads somewhere."""
    file, _, name = reference.partition("::")
    path = ROOT / file
    if not path.is_file():
        return f"no file {file}"
    return f"no {name} in {file}" if name and name not in names_of(path) else ""


@pytest.mark.parametrize("row", rows(), ids=lambda row: row.number)
def test_row_names_files_symbols_and_tests_that_exist(row: SpecRow) -> None:
    references = REFERENCE.findall(f"{row.code} {row.test} {row.remark}")
    assert [problem for problem in map(missing, references) if problem] == []
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


@pytest.mark.parametrize(
    ("reference", "problem"),
    [
        ("kctl/client/clock.py::Timer.until", ""),
        ("kctl/client/clock.py::Timer.never", "no Timer.never in kctl/client/clock.py"),
        ("kctl/client/no_clock.py", "no file kctl/client/no_clock.py"),
    ],
)
def test_wrong_reference_is_found(reference: str, problem: str) -> None:
    assert missing(reference) == problem
