"""Frames from a hostile or broken peer: a typed error or a message, whatever the pieces in which they come."""

from random import Random

from hypothesis import given, settings
from hypothesis import strategies as st

from kctl.client.errors import RemoteProtocolError, UnsupportedVersionError
from kctl.client.protocol import framing
from kctl.client.protocol.framing import FrameReader
from kctl.client.protocol.schema import Request, Response
from tests.fuzz.examples import examples
from tests.fuzz.protocol.messages import every_version, mutate, random_message
from tests.support.frames import decode_response, encode_request

REQUESTS = [(cls, version) for cls, version in every_version() if issubclass(cls, Request)]
RESPONSES = [(cls, version) for cls, version in every_version() if issubclass(cls, Response)]
SEEDS = st.integers(min_value=0, max_value=2**32)
MANY = settings(max_examples=examples(300), deadline=None, database=None)


@MANY
@given(frames=st.lists(st.binary(max_size=200), max_size=8), cuts=st.lists(st.integers(1, 90), min_size=1))
def test_frames_do_not_depend_on_the_pieces(frames: list[bytes], cuts: list[int]) -> None:
    stream = b"".join(len(frame).to_bytes(4, "big") + frame for frame in frames)
    reader, found, pos, turn = FrameReader(200), [], 0, 0
    while pos < len(stream):
        step = cuts[turn % len(cuts)]
        found += reader.feed(stream[pos : pos + step])
        pos, turn = pos + step, turn + 1
    assert found == frames
    assert reader.pending_bytes == 0


@MANY
@given(pieces=st.lists(st.binary(max_size=40), max_size=10))
def test_garbage_is_frames_or_a_remote_protocol_error(pieces: list[bytes]) -> None:
    reader = FrameReader(50)
    fed = out = 0
    try:
        for piece in pieces:
            fed += len(piece)
            out += sum(len(frame) + 4 for frame in reader.feed(piece))
            assert out + reader.pending_bytes == fed
    except RemoteProtocolError as caught:
        error = caught
    else:
        return
    assert b"".join(pieces).find(error.first_bytes) >= 0
    assert not 0 <= int.from_bytes(error.first_bytes[:4], "big", signed=True) <= 50


@MANY
@given(seed=SEEDS)
def test_requests_as_a_broker_reads_them(seed: int) -> None:
    rng = Random(seed)
    cls, version = rng.choice(REQUESTS)
    request = random_message(rng, cls, version)
    client_id = rng.choice((None, "", "kctl", "é" * 100))
    frame = encode_request(request, version, rng.randrange(1 << 31), client_id)[4:]
    assert framing.decode_request(frame)[3:] == (client_id, request)
    for _ in range(5):
        try:
            framing.decode_request(mutate(rng, frame))
        except (RemoteProtocolError, UnsupportedVersionError):
            continue


@MANY
@given(seed=SEEDS)
def test_responses_as_a_client_reads_them(seed: int) -> None:
    rng = Random(seed)
    cls, version = rng.choice(RESPONSES)
    response = random_message(rng, cls, version)
    frame = framing.encode_response(response, version, 7)[4:]
    is_version_answer = cls.NAME == "ApiVersions" and response.error_code == framing.UNSUPPORTED_VERSION
    if not is_version_answer:
        assert decode_response(cls, frame, version) == (7, response)
    for _ in range(5):
        try:
            framing.decode_response_prefix(cls, mutate(rng, frame), version)
        except RemoteProtocolError:
            continue
