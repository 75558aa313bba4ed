"""Every text that a user can see, in one file: what `tests/unit/cli/test_texts.py` reads for words that confuse.

The texts are the strings of kctl's modules that have words in them, headings of tables, the helps of all commands, and
the docstrings that `kctl explain` prints. Docstrings of code are not for users, nor are names and formats.
"""

import ast
import re
from pathlib import Path

from kctl.cli.command_tree import read_tree
from kctl.cli.explanations.lookup import ERROR_CLASSES

ROOT = Path(__file__).parents[2]
FOLDERS = ("kctl", "tools/manual")
HEADING = "# Every text that users see, by where it stands. Written by tools/write_manuals.py; edit the modules."
_PROSE = re.compile(r"[A-Za-z]{2}\S*\s+\S*[A-Za-z{]|[a-z{}]\s+\S*[A-Za-z]{2}")
_TABLE_HEAD = re.compile(r"[A-Z]{2,}(?:[ -][A-Z]+)*")
_SCRIPT_LINES = 8
"""A text of more lines is a script or a style sheet: completions are kept as files of their own."""


def all_texts() -> str:
    """Return the file: a heading for each module or command, then its texts, one a line."""
    lines = [HEADING]
    for folder in FOLDERS:
        for path in sorted((ROOT / folder).rglob("*.py")):
            lines += _section(path.relative_to(ROOT).as_posix(), texts_of(path.read_text(encoding="utf-8")))
    for command in read_tree().walk():
        lines += _section(" ".join(command.path), [command.summary, *command.text])
    for name, kind in ERROR_CLASSES.items():
        summary = (kind.__doc__ or "").strip().partition("\n\n")[0]
        lines += _section(f"kctl explain {name}", [" ".join(summary.split())])
    return "\n".join(lines) + "\n"


def texts_of(source: str) -> list[str]:
    """Return the texts of a module in their order, each once; what a format string puts in becomes {}."""
    skipped: set[ast.AST] = set()
    found: list[tuple[int, int, str]] = []
    for node in ast.walk(ast.parse(source)):  # what a node skips is below it, and comes after it
        if isinstance(node, ast.Expr):
            skipped.add(node.value)  # a docstring, if it is a constant
        elif isinstance(node, ast.JoinedStr):
            skipped.update(node.values)
        if isinstance(node, ast.Constant | ast.JoinedStr) and node not in skipped:
            text = _text(node)
            if text.count("\n") <= _SCRIPT_LINES and (_PROSE.search(text) or _TABLE_HEAD.fullmatch(text)):
                found.append((node.lineno, node.col_offset, text))
    return list(dict.fromkeys(text for _, _, text in sorted(found)))


def _text(node: ast.Constant | ast.JoinedStr) -> str:
    if isinstance(node, ast.JoinedStr):
        return "".join(str(each.value) if isinstance(each, ast.Constant) else "{}" for each in node.values)
    return node.value if isinstance(node.value, str) else ""


def _section(name: str, texts: list[str]) -> list[str]:
    return ["", f"## {name}", *(text.replace("\\", "\\\\").replace("\n", "\\n") for text in texts)] if texts else []
