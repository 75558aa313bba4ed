"""Whatever a peer sends, in whatever pieces: a typed error or nothing, never anything else."""

import contextlib

from hypothesis import given
from hypothesis import strategies as st

from kctl.client.errors import KafkaError
from kctl.client.protocol.api.metadata import MetadataRequest, MetadataResponse
from tests.unit.network.wired import Wired

PIECES = st.lists(st.binary(max_size=80), max_size=8)


@given(pieces=PIECES)
def test_a_peer_may_say_anything_to_a_new_connection(pieces: list[bytes]) -> None:
    wired = Wired()
    wired.connection.on_connected("", 0)
    with contextlib.suppress(KafkaError):
        for piece in pieces:
            if piece:
                wired.connection.receive(piece, 1)
        assert isinstance(wired.connection.progress.lost(None, 2), KafkaError)


@given(cut=st.integers(0, 200), flip=st.integers(0, 200), bit=st.integers(0, 7), pieces=st.integers(1, 9))
def test_a_broker_may_answer_anything(cut: int, flip: int, bit: int, pieces: int) -> None:
    wired = Wired()
    wired.make_ready()
    wired.connection.send(MetadataRequest(), 9, now_ms=0, deadline_at_ms=1000, on_done=lambda _: None)
    (request,) = wired.sent()
    data = bytearray(wired.reply(request, MetadataResponse(cluster_id="abc" * 20)))
    data[flip % len(data)] ^= 1 << bit
    data = data[: len(data) - cut % len(data)]
    with contextlib.suppress(KafkaError):
        for start in range(0, len(data), pieces):
            wired.connection.receive(bytes(data[start : start + pieces]), 1)
