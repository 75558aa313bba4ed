"""FrameRoom in Python and in C: the memory that is filled becomes the frame."""

import tracemalloc
from types import ModuleType

import pytest

from kctl.client.protocol import frame_room
from tests.unit.records.sources import source_of

BOTH = pytest.mark.parametrize("module", [frame_room, source_of(frame_room)], ids=["built", "source"])


@BOTH
def test_bytes_are_read_into_the_frame_or_copied(module: ModuleType) -> None:
    room = module.FrameRoom(7)
    rest = room.rest()
    assert len(rest) == 7
    rest[:3] = b"abc"
    room.fill(rest[:3])
    room.fill(b"de")
    assert room.filled_bytes == 5
    rest = room.rest()
    rest[:] = b"fg"
    room.fill(rest)
    assert room.take() == b"abcdefg"


@BOTH
def test_bytes_of_another_place_are_copied(module: ModuleType) -> None:
    room, other = module.FrameRoom(4), module.FrameRoom(4)
    other.rest()[:] = b"same"
    room.fill(memoryview(bytearray(b"xsame"))[1:3])
    room.fill(bytearray(b"me"))
    assert room.take() == b"same"


@BOTH
def test_no_more_is_taken_than_the_frame_has(module: ModuleType) -> None:
    room = module.FrameRoom(2)
    with pytest.raises(ValueError, match="3 bytes for 2"):
        room.fill(b"abc")
    room.fill(b"ab")
    with pytest.raises(ValueError, match="1 bytes for 0"):
        room.fill(b"c")
    room.fill(b"")
    assert room.take() == b"ab"


@BOTH
def test_frame_is_given_once_and_whole(module: ModuleType) -> None:
    room = module.FrameRoom(2)
    room.fill(b"a")
    with pytest.raises(ValueError, match="not whole"):
        room.take()
    room.fill(b"b")
    assert room.take() == b"ab"
    with pytest.raises(ValueError):
        room.take()


@BOTH
def test_views_that_are_left_keep_the_memory_of_the_frame(module: ModuleType) -> None:
    size = 1 << 20
    tracemalloc.start()
    room = module.FrameRoom(size)
    view = room.rest()
    room.fill(b"a" * size)
    frame = room.take()
    del room, frame
    held, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert held >= size, "the view reads memory that was freed"
    assert view[0] == ord("a")


@BOTH
@pytest.mark.parametrize("size", [-1, "1", None])
def test_no_size_that_is_no_size(module: ModuleType, size: object) -> None:
    with pytest.raises((ValueError, TypeError)):
        module.FrameRoom(size)


@BOTH
def test_frame_is_not_copied(module: ModuleType) -> None:
    size = 1 << 20
    tracemalloc.start()
    room = module.FrameRoom(size)
    room.fill(room.rest())
    frame = room.take()
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert len(frame) == size
    assert peak < 1.5 * size
