"""The sandbox on real sockets: nodes, ports, long polls, garbage, mistakes of its own, and that nothing is left."""

import socket
import threading
from collections.abc import Iterator

import pytest

from kctl.client.errors import IllegalStateError
from kctl.client.protocol.api.api_versions import ApiVersionsRequest, ApiVersionsResponse
from kctl.client.protocol.api.fetch import FetchPartition, FetchRequest, FetchResponse, FetchTopic
from kctl.client.protocol.api.metadata import MetadataRequest, MetadataResponse
from kctl.client.protocol.api.produce import (
    PartitionProduceData,
    ProduceRequest,
    ProduceResponse,
    TopicProduceData,
)
from kctl.sandbox import Sandbox
from kctl.sandbox.cluster import TopicRefused
from kctl.sandbox.server import SandboxFailure, ServedSandbox
from kctl.sandbox.socket_loop import SocketLoopError
from tests.loopback.sandbox.peer import Peer
from tests.support.bounds import bound
from tests.support.ports import leased_ports
from tests.unit.sandbox.scenario import batch


@pytest.fixture
def served() -> Iterator[ServedSandbox]:
    with Sandbox(nodes=3, topics={"t": 3}).serve() as served:
        yield served


def _produce(partition: int, records: bytes) -> ProduceRequest:
    data = [PartitionProduceData(index=partition, records=records)]
    return ProduceRequest(acks=-1, topic_data=[TopicProduceData(name="t", partition_data=data)])


def _fetch(max_wait_ms: int) -> FetchRequest:
    asked = [FetchPartition(partition=0, partition_max_bytes=10_000_000)]
    return FetchRequest(max_wait_ms=max_wait_ms, min_bytes=1, topics=[FetchTopic(topic="t", partitions=asked)])


def test_every_node_answers_where_it_is_advertised(served: ServedSandbox) -> None:
    with Peer(served.listens_on(1)) as peer:
        nodes = peer.call(MetadataRequest(topics=None), MetadataResponse, 9).brokers
    assert ",".join(f"{node.host}:{node.port}" for node in nodes) == served.bootstrap
    for node in nodes:
        with Peer((node.host, node.port)) as peer:
            peer.call(ApiVersionsRequest(), ApiVersionsResponse, 0)


def test_ports_follow_each_other() -> None:
    with leased_ports() as lease, Sandbox(nodes=2).serve(port=(port := lease.take())) as served:
        assert [served.listens_on(node_id) for node_id in (1, 2)] == [("127.0.0.1", port), ("127.0.0.1", port + 1)]


def test_a_port_that_is_taken_is_named_and_nothing_is_left() -> None:
    before = threading.active_count()
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(OSError, match=f"cannot listen on 127.0.0.1:{port}: Address already in use"):
            Sandbox(nodes=1).serve(port=port)
    assert threading.active_count() == before


def test_serve_of_a_served_sandbox_is_refused(served: ServedSandbox) -> None:
    before = threading.active_count()
    with pytest.raises(IllegalStateError, match="already served or attached"):
        served.sandbox.serve()
    assert threading.active_count() == before
    with Peer(served.listens_on(1)) as peer:
        assert f"{served.bootstrap},".startswith(f"127.0.0.1:{served.listens_on(1)[1]},")
        peer.call(ApiVersionsRequest(), ApiVersionsResponse, 0)


def test_large_batches_travel_both_ways(served: ServedSandbox) -> None:
    served.sandbox.create_topic("large", properties={"max.message.bytes": "9000000"})
    leader = served.sandbox.cluster.topics["large"].partitions[0].leader_id
    with Peer(served.listens_on(leader)) as peer:
        request = _produce(0, batch(b"x" * 8_000_000))
        request.topic_data[0].name = "large"
        assert peer.call(request, ProduceResponse, 9).responses[0].partition_responses[0].error_code == 0
        fetch = _fetch(0)
        fetch.topics[0].topic = "large"
        records = peer.call(fetch, FetchResponse, 12).responses[0].partitions[0].records or b""
    assert len(records) > 8_000_000


def test_a_long_poll_ends_when_data_arrives(served: ServedSandbox) -> None:
    with Peer(served.listens_on(1)) as reader, Peer(served.listens_on(1)) as writer:
        reader.send(_fetch(60_000), 12)
        assert reader.is_silent()
        writer.call(_produce(0, batch(b"news")), ProduceResponse, 9)
        assert b"news" in (reader.receive(FetchResponse, 12).responses[0].partitions[0].records or b"")


def test_a_long_poll_ends_by_itself(served: ServedSandbox) -> None:
    with Peer(served.listens_on(1)) as reader:
        assert not reader.call(_fetch(50), FetchResponse, 12).responses[0].partitions[0].records


def test_garbage_closes_one_connection_only(served: ServedSandbox) -> None:
    with Peer(served.listens_on(1)) as other, Peer(served.listens_on(1)) as peer:
        peer.socket.sendall(b"GET / HTTP/1.1\r\n\r\n")
        assert peer.is_closed()
        other.call(ApiVersionsRequest(), ApiVersionsResponse, 0)


def test_calls_of_other_threads_run_in_the_loop(served: ServedSandbox) -> None:
    served.sandbox.create_topic("new", 2)
    with pytest.raises(TopicRefused, match="already exists"):
        served.sandbox.create_topic("new")
    with Peer(served.listens_on(2)) as peer:
        assert len(peer.call(MetadataRequest(topics=None), MetadataResponse, 9).topics) == 2


def test_stopping_leaves_no_thread_socket_or_connection() -> None:
    before = threading.active_count()
    served = Sandbox(nodes=3, topics={"t": 3}).serve()
    addresses = [served.listens_on(node_id) for node_id in (1, 2, 3)]
    with Peer(addresses[0]) as peer:
        peer.send(_fetch(60_000), 12)
        served.stop()
        served.stop()
        assert peer.is_closed()
    assert served.open_connections == 0
    assert threading.active_count() == before
    for address in addresses:
        with pytest.raises(ConnectionRefusedError):
            socket.create_connection(address, timeout=bound(5))
    with pytest.raises(SocketLoopError, match="has been stopped"):
        served.sandbox.create_topic("late")


def test_a_mistake_of_the_sandbox_costs_one_connection_and_is_told_at_the_end(
    served: ServedSandbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object, **_more: object) -> None:
        raise ZeroDivisionError("a mistake")

    with Peer(served.listens_on(1)) as peer, Peer(served.listens_on(1)) as other:
        with monkeypatch.context() as patch:
            patch.setattr("kctl.sandbox.connection.encode_response", fail)
            peer.send(ApiVersionsRequest(), 0)
            assert peer.is_closed()
        other.call(ApiVersionsRequest(), ApiVersionsResponse, 0)
    with pytest.raises(SandboxFailure, match="1 failures") as failure:
        served.stop()
    assert isinstance(failure.value.__cause__, ZeroDivisionError)
