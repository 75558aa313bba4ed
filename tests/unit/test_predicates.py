"""Functions of the client whose names are questions change nothing."""

import ast
from pathlib import Path

import pytest

from kctl import client

CLIENT = Path(client.__file__).parent
QUESTIONS = ("is_", "has_", "can_", "may_", "are_")
CHANGES = {
    "add",
    "append",
    "appendleft",
    "clear",
    "close",
    "discard",
    "extend",
    "insert",
    "move_to_end",
    "notify",
    "pop",
    "popitem",
    "popleft",
    "post",
    "release",
    "remove",
    "report",
    "request_update",
    "send",
    "setdefault",
    "start",
    "update",
    "wakeup",
}
"""Methods that change their object."""


def changes(source: str) -> list[str]:
    """Return what predicates of a module change, apart from their own variables."""
    found = []
    for function in ast.walk(ast.parse(source)):
        if not isinstance(function, ast.FunctionDef) or not function.name.lstrip("_").startswith(QUESTIONS):
            continue
        nodes = list(ast.walk(function))
        own = {node.id for node in nodes if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
        for node in nodes:
            is_changed = isinstance(node, ast.Attribute | ast.Subscript) and not isinstance(node.ctx, ast.Load)
            called = node.func if isinstance(node, ast.Call) else None
            if isinstance(called, ast.Attribute) and called.attr in CHANGES:
                is_changed = not (isinstance(called.value, ast.Name) and called.value.id in own)
            if is_changed:
                found.append(f"{function.name}: {ast.unparse(node)}")
    return found


@pytest.mark.parametrize(
    ("body", "is_found"),
    [
        ("return bool(self.events)", False),
        ("found = []; found.append(1); return found", False),
        ("return self.versions.supports(kind)", False),
        ("self.asked = True; return self.asked", True),
        ("self.count += 1; return self.count > 1", True),
        ("del self.events[0]; return True", True),
        ("self.metadata.request_update(); return False", True),
        ("return bool(self.events.pop())", True),
    ],
)
def test_predicate_with_a_side_effect_is_found(body: str, *, is_found: bool) -> None:
    assert bool(changes(f"def _is_due(self): {body}")) is is_found
    assert changes(f"def run(self): {body}") == []


def test_predicates_of_the_client_change_nothing() -> None:
    found = {str(path): changes(path.read_text("utf-8")) for path in sorted(CLIENT.rglob("*.py"))}
    assert {path: each for path, each in found.items() if each} == {}
