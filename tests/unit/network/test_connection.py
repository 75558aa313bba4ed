"""Connection: from the first byte to ready, answers in order, and an end for everything that does not fit."""

import re
from unittest.mock import Mock

import pytest

from kctl.client.broker_errors import ErrorCode
from kctl.client.errors import (
    AuthenticationError,
    ConnectionLost,
    KafkaError,
    RemoteProtocolError,
    SaslRequired,
    TlsError,
    WrongPeerError,
)
from kctl.client.events import Phase, PhaseDone, Ready
from kctl.client.network.handshake import Handshake
from kctl.client.network.states import ConnectionState
from kctl.client.network.transport import PlainTransport
from kctl.client.protocol.api.api_versions import ApiVersionsRequest
from kctl.client.protocol.api.metadata import MetadataRequest, MetadataResponse, MetadataResponseTopic
from kctl.client.protocol.api.sasl import (
    SaslAuthenticateRequest,
    SaslAuthenticateResponse,
    SaslHandshakeRequest,
    SaslHandshakeResponse,
)
from kctl.client.protocol.framing import RequestFrame
from kctl.client.protocol.schema import Response
from kctl.client.security.sasl.plain import PlainClient
from tests.unit.network.wired import Wired, answer_well, api_versions


def send(wired: Wired, *, deadline_at_ms: int = 1000) -> RequestFrame:
    wired.connection.send(MetadataRequest(), 9, now_ms=0, deadline_at_ms=deadline_at_ms, on_done=lambda _: None)
    (request,) = wired.sent()
    return request


def test_the_way_to_ready_is_told_phase_by_phase() -> None:
    wired = Wired()
    wired.connection.on_connected("10.0.0.1:1", 5)
    assert wired.connection.progress.state is ConnectionState.APIVERSIONS
    wired.serve(now_ms=12)
    assert [type(event) for event in wired.events if isinstance(event, PhaseDone | Ready)] == [
        PhaseDone,
        PhaseDone,
        Ready,
    ]
    phases = [(event.phase, event.elapsed_ms) for event in wired.events if isinstance(event, PhaseDone)]
    assert phases == [(Phase.TCP, 5), (Phase.APIVERSIONS, 7)]
    assert wired.connection.versions is not None


def test_an_older_broker_is_asked_again_in_a_version_it_knows() -> None:
    wired = Wired()
    wired.connection.on_connected("", 0)
    (first,) = wired.sent()
    wired.connection.receive(wired.reply(first, api_versions(error_code=35)), 0)
    (second,) = wired.sent()
    assert (first.api_key, second.api_key) == (18, 18)
    assert second.version < first.version
    wired.connection.receive(wired.reply(second, answer_well(second)), 0)
    assert wired.connection.is_ready


def test_a_broker_that_never_accepts_a_version_is_an_error_not_a_loop() -> None:
    wired = Wired()
    wired.connection.on_connected("", 0)
    with pytest.raises(RemoteProtocolError, match="UNSUPPORTED_VERSION"):
        wired.serve(lambda _: api_versions(error_code=35))


def test_answers_may_come_byte_by_byte() -> None:
    wired = Wired()
    wired.make_ready()
    data = wired.reply(send(wired), MetadataResponse(cluster_id="x"))
    arrived = [answer for byte in data for answer in wired.connection.receive(bytes([byte]), 3)]
    assert [answer.response for answer in arrived] == [MetadataResponse(cluster_id="x")]
    assert wired.connection.answered == 1


@pytest.mark.parametrize("is_tls", [False, True])
def test_rest_of_a_large_response_is_read_by_itself_without_tls(is_tls: bool) -> None:
    transport = PlainTransport()
    wired = Wired(transport)
    wired.make_ready()
    if is_tls:
        transport.channel = Mock()  # of a record, TLS may hold more than is missing: the socket has less to bring
    topics = [MetadataResponseTopic(name=f"{number}" * 30) for number in range(4000)]
    data = wired.reply(send(wired), MetadataResponse(topics=topics))
    wired.connection.receive(data[:100], 3)
    assert wired.connection.next_read_bytes == (0 if is_tls else len(data) - 100)
    assert wired.connection.is_inside_large_frame is not is_tls
    wired.connection.receive(data[100:], 3)
    assert wired.connection.next_read_bytes == (0 if is_tls else 4)
    assert not wired.connection.is_inside_large_frame


def test_several_answers_may_come_in_one_piece() -> None:
    wired = Wired()
    wired.make_ready()
    requests = [send(wired) for _ in range(3)]
    data = b"".join(wired.reply(request, MetadataResponse(cluster_id=str(n))) for n, request in enumerate(requests))
    arrived = wired.connection.receive(data, 3)
    assert [answer.response.cluster_id for answer in arrived if isinstance(answer.response, MetadataResponse)] == [
        "0",
        "1",
        "2",
    ]


def test_an_answer_to_another_request_ends_the_connection() -> None:
    wired = Wired()
    wired.make_ready()
    first = send(wired)
    second = send(wired)
    assert first.correlation_id != second.correlation_id
    with pytest.raises(RemoteProtocolError, match="correlation id"):
        wired.connection.receive(wired.reply(second, MetadataResponse()), 0)


def test_an_answer_that_nobody_asked_for_ends_the_connection() -> None:
    wired = Wired()
    wired.make_ready()
    request = send(wired)
    data = wired.reply(request, MetadataResponse())
    wired.connection.receive(data, 0)
    with pytest.raises(RemoteProtocolError, match="a response without a request"):
        wired.connection.receive(data, 0)


def test_answer_before_a_damaged_frame_is_not_lost() -> None:
    wired = Wired()
    wired.make_ready()
    first, second = send(wired), send(wired)
    good, damaged = wired.reply(first, MetadataResponse()), bytearray(wired.reply(second, MetadataResponse()))
    damaged[7] ^= 0x55  # its correlation id
    with pytest.raises(RemoteProtocolError, match="correlation id"):
        wired.connection.receive(good + damaged, 0)
    assert [answer.request.correlation_id for answer in wired.connection.pop_arrived()] == [first.correlation_id]
    assert [request.correlation_id for request in wired.connection.closed()] == [second.correlation_id]


def test_a_broken_answer_names_node_and_api() -> None:
    wired = Wired()
    wired.make_ready()
    data = bytearray(wired.reply(send(wired), MetadataResponse(cluster_id="x")))
    del data[-3:]
    data[3] -= 3
    with pytest.raises(RemoteProtocolError, match=r"broker.example:9092 \[10.0.0.7\]: .*Metadata") as caught:
        wired.connection.receive(bytes(data), 0)
    assert caught.value.api is not None
    assert caught.value.api.startswith("Metadata")
    assert caught.value.__cause__ is not caught.value


@pytest.mark.parametrize(
    ("said", "named"), [(b"HTTP/1.1 400 Bad Request\r\n\r\n", "HTTP"), (bytes.fromhex("15030300020250"), "TLS")]
)
def test_a_peer_that_is_no_broker_is_named(said: bytes, named: str) -> None:
    wired = Wired()
    wired.connection.on_connected("", 0)
    with pytest.raises(WrongPeerError, match=named):
        wired.connection.receive(said, 0)


def test_a_peer_that_greets_and_hangs_up_is_named() -> None:
    wired = Wired()
    wired.connection.on_connected("", 0)
    with pytest.raises(WrongPeerError, match="SMTP"):
        wired.connection.receive(b"220 mail.example\r\n", 0)


def test_few_bytes_and_a_hang_up_are_kept_for_the_name() -> None:
    wired = Wired()
    wired.connection.on_connected("", 0)
    wired.connection.receive(b"+OK", 0)
    assert "POP3" in str(wired.connection.progress.lost(None, 2))


@pytest.mark.parametrize("is_second", [False, True], ids=["the first", "after an older version was asked for"])
def test_a_broker_that_hangs_up_inside_of_its_answer_is_no_wrong_peer(is_second: bool) -> None:
    def begin() -> tuple[Wired, bytes]:
        wired = Wired()
        wired.connection.on_connected("", 0)
        (request,) = wired.sent()
        if is_second:
            wired.connection.receive(wired.reply(request, api_versions(error_code=35)), 0)
            (request,) = wired.sent()
        return wired, wired.reply(request, api_versions())

    for size in range(1, len(begin()[1])):
        wired, answer = begin()
        wired.connection.receive(answer[:size], 0)
        error = wired.connection.progress.lost(None, 2)
        assert isinstance(error, ConnectionLost), size
        assert error.retriable


def test_the_first_request_to_expire_is_the_next_deadline() -> None:
    wired = Wired()
    wired.make_ready()
    send(wired, deadline_at_ms=900)
    send(wired, deadline_at_ms=500)
    assert wired.connection.next_deadline_at_ms() == 500
    assert wired.connection.in_flight.expired(499) is None
    expired = wired.connection.in_flight.expired(500)
    assert expired is not None
    assert expired.deadline_at_ms == 500
    assert len(wired.connection.closed()) == 2


# --- SASL -------------------------------------------------------------------------------------------------------------


def sasl_answer(request: RequestFrame, *, handshake: int = 0, authenticate: int = 0, words: str = "") -> Response:
    if request.api_key == SaslHandshakeRequest.API_KEY:
        return SaslHandshakeResponse(error_code=handshake, mechanisms=["SCRAM-SHA-256", "OAUTHBEARER"])
    if request.api_key == SaslAuthenticateRequest.API_KEY:
        return SaslAuthenticateResponse(error_code=authenticate, error_message=words or None)
    return answer_well(request)


def start_sasl() -> Wired:
    wired = Wired(sasl=PlainClient("alice", "canary-secret"))
    wired.connection.on_connected("", 0)
    return wired


def test_sasl_comes_after_api_versions_and_ends_ready() -> None:
    wired = start_sasl()
    wired.serve(sasl_answer)
    assert wired.connection.is_ready
    phases = [event.phase for event in wired.events if isinstance(event, PhaseDone)]
    assert phases == [Phase.TCP, Phase.APIVERSIONS, Phase.SASL]


@pytest.mark.parametrize(
    ("handshake", "authenticate", "words", "match"),
    [
        (33, 0, "", "the broker does not support PLAIN (supported: SCRAM-SHA-256, OAUTHBEARER)"),
        (34, 0, "", "does not use SASL"),
        (0, 58, "Authentication failed: Invalid username", "PLAIN: Authentication failed: Invalid username"),
        (0, 58, "", "SASL_AUTHENTICATION_FAILED"),
    ],
)
def test_a_refusal_repeats_what_the_broker_said(handshake: int, authenticate: int, words: str, match: str) -> None:
    wired = start_sasl()
    with pytest.raises(AuthenticationError, match=re.escape(match)) as caught:
        wired.serve(lambda r: sasl_answer(r, handshake=handshake, authenticate=authenticate, words=words))
    assert not caught.value.retriable
    assert caught.value.__cause__ is not caught.value
    assert caught.value.phase == "sasl"
    assert "canary-secret" not in str(caught.value)


def test_api_versions_comes_before_any_credential() -> None:
    wired = start_sasl()
    (first,) = wired.sent()
    assert isinstance(first.message, ApiVersionsRequest)
    assert issubclass(AuthenticationError, KafkaError)


MOCK_CLUSTER = bytes.fromhex("0023 01 0012 0000 0002 00000000".replace(" ", ""))
"""What librdkafka's mock cluster answers to an ApiVersions that is too new for it: error 35 and a compact body."""


@pytest.mark.parametrize("body", [MOCK_CLUSTER, b"\0\x23", b"\0\x23" + b"\xff" * 40], ids=["mock", "bare", "noise"])
def test_unsupported_api_versions_with_any_body_is_asked_again_with_version_0(body: bytes) -> None:
    wired = Wired()
    wired.connection.on_connected("", 0)
    (first,) = wired.sent()
    frame = first.correlation_id.to_bytes(4, "big") + body
    wired.connection.receive(len(frame).to_bytes(4, "big") + frame, 0)
    (second,) = wired.sent()
    assert second.version == 0
    wired.connection.receive(wired.reply(second, answer_well(second)), 0)
    assert wired.connection.is_ready


def test_bytes_behind_an_answer_are_logged_once_for_each_node(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO", "kctl.client.network")
    wired = Wired()
    wired.make_ready()
    for _ in range(2):
        data = wired.reply(send(wired), MetadataResponse(cluster_id="x"))
        longer = (len(data) - 3).to_bytes(4, "big") + data[4:] + b"\0"
        (arrived,) = wired.connection.receive(longer, 3)
        assert arrived.response == MetadataResponse(cluster_id="x")
    (line,) = caplog.records
    assert "the Metadata v9 response has 1 extra bytes at the end" in line.getMessage()


def test_peer_that_closes_on_the_first_request_wants_sasl_only_where_no_request_was_ever_answered() -> None:
    wired = Wired()
    wired.make_ready()
    send(wired)
    assert isinstance(wired.connection.progress.lost(None, 5), SaslRequired)
    wired.notes.has_answered = True  # another connection of the same client
    error = wired.connection.progress.lost(None, 5)
    assert isinstance(error, ConnectionLost)
    assert not isinstance(error, AuthenticationError)


class _BrokenTransport(PlainTransport):
    """A transport that has met a damaged record of TLS behind the last bytes."""

    is_broken = False

    def check(self) -> None:
        if self.is_broken:
            raise TlsError("bad record mac")

    def wrap(self, data: bytes) -> bytes:
        self.check()
        return data


def test_connection_is_over_with_the_answer_that_a_damaged_record_follows() -> None:
    transport = _BrokenTransport()
    wired = Wired(transport)
    wired.make_ready()
    data = wired.reply(send(wired), MetadataResponse(cluster_id="c"))
    transport.is_broken = True
    with pytest.raises(TlsError, match="bad record mac"):
        wired.connection.receive(data, 5)
    (arrived,) = wired.connection.pop_arrived()
    assert arrived.response == MetadataResponse(cluster_id="c")


def test_requests_held_back_are_not_forgotten_where_the_first_of_them_cannot_be_sent() -> None:
    def answer(request: RequestFrame) -> Response:
        if request.api_key == SaslHandshakeRequest.API_KEY:
            return SaslHandshakeResponse(mechanisms=["PLAIN"])
        if request.api_key == SaslAuthenticateRequest.API_KEY:
            return SaslAuthenticateResponse(session_lifetime_ms=10_000)
        return answer_well(request)

    transport = _BrokenTransport()
    wired = Wired(transport, PlainClient("alice", "secret"))
    wired.connection.on_connected("10.0.0.1:1", 0)
    wired.serve(answer)
    wired.connection.renew_session(9_500)
    for deadline_at_ms in (20_000, 20_001, 20_002):
        wired.connection.send(MetadataRequest(), 9, now_ms=9_500, deadline_at_ms=deadline_at_ms, on_done=lambda _: None)
    (handshake,) = wired.sent()
    wired.connection.receive(wired.reply(handshake, answer(handshake)), 9_501)
    (authenticate,) = wired.sent()
    transport.is_broken = True
    with pytest.raises(TlsError, match="bad record mac"):
        wired.connection.receive(wired.reply(authenticate, answer(authenticate)), 9_502)
    assert [request.deadline_at_ms for request in wired.connection.closed()] == [20_000, 20_001, 20_002]


@pytest.mark.parametrize(
    ("offered", "hint"),
    [
        (("PLAIN",), "PLAIN sends the password to the server"),
        (("plain",), "PLAIN sends the password to the server"),
        (("PLAIN", "SCRAM-SHA-512", "GSSAPI"), "set sasl.mechanism to SCRAM-SHA-512 or GSSAPI"),
        (("SCRAM-SHA-256. Then run: x", "PLAIN "), "check sasl.enabled.mechanisms of the listener"),
        (("scram-sha-256", "SCRAM-SHA-512. Then run: x"), "set sasl.mechanism to SCRAM-SHA-256"),
    ],
)
def test_refused_mechanism_leads_to_supported_names_without_plain(offered: tuple[str, ...], hint: str) -> None:
    """Who stands between client and broker can refuse all mechanisms that do not show the password."""
    handshake = Handshake(None)
    handshake.mechanisms_offered = offered
    error = handshake._refusal(ErrorCode.UNSUPPORTED_SASL_MECHANISM, "SCRAM-SHA-256")
    assert error.hint.endswith(hint)
