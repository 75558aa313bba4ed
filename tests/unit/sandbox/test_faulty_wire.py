"""Effect of faults on the bytes of an open connection."""

from kctl.client.protocol.api.api_versions import ApiVersionsRequest, ApiVersionsResponse
from kctl.client.protocol.api.fetch import FetchPartition, FetchRequest, FetchResponse, FetchTopic
from kctl.client.protocol.api.metadata import MetadataRequest, MetadataRequestTopic
from kctl.sandbox.faults import Fault
from tests.unit.sandbox.scenario import Scenario


def test_silence_swallows_for_good() -> None:
    scenario = Scenario()
    client, other = scenario.connect(), scenario.connect()
    scenario.sandbox.start_fault(1, Fault.SILENCE)
    client.send(ApiVersionsRequest(), 0)
    scenario.sandbox.heal()
    client.send(ApiVersionsRequest(), 0)
    assert not client.frames
    other.call(ApiVersionsRequest(), ApiVersionsResponse, 0)
    assert not client.wire.is_closed


def test_reset_on_request() -> None:
    scenario = Scenario()
    client = scenario.connect()
    scenario.sandbox.start_fault(1, Fault.RESET_ON_REQUEST)
    client.send(ApiVersionsRequest(), 0)
    assert client.wire.is_reset
    assert not client.frames
    assert scenario.sandbox.listeners[1].open_connections == 0


def test_a_frozen_node_answers_everything_late_and_in_order() -> None:
    scenario = Scenario()
    client = scenario.connect()
    scenario.sandbox.start_fault(1, Fault.FREEZE)
    ids = [client.send(ApiVersionsRequest(), version) for version in (0, 1, 2)]
    scenario.scheduler.advance(60_000)
    assert not client.frames
    assert client.wire.pauses == [True]
    scenario.sandbox.stop_fault(1, Fault.FREEZE)
    assert client.wire.pauses == [True, False]
    for version, correlation_id in enumerate(ids):
        client.take(ApiVersionsResponse, version, correlation_id)


def test_an_answer_that_falls_due_in_a_frozen_node_leaves_when_it_thaws() -> None:
    scenario = Scenario(topics={"t": 1})
    client = scenario.connect()
    topics = [FetchTopic(topic="t", partitions=[FetchPartition(partition=0, partition_max_bytes=100)])]
    correlation_id = client.send(FetchRequest(max_wait_ms=100, min_bytes=1, topics=topics), 12)
    scenario.sandbox.start_fault(1, Fault.FREEZE)
    scenario.scheduler.advance(500)
    assert not client.frames
    scenario.sandbox.heal(1)
    client.take(FetchResponse, 12, correlation_id)


def test_a_frozen_node_does_nothing_behind_the_scenes() -> None:
    scenario = Scenario(topics={"t": 1})
    client = scenario.connect()
    topics = [FetchTopic(topic="t", partitions=[FetchPartition(partition=0, partition_max_bytes=100)])]
    client.send(FetchRequest(max_wait_ms=100, min_bytes=1, topics=topics), 12)
    client.send(MetadataRequest(topics=[MetadataRequestTopic(name="new")]), 12)
    scenario.sandbox.start_fault(1, Fault.FREEZE)
    scenario.scheduler.advance(500)
    assert list(scenario.cluster.topics) == ["t"]
    scenario.sandbox.heal(1)
    assert list(scenario.cluster.topics) == ["t", "new"]
    assert len(client.frames) == 2


def test_delay_is_exact_and_one_answer_after_the_other() -> None:
    scenario = Scenario()
    client = scenario.connect()
    scenario.sandbox.start_fault(1, Fault.DELAY, ms=70)
    ids = [client.send(ApiVersionsRequest(), 0) for _ in range(2)]
    scenario.scheduler.advance(69)
    assert not client.frames
    scenario.scheduler.advance(1)
    client.take(ApiVersionsResponse, 0, ids[0])
    scenario.scheduler.advance(69)
    assert not client.frames
    scenario.scheduler.advance(1)
    client.take(ApiVersionsResponse, 0, ids[1])


def test_a_client_that_left_during_a_delay_is_forgotten() -> None:
    scenario = Scenario()
    client = scenario.connect()
    scenario.sandbox.start_fault(1, Fault.DELAY, ms=70)
    client.send(ApiVersionsRequest(), 0)
    client.end.disconnected()
    scenario.scheduler.advance(100)
    assert not client.frames
