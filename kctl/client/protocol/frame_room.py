"""FrameRoom: the memory of one large frame, into which a socket reads its bytes, and which then is the frame.

The same is written in C in frame_room.c, because Python has no bytes object without contents: zeros that are written
first cost as much as the copy that this saves.
"""

from __future__ import annotations

from io import BytesIO
from typing import final


@final
class FrameRoom:
    """The bytes of a frame as they come.

    CPython's BytesIO lends its memory for writing, and returns it as the bytes object that it is, without a copy.
    """

    def __init__(self, size_bytes: int) -> None:
        self._file = BytesIO(bytes(size_bytes))  # no one else has these bytes, so it takes them for its own
        self._view = self._file.getbuffer()
        self.filled_bytes = 0

    def rest(self) -> memoryview:
        """Return where the bytes that are still to come belong."""
        return self._view[self.filled_bytes :]

    def fill(self, data: bytes | bytearray | memoryview) -> None:
        """Add the next bytes; those that were read into `rest` are there already.

        Raises: ValueError: the frame has fewer.
        """
        start, end = self.filled_bytes, self.filled_bytes + len(data)
        if end > len(self._view):
            raise ValueError(f"{len(data)} bytes for {len(self._view) - start}")
        if not (isinstance(data, memoryview) and data.obj is self._view.obj):
            self._view[start:end] = data
        self.filled_bytes = end

    def take(self) -> bytes:
        """Return the frame, once. Raises: ValueError: it is not whole, or was taken."""
        if self._view.readonly or self.filled_bytes < len(self._view):
            raise ValueError("the frame is not whole")
        self._view.release()
        return self._file.getvalue()
