"""Damage to responses of any API. Shared by the simulation and the proxy before real brokers."""

from collections.abc import Callable


def _framed(body: bytes) -> bytes:
    return len(body).to_bytes(4, "big") + body


UNREADABLE: tuple[Callable[[bytes], bytes], ...] = (
    lambda frame: _framed(bytes([frame[4] ^ 0x40]) + frame[5:]),  # the correlation id of another request
    lambda frame: _framed(frame[4:-1]),  # one byte too few
    lambda frame: (2**31 - 1).to_bytes(4, "big") + frame[4:],  # longer than any frame may be
    lambda frame: _framed(frame[4:8] + b"\xff" * 64),  # lengths and text that cannot be
)
"""Damage that the client cannot read, so that it closes the connection."""


def with_surplus(frame: bytes) -> bytes:
    """Append bytes: the client reads the response and reports the extra bytes."""
    return _framed(frame[4:] + bytes(3))


CHANGES = (*UNREADABLE, with_surplus)
