"""The isolation level of a job: decided in one module, committed for copies, and as asked for sources."""

import ast
from collections.abc import Iterable, Iterator

import pytest

from kctl.pipeline import isolation
from tests.unit.source_trees import ROOT, nodes

COMMITTED, UNCOMMITTED = "read_committed", "read_uncommitted"
LEVELS = {COMMITTED, UNCOMMITTED, "isolation.level"}
ASKS_ENDS = {"list_offsets", "end_offsets"}
PIPELINE = ROOT / "kctl" / "pipeline"


@pytest.mark.parametrize(
    ("given", "as_given", "source", "target"),
    [
        ({}, None, COMMITTED, COMMITTED),
        ({"isolation.level": COMMITTED}, COMMITTED, COMMITTED, COMMITTED),
        ({"isolation.level": UNCOMMITTED}, UNCOMMITTED, UNCOMMITTED, COMMITTED),
    ],
)
def test_sources_are_read_as_asked_and_targets_committed(
    given: dict[str, object], as_given: str | None, source: str, target: str
) -> None:
    assert isolation.as_given(given).get("isolation.level") == as_given
    assert isolation.of_source(given)["isolation.level"] == source
    assert isolation.of_target(given)["isolation.level"] == target


def decided_elsewhere(module: Iterable[ast.AST]) -> Iterator[str]:
    """Yield the expressions that name a level, or ask for an end by one."""
    for node in module:
        if isinstance(node, ast.Constant) and node.value in LEVELS:
            yield str(node.value)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in ASKS_ENDS:
            text = ast.unparse(node)
            if "LATEST" in text or node.func.attr == "end_offsets":
                yield text


def test_only_one_module_of_the_pipeline_decides_by_which_level_ends_and_records_are_read() -> None:
    found = {
        str(file.relative_to(PIPELINE)): list(decided_elsewhere(module))
        for file, module in nodes().items()
        if PIPELINE in file.parents
    }
    assert found.pop("isolation.py")
    assert {file: texts for file, texts in found.items() if texts} == {}


@pytest.mark.parametrize(
    "source",
    [
        'reading = {**properties, "isolation.level": level}',
        'admin.list_offsets(asked, isolation_level="read_committed")',
        "admin.list_offsets(dict.fromkeys(asked, LATEST))",
        "consumer.end_offsets([tp])",
    ],
)
def test_a_level_that_is_decided_elsewhere_is_found(source: str) -> None:
    assert list(decided_elsewhere(ast.walk(ast.parse(source))))
