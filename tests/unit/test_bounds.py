"""Bounds on waits in tests: each is made by `bound`, so that KCTL_SLOW lengthens all of them."""

import ast
import re
from collections.abc import Iterator

import pytest

import tests.support.bounds
from tests.support.bounds import bound
from tests.unit.source_trees import ROOT, sources_of

CONSTANT = re.compile(
    r"(BOUND|PATIENCE|MINUTES|WITHIN|(START|RUN|STOP|MAKE|WRITE|FETCH|COMPILE|TOPIC|MOVE)_TIMEOUT)_(S|MS)$"
)
WRITTEN = re.compile(r"timeout|wait\w*\(|\bjoin\(|_(S|MS)\b")
"""In every module with a bound."""
WAITS = {"run", "check_output", "check_call", "communicate", "urlopen", "create_connection", "wait", "join", "get"}
ALONE = "tests/support/kafka/watcher.py"
"""A program that imports nothing of the project."""
SHORTEST_S = 5
"""Shorter waits are the interval between two checks of a condition."""


def literal_bounds(source: str) -> list[int]:
    """Return the lines of bounds that are plain numbers.

    A wait that has to time out, inside `pytest.raises(TimeoutExpired)`, is not a bound.
    """
    if WRITTEN.search(source) is None:  # faster than parsing
        return []
    tree = ast.parse(source)
    timed_out = [node for node in ast.walk(tree) if isinstance(node, ast.With) and _expects_timeout(node)]
    excluded = {call for block in timed_out for call in ast.walk(block)}
    found = (line for node in ast.walk(tree) if node not in excluded for line in _lines_of(node))
    return sorted(set(found))


def _expects_timeout(block: ast.With) -> bool:
    return any("TimeoutExpired" in ast.unparse(item.context_expr) for item in block.items)


def _lines_of(node: ast.AST) -> Iterator[int]:
    match node:
        case (
            ast.Assign(targets=[ast.Name(id=name)], value=value) | ast.AnnAssign(target=ast.Name(id=name), value=value)
        ):
            if CONSTANT.search(name) and value is not None and _number(value):
                yield node.lineno
        case ast.Call(func=ast.Attribute(attr=name) | ast.Name(id=name)):
            values = [keyword.value for keyword in node.keywords if keyword.arg == "timeout"] if name in WAITS else []
            values += node.args[:1] if name in ("wait", "join") else node.args[1:2] if name == "wait_until" else []
            if "Event()" not in ast.unparse(node.func) and any(_number(value) >= SHORTEST_S for value in values):
                yield node.lineno


def _number(node: ast.AST) -> float:
    """Return the value of a number; 0 for other expressions."""
    is_number = isinstance(node, ast.Constant) and isinstance(node.value, int | float)
    return float(node.value) if is_number else 0  # type: ignore[attr-defined]  # checked in the line above


def test_bounds_are_made_by_bound() -> None:
    files = {file: text for file, text in sources_of("tests").items() if ROOT / "tests" / "sim" not in file.parents}
    found = {str(file.relative_to(ROOT)): literal_bounds(text) for file, text in files.items()}
    assert {path for path, lines in found.items() if lines} == {ALONE}, found


@pytest.mark.parametrize(
    ("line", "is_found"),
    [
        ("PATIENCE_MS = 30_000", True),
        ("PATIENCE_MS = bound(30_000)", False),
        ("BUILT_WITHIN_S: Final = 600", True),
        ("QUIET_S = 2", False),
        ("process.wait(30)", True),
        ("process.wait(bound(30))", False),
        ("thread.join(timeout=20)", True),
        ("subprocess.run(['true'], timeout=60)", True),
        ("producer.close(timeout=30)", False),
        ("wait_until(is_done, 10_000, 'the end')", True),
        ("with pytest.raises(subprocess.TimeoutExpired): process.wait(30)", False),
        ("stopped.wait(0.05)", False),
    ],
)
def test_a_literal_bound_is_found(line: str, *, is_found: bool) -> None:
    assert literal_bounds(line) == [1] * is_found


@pytest.mark.parametrize(("most", "longer"), [(30, 75), (0.5, 1.25), (1, 2)])
def test_bound_is_multiplied_by_kctl_slow(most: float, longer: float, monkeypatch: pytest.MonkeyPatch) -> None:
    assert bound(most) == most * tests.support.bounds._SLOW
    monkeypatch.setattr(tests.support.bounds, "_SLOW", 2.5)
    assert bound(most) == longer
    assert type(bound(most)) is type(most)
