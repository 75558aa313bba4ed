"""DataOut: when it writes, and what it does with streams that take little or nothing."""

import os
from collections.abc import Callable

import pytest

from kctl.cli.data_out import DataOut, OutputClosed, RawStream


class Stream:
    """Takes at most `takes` bytes a write."""

    def __init__(self, takes: int = 1 << 30) -> None:
        self.takes = takes
        self.writes: list[bytes] = []

    def write(self, data: memoryview, /) -> int:
        taken = bytes(data[: self.takes])
        self.writes.append(taken)
        return len(taken)

    def fileno(self) -> int:
        raise OSError("a stream in memory")


def test_gathers_until_there_is_enough() -> None:
    stream = Stream()
    out = DataOut(stream, flush_bytes=5)
    out.write(b"ab")
    out.write_line("c")
    assert stream.writes == []
    out.write(b"de")
    assert stream.writes == [b"abc\nde"]
    out.flush()
    assert stream.writes == [b"abc\nde"]


def test_flush_writes_the_rest() -> None:
    stream = Stream()
    out = DataOut(stream)
    out.write(b"abc")
    out.flush()
    out.flush()
    assert stream.writes == [b"abc"]


def test_partial_writes_are_continued() -> None:
    stream = Stream(takes=2)
    out = DataOut(stream)
    out.write(b"abcde")
    out.flush()
    assert stream.writes == [b"ab", b"cd", b"e"]


def test_a_stream_in_memory_has_a_reader() -> None:
    DataOut(Stream()).check_reader()


def test_a_reader_that_left_is_noticed() -> None:
    reading, writing = os.pipe()
    with open(writing, "wb", buffering=0) as stream:
        out = DataOut(stream)
        out.check_reader()
        os.close(reading)
        with pytest.raises(OutputClosed):
            out.check_reader()
        out.write(b"x")
        with pytest.raises(OutputClosed):
            out.flush()


def test_a_full_pipe_that_does_not_block_is_waited_for() -> None:
    reading, writing = os.pipe()
    os.set_blocking(writing, False)
    filled = 0
    try:
        while True:
            filled += os.write(writing, b"x" * 65536)
    except BlockingIOError:
        pass
    with open(writing, "wb", buffering=0) as stream, open(reading, "rb") as reader:
        out = DataOut(_Draining(stream, lambda: reader.read(filled)))
        out.write(b"last")
        out.flush()
        assert reader.read(4) == b"last"


class _Draining:
    """Passes writes on; makes room after the first that did not fit."""

    def __init__(self, stream: RawStream, drain: Callable[[], object]) -> None:
        self._stream = stream
        self._drain = drain

    def write(self, data: memoryview, /) -> int | None:
        written = self._stream.write(data)
        if written is None:
            self._drain()
        return written

    def fileno(self) -> int:
        return self._stream.fileno()
