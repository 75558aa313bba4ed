"""Pieces: records of a request as the header and the body of their batch; joining them would copy a megabyte.

Knows neither frames nor records.
"""


class Pieces:
    """`head + body`, not joined; goes into a field of records as bytes do."""

    __slots__ = ("body", "head")

    def __init__(self, head: bytes, body: bytes) -> None:
        self.head = head
        self.body = body

    def __len__(self) -> int:
        return len(self.head) + len(self.body)

    def __bytes__(self) -> bytes:
        return self.head + self.body

    def __eq__(self, other: object) -> bool:
        return bytes(self) == (bytes(other) if isinstance(other, Pieces) else other)

    __hash__ = None  # type: ignore[assignment]  # as of other containers of bytes that may be large

    def __repr__(self) -> str:
        return f"Pieces({len(self.head)} and {len(self.body)} bytes)"
