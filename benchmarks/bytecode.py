"""Processes that are measured start from bytecode, as those of an installed package do: pip writes it.

With PYTHONDONTWRITEBYTECODE, which some machines set, an editable install has none, and each process compiles every
module that it imports: more than the start itself takes.
"""

import os
from typing import Final

_OFF: Final = "PYTHONDONTWRITEBYTECODE"


def with_bytecode() -> dict[str, str]:
    """Return the environment of a process that writes and uses bytecode."""
    return {name: value for name, value in os.environ.items() if name != _OFF}


def use_bytecode() -> None:
    """Let the processes that this one starts write and use bytecode."""
    os.environ.pop(_OFF, None)
