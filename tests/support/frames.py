"""Whole frames for peers that are written by hand: the client itself sends pieces and takes surplus bytes."""

from typing import TypeVar

from kctl.client.protocol.framing import decode_response_prefix, encode_request_pieces
from kctl.client.protocol.schema import Request, Response

R = TypeVar("R", bound=Response)


def encode_request(request: Request, version: int, correlation_id: int, client_id: str | None) -> bytes:
    """Return the whole frame of a request, size included."""
    return b"".join(encode_request_pieces(request, version, correlation_id, client_id))


def decode_response(cls: type[R], frame: bytes | bytearray | memoryview, version: int) -> tuple[int, R]:
    """Return the correlation id and the message of a response frame (without size), behind which nothing follows."""
    correlation_id, message, surplus = decode_response_prefix(cls, frame, version)
    assert not surplus, f"{cls.__name__} v{version}: {surplus} bytes after the end"
    return correlation_id, message
