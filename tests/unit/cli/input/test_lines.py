"""Lines: where they end, how long they may be, and from where they come."""

import io
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import ClassVar

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kctl.cli.exit_codes import ExitCode
from kctl.cli.failures import CommandError
from kctl.cli.input.form import Block, Form, InputRecord
from kctl.cli.input.input_bytes import READ_BYTES, BytesRead
from kctl.cli.input.inputs import PIPE_BYTES, Inputs
from kctl.cli.input.lines import BLOCK_BYTES, LONG_BLOCK_BYTES, read_line_blocks, read_lines
from kctl.cli.produce.run import BATCH_BYTES
from kctl.client.records import BATCH_OVERHEAD_BYTES, Lines


class Pieces:
    """A stream that gives one piece after the other, as a pipe does."""

    def __init__(self, pieces: Sequence[bytes]) -> None:
        self.pieces = list(pieces)

    def read1(self, size: int, /) -> bytes:
        return self.pieces.pop(0) if self.pieces else b""


def _contents(*pieces: bytes, longest_bytes: int = 100, delimiter: bytes = b"\n") -> list[bytes | None]:
    return [line.value for line in read_lines(Pieces(pieces), "x", longest_bytes, delimiter)]


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


@given(
    st.lists(st.binary(max_size=10).map(lambda b: b.replace(b"a", b"\n")).filter(bool), max_size=8),
    st.sampled_from([b"\n", b"\n\n", b"\0\n", b"b\nb"]),
)
def test_pieces_do_not_matter(pieces: list[bytes], delimiter: bytes) -> None:
    pieces = [piece.replace(b"c", delimiter) for piece in pieces]
    whole = b"".join(pieces)
    expected = whole.split(delimiter)
    assert _contents(*pieces, delimiter=delimiter) == (expected if expected[-1] else expected[:-1])


def test_places_and_keys() -> None:
    lines = list(read_lines(Pieces([b"a=b=c\nno\n=\n"]), "stdin", 9, key_separator=b"="))
    assert lines == [
        InputRecord("stdin line 1 (byte 0)", b"b=c", b"a"),
        InputRecord("stdin line 2 (byte 6)", b"no"),
        InputRecord("stdin line 3 (byte 9)", b"", b""),
    ]


def test_a_line_without_end_is_refused() -> None:
    with pytest.raises(CommandError, match=r"x line 2 \(byte 2\) is longer than 10 bytes") as e:
        _contents(b"a\n", b"b" * 6, b"b" * 6, longest_bytes=10)
    assert e.value.code is ExitCode.DATA
    assert _contents(b"b" * 6, b"b" * 4, b"\n", longest_bytes=10) == [b"b" * 10]
    with pytest.raises(CommandError, match=r"line 2 \(byte 2\) is longer"):
        _contents(b"a\n" + b"b" * 11 + b"\nc", longest_bytes=10)


def _read(names: Sequence[str], stdin: bytes, form: Form | None = None, longest_bytes: int = 100) -> list[InputRecord]:
    return list(Inputs(names, io.BytesIO(stdin), form or Form(), longest_bytes).read())


def test_the_longest_line_may_be_cut_within_its_delimiter() -> None:
    assert _contents(b"x" * 100 + b"\r", b"\n", delimiter=b"\r\n") == [b"x" * 100]
    with pytest.raises(CommandError, match="longer than 100 bytes"):
        _contents(b"x" * 100 + b"\r", b"x", delimiter=b"\r\n")


def test_files_in_order_and_stdin_where_named(tmp_path: Path) -> None:
    first, second = tmp_path / "1", tmp_path / "2"
    first.write_bytes(b"a\nb")
    second.write_bytes(b"c" * (READ_BYTES + 1) + b"\n")
    inputs = Inputs([str(first), "-", str(second)], io.BytesIO(b"in\n"), Form(), READ_BYTES * 2)
    assert [(line.place, line.value) for line in inputs.read()] == [
        (f"{first} line 1 (byte 0)", b"a"),
        (f"{first} line 2 (byte 2)", b"b"),
        ("stdin line 1 (byte 0)", b"in"),
        (f"{second} line 1 (byte 0)", b"c" * (READ_BYTES + 1)),
    ]
    assert inputs.progress.read_bytes == 3 + 3 + READ_BYTES + 2
    assert inputs.total_bytes is None  # stdin is no file
    assert Inputs([str(first), str(second)], io.BytesIO(), Form(), 9).total_bytes == 3 + READ_BYTES + 2
    assert [line.value for line in _read([], b"in")] == [b"in"]


def test_a_file_is_a_record(tmp_path: Path) -> None:
    first = tmp_path / "1"
    first.write_bytes(b"a\nb\n")
    assert [record.value for record in _read([str(first), "-"], b"", Form(is_whole=True))] == [b"a\nb\n", b""]
    with pytest.raises(CommandError, match="longer than 3 bytes") as e:
        _read([str(first)], b"", Form(is_whole=True), longest_bytes=3)
    assert e.value.code is ExitCode.DATA


def test_a_file_that_is_not_there() -> None:
    with pytest.raises(CommandError, match="cannot read /no/such/file: No such file") as e:
        _read(["/no/such/file"], b"")
    assert e.value.code is ExitCode.USAGE


def test_progress_counts_a_line_when_the_next_is_asked_for_however_much_was_read_ahead() -> None:
    progress = BytesRead()
    lines = read_lines(Pieces([b"a\nbb\nc", b"c"]), "x", 10, progress=progress)
    assert [(next(lines).value, progress.read_bytes) for _ in range(3)] == [(b"a", 0), (b"bb", 2), (b"cc", 5)]
    assert next(lines, None) is None
    assert progress.read_bytes == 7


def test_a_given_key_is_that_of_records_without_their_own() -> None:
    form = Form(key_separator=b":", key=b"fixed")
    assert [(r.key, r.value) for r in _read([], b"a:1\n2\n", form)] == [(b"a", b"1"), (b"fixed", b"2")]


def _as_specified(whole: bytes, delimiter: bytes, separator: bytes | None) -> list[InputRecord]:
    """What the lines of an input are, cut one by one."""
    found: list[InputRecord] = []
    what = "line" if delimiter == b"\n" else "record"
    at = 0
    while at < len(whole):
        end = whole.find(delimiter, at)
        line = whole[at:] if end < 0 else whole[at:end]
        key, value = None, line
        if separator is not None and separator in line:
            key, _, value = line.partition(separator)
        found.append(InputRecord(f"x {what} {len(found) + 1} (byte {at})", value, key))
        at += len(line) + len(delimiter)
    return found


@given(
    st.lists(st.binary(max_size=12).map(lambda b: bytes(b"ab:\n\n-"[byte % 6] for byte in b)).filter(bool), max_size=8),
    st.sampled_from([b"\n", b"\n\n", b"-\n", b"a:a"]),
    st.sampled_from([None, b":", b"ab", b"::"]),
)
def test_blocks_are_the_lines_wherever_the_input_is_cut(
    pieces: list[bytes], delimiter: bytes, separator: bytes | None
) -> None:
    blocks = list(read_line_blocks(Pieces(pieces), "x", 1000, delimiter, separator))
    expected = _as_specified(b"".join(pieces), delimiter, separator)
    assert [record for block in blocks for record in block.records()] == expected
    assert [block.record(row) for block in blocks for row in range(len(block.values))] == expected
    assert all(block.values for block in blocks)


def test_the_lines_before_one_that_is_too_long_are_given_out() -> None:
    blocks = read_line_blocks(Pieces([b"a\nb\n" + b"c" * 11 + b"\nd\n"]), "x", 10)
    assert next(blocks).values == [b"a", b"b"]
    with pytest.raises(CommandError, match=r"x line 3 \(byte 4\) is longer than 10 bytes"):
        next(blocks)


def test_a_block_gives_the_key_that_is_given_to_those_without() -> None:
    def blocks(separator: bytes | None) -> list[Block]:
        form = Form(key_separator=separator, key=b"fixed")
        return list(Inputs([], io.BytesIO(b"a:1\n2\n"), form, 100).read_blocks())

    (keyed,) = blocks(b":")
    (part,) = keyed.parts(by_topic=True, by_partition=True)
    assert (part.keys, part.values) == ([b"a", b"fixed"], [b"1", b"2"])
    assert keyed.record(1) == InputRecord("stdin line 2 (byte 4)", b"2", b"fixed")
    assert list(keyed.records()) == [keyed.record(0), keyed.record(1)]
    assert next(blocks(None)[0].parts(by_topic=False, by_partition=False)).keys == [b"fixed", b"fixed"]


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="pipes have a size on Linux")
def test_a_pipe_holds_as_much_as_one_read_takes_before_it_is_read() -> None:
    from fcntl import F_GETPIPE_SZ, fcntl

    reader, writer = os.pipe()
    line = b"x" * 99 + b"\n"
    with open(reader, "rb") as stdin, open(writer, "wb", buffering=0) as file:
        blocks = Inputs((), stdin, Form(), 1000).read_blocks()
        file.write(line)
        assert list(next(blocks).values) == [line[:-1]]
        assert fcntl(reader, F_GETPIPE_SZ) == PIPE_BYTES
        whole = BLOCK_BYTES // len(line) * line
        assert file.write(whole) == len(whole)  # by one call, though nothing is read meanwhile
        assert len(next(blocks).values) == len(whole) // len(line)


def test_a_file_a_stream_in_memory_and_a_refused_size_are_read_as_they_are(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "lines").write_bytes(b"a\nb\n")
    assert [record.value for record in Inputs([str(tmp_path / "lines")], io.BytesIO(), Form(), 9).read()] == [
        b"a",
        b"b",
    ]
    assert [record.value for record in Inputs((), io.BytesIO(b"c"), Form(), 9).read()] == [b"c"]
    monkeypatch.setattr("kctl.cli.input.inputs.PIPE_BYTES", 1 << 62)  # no pipe can be so large
    reader, writer = os.pipe()
    os.write(writer, b"d\n")
    os.close(writer)
    with open(reader, "rb") as stdin:
        assert [record.value for record in Inputs((), stdin, Form(), 9).read()] == [b"d"]


@pytest.mark.parametrize(("line_bytes", "block_bytes"), [(100, BLOCK_BYTES), (1000, LONG_BLOCK_BYTES)])
def test_blocks_of_lines_fill_nearly_one_batch_whatever_their_length(line_bytes: int, block_bytes: int) -> None:
    class Asked(io.BytesIO):
        sizes: ClassVar[list[int | None]] = []

        def read1(self, size: int | None = -1, /) -> bytes:
            self.sizes.append(size)
            return super().read1(size)

    line = b"x" * (line_bytes - 1) + b"\n"
    source = Asked(line * (4 * BLOCK_BYTES // line_bytes))
    blocks = [block.values for block in read_line_blocks(source, "stdin", 2000)]
    assert set(source.sizes[1:]) == {block_bytes}
    for block in blocks:
        assert isinstance(block, Lines)
        _, count, _ = block.encoded_from(0, BATCH_BYTES - BATCH_OVERHEAD_BYTES, len(block))
        assert count == len(block)  # in one batch
    assert sum(map(len, blocks)) == 4 * BLOCK_BYTES // line_bytes
