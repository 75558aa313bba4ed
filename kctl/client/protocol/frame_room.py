"""FrameRoom: memory of one large frame, filled by a socket. frame_room.c is the C version."""

from __future__ import annotations

from io import BytesIO
from typing import final


@final
class FrameRoom:
    """Memory for a frame whose bytes are arriving; BytesIO of CPython returns it as bytes without a copy."""

    def __init__(self, size_bytes: int) -> None:
        self._file = BytesIO(bytes(size_bytes))  # the only reference: BytesIO uses this memory without a copy
        self._view = self._file.getbuffer()
        self.filled_bytes = 0

    def rest(self) -> memoryview:
        return self._view[self.filled_bytes :]

    def fill(self, data: bytes | bytearray | memoryview) -> None:
        """Add the next bytes; bytes that were read into `rest` are not copied.

        Raises: ValueError: the frame has not enough room.
        """
        start, end = self.filled_bytes, self.filled_bytes + len(data)
        if end > len(self._view):
            raise ValueError(f"{len(data)} bytes for {len(self._view) - start}")
        if not (isinstance(data, memoryview) and data.obj is self._view.obj):
            self._view[start:end] = data
        self.filled_bytes = end

    def take(self) -> bytes:
        """Return the frame, once. Raises: ValueError: the frame is incomplete, or was returned before."""
        if self._view.readonly or self.filled_bytes < len(self._view):
            raise ValueError("the frame is not whole")
        self._view.release()
        return self._file.getvalue()
