"""Pages of the site for the public modules of the library, from their docstrings; and the list of public names."""

import re
from importlib import import_module
from inspect import cleandoc, isclass, isfunction, signature
from types import FunctionType
from typing import Any

PUBLIC_MODULES = (
    "kctl.client",
    "kctl.client.admin",
    "kctl.client.aio",
    "kctl.client.config",
    "kctl.client.consumer",
    "kctl.client.events",
    "kctl.client.otel",
    "kctl.client.probe",
    "kctl.client.producer",
    "kctl.client.records",
    "kctl.serdes",
    "kctl.serdes.aio",
    "kctl.testing",
)
"""Public modules with a list of names. `kctl.client.errors` has a class for each error code instead."""

_MODULE = re.compile(r"\b(?:\w+\.)+(?=[A-Z_])")
"""The module before the name of a class."""


def public_names(module: str) -> list[str]:
    """Return the public names of a module: its `__all__`, or its own classes."""
    home = import_module("kctl.client.admin.admin" if module == "kctl.client.admin" else module)
    own = [name for name, found in vars(home).items() if isclass(found) and found.__module__ == module]
    return sorted(getattr(home, "__all__", own))


def api_page(module: str) -> str:
    """Return the page of a module."""
    home = import_module(module)
    lines = [f"# {module}", *_text(home.__doc__)]
    for name in public_names(module):
        lines += _entry(name, getattr(home, name))
    return "\n".join(lines) + "\n"


def _entry(name: str, found: Any) -> list[str]:
    """Return the lines of a class or function; nothing for constants and types, which have no docstring."""
    if not isclass(found) and not isfunction(found):
        return []
    lines = ["", f"## {name}", *_text(found.__doc__)]
    for member, value in _members(found):
        lines += ["", f"### {name}.{member}", "```python", f"{member}{_signature(value)}", "```", *_text(value.__doc__)]
    return lines


def _members(found: Any) -> list[tuple[str, Any]]:
    """Return the public methods of a class and its bases that have a docstring, in their order."""
    if not isclass(found):
        return []
    members: dict[str, Any] = {}
    for each in reversed(found.__mro__):
        if each.__module__.startswith("kctl."):
            members.update(vars(each))
    return [
        (name, value)
        for name, value in members.items()
        if isinstance(value, FunctionType) and not name.startswith("_") and value.__doc__
    ]


def _signature(value: FunctionType) -> str:
    return _MODULE.sub("", str(signature(value)).replace("'", ""))


def _text(text: str | None) -> list[str]:
    """Return a docstring as it is: its lists are laid out by indentation."""
    return ["", "```text", cleandoc(text), "```"] if text else []


API_PAGES = {f"api-{module.removeprefix('kctl.').replace('.', '-')}.md": module for module in PUBLIC_MODULES}
"""The module of each page."""
