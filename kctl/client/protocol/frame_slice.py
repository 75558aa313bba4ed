"""FrameSlice: records of a response inside its frame, because a copy would cost more than reading them."""


class FrameSlice:
    """`frame[start:end]` without a copy; keeps the whole frame in memory."""

    __slots__ = ("end", "frame", "start")

    def __init__(self, frame: bytes, start: int, end: int) -> None:
        self.frame = frame
        self.start = start
        self.end = end

    @classmethod
    def of(cls, data: "bytes | FrameSlice") -> "FrameSlice":
        return data if isinstance(data, FrameSlice) else cls(data, 0, len(data))

    def __len__(self) -> int:
        return self.end - self.start

    def __bytes__(self) -> bytes:
        return self.frame[self.start : self.end]

    def __eq__(self, other: object) -> bool:
        return bytes(self) == (bytes(other) if isinstance(other, FrameSlice) else other)

    __hash__ = None  # type: ignore[assignment]  # as of other containers of bytes that may be large

    def __repr__(self) -> str:
        return f"FrameSlice({len(self)} of {len(self.frame)} bytes)"

    def compact(self) -> "FrameSlice":
        """Return this slice, or a copy if more than half of the frame is outside it."""
        if 2 * len(self) >= len(self.frame):
            return self
        return FrameSlice(bytes(self), 0, len(self))
