"""Frames: a size of 4 bytes, a header, and a body, for both sides of a connection.

| frame | header version | header | |---|---|---| | request, not flexible | 1 | api key int16, api version int16,
correlation id int32, client id string | | request, flexible | 2 | as version 1 (the client id keeps its int16 length),
then a tag section | | response, not flexible | 0 | correlation id int32 | | response, flexible | 1 | correlation id
int32, then a tag section |

ApiVersions is the exception (KIP-511): its response header always has version 0. Brokers that do not support the
version of the request respond with a body of version 0 and error 35.
"""

from typing import Final, NamedTuple, TypeVar

from kctl.client.errors import RemoteProtocolError, UnsupportedVersionError
from kctl.client.protocol import codec
from kctl.client.protocol.api import api_name, request_class
from kctl.client.protocol.api.headers import RequestHeader, ResponseHeader
from kctl.client.protocol.frame_room import FrameRoom
from kctl.client.protocol.schema import Message, Request, Response

R = TypeVar("R", bound=Response)

API_VERSIONS_KEY: Final = 18
UNSUPPORTED_VERSION: Final = 35
FIRST_BYTES: Final = 64
LARGE_FRAME_BYTES: Final = 64 * 1024
_SIZE_BYTES: Final = 4
_SMALL_PIECE: Final = 4096


class RequestPrefix(NamedTuple):
    api_key: int
    version: int
    correlation_id: int


class RequestFrame(NamedTuple):
    api_key: int
    version: int
    correlation_id: int
    client_id: str | None
    message: Request


def request_header_version(cls: type[Message], version: int) -> int:
    return 2 if version >= cls.FLEXIBLE_FROM else 1


def response_header_version(cls: type[Response], version: int) -> int:
    return 1 if version >= cls.FLEXIBLE_FROM and cls.API_KEY != API_VERSIONS_KEY else 0


def encode_request_pieces(request: Request, version: int, correlation_id: int, client_id: str | None) -> list[bytes]:
    """Return the frame of a request, in pieces; large contents are not copied.

    Raises: LocalProtocolError: as `codec.encode`.
    """
    header = RequestHeader(
        request_api_key=request.API_KEY,
        request_api_version=version,
        correlation_id=correlation_id,
        client_id=client_id,
    )
    parts = codec.encode_parts(header, request_header_version(type(request), version))
    return _frame_pieces(parts + codec.encode_parts(request, version))


def encode_response(response: Response, version: int, correlation_id: int) -> bytes:
    """Return the frame of a response. Raises: LocalProtocolError: as `codec.encode`."""
    header = ResponseHeader(correlation_id=correlation_id)
    parts = codec.encode_parts(header, response_header_version(type(response), version))
    return b"".join(_frame_pieces(parts + codec.encode_parts(response, version)))


def peek_request(frame: bytes) -> RequestPrefix:
    """Return the first fields of a request frame (without size), even if API or version are unknown.

    Raises: RemoteProtocolError: the frame has less than 8 bytes.
    """
    if len(frame) < 8:
        raise RemoteProtocolError(
            f"the request has {len(frame)} bytes, but a request header has at least 8 bytes", first_bytes=frame
        )
    return RequestPrefix(
        int.from_bytes(frame[:2], "big", signed=True),
        int.from_bytes(frame[2:4], "big", signed=True),
        int.from_bytes(frame[4:8], "big", signed=True),
    )


def decode_request(frame: bytes) -> RequestFrame:
    """Decode a request frame (without size), as a broker.

    Raises:
        UnsupportedVersionError: the API or its version is not declared; `peek_request` returns the correlation id.
        RemoteProtocolError: header or body is malformed.
    """
    prefix = peek_request(frame)
    cls = request_class(prefix.api_key)
    low, high = cls.VALID_VERSIONS
    if not low <= prefix.version <= high:
        name = api_name(prefix.api_key)
        text = f"{name} version {prefix.version} is not supported: kctl supports versions {low} to {high}"
        raise UnsupportedVersionError(text, api=name)
    header, pos = codec.decode_header(RequestHeader, frame, request_header_version(cls, prefix.version))
    return RequestFrame(*prefix, header.client_id, codec.decode(cls, frame, prefix.version, pos))


def decode_response_prefix(
    response_cls: type[R], frame: bytes | bytearray | memoryview, version: int, *, in_place: bool = False
) -> tuple[int, R, int]:
    """Decode a response frame (without size); return correlation id, message, and number of bytes after the message.

    An ApiVersionsResponse with error 35 is decoded as version 0. Servers send different bytes after this code, so a
    malformed rest becomes a response without versions.

    Args: in_place: whether records may become FrameSlices of the frame.
    Raises: RemoteProtocolError: header or body is malformed.
    """
    header, pos = codec.decode_header(ResponseHeader, frame, response_header_version(response_cls, version))
    is_versions = response_cls.API_KEY == API_VERSIONS_KEY
    if is_versions and int.from_bytes(frame[pos : pos + 2], "big") == UNSUPPORTED_VERSION:
        try:
            return header.correlation_id, codec.decode(response_cls, frame, 0, pos), 0
        except RemoteProtocolError:
            refusal = response_cls()
            refusal.error_code = UNSUPPORTED_VERSION  # type: ignore[attr-defined]  # it is an ApiVersionsResponse
            return header.correlation_id, refusal, 0
    message, end = codec.decode_prefix(response_cls, frame, version, pos, in_place=in_place)
    return header.correlation_id, message, len(frame) - end


class FrameReader:
    """Splits a stream of bytes into frames.

    A frame that arrives whole, or is read into the memory from `place()`, is not copied. Other pieces of a large frame
    are copied once, into memory for the whole frame. For frames of a megabyte, a copy costs more than decoding.

    Args:
        max_bytes: maximum size of a frame, without its size prefix.
    """

    def __init__(self, max_bytes: int) -> None:
        self.max_bytes = max_bytes
        self._head = b""  # bytes of the size prefix
        self._pieces: list[bytes | bytearray] = []
        self._room: FrameRoom | None = None
        self._left = 0  # bytes of the frame that have not arrived
        self._is_large = False  # the current frame, or the last one between frames

    @property
    def pending_bytes(self) -> int:
        in_room = 0 if self._room is None else self._room.filled_bytes
        return len(self._head) + sum(map(len, self._pieces)) + in_room

    @property
    def next_read_bytes(self) -> int:
        """Number of bytes to read next, so that large frames arrive whole; 0 for any number.

        After a large frame, only the size of the next frame is read, because another large frame is likely.
        """
        if not self._is_large:
            return 0
        return self._left or _SIZE_BYTES - len(self._head)

    @property
    def is_inside_large(self) -> bool:
        return self._is_large and self._left > 0

    def place(self) -> memoryview | None:
        """Return memory into which to read the rest of a large frame before `feed`; otherwise None.

        If the memory cannot be allocated, the frame is kept in pieces, because its size may be wrong.
        """
        if not self.is_inside_large:
            return None
        if self._room is None:
            try:
                self._room = FrameRoom(sum(map(len, self._pieces)) + self._left)
            except MemoryError:
                return None
            for piece in self._pieces:
                self._room.fill(piece)
            self._pieces = []
        return self._room.rest()

    def feed(self, data: bytes | bytearray | memoryview) -> list[bytes]:
        """Return the frames that `data` completes, without size prefix.

        Raises: RemoteProtocolError: there is not enough memory, or a size is negative or above the limit. Every further
            call then raises for such a size; `first_bytes` begins with it, to identify the server's protocol.
        """
        frames: list[bytes] = []
        pos, end = 0, len(data)
        while True:
            if len(self._head) < _SIZE_BYTES:
                start, pos = pos, min(end, pos + _SIZE_BYTES - len(self._head))
                self._head += bytes(data[start:pos])
                if len(self._head) < _SIZE_BYTES:
                    return frames
                self._left = int.from_bytes(self._head, "big", signed=True)
                self._is_large = self._left >= LARGE_FRAME_BYTES
            if not 0 <= self._left <= self.max_bytes:
                raise self._bad_size(bytes(data[pos : pos + FIRST_BYTES - _SIZE_BYTES]))
            if end - pos < self._left:
                self.place()
            if self._room is not None:
                part = data[pos : pos + self._left]
                self._room.fill(part)
                pos += len(part)
                self._left -= len(part)
                if self._left:
                    return frames
                frames.append(self._room.take())
                self._head, self._room = b"", None
                continue
            piece = bytes(data[pos : pos + self._left])
            self._left -= len(piece)
            if self._left:
                if piece:
                    self._keep(piece)
                return frames
            pos += len(piece)
            frames.append(self._joined(piece))
            self._head, self._pieces = b"", []

    def _joined(self, last: bytes) -> bytes:
        try:
            return _join([*self._pieces, last])
        except MemoryError:
            size_bytes = sum(map(len, self._pieces)) + len(last)
            self._pieces = []
            raise RemoteProtocolError(f"not enough memory for a frame of {size_bytes} bytes") from None

    def _keep(self, piece: bytes) -> None:
        """Keep a piece. Small pieces are joined, because their objects would need more memory than the bytes."""
        if len(piece) >= _SMALL_PIECE:
            self._pieces.append(piece)
        elif self._pieces and isinstance(self._pieces[-1], bytearray):
            self._pieces[-1] += piece
        else:
            self._pieces.append(bytearray(piece))

    def _bad_size(self, following: bytes) -> RemoteProtocolError:
        return RemoteProtocolError(
            f"the frame size must be from 0 to {self.max_bytes} bytes, not {self._left}",
            first_bytes=self._head + following,
        )


_join = b"".join


def _frame_pieces(parts: list[bytes]) -> list[bytes]:
    pieces: list[bytes] = []
    small = [sum(map(len, parts)).to_bytes(_SIZE_BYTES, "big")]
    for part in parts:
        if len(part) < LARGE_FRAME_BYTES:
            small.append(part)
        else:
            pieces += (b"".join(small), part)
            small = []
    if small:
        pieces.append(b"".join(small))
    return pieces
