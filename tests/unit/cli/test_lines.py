"""Lines: where they end, how long they may be, and from where they come."""

import io
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kctl.cli.exit_codes import ExitCode
from kctl.cli.failures import CommandError
from kctl.cli.lines import READ_BYTES, Line, read_files, read_lines


class Pieces:
    """A stream that gives one piece after the other, as a pipe does."""

    def __init__(self, pieces: Sequence[bytes]) -> None:
        self.pieces = list(pieces)

    def read1(self, size: int, /) -> bytes:
        return self.pieces.pop(0) if self.pieces else b""


def _contents(*pieces: bytes, longest_bytes: int = 100) -> list[bytes]:
    return [line.content for line in read_lines(Pieces(pieces), "x", longest_bytes)]


@pytest.mark.parametrize(
    ("pieces", "expected"),
    [
        ([], []),
        ([b"a\n"], [b"a"]),
        ([b"a"], [b"a"]),
        ([b"a\nb\n"], [b"a", b"b"]),
        ([b"a\nb"], [b"a", b"b"]),
        ([b"a", b"b", b"\nc\n"], [b"ab", b"c"]),
        ([b"\n\n"], [b"", b""]),
        ([b"a\r\n"], [b"a\r"]),
        ([b"\0\xff\n"], [b"\0\xff"]),
    ],
)
def test_lines(pieces: list[bytes], expected: list[bytes]) -> None:
    assert _contents(*pieces) == expected


@given(st.lists(st.binary(max_size=10).map(lambda b: b.replace(b"a", b"\n")).filter(bool), max_size=8))
def test_pieces_do_not_matter(pieces: list[bytes]) -> None:
    whole = b"".join(pieces)
    assert _contents(*pieces) == whole.split(b"\n")[: None if whole and not whole.endswith(b"\n") else -1]


def test_places() -> None:
    assert [line.place for line in read_lines(Pieces([b"a\nb\n"]), "stdin", 9)] == ["stdin line 1", "stdin line 2"]


def test_a_line_without_end_is_refused() -> None:
    with pytest.raises(CommandError, match="x line 2 is longer than 10 bytes") as e:
        _contents(b"a\n", b"b" * 6, b"b" * 6, longest_bytes=10)
    assert e.value.code is ExitCode.DATA
    assert _contents(b"b" * 6, b"b" * 4, b"\n", longest_bytes=10) == [b"b" * 10]


def test_files_in_order_and_stdin_where_named(tmp_path: Path) -> None:
    first, second = tmp_path / "1", tmp_path / "2"
    first.write_bytes(b"a\nb")
    second.write_bytes(b"c" * (READ_BYTES + 1) + b"\n")
    lines = list(read_files([str(first), "-", str(second)], io.BytesIO(b"in\n"), READ_BYTES * 2))
    assert lines == [
        Line(b"a", str(first), 1),
        Line(b"b", str(first), 2),
        Line(b"in", "stdin", 1),
        Line(b"c" * (READ_BYTES + 1), str(second), 1),
    ]
    assert [line.content for line in read_files([], io.BytesIO(b"in"), 10)] == [b"in"]


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(CommandError, match="No such file") as e:
        list(read_files([str(tmp_path / "none")], io.BytesIO(), 10))
    assert e.value.code is ExitCode.USAGE
