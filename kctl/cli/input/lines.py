"""Records between delimiters, lines above all: a value each, or a key, a separator and a value.

A line that never ends is refused, not gathered. Shown by tests/unit/cli/input/test_lines.py.
"""

from collections.abc import Iterator

from kctl.cli.exit_codes import ExitCode
from kctl.cli.failures import CommandError
from kctl.cli.input.form import LINE_FEED, InputRecord
from kctl.cli.input.input_bytes import READ_BYTES, Progress, Source, bad_input


def read_lines(
    source: Source,
    name: str,
    longest_bytes: int,
    delimiter: bytes = LINE_FEED,
    key_separator: bytes | None = None,
    progress: Progress | None = None,
) -> Iterator[InputRecord]:
    """Yield the records of one stream as they come; the last need not end with the delimiter.

    Args: key_separator: what stands between key and value; a line without it is a value.
    Raises: CommandError: a line of more than `longest_bytes`.
    """
    what = "line" if delimiter == LINE_FEED else "record"
    for number, offset, content in _split(source, name, what, longest_bytes, delimiter, progress or Progress()):
        place = f"{name} {what} {number} (byte {offset})"
        if key_separator is not None and key_separator in content:
            key, _, value = content.partition(key_separator)
            yield InputRecord(place, value, key)
        else:
            yield InputRecord(place, content)


def _split(
    source: Source, name: str, what: str, longest_bytes: int, delimiter: bytes, progress: Progress
) -> Iterator[tuple[int, int, bytes]]:
    """Yield number, offset and content."""
    number = offset = 0
    rest = bytearray()
    searched = 0
    while data := source.read1(READ_BYTES):
        progress.read_bytes += len(data)
        rest += data
        if rest.find(delimiter, searched) < 0:
            _check(rest, name, what, number + 1, offset, longest_bytes)
            searched = max(0, len(rest) - len(delimiter) + 1)
            continue
        *contents, last = bytes(rest).split(delimiter)
        for content in contents:
            number += 1
            _check(content, name, what, number, offset, longest_bytes)
            yield number, offset, content
            offset += len(content) + len(delimiter)
        rest = bytearray(last)
        searched = max(0, len(rest) - len(delimiter) + 1)
        _check(rest, name, what, number + 1, offset, longest_bytes)
    if rest:
        yield number + 1, offset, bytes(rest)


def _check(content: bytes | bytearray, name: str, what: str, number: int, offset: int, longest_bytes: int) -> None:
    if len(content) > longest_bytes:
        problem = f"{name} {what} {number} (byte {offset}) is longer than {longest_bytes} bytes (max.request.size)"
        raise CommandError(
            ExitCode.DATA,
            str(bad_input(problem, bytes(content[:100]), 0)),
            "raise it with -X max.request.size=BYTES",
        )
