"""Frames: a size of 4 bytes, a header, a body; made and taken apart for both sides of a connection.

| frame | header version | header |
|---|---|---|
| request, not flexible | 1 | api key int16, api version int16, correlation id int32, client id string |
| request, flexible | 2 | the same (the client id keeps its int16 length), then a tag section |
| response, not flexible | 0 | correlation id int32 |
| response, flexible | 1 | the same, then a tag section |

ApiVersions is the exception: its response header is always version 0, and a broker that does not know the version of
the request answers with a body of version 0 and error 35, because neither side knows the other yet (KIP-511). Owns
headers and sizes; knows no socket and not which request a response belongs to.
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
    """The fields that every request starts with, in every version."""

    api_key: int
    version: int
    correlation_id: int


class RequestFrame(NamedTuple):
    """One request as a broker sees it."""

    api_key: int
    version: int
    correlation_id: int
    client_id: str | None
    message: Request


def request_header_version(cls: type[Message], version: int) -> int:
    """The header version that goes with a request version."""
    return 2 if version >= cls.FLEXIBLE_FROM else 1


def response_header_version(cls: type[Response], version: int) -> int:
    """The header version that goes with a response version."""
    return 1 if version >= cls.FLEXIBLE_FROM and cls.API_KEY != API_VERSIONS_KEY else 0


def encode_request_pieces(request: Request, version: int, correlation_id: int, client_id: str | None) -> list[bytes]:
    """The whole frame of a request, size included, in pieces: large contents are not copied.

    Raises: LocalProtocolError: a value does not fit its type or the version; names the field.
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
    """The whole frame of a response, size included.

    Raises: LocalProtocolError: a value does not fit its type or the version; names the field.
    """
    header = ResponseHeader(correlation_id=correlation_id)
    parts = codec.encode_parts(header, response_header_version(type(response), version))
    return b"".join(_frame_pieces(parts + codec.encode_parts(response, version)))


def peek_request(frame: bytes) -> RequestPrefix:
    """The start of a request frame (without size), readable even if its api or version is unknown.

    Raises: RemoteProtocolError: the frame is shorter than that.
    """
    if len(frame) < 8:
        raise RemoteProtocolError(f"request of {len(frame)} bytes, a header has at least 8", first_bytes=frame)
    return RequestPrefix(
        int.from_bytes(frame[:2], "big", signed=True),
        int.from_bytes(frame[2:4], "big", signed=True),
        int.from_bytes(frame[4:8], "big", signed=True),
    )


def decode_request(frame: bytes) -> RequestFrame:
    """A request from its frame (without size), for the side that answers.

    Raises:
        UnsupportedVersionError: the api or its version is not declared; `peek_request` still has the correlation id.
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
    """The correlation id, the message of a response frame (without size), and the number of bytes that follow it.

    With `in_place` records may be FrameSlices of the frame instead of bytes.
    An ApiVersionsResponse with error 35 is read as version 0, whichever was requested. Servers differ in what
    follows the code, so a body that is no such answer counts as one that offers no version.
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
    """Cuts a stream of bytes into frames.

    Bytes that are a whole frame become that frame without a copy, and so do those that are read into `place`. Other
    pieces of a large frame are copied once, into its memory, and those of a small one are joined. For frames of a
    megabyte copies cost more than decoding them.
    """

    def __init__(self, max_bytes: int) -> None:
        """Args: max_bytes: the largest frame, without its size prefix, that is accepted."""
        self.max_bytes = max_bytes
        self._head = b""  # the size prefix, as far as it came
        self._pieces: list[bytes | bytearray] = []
        self._room: FrameRoom | None = None
        self._left = 0  # bytes of the frame that are still to come
        self._is_large = False  # the present frame, between frames the last one

    @property
    def pending_bytes(self) -> int:
        """Bytes of a frame that is not complete yet, its size prefix included."""
        in_room = 0 if self._room is None else self._room.filled_bytes
        return len(self._head) + sum(map(len, self._pieces)) + in_room

    @property
    def next_read_bytes(self) -> int:
        """How many of the next bytes to read at most, so that large frames come whole; 0: any number.

        After a large frame another one is likely: its size is read alone, so that the frame can be read alone, too.
        """
        if not self._is_large:
            return 0
        return self._left or _SIZE_BYTES - len(self._head)

    @property
    def is_inside_large(self) -> bool:
        """Whether the size of a large frame was read, and not yet the whole of it."""
        return self._is_large and self._left > 0

    def place(self) -> memoryview | None:
        """Return where the rest of a large frame may be read to, before it is fed; None where no such frame has begun.

        Memory for all of the frame is allocated, of which the system provides large ones page by page. If it provides
        none, the frame is kept in pieces: its size may be a lie.
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
        """The frames that `data` completes, without their size prefix.

        Raises: RemoteProtocolError: a size is negative or above the limit. Its `first_bytes` start with that size, so
            that a peer which is not Kafka can be named. The stream is lost then: every further call raises again.
            Or the system has no memory for a frame.
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
        """Return the frame that was kept in pieces. Raises: RemoteProtocolError: the system has no memory for it."""
        try:
            return _join([*self._pieces, last])
        except MemoryError:
            size_bytes = sum(map(len, self._pieces)) + len(last)
            self._pieces = []
            raise RemoteProtocolError(f"not enough memory for a frame of {size_bytes} bytes") from None

    def _keep(self, piece: bytes) -> None:
        """Keep a piece; small ones are gathered, since an object for each would outweigh its bytes."""
        if len(piece) >= _SMALL_PIECE:
            self._pieces.append(piece)
        elif self._pieces and isinstance(self._pieces[-1], bytearray):
            self._pieces[-1] += piece
        else:
            self._pieces.append(bytearray(piece))

    def _bad_size(self, following: bytes) -> RemoteProtocolError:
        return RemoteProtocolError(
            f"frame of {self._left} bytes, 0 to {self.max_bytes} are allowed", first_bytes=self._head + following
        )


_join = b"".join


def _frame_pieces(parts: list[bytes]) -> list[bytes]:
    """The frame: its size and the parts, joined where they are small."""
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
