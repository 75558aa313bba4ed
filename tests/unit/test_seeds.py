"""Tests draw the same values in each run: every source of randomness has a seed."""

import ast
import re

import pytest

from tests.unit.source_trees import ROOT, sources_of

UNSEEDED = ("os.urandom", "urandom", "secrets.token_bytes", "secrets.token_hex", "SystemRandom", "random.SystemRandom")
MODULE_FUNCTIONS = ("choice", "choices", "randint", "randrange", "random", "sample", "shuffle", "uniform", "randbytes")
SOURCES = re.compile(r"(?i)random|secrets")
"""In every module that imports a source of randomness."""


def unseeded_draws(source: str) -> list[int]:
    """Return the lines that draw from a source without a seed."""
    if SOURCES.search(source) is None:  # faster than parsing
        return []
    nodes = list(ast.walk(ast.parse(source)))
    imports = [alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names]
    drawn_from = [node for node in nodes if isinstance(node, ast.ImportFrom) and node.module == "random"]
    functions = {alias.name for node in drawn_from for alias in node.names} & set(MODULE_FUNCTIONS)
    calls = [node for node in nodes if isinstance(node, ast.Call)]
    found = [call for call in calls if _is_unseeded(call, is_module_imported="random" in imports)]
    return sorted({call.lineno for call in found + [each for each in calls if ast.unparse(each.func) in functions]})


def _is_unseeded(call: ast.Call, *, is_module_imported: bool) -> bool:
    name = ast.unparse(call.func)
    if name in ("Random", "random.Random"):
        return not call.args or ast.unparse(call.args[0]).startswith("time")
    module, _, function = name.rpartition(".")
    return name in UNSEEDED or (is_module_imported and module == "random" and function in MODULE_FUNCTIONS)


def test_randomness_has_a_seed() -> None:
    found = {str(file.relative_to(ROOT)): unseeded_draws(source) for file, source in sources_of("tests").items()}
    assert {path: lines for path, lines in found.items() if lines} == {}


@pytest.mark.parametrize(
    ("source", "is_found"),
    [
        ("Random()", True),
        ("Random(7)", False),
        ("random.Random(time.time())", True),
        ("os.urandom(16)", True),
        ("import random; random.choice([1, 2])", True),
        ("from random import choice; choice([1, 2])", True),
        ("random = Random(1); random.choice([1, 2])", False),
    ],
)
def test_draw_without_a_seed_is_found(source: str, *, is_found: bool) -> None:
    assert unseeded_draws(source) == [1] * is_found
