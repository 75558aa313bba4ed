"""Errors of a command line, by typer's public names: the click inside typer has none that others may import.

Shown by tests/unit/cli/test_failures.py.
"""

from typing import Any

from typer import BadParameter as BadParameter


class UsageError(BadParameter):
    """A mistake in the command line that is not about one value of one option."""

    def format_message(self) -> str:
        return str(self.message)


class HelpWanted(UsageError):
    """A group of commands without a command: its help is the message."""


PARSER_ERRORS: type[Any] = BadParameter.__mro__[1]
"""The class of every mistake in a command line that the parser of typer finds."""
