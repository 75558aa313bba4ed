"""Lines of bytes from stdin and files, one after the other; a line that never ends is refused, not gathered.

Shown by tests/unit/cli/test_lines.py.
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple, Protocol

from kctl.cli.exit_codes import ExitCode
from kctl.cli.failures import CommandError

READ_BYTES = 64 * 1024
STDIN = "-"


class Source(Protocol):
    """A stream that gives what is there instead of waiting for more."""

    def read1(self, size: int, /) -> bytes: ...


class Line(NamedTuple):
    """A line without its line feed, and where it was: `orders.txt line 3`."""

    content: bytes
    source: str
    number: int

    @property
    def place(self) -> str:
        return f"{self.source} line {self.number}"


def read_files(names: Sequence[str], stdin: Source, longest_bytes: int) -> Iterator[Line]:
    """Yield the lines of the files in order; `-`, or no name at all, is stdin.

    Raises: CommandError: a file that cannot be read, or a line of more than `longest_bytes`.
    """
    for name in names or (STDIN,):
        if name == STDIN:
            yield from read_lines(stdin, "stdin", longest_bytes)
            continue
        try:
            with open(name, "rb") as file:
                yield from read_lines(file, name, longest_bytes)
        except OSError as e:
            raise CommandError(ExitCode.USAGE, f"cannot read {name}: {e.strerror or e}") from None


def read_lines(source: Source, name: str, longest_bytes: int) -> Iterator[Line]:
    """Yield the lines of one stream as they come; the last need not end with a line feed. Raises as `read_files`."""
    number = 0
    rest: list[bytes] = []
    rest_bytes = 0
    while data := source.read1(READ_BYTES):
        first, *others = data.split(b"\n")
        rest.append(first)
        rest_bytes += len(first)
        if rest_bytes > longest_bytes:
            raise CommandError(
                ExitCode.DATA,
                f"{name} line {number + 1} is longer than {longest_bytes} bytes (max.request.size)",
                "raise it with -X max.request.size=BYTES",
            )
        if others:
            for content in (b"".join(rest), *others[:-1]):
                number += 1
                yield Line(content, name, number)
            rest, rest_bytes = [others[-1]], len(others[-1])
    if rest_bytes:
        yield Line(b"".join(rest), name, number + 1)
