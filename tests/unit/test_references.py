"""Names in docstrings, comments and pages exist: files, symbols, members, make targets."""

import ast
import builtins
import keyword
import re
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from itertools import pairwise
from pathlib import Path

import pytest

from tests.unit.source_trees import ROOT, nodes, sources

PATH = re.compile(r"(?<![\w/.$~-])(?:kctl|tests|tools|benchmarks|docs)/[\w/*{},.-]*[\w*}]")
MODULE = re.compile(r"(?<![\w./*-])((?:[\w-]+/)*[a-z_]\w*\.py)\b(?!\.)")
SYMBOL = re.compile(r"(?<!`)`([A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*)(?:\(\))?`(?!`)")
REFERENCE = re.compile(r"`((?:kctl|tests)/[^`:\s]+\.py)::([\w.]+)`")
TARGET = re.compile(r"`make ([a-z-]+)`")
ELSEWHERE = frozenset({
    "LeastLoadedNodeProvider", "Long.MAX_VALUE", "NodeLatencyStats", "common.utils.Timer", "commitSync",
    "incrementThrottleTime", "lruConnectedConnections", "lruConnectingConnections", "nextNodeIdx",
    "updateLastSeenEpochIfNewer", "updatePartitionLoadStats", "AIOKafkaProducer", "Matcher.matches",
    "kctl.testing", "redpanda.yaml", "POS", "PT30M", "PT1H30M", "UPDATE", "VACUUM",
    "_commit_timestamp_seconds", "expire_snapshots", "remove_orphan_files", "rewrite_data_files",
})  # fmt: skip
"""Names of other clients and tools, values of options, and a name that a decision rejects."""


def _strings(module: Iterable[ast.AST]) -> Iterator[str]:
    """Return the docstrings of a module, those of its attributes included."""
    for node in module:
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            yield node.value.value


@cache
def code_texts() -> tuple[tuple[Path, str], ...]:
    """Return the docstrings and comments of kctl, and the first docstrings of its tests, tools and benchmarks."""
    found = []
    for file, text in sources().items():
        if file in nodes():
            found.append((file, "\n\n".join(_strings(nodes()[file]))))
            found.append((file, "\n".join(re.findall(r"(?m)(?:^|\s)# (.*)$", text))))
        elif text.startswith('"""'):
            found.append((file, text[3:].partition('"""')[0]))
    return tuple(found)


def pages() -> Iterator[tuple[Path, str]]:
    for page in (*sorted(ROOT.glob("docs/**/*.md")), ROOT / "README.md", ROOT / "CONTRIBUTING.md"):
        if page.name != "0015-one-vocabulary.md":  # lists names that are gone
            yield page, page.read_text()


@cache
def words() -> frozenset[str]:
    """Return every word of the code, docstrings and comments left out, with the names of modules and of Python."""
    found = {*dir(builtins), *keyword.kwlist, *ELSEWHERE}
    for file, text in sources().items():
        if file == Path(__file__):
            continue
        found.update(file.relative_to(ROOT).with_suffix("").parts)
        found.update(re.findall(r"[A-Za-z_]\w*", re.sub(r'"""[\s\S]*?"""|(?m:(^|\s)# .*$)', "", text)))
    return frozenset(found)


@cache
def members() -> dict[str, set[str]]:
    """Return what each class of kctl defines or sets, with the names of its bases under ""."""
    found: dict[str, set[str]] = {}
    for module in nodes().values():
        for each in module:
            if isinstance(each, ast.ClassDef):
                names = found.setdefault(each.name, set())
                names.update(f"<{ast.unparse(base).partition('[')[0]}" for base in each.bases)
                for part in ast.walk(each):
                    if isinstance(part, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                        names.add(part.name)
                    elif isinstance(part, ast.Name | ast.Attribute) and isinstance(part.ctx, ast.Store):
                        names.add(part.id if isinstance(part, ast.Name) else part.attr)
    return found


def _has(owner: str, name: str) -> bool:
    names = members()[owner]
    bases = [each[1:].rpartition(".")[2] for each in names if each.startswith("<")]
    return name in names or any(base not in members() or _has(base, name) for base in bases if base != owner)


def alternatives(name: str) -> list[str]:
    """Return the names that one with braces stands for: `test_{a,b}.py` is two."""
    found = re.search(r"\{([^}]*)\}", name)
    if found is None:
        return [name]
    return [each for part in found[1].split(",") for each in alternatives(name.replace(found[0], part, 1))]


@cache
def exists(name: str) -> bool:
    """Return whether a file, a folder or a pattern of files exists; a decision is named by its number alone."""
    is_number = re.fullmatch(r"docs/decisions/\d{4}", name) is not None
    if not is_number and not set(name) & set("*?["):
        return (ROOT / name).exists()
    return any(ROOT.glob(f"{name}-*" if is_number else name.rstrip("/")))


@cache
def file_names() -> frozenset[str]:
    """Return every way to name a module: its path, and each end of it."""
    paths = [file.relative_to(ROOT).parts for file in sources()]
    return frozenset({"setup.py", *("/".join(parts[start:]) for parts in paths for start in range(len(parts)))})


def missing_paths(text: str) -> list[str]:
    named = [name for given in PATH.findall(text) for name in alternatives(given)]
    return [name for name in named if name not in ELSEWHERE and not exists(name)]


def missing_modules(text: str) -> list[str]:
    """A name without a folder may stand for a file in any folder."""
    return [name for name in MODULE.findall(text) if name not in file_names()]


def missing_symbols(text: str) -> list[str]:
    missing = []
    for symbol in SYMBOL.findall(text):
        parts = symbol.split(".")
        is_there = all(part in words() for part in parts) and all(
            _has(owner, name) for owner, name in pairwise(parts) if owner in members()
        )
        if not is_there and symbol not in ELSEWHERE and not (ROOT / symbol).exists():
            missing.append(symbol)
    return missing


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


def missing_references(text: str) -> list[str]:
    """Check `file.py::Class.member`, as the index of architecture.md and specification.md write it."""
    return [
        f"{file}::{name}"
        for file, name in REFERENCE.findall(text)
        if not (ROOT / file).is_file() or name not in names_of(ROOT / file)
    ]


def missing_targets(text: str) -> list[str]:
    return [target for target in TARGET.findall(text) if target not in targets()]


@cache
def targets() -> frozenset[str]:
    return frozenset(re.findall(r"(?m)^([a-z-]+):", (ROOT / "Makefile").read_text()))


CHECKS = [missing_paths, missing_modules, missing_references, missing_symbols, missing_targets]


@pytest.mark.parametrize("check", CHECKS)
def test_names_in_docstrings_and_comments_exist(check: Callable[[str], list[str]]) -> None:
    stale = {f"{file.relative_to(ROOT)}: {name}" for file, text in code_texts() for name in check(text)}
    assert not stale, "\n".join(["do not exist:", *sorted(stale)])


@pytest.mark.parametrize("check", CHECKS)
def test_names_in_pages_exist(check: Callable[[str], list[str]]) -> None:
    stale = {f"{file.relative_to(ROOT)}: {name}" for file, text in pages() for name in check(text)}
    assert not stale, "\n".join(["do not exist:", *sorted(stale)])


@pytest.mark.parametrize(
    ("check", "text", "stale"),
    [
        (missing_paths, "See kctl/client/nowhere/ and docs/design.md.", ["kctl/client/nowhere"]),
        (missing_paths, "See tests/unit/test_{clock,gone}.py.", ["tests/unit/test_gone.py"]),
        (missing_modules, "What gone.py did, clock.py does.", ["gone.py"]),
        (missing_symbols, "`Timer.sub` exists, `Timer.gone()` does not.", ["Timer.gone"]),
        (missing_symbols, "A `GoneLoop` runs it.", ["GoneLoop"]),
        (missing_references, "`kctl/client/clock.py::Timer.until` decides.", []),
        (missing_references, "`kctl/client/clock.py::Timer.gone`", ["kctl/client/clock.py::Timer.gone"]),
        (missing_references, "`kctl/client/gone.py::Timer`", ["kctl/client/gone.py::Timer"]),
        (missing_targets, "Run `make gone` or `make check`.", ["gone"]),
    ],
)
def test_checks_find_a_stale_name(check: Callable[[str], list[str]], text: str, stale: list[str]) -> None:
    assert check(text) == stale


def test_architecture_answers_each_question_with_one_symbol() -> None:
    page = (ROOT / "docs" / "architecture.md").read_text()
    rows = re.findall(r"(?m)^\| [A-Z].*\? \| (.*) \|$", page)
    assert len(rows) >= 10
    assert all(REFERENCE.fullmatch(answer) for answer in rows)
