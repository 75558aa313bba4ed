"""Modules of the command line, and of the pipeline, import each other in one direction, functions included."""

import ast
from graphlib import CycleError, TopologicalSorter

import pytest

from tests.unit.source_trees import ROOT, nodes


def imports_of(package: str) -> dict[str, set[str]]:
    """Return the modules that each module of a package imports from the package, without imports for types alone."""
    trees = {name_of(file): found for file, found in nodes().items() if name_of(file).startswith(f"{package}.")}
    return {name: {each for each in imported(found) if each in trees} - {name} for name, found in trees.items()}


def name_of(file: object) -> str:
    """Return the name of the module in a file."""
    return str(file).removeprefix(f"{ROOT}/").removesuffix(".py").removesuffix("/__init__").replace("/", ".")


def imported(found: tuple[ast.AST, ...]) -> set[str]:
    """Return the names of all modules, and of all that is imported from them, which may be modules too."""
    guards = [node for node in found if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"]
    for_types = {id(each) for guard in guards for each in ast.walk(guard)}
    names = set()
    for node in found:
        if isinstance(node, ast.ImportFrom) and node.module and id(node) not in for_types:
            names |= {node.module, *(f"{node.module}.{each.name}" for each in node.names)}
        elif isinstance(node, ast.Import) and id(node) not in for_types:
            names |= {each.name for each in node.names}
    return names


@pytest.mark.parametrize("package", ["kctl.cli", "kctl.pipeline"])
def test_modules_import_each_other_in_one_direction(package: str) -> None:
    graph = imports_of(package)
    assert sum(map(len, graph.values())) > 300
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        pytest.fail(f"circle of imports: {' <- '.join(error.args[1])}")
