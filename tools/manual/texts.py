"""Every text that a user can see: the tests of words and hints read them from here.

The texts are the strings of kctl's modules that have words in them, headings of tables, the helps of all commands, and
the docstrings that `kctl explain` prints. Other docstrings are not for users, nor are names and formats.
"""

import ast
import re
from functools import cache
from pathlib import Path

from kctl.cli.command_tree import read_tree
from kctl.cli.explanations.lookup import ERROR_CLASSES

ROOT = Path(__file__).parents[2]
FOLDERS = ("kctl", "tools/manual")
_PROSE = re.compile(r"[A-Za-z]{2}\S*\s+\S*[A-Za-z{]|[a-z{}]\s+\S*[A-Za-z]{2}")
_TABLE_HEAD = re.compile(r"[A-Z]{2,}(?:[ -][A-Z]+)*")
_SCRIPT_LINES = 8
"""A text of more lines is a script or a style sheet: completions are kept as files of their own."""


@cache
def all_texts() -> dict[str, list[str]]:
    """Return the texts of each module by its path, and of each command and error of `kctl explain` by its name."""
    texts = {
        path.relative_to(ROOT).as_posix(): texts_of(path.read_text(encoding="utf-8"))
        for folder in FOLDERS
        for path in sorted((ROOT / folder).rglob("*.py"))
    }
    texts |= {command.name: [command.summary, *command.text] for command in read_tree().walk()}
    for name, kind in ERROR_CLASSES.items():
        summary = (kind.__doc__ or "").strip().partition("\n\n")[0]
        texts[f"kctl explain {name}"] = [" ".join(summary.split())]
    return texts


def texts_of(source: str) -> list[str]:
    """Return the texts of a module in their order, each once."""
    return list(dict.fromkeys(text for _, text in located_texts(source)))


def located_texts(source: str) -> list[tuple[int, str]]:
    """Return line and text of all texts of a module in their order; a value in a format string becomes {}."""
    skipped: set[ast.AST] = set()
    found: list[tuple[int, int, str]] = []
    for node in ast.walk(ast.parse(source)):  # what a node skips is below it, and comes after it
        if isinstance(node, ast.FunctionDef) and any(_is_of_command(each) for each in node.decorator_list):
            help_text = ast.get_docstring(node) or ""
            found += [(node.lineno, number, part) for number, part in enumerate(_paragraphs(help_text))]
        elif isinstance(node, ast.Expr):
            skipped.add(node.value)  # a docstring, if it is a constant
        elif isinstance(node, ast.JoinedStr):
            skipped.update(node.values)
        if isinstance(node, ast.Constant | ast.JoinedStr) and node not in skipped:
            text = _text(node)
            if text.count("\n") <= _SCRIPT_LINES and (_PROSE.search(text) or _TABLE_HEAD.fullmatch(text)):
                found.append((node.lineno, node.col_offset, text))
    return [(line, text) for line, _, text in sorted(found)]


def _is_of_command(decorator: ast.expr) -> bool:
    """Return whether a decorator makes the docstring of its function the help of a command."""
    function = decorator.func if isinstance(decorator, ast.Call) else decorator
    return isinstance(function, ast.Attribute) and function.attr in ("command", "callback")


def _paragraphs(text: str) -> list[str]:
    return [" ".join(part.split()) for part in text.split("\n\n") if part.strip()]


def _text(node: ast.Constant | ast.JoinedStr) -> str:
    if isinstance(node, ast.JoinedStr):
        return "".join(str(each.value) if isinstance(each, ast.Constant) else "{}" for each in node.values)
    return node.value if isinstance(node.value, str) else ""
