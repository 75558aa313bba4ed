"""Pieces: header and body of a batch in a request, which are not joined, because this would copy up to a megabyte."""


class Pieces:
    """`head + body`, not joined; valid as the value of a records field."""

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
