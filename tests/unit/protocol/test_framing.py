"""Headers, sizes, the ApiVersions exceptions, and the reader that cuts a stream into frames."""

import struct
import tracemalloc

import pytest

from kctl.client.errors import RemoteProtocolError, UnsupportedVersionError
from kctl.client.protocol import codec, framing
from kctl.client.protocol.api.api_versions import ApiVersion, ApiVersionsRequest, ApiVersionsResponse
from kctl.client.protocol.api.metadata import MetadataRequest, MetadataResponse
from kctl.client.protocol.frame_room import FrameRoom
from kctl.client.protocol.framing import LARGE_FRAME_BYTES, FrameReader
from tests.support.frames import decode_response, encode_request


def test_request_frame_with_header_1() -> None:
    frame = encode_request(MetadataRequest(topics=None), 1, 7, "me")
    assert frame == bytes.fromhex("00000010 0003 0001 00000007 0002 6d65 ffffffff")


def test_request_frame_with_header_2_keeps_the_old_client_id() -> None:
    frame = encode_request(MetadataRequest(topics=None), 9, 7, "me")
    assert frame == bytes.fromhex("00000012 0003 0009 00000007 0002 6d65 00 00 01 00 00 00")


@pytest.mark.parametrize("version", [1, 9, 13])
@pytest.mark.parametrize("client_id", ["me", "", None])
def test_requests_are_read_back(version: int, client_id: str | None) -> None:
    request = MetadataRequest(topics=None)
    frame = encode_request(request, version, -5, client_id)
    assert framing.decode_request(frame[4:]) == (3, version, -5, client_id, request)


@pytest.mark.parametrize("version", [0, 9])
def test_responses_are_read_back(version: int) -> None:
    response = MetadataResponse(controller_id=-1)
    frame = framing.encode_response(response, version, 41)
    assert int.from_bytes(frame[:4], "big") == len(frame) - 4
    for data in (frame[4:], bytearray(frame[4:]), memoryview(frame)[4:]):
        assert decode_response(MetadataResponse, data, version) == (41, response)


def test_response_header_with_tagged_fields() -> None:
    body = codec.encode(MetadataResponse(), 9)
    assert decode_response(MetadataResponse, b"\0\0\0\x09\x01\x05\x01x" + body, 9) == (9, MetadataResponse())


def test_api_versions_response_has_the_old_header_even_when_flexible() -> None:
    frame = framing.encode_response(ApiVersionsResponse(), 3, 1)
    assert frame[4:] == bytes.fromhex("00000001") + codec.encode(ApiVersionsResponse(), 3)
    assert decode_response(ApiVersionsResponse, frame[4:], 3) == (1, ApiVersionsResponse())


def test_a_broker_that_does_not_know_the_version_answers_in_version_0() -> None:
    answer = ApiVersionsResponse(error_code=35, api_keys=[ApiVersion(api_key=18, max_version=2)])
    frame = framing.encode_response(answer, 0, 1)
    assert decode_response(ApiVersionsResponse, frame[4:], 4) == (1, answer)


def test_requests_that_are_not_spoken_can_still_be_answered() -> None:
    data = struct.pack(">hhi", 18, 99, 5) + b"whatever"
    with pytest.raises(
        UnsupportedVersionError, match="ApiVersions version 99 is not supported: kctl supports versions 0 to 4"
    ):
        framing.decode_request(data)
    assert framing.peek_request(data) == (18, 99, 5)
    with pytest.raises(UnsupportedVersionError, match=r"kctl does not support ApiKey\(999\) \(API key 999\)"):
        framing.decode_request(struct.pack(">hhi", 999, 0, 5))


@pytest.mark.parametrize("size", range(8))
def test_short_requests(size: int) -> None:
    with pytest.raises(RemoteProtocolError, match=f"the request has {size} bytes"):
        framing.decode_request(bytes(size))


def test_a_cut_client_id_is_no_shorter_client_id() -> None:
    frame = encode_request(ApiVersionsRequest(), 0, 1, "client")[4:]
    assert framing.decode_request(frame).client_id == "client"
    for end in range(8, len(frame)):
        for _ in range(3):
            with pytest.raises(RemoteProtocolError):
                framing.decode_request(frame[:end])


def test_short_responses() -> None:
    for size in range(4):
        with pytest.raises(RemoteProtocolError):
            decode_response(MetadataResponse, bytes(size), 0)
        with pytest.raises(RemoteProtocolError):
            decode_response(ApiVersionsResponse, bytes(4 + size), 3)


def test_offsets_of_errors_are_those_of_the_frame() -> None:
    with pytest.raises(RemoteProtocolError) as caught:
        decode_response(MetadataResponse, b"\0\0\0\x01\0\0\0\x02", 0)
    assert caught.value.offset == 4
    assert caught.value.field == "brokers"


FRAMES = [b"", b"a", b"x" * 300, b"last"]
STREAM = b"".join(len(frame).to_bytes(4, "big") + frame for frame in FRAMES)


@pytest.mark.parametrize("step", [1, 2, 3, 5, 7, 100, 10_000])
def test_frames_come_out_whatever_the_pieces(step: int) -> None:
    reader = FrameReader(300)
    found = []
    for start in range(0, len(STREAM), step):
        found += reader.feed(memoryview(STREAM)[start : start + step])
    assert found == FRAMES
    assert reader.pending_bytes == 0


def test_pending_bytes_are_those_of_the_open_frame() -> None:
    reader = FrameReader(100)
    assert reader.feed(b"\0\0\0\x01a" + b"\0\0\0\x05bc") == [b"a"]
    assert reader.pending_bytes == 6


def test_a_large_frame_is_to_be_read_by_itself_and_then_the_size_of_the_next_one() -> None:
    size = framing.LARGE_FRAME_BYTES
    reader = FrameReader(size)
    assert (reader.next_read_bytes, reader.is_inside_large) == (0, False)
    reader.feed(size.to_bytes(4, "big") + b"ab")
    assert (reader.next_read_bytes, reader.is_inside_large) == (size - 2, True)
    reader.feed(bytes(size - 2))
    assert (reader.next_read_bytes, reader.is_inside_large) == (4, False)
    reader.feed(b"\0\0")
    assert (reader.next_read_bytes, reader.is_inside_large) == (2, False)
    reader.feed(b"\0\3ab")
    assert reader.next_read_bytes == 0


def test_bytes_that_are_a_frame_are_not_copied() -> None:
    reader = FrameReader(10_000)
    whole = b"x" * 5000
    assert reader.feed(len(whole).to_bytes(4, "big")) == []
    [frame] = reader.feed(whole)
    assert frame is whole


@pytest.mark.parametrize("sizes", [(1 << 16,), (70_000, 3, 1 << 17, 66_000)])
@pytest.mark.parametrize("step", [1 << 15, 40_000, 1 << 20])
@pytest.mark.parametrize("place_from", [0, 1, 2])
def test_large_frames_are_read_into_their_place(sizes: tuple[int, ...], step: int, place_from: int) -> None:
    """As a connection does: the size alone, then what there is, into the place where the reader has one."""
    wanted = [bytes([number + 1]) * size for number, size in enumerate(sizes)]
    stream = memoryview(b"".join(len(frame).to_bytes(4, "big") + frame for frame in wanted))
    reader = FrameReader(1 << 20)
    frames, at, turn = [], 0, 0
    while at < len(stream):
        piece = stream[at : at + min(step, reader.next_read_bytes or 5)]
        place = reader.place() if turn >= place_from else None
        if place is not None:
            assert len(place) == reader.next_read_bytes
            place[: len(piece)] = piece
            frames += reader.feed(place[: len(piece)])
        else:
            frames += reader.feed(piece)
        at += len(piece)
        turn += 1
        assert (reader.pending_bytes == 0) == (len(b"".join(frames)) + 4 * len(frames) == at)
    assert frames == wanted


def test_small_frame_has_no_place() -> None:
    reader = FrameReader(1 << 20)
    assert reader.place() is None
    reader.feed(b"\0\0\0\x09ab")
    assert reader.place() is None


def test_a_frame_that_trickles_in_takes_no_more_memory_than_it_has_bytes() -> None:
    size = 20_000
    reader = FrameReader(size)
    reader.feed(size.to_bytes(4, "big"))
    tracemalloc.start()
    for _ in range(size - 1):
        reader.feed(b"x")
    current, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert current < 2 * size
    assert peak < 3 * size
    assert reader.pending_bytes == size + 3
    assert reader.feed(b"x") == [b"x" * size]


@pytest.mark.parametrize("size", [3, 5000])
def test_a_caller_may_reuse_its_buffer(size: int) -> None:
    buffer = bytearray(b"a" * size)
    reader = FrameReader(10_000)
    reader.feed((2 * size).to_bytes(4, "big"))
    reader.feed(memoryview(buffer))
    buffer[:] = b"b" * size
    assert reader.feed(memoryview(buffer)) == [b"a" * size + b"b" * size]


@pytest.mark.parametrize("size", [b"\xff\xff\xff\xff", b"\x80\0\0\0", b"\0\0\x01\x01"])
def test_sizes_out_of_bounds_are_refused_before_the_frame_comes(size: bytes) -> None:
    reader = FrameReader(256)
    with pytest.raises(RemoteProtocolError, match="the frame size must be from 0 to 256 bytes"):
        reader.feed(size)
    with pytest.raises(RemoteProtocolError):
        reader.feed(b"\0\0\0\0")


def test_the_largest_frame_is_let_in() -> None:
    assert FrameReader(256).feed(b"\0\0\x01\0" + b"x" * 256) == [b"x" * 256]


def test_first_bytes_name_a_peer_that_is_not_kafka() -> None:
    reply = b"HTTP/1.1 400 Bad Request\r\nServer: something\r\nConnection: close\r\n\r\n" + b"x" * 100
    reader = FrameReader(100 << 20)
    assert reader.feed(b"\0\0\0\x02ok" + reply[:2]) == [b"ok"]
    with pytest.raises(RemoteProtocolError) as caught:
        reader.feed(reply[2:])
    assert caught.value.first_bytes == reply[:64]


def _no_memory(*_: object) -> FrameRoom:
    raise MemoryError


def test_frame_that_no_memory_is_left_for_is_kept_in_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(framing, "FrameRoom", _no_memory)
    frame = bytes(LARGE_FRAME_BYTES)
    reader = FrameReader(2**31 - 1)
    assert reader.feed(len(frame).to_bytes(4, "big") + frame[:10]) == []
    assert reader.place() is None
    assert reader.feed(frame[10:]) == [frame]


@pytest.mark.parametrize("has_room", [True, False])
def test_large_frame_in_pieces_takes_its_memory_once(has_room: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """As TLS delivers it. Without room for all of it in advance, the pieces are joined, which takes memory twice."""
    size, step = 8 << 20, 16 << 10
    if not has_room:
        monkeypatch.setattr(framing, "FrameRoom", _no_memory)
    reader = FrameReader(size)
    reader.feed(size.to_bytes(4, "big"))
    tracemalloc.start()
    frames = [frame for _ in range(size // step) for frame in reader.feed(bytes(step))]
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert list(map(len, frames)) == [size]
    assert (peak < 1.1 * size) == has_room


def test_frame_that_cannot_be_joined_is_an_error_of_the_connection(monkeypatch: pytest.MonkeyPatch) -> None:
    """The pieces are there, and the system refuses the memory of the whole."""

    monkeypatch.setattr(framing, "FrameRoom", _no_memory)
    reader = FrameReader(2**31 - 1)
    reader.feed(LARGE_FRAME_BYTES.to_bytes(4, "big") + b"ab")
    monkeypatch.setattr(framing, "_join", _no_memory)
    with pytest.raises(RemoteProtocolError, match=f"not enough memory for a frame of {LARGE_FRAME_BYTES} bytes"):
        reader.feed(bytes(LARGE_FRAME_BYTES - 2))
