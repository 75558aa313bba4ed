"""Errors in a command line. typer has no public names for the errors of the click inside it."""

from collections.abc import Callable
from typing import Any, TypeVar

from typer import BadParameter as BadParameter

T = TypeVar("T")
R = TypeVar("R")


class UsageError(BadParameter):
    """A mistake in the command line that is not about one value of one option. Attributes: hint: how to write it."""

    hint = ""

    def format_message(self) -> str:
        return str(self.message)


class HelpWanted(UsageError):
    """A group of commands without a command: its help is the message."""


PARSER_ERRORS: type[Any] = BadParameter.__mro__[1]
"""Base class of all errors of typer's parser."""


def parsed(parse: Callable[[T], R], given: T, name: str) -> R:
    """Return `parse(given)`. A ValueError becomes a BadParameter of the option `name`."""
    try:
        return parse(given)
    except ValueError as e:
        raise BadParameter(str(e), param_hint=name) from None


def one_of(flag: str, word: str, known: tuple[str, ...]) -> None:
    if word not in known:
        raise BadParameter(f"{word[:80]!r} is not one of {', '.join(known)}", param_hint=f"'{flag}'")
