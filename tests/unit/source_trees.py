"""The sources of kctl and its tests, read once, and the trees of kctl, parsed once, for the tests that look through."""

import ast
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[2]
FOLDERS = ("kctl", "tests", "tools", "benchmarks")


@cache
def sources() -> dict[Path, str]:
    """Return the contents of every module."""
    return {file: file.read_text() for folder in FOLDERS for file in sorted((ROOT / folder).rglob("*.py"))}


@cache
def trees() -> dict[Path, ast.Module]:
    """Return the tree of every module of kctl."""
    return {file: ast.parse(text) for file, text in sources().items() if file.is_relative_to(ROOT / "kctl")}
