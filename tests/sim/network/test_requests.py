"""Requests in virtual time: completed, expired on their millisecond, or failed; idle connections."""

import pytest

from kctl.client.cluster import Node
from kctl.client.errors import ConnectionLost, RequestTimeout, UnsupportedVersionError
from kctl.client.events import Closed, Lost, RequestExpired, RequestSent, ResponseReceived, Throttled
from kctl.client.network.in_flight import Answer, Outgoing
from kctl.client.network.request_table import MAX_THROTTLE_MS
from kctl.client.network.transport import PlainTransport
from kctl.client.protocol.api.api_versions import ApiVersionsRequest
from kctl.client.protocol.api.metadata import MetadataRequest, MetadataResponse, MetadataResponseTopic
from kctl.client.protocol.api.produce import ProduceRequest
from kctl.client.protocol.framing import LARGE_FRAME_BYTES, RequestFrame, encode_response
from kctl.client.protocol.schema import Response
from kctl.client.runtime import IoEvent, Received
from kctl.sandbox.faults import Fault
from tests.sim.kit.network import NetworkClientCluster, is_metadata
from tests.sim.kit.scripted_node import answer_well
from tests.sim.virtual import Hub
from tests.sim.virtual.selector import SimSelector


def test_an_answer_comes_back_with_its_version_and_its_events() -> None:
    with Hub() as hub:
        cluster = NetworkClientCluster(hub)
        cluster.connect()
        answers = cluster.ask()
        cluster.poll_until(lambda: bool(answers), until_ms=1000)
        assert is_metadata(answers[0].response)
        assert answers[0].version == 13
        sent, received = cluster.seen(RequestSent)[-1], cluster.seen(ResponseReceived)[-1]
        assert sent.correlation_id == received.correlation_id
        assert (sent.api, received.elapsed_ms) == ("Metadata", 2)


def test_a_part_of_a_large_answer_ends_no_poll_before_its_deadline(monkeypatch: pytest.MonkeyPatch) -> None:
    with Hub() as hub:
        cluster = NetworkClientCluster(hub)
        cluster.connect()
        answers = cluster.ask()
        sent = cluster.seen(RequestSent)[-1]
        topics = [MetadataResponseTopic(name="t" * 200) for _ in range(LARGE_FRAME_BYTES // 200)]
        frame = encode_response(MetadataResponse(topics=topics), sent.version, sent.correlation_id)
        channel = next(iter(cluster.client._channels._open))
        rest = [frame[:4], frame[4:1000], frame[1000:]]

        def arrives(until_ms: int) -> list[IoEvent]:
            hub.run(hub.now_ms + 1)
            return [Received(channel, rest.pop(0))]

        monkeypatch.setattr(cluster.client.selector, "poll", arrives)
        cluster.client.poll(hub.now_ms + 1)
        assert len(rest) == 2
        cluster.client.poll(hub.now_ms + 1000)
        assert not rest
        assert is_metadata(answers[0].response)


def test_a_wake_up_beside_a_part_of_a_large_answer_ends_the_poll() -> None:
    with Hub() as hub:
        cluster = NetworkClientCluster(hub)
        cluster.connect()
        selector = cluster.client.selector
        assert isinstance(selector, SimSelector)
        size = Received(next(iter(cluster.client._channels._open)), LARGE_FRAME_BYTES.to_bytes(4, "big"))
        begun_at_ms = hub.now_ms
        selector.happened(size)
        selector.wakeup()
        cluster.client.poll(hub.now_ms + 1000)
        assert hub.now_ms == begun_at_ms


def test_request_without_a_response_ends_in_the_poll_that_writes_its_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    """The selector reports no event for bytes that the system has taken."""
    with Hub() as hub:
        cluster = NetworkClientCluster(hub)
        cluster.connect()
        unsent = [100]
        monkeypatch.setattr(cluster.client.selector, "unsent_bytes", lambda _: unsent[0])
        answers: list[Answer] = []
        outgoing = Outgoing(-1, MetadataRequest(), 1000, answers.append, expect_response=False)
        cluster.client.send(outgoing)

        def writes(_until_ms: int) -> list[IoEvent]:
            unsent[0] -= 50
            return []

        monkeypatch.setattr(cluster.client.selector, "poll", writes)
        cluster.client.poll(hub.now_ms + 1000)
        assert not answers
        cluster.client.poll(hub.now_ms + 1000)
        assert [answer.error for answer in answers] == [None]


class _EndedTransport(PlainTransport):
    """A transport whose peer has sent TLS's close_notify, and left TCP open."""

    is_closed_by_peer = True


def test_connection_whose_peer_ended_tls_without_tcp_is_over() -> None:
    with Hub() as hub:
        cluster = NetworkClientCluster(hub)
        cluster.connect()
        answers = [cluster.ask(timeout_ms=50_000), cluster.ask(timeout_ms=50_000)]
        entry = cluster.client._entries[-1]
        assert entry.connection is not None
        entry.connection._transport = _EndedTransport()
        frames = iter((answer_well, lambda _: None))
        cluster.nodes[0].answer = lambda request: next(frames)(request)
        cluster.poll_until(lambda: bool(answers[1]), until_ms=1000)
        assert is_metadata(answers[0][0].response)
        assert isinstance(answers[1][0].error, ConnectionLost)
        assert len(cluster.seen(Lost)) == 1
        assert hub.now_ms < 100


def test_an_answer_before_a_part_of_a_large_one_does_not_wait_for_it() -> None:
    with Hub() as hub:
        cluster = NetworkClientCluster(hub)
        cluster.connect()
        cluster.nodes[0].answer = lambda _: None
        answers = [cluster.ask(), cluster.ask()]
        first, second = cluster.seen(RequestSent)[-2:]
        topics = [MetadataResponseTopic(name="t" * 200) for _ in range(LARGE_FRAME_BYTES // 200)]
        large = encode_response(MetadataResponse(topics=topics), second.version, second.correlation_id)
        wire = cluster.nodes[0].wires[-1]
        wire.write(encode_response(MetadataResponse(), first.version, first.correlation_id) + large[:1000])
        hub.run(hub.now_ms + 5)
        begun_at_ms = hub.now_ms
        cluster.client.poll(begun_at_ms + 100)
        assert hub.now_ms == begun_at_ms
        assert [len(each) for each in answers] == [1, 0]
        wire.write(large[1000:])
        assert cluster.poll_until(lambda: bool(answers[1]), until_ms=hub.now_ms + 100)


def test_a_request_expires_on_its_millisecond_and_takes_its_connection_along() -> None:
    with Hub() as hub:
        cluster = NetworkClientCluster(hub)
        cluster.connect()
        cluster.nodes[0].faults.start(Fault.SILENCE)
        start_ms = hub.now_ms
        first, second = cluster.ask(timeout_ms=700), cluster.ask(timeout_ms=900)
        cluster.poll_until(lambda: bool(first and second), until_ms=5000)
        assert hub.now_ms == start_ms + 700
        assert isinstance(first[0].error, RequestTimeout)
        assert (first[0].error.timeout_ms, first[0].error.elapsed_ms) == (700, 700)
        assert isinstance(second[0].error, RequestTimeout)
        assert [event.limit_ms for event in cluster.seen(RequestExpired)] == [700]
        assert not cluster.client.is_ready(-1)
        hub.run(hub.now_ms + 10)
        assert cluster.network.open_connections == 0


def test_requests_fail_when_their_connection_is_reset() -> None:
    with Hub() as hub:
        cluster = NetworkClientCluster(hub)
        cluster.connect()
        cluster.nodes[0].faults.start(Fault.RESET_ON_REQUEST)
        answers = cluster.ask()
        cluster.poll_until(lambda: bool(answers), until_ms=5000)
        assert isinstance(answers[0].error, ConnectionLost)
        assert len(cluster.seen(Lost)) == 1


def test_closing_the_client_answers_what_is_in_flight() -> None:
    with Hub() as hub:
        cluster = NetworkClientCluster(hub)
        cluster.connect()
        answers = cluster.ask()
        cluster.client.close()
        cluster.client.close()
        assert isinstance(answers[0].error, ConnectionLost)


def test_an_api_that_the_node_lacks_is_told_through_the_answer() -> None:
    with Hub() as hub:
        cluster = NetworkClientCluster(hub)
        cluster.connect()
        answers: list[Answer] = []
        cluster.client.send(Outgoing(-1, ProduceRequest(), 1000, answers.append))
        assert answers == []
        cluster.client.poll(0)
        assert isinstance(answers[0].error, UnsupportedVersionError)
        assert "Produce" in str(answers[0].error)


@pytest.mark.parametrize(("said_ms", "waited_ms"), [(250, 250), (2**31 - 1, MAX_THROTTLE_MS), (-5, 0)])
def test_a_throttled_node_is_left_alone_for_as_long_as_it_asked_up_to_a_maximum(said_ms: int, waited_ms: int) -> None:
    def answer(request: RequestFrame) -> Response:
        if request.api_key == ApiVersionsRequest.API_KEY:
            return answer_well(request)
        return MetadataResponse(throttle_time_ms=said_ms)

    with Hub() as hub:
        cluster = NetworkClientCluster(hub)
        cluster.nodes[0].answer = answer
        cluster.connect()
        answers = cluster.ask()
        cluster.poll_until(lambda: bool(answers), until_ms=1000)
        answered_at_ms = hub.now_ms
        assert [event.throttle_ms for event in cluster.seen(Throttled)] == ([waited_ms] if waited_ms else [])
        assert cluster.client.ready(-1) == (waited_ms == 0)
        assert cluster.client.status.activity() == (
            f"throttled by {cluster.client.node(-1)}" if waited_ms else "back-off"
        )
        assert cluster.connect(until_ms=100_000)
        assert hub.now_ms == answered_at_ms + waited_ms


def test_idle_connections_are_closed_all_in_one_poll_and_used_ones_stay() -> None:
    with Hub() as hub:
        cluster = NetworkClientCluster(hub, 3, connections_max_idle_ms=10_000)
        for number in (1, 2, 3):
            cluster.connect(-number)
        hub.sleep_ms(5_000)
        answers = cluster.ask(-3)
        cluster.poll_until(lambda: bool(answers), until_ms=hub.now_ms + 100)
        cluster.poll_until(lambda: len(cluster.seen(Closed)) >= 2, until_ms=60_000)
        assert [(event.target.node_id, event.reason) for event in cluster.seen(Closed)] == [(-1, "idle"), (-2, "idle")]
        assert 10_000 <= hub.now_ms <= 10_020
        assert cluster.client.is_ready(-3)
        assert cluster.client.status.errors() == []


def test_writing_keeps_a_connection_from_being_idle() -> None:
    """Produce with acks=0 gets no response."""
    with Hub() as hub:
        cluster = NetworkClientCluster(hub, connections_max_idle_ms=1000)
        cluster.connect()
        written: list[Answer] = []
        for _ in range(50):
            cluster.client.send(Outgoing(-1, MetadataRequest(), 1000, written.append, expect_response=False))
            cluster.nodes[0].answer = lambda _: None
            cluster.poll_until(lambda: False, until_ms=hub.now_ms + 100)
        assert cluster.seen(Closed) == []
        assert [answer.error for answer in written] == [None] * 50
        assert {event.api for event in cluster.seen(RequestSent) if not event.expects_response} == {"Metadata"}
        cluster.poll_until(lambda: bool(cluster.seen(Closed)), until_ms=hub.now_ms + 5000)
        assert 5900 <= hub.now_ms <= 5920


def test_a_node_that_left_keeps_its_connection_until_its_last_answer() -> None:
    with Hub() as hub:
        cluster = NetworkClientCluster(hub)
        cluster.connect()
        answers = cluster.ask()
        cluster.client.set_nodes([Node(1, "10.0.0.2", 9092)])
        cluster.poll_until(lambda: bool(answers), until_ms=1000)
        assert is_metadata(answers[0].response)
        cluster.client.poll(0)
        assert [event.reason for event in cluster.seen(Closed)] == ["the broker left the cluster"]
        assert cluster.client.node(-1).port == 9092  # messages about that response include it
        assert not cluster.client.is_ready(-1)


def test_the_bootstrap_connection_serves_the_node_that_is_at_the_same_place() -> None:
    with Hub() as hub:
        cluster = NetworkClientCluster(hub, 2)
        cluster.connect(-1)
        answers = cluster.ask(-1)
        cluster.client.set_nodes([Node(7, "10.0.0.1", 9092), Node(8, "10.0.0.2", 9092)])
        assert cluster.client.is_ready(7)
        cluster.poll_until(lambda: bool(answers), until_ms=1000)
        assert (answers[0].node_id, is_metadata(answers[0].response)) == (7, True)
        assert cluster.seen(Closed) == []
        cluster.client.disconnect(7, "test")
        assert cluster.connect(7)


def test_connection_that_ends_names_the_request_that_had_no_response() -> None:
    with Hub() as hub:
        cluster = NetworkClientCluster(hub)
        cluster.connect()
        first = cluster.ask()
        assert cluster.poll_until(lambda: bool(first), until_ms=hub.now_ms + 100)
        cluster.nodes[0].answer = lambda _: None
        second = cluster.ask()
        cluster.poll_until(lambda: False, until_ms=hub.now_ms + 10)
        cluster.nodes[0].wires[-1].close()
        assert cluster.poll_until(lambda: bool(second), until_ms=hub.now_ms + 100)
        assert "the server closed the connection before its response to Metadata" in str(second[0].error)
