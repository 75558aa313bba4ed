"""One connection: order, pieces, garbage, limits, versions nobody speaks."""

import pytest

from kctl.client.broker_errors import ErrorCode
from kctl.client.protocol.api.api_versions import ApiVersionsRequest, ApiVersionsResponse
from kctl.client.protocol.api.fetch import FetchPartition, FetchRequest, FetchResponse, FetchTopic
from kctl.client.protocol.api.metadata import MetadataRequest, MetadataResponse
from kctl.sandbox.settings import ClusterSettings
from tests.support.frames import encode_request
from tests.unit.sandbox.scenario import Client, Scenario


def _is_closed(scenario: Scenario, client: Client) -> bool:
    return client.wire.is_closed and scenario.sandbox.listeners[1].open_connections == 0


def _long_poll() -> FetchRequest:
    topics = [FetchTopic(topic="t", partitions=[FetchPartition(partition=0, partition_max_bytes=100)])]
    return FetchRequest(max_wait_ms=100, min_bytes=1, topics=topics)


def test_requests_may_come_in_any_pieces() -> None:
    scenario = Scenario()
    client = scenario.connect()
    data = encode_request(ApiVersionsRequest(), 0, 7, "c") + encode_request(MetadataRequest(), 9, 8, "c")
    for at in range(len(data)):
        client.end.receive(data[at : at + 1])
    client.take(ApiVersionsResponse, 0, 7)
    client.take(MetadataResponse, 9, 8)


def test_answers_keep_the_order_of_requests() -> None:
    scenario = Scenario(topics={"t": 1})
    client = scenario.connect()
    first = client.send(_long_poll(), 12)
    second = client.send(MetadataRequest(), 9)
    assert not client.frames
    scenario.scheduler.advance(100)
    client.take(FetchResponse, 12, first)
    client.take(MetadataResponse, 9, second)


def test_a_client_that_sends_far_ahead_has_to_wait_in_its_socket() -> None:
    scenario = Scenario(topics={"t": 1})
    client = scenario.connect()
    client.send(_long_poll(), 12)
    ids = [client.send(ApiVersionsRequest(), 0) for _ in range(200)]
    assert client.wire.pauses == [True]
    scenario.scheduler.advance(100)
    assert client.wire.pauses == [True, False]
    client.frames.pop(0)
    for correlation_id in ids:
        client.take(ApiVersionsResponse, 0, correlation_id)


def test_client_that_reads_nothing_is_not_answered_until_it_does() -> None:
    scenario = Scenario()
    client = scenario.connect()
    client.wire.is_full = True
    ids = [client.send(ApiVersionsRequest(), 0) for _ in range(5)]
    assert not client.frames
    assert client.wire.pauses == [True]
    client.wire.is_full = False
    client.end.writable()
    for correlation_id in ids:
        client.take(ApiVersionsResponse, 0, correlation_id)
    assert client.wire.pauses == [True, False]


def test_metadata_of_all_topics_is_not_made_for_client_that_is_gone() -> None:
    scenario = Scenario(topics={"t": 1})
    client = scenario.connect()
    client.wire.is_gone = True
    client.send(MetadataRequest(topics=None), 9)
    assert not client.frames
    client.send(MetadataRequest(topics=[]), 9)
    assert len(client.frames) == 1


def test_unfinished_frames_of_all_connections_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kctl.sandbox.connection.MOST_UNFINISHED_BYTES", 2500)
    scenario = Scenario()
    clients = [scenario.connect() for _ in range(3)]
    for client in clients:
        client.end.receive((5000).to_bytes(4, "big") + bytes(1000))
    assert [client.wire.is_closed for client in clients] == [False, False, True]
    clients[0].end.disconnected()
    another = scenario.connect()
    another.end.receive((5000).to_bytes(4, "big") + bytes(1000))
    assert not another.wire.is_closed, "what a closed connection held is free again"
    clients[1].end.disconnected()
    another.end.disconnected()
    assert scenario.sandbox.cluster.unfinished_bytes == 0


@pytest.mark.parametrize(
    "data",
    [
        b"GET / HTTP/1.1\r\nHost: here\r\n\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
        b"\xff\xff\xff\xff",
        b"\x00\x00\x00\x00",
        b"\x00\x00\x00\x07" + b"\x00" * 7,
        b"\x00\x00\x00\x08" + b"\x7f\xff" + b"\x00" * 6,
        b"\x00\x00\x00\x0c" + b"\x00\x03\x00\x0c\x00\x00\x00\x01\x00\x63\x00\x00",
    ],
)
def test_garbage_closes_the_connection_and_nothing_else(data: bytes) -> None:
    scenario = Scenario()
    client, other = scenario.connect(), scenario.connect()
    client.end.receive(data)
    client.end.receive(data)
    assert client.wire.is_closed
    assert len(scenario.sandbox.listeners[1].refused) == 1
    other.call(ApiVersionsRequest(), ApiVersionsResponse)


def test_a_request_cut_or_flipped_anywhere_closes_or_is_answered() -> None:
    scenario = Scenario(topics={"t": 1})
    body = encode_request(_long_poll(), 12, 1, "c")[4:]
    for at in range(len(body)):
        for wrong in (body[:at], body[:at] + bytes([body[at] ^ 0xA5]) + body[at + 1 :]):
            client = scenario.connect()
            client.end.receive(len(wrong).to_bytes(4, "big") + wrong)
            scenario.scheduler.advance(100)
            client.end.disconnected()
    assert scenario.sandbox.listeners[1].open_connections == 0
    scenario.connect().call(ApiVersionsRequest(), ApiVersionsResponse)


def test_frames_have_a_limit() -> None:
    scenario = Scenario(settings=ClusterSettings(socket_request_max_bytes=100))
    client = scenario.connect()
    client.end.receive((101).to_bytes(4, "big"))
    assert _is_closed(scenario, client)
    assert "the frame size must be from 0 to 100 bytes, not 101" in scenario.sandbox.listeners[1].refused[0]


def test_unknown_versions_of_api_versions_are_answered_in_version_0() -> None:
    client = Scenario().connect()
    frame = encode_request(ApiVersionsRequest(), 4, 9, "c")
    client.end.receive(frame[:6] + b"\x00\x63" + frame[8:])
    response = client.take(ApiVersionsResponse, 0, 9)
    assert response.error_code == ErrorCode.UNSUPPORTED_VERSION
    assert any(api.api_key == 18 and api.max_version == 4 for api in response.api_keys)
    client.call(ApiVersionsRequest(), ApiVersionsResponse, 0)


def test_bytes_behind_the_last_field_do_not_matter() -> None:
    client = Scenario().connect()
    frame = encode_request(MetadataRequest(), 13, 1, "c")[4:] + b"\x01\x00\x00"
    client.end.receive(len(frame).to_bytes(4, "big") + frame)
    client.take(MetadataResponse, 13, 1)


def test_a_client_that_leaves_stops_what_waits_for_it() -> None:
    scenario = Scenario(topics={"t": 1})
    client = scenario.connect()
    client.send(_long_poll(), 12)
    log = scenario.cluster.topics["t"].partitions[0].log
    assert (log.watchers, scenario.scheduler.pending) == (1, 1)
    client.end.disconnected()
    client.end.disconnected()
    assert (log.watchers, scenario.scheduler.pending) == (0, 0)
