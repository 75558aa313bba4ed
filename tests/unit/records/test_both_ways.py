"""The compiled modules are there, fresh and loaded, unless KCTL_PURE=1 asks for the sources.

The tests of this folder and of tests/fuzz/records run twice, with and without KCTL_PURE=1 (see the Makefile).
"""

import ast
import os
import shutil
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

from kctl.client.records import _hot, is_compiled

SOURCES = Path(__file__).parents[3] / "kctl" / "client" / "records" / "_hot"
REBUILD = "build it with: pip install -e '.[dev]'"
PURE = os.environ.get("KCTL_PURE") == "1"


def extensions() -> list[Path]:
    return [path for path in SOURCES.iterdir() if path.suffix in (".so", ".pyd")]


def loaded_from(**environment: str) -> str:
    """What a fresh interpreter says it runs."""
    names = {name: value for name, value in os.environ.items() if name != "KCTL_PURE"}
    code = "from kctl.client.records import is_compiled; print(is_compiled())"
    done = subprocess.run(
        [sys.executable, "-c", code], env=names | environment, check=True, stdout=subprocess.PIPE, text=True
    )
    return done.stdout.strip()


def test_these_tests_run_the_implementation_they_are_meant_to() -> None:
    if PURE:
        assert not is_compiled()
        return
    if shutil.which("gcc") is None and shutil.which("cc") is None and shutil.which("clang") is None:
        pytest.skip("no C compiler here: the sources run, and were tested")
    assert is_compiled(), f"a compiler is there, but the hot modules run as Python: {REBUILD}"


def test_all_hot_modules_are_of_one_kind() -> None:
    files = [import_module(f"kctl.client.records._hot.{name}").__file__ or "" for name in _hot.MODULES]
    assert {file.endswith(".py") for file in files} == {not is_compiled()}


def test_the_extension_is_not_older_than_its_sources() -> None:
    built = extensions()
    if not built:
        pytest.skip("the extension is not built")
    sources = [*(SOURCES / f"{name}.py" for name in _hot.MODULES), *SOURCES.glob("*.c")]
    newest = max(path.stat().st_mtime for path in sources)
    assert min(path.stat().st_mtime for path in built) >= newest, f"the sources were changed since: {REBUILD}"


def test_the_environment_chooses() -> None:
    assert loaded_from(KCTL_PURE="1") == "False"
    if extensions():
        assert loaded_from() == "True"


def test_setup_builds_what_the_package_loads() -> None:
    setup = ast.parse((SOURCES.parents[3] / "setup.py").read_text())
    listed = {
        name.id: ast.literal_eval(statement.value)
        for statement in setup.body
        if isinstance(statement, ast.Assign)
        for name in statement.targets
        if isinstance(name, ast.Name) and isinstance(statement.value, ast.Tuple)
    }
    assert listed["MODULES"] == _hot.MODULES
    assert sorted(listed["IN_C"]) == sorted(path.stem for path in SOURCES.glob("*.c"))
