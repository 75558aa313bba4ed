"""The sources of kctl and its tests, read once, and the syntax trees of kctl, parsed and walked once."""

import ast
import gc
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[2]
FOLDERS = ("kctl", "tests", "tools", "benchmarks")


@cache
def sources() -> dict[Path, str]:
    """Return the contents of every module."""
    return {file: file.read_text() for folder in FOLDERS for file in sorted((ROOT / folder).rglob("*.py"))}


@cache
def nodes() -> dict[Path, tuple[ast.AST, ...]]:
    """Return the nodes of the tree of every module of kctl, in the order of `ast.walk`: the module is the first.

    The garbage collector leaves the trees out: a million objects would slow down every later collection.
    """
    was_enabled = gc.isenabled()
    gc.disable()
    package = ROOT / "kctl"
    found = {file: tuple(ast.walk(ast.parse(text))) for file, text in sources().items() if package in file.parents}
    gc.freeze()
    if was_enabled:
        gc.enable()
    return found


def sources_of(folder: str) -> dict[Path, str]:
    """Return the contents of the modules in a folder."""
    return {file: text for file, text in sources().items() if ROOT / folder in file.parents}
