"""Bounded files that a command reads whole, such as plans, offsets and declarations."""

from io import BufferedIOBase
from pathlib import Path
from typing import TypeGuard

from kctl.cli.exit_codes import ExitCode
from kctl.cli.failures import CommandError, file_error
from kctl.client.config import read_input
from kctl.client.topic_names import LONGEST_TOPIC_NAME

STDIN = Path("-")
LONGEST_SHOWN = 80
"""Maximum characters of an invalid field in an error."""


def read_document(path: Path, largest_bytes: int, stdin: BufferedIOBase | None = None) -> bytes:
    """Return the content of a file or pipe. If `stdin` is given and the path is `-`, read stdin.

    Raises: CommandError: the content cannot be read, is larger than `largest_bytes`, or is empty.
    """
    source = stdin if path == STDIN else None
    name = str(path) if source is None else "stdin"
    try:
        content = read_input(path, largest_bytes + 1)[0] if source is None else source.read(largest_bytes + 1)
    except OSError as e:
        raise file_error(f"cannot read {name}", e) from None
    if len(content) > largest_bytes:
        raise document_error(name, f"the file is larger than {largest_bytes} bytes")
    if not content.strip():
        raise document_error(name, "the file is empty")
    return content


def document_error(place: str, problem: str) -> CommandError:
    return CommandError(ExitCode.USAGE, f"{place}: {problem}")


def shown(value: object) -> str:
    return repr(value)[:LONGEST_SHOWN]


def is_number(value: object, largest: int) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= largest


def is_topic(field: object) -> TypeGuard[str]:
    """Return whether a field can be a topic name: printable and at most LONGEST_TOPIC_NAME long."""
    return isinstance(field, str) and 0 < len(field) <= LONGEST_TOPIC_NAME and field.isprintable()
