"""DataOut: when it writes, and what it does with streams that take little or nothing."""

import os
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from kctl.cli.data_out import DataOut, OutputClosed, RawStream, StdoutFailed
from kctl.client.records import BatchReader, OutputField, OutputPlan, RecordBatchBuilder, ValuePlaces


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


def test_line_with_bytes_keeps_them_and_another_surrogate_is_escaped() -> None:
    stream = Stream()
    out = DataOut(stream)
    out.write_line("a\udcff")
    out.write_line("a\ud800")
    out.flush()
    assert stream.writes == [b"a\xff\na\\ud800\n"]


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


def placed(count: int, size: int) -> ValuePlaces:
    """Values of a batch, and where they lie in it."""
    builder = RecordBatchBuilder("none", batch_size_bytes=1 << 24)
    for number in range(count):
        builder.try_append(None, bytes([number % 256]) * size, [], 0)
    plan = OutputPlan([OutputField("value"), b"\n"])
    [places] = BatchReader(builder.build()).pieces(plan, count)
    assert not isinstance(places, bytes)
    return places


def test_places_are_written_behind_what_has_gathered(tmp_path: Path) -> None:
    large, few = placed(100, 1_000), placed(2, 1_000)
    expected = b"first\n" + bytes(large) + bytes(few) + b"last\n"
    with (tmp_path / "out").open("wb", buffering=0) as stream:
        out = DataOut(stream)
        out.write_line("first")
        out.write_places(large)
        assert (tmp_path / "out").stat().st_size == 6 + 100 * 1_001
        out.write_places(few)  # too few bytes for a write of their own
        assert (tmp_path / "out").stat().st_size == 6 + 100 * 1_001
        out.write_line("last")
        out.flush()
    assert (tmp_path / "out").read_bytes() == expected


def test_places_become_bytes_for_a_stream_in_memory() -> None:
    places = placed(100, 1_000)
    expected, stream = bytes(places), Stream()
    DataOut(stream).write_places(places)
    assert stream.writes == [expected]


def test_places_for_a_reader_that_left_end_the_output() -> None:
    reading, writing = os.pipe()
    os.close(reading)
    with open(writing, "wb", buffering=0) as stream, pytest.raises(OutputClosed):
        DataOut(stream).write_places(placed(100, 1_000))


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full here")
def test_places_for_a_full_disk_are_an_error_that_names_it() -> None:
    with open("/dev/full", "wb", buffering=0) as stream, pytest.raises(StdoutFailed, match="No space left on device"):
        DataOut(stream).write_places(placed(100, 1_000))


def test_places_wait_for_a_full_pipe_that_does_not_block() -> None:
    reading, writing = os.pipe()
    os.set_blocking(writing, False)
    places = placed(1_000, 1_000)
    expected, arrived = bytes(places), []

    def drain() -> None:
        while piece := os.read(reading, 1 << 16):
            arrived.append(piece)

    reader = threading.Thread(target=drain)
    reader.start()
    with open(writing, "wb", buffering=0) as stream:
        DataOut(stream).write_places(places)
    reader.join()
    os.close(reading)
    assert b"".join(arrived) == expected


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
