"""Every Python file that a docstring or a page names exists, above all the tests in "Shown by"."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]
TEST = re.compile(r"(?<![\w/.])tests/[\w/*{},.-]*[\w*}]")
MODULE = re.compile(r"(?<![\w./*-])((?:[\w-]+/)*[a-z_]\w*\.py)\b(?!\.)")


def docstrings() -> Iterator[tuple[Path, str]]:
    """Return every docstring of kctl, with its file."""
    for file in sorted(ROOT.glob("kctl/**/*.py")):
        for node in ast.walk(ast.parse(file.read_text())):
            if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef):
                yield file, ast.get_docstring(node) or ""


def pages() -> Iterator[tuple[Path, str]]:
    for page in (*sorted(ROOT.glob("docs/**/*.md")), ROOT / "README.md", ROOT / "CONTRIBUTING.md"):
        yield page, page.read_text()


def alternatives(name: str) -> list[str]:
    """Return the names that one with braces stands for: `test_{a,b}.py` is two."""
    found = re.search(r"\{([^}]*)\}", name)
    if found is None:
        return [name]
    return [each for part in found[1].split(",") for each in alternatives(name.replace(found[0], part, 1))]


def test_every_test_named_in_a_docstring_or_page_exists() -> None:
    missing = {
        f"{file.relative_to(ROOT)}: {name}"
        for file, text in (*docstrings(), *pages())
        for given in TEST.findall(text)
        for name in alternatives(given)
        if not any(ROOT.glob(name.rstrip("/")))
    }
    assert not missing, "\n".join(["names nothing:", *sorted(missing)])


def test_every_module_named_in_a_docstring_exists() -> None:
    """A name without a folder may stand for a file in any folder."""
    known = [path.relative_to(ROOT).as_posix() for path in ROOT.glob("**/*.py") if ".venv" not in path.parts]
    missing = {
        f"{file.relative_to(ROOT)}: {name}"
        for file, text in docstrings()
        for name in MODULE.findall(text)
        if not any(path == name or path.endswith(f"/{name}") for path in known)
    }
    assert not missing, "\n".join(["names nothing:", *sorted(missing)])
