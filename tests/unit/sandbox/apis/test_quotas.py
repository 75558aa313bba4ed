"""Clients above their quota: throttle times, and the time without reads."""

from typing import Any

import pytest

from kctl.client.protocol.api.api_versions import ApiVersionsRequest, ApiVersionsResponse
from kctl.client.protocol.api.fetch import FetchPartition, FetchRequest, FetchResponse, FetchTopic
from kctl.client.protocol.api.produce import PartitionProduceData, ProduceRequest, ProduceResponse, TopicProduceData
from kctl.sandbox.quotas import MAX_RATE, Quota
from tests.unit.sandbox.scenario import Client, Scenario, batch

LARGE = batch(b"x" * 1_930)
"""A batch of 2,000 bytes."""


def produce_request(acks: int = -1) -> ProduceRequest:
    data = [PartitionProduceData(index=0, records=LARGE)]
    return ProduceRequest(acks=acks, topic_data=[TopicProduceData(name="t", partition_data=data)])


def throttled(client: Client) -> int:
    return client.call(produce_request(), ProduceResponse, 9).throttle_time_ms


def fetch(client: Client, offset: int = 0, **session: Any) -> FetchResponse:
    asked = [FetchPartition(partition=0, fetch_offset=offset, partition_max_bytes=10_000)]
    request = FetchRequest(topics=[FetchTopic(topic="t", partitions=asked)], **session)
    return client.call(request, FetchResponse, 12)


def test_who_produces_too_much_is_told_and_then_not_read_from() -> None:
    assert len(LARGE) == 2_000
    scenario = Scenario(topics={"t": 1})
    client, other = scenario.connect(), scenario.connect()
    scenario.sandbox.limit(Quota.PRODUCE, 1_000)
    assert throttled(client) == 1_000
    number = client.send(ApiVersionsRequest(), 0)
    scenario.scheduler.advance(999)
    assert not client.frames
    other.call(ApiVersionsRequest(), ApiVersionsResponse, 0)
    scenario.scheduler.advance(1)
    client.take(ApiVersionsResponse, 0, number)
    assert scenario.sandbox.end_offset("t", 0) == 1


def test_time_pays_and_a_limit_can_be_lifted() -> None:
    scenario = Scenario(topics={"t": 1})
    client = scenario.connect()
    scenario.sandbox.limit(Quota.PRODUCE, 4_000)
    assert [throttled(client), throttled(client)] == [0, 0]
    scenario.scheduler.advance(250)
    assert throttled(client) == 250
    scenario.scheduler.advance(250)
    scenario.sandbox.limit(Quota.PRODUCE, None)
    assert [throttled(client) for _ in range(5)] == [0] * 5


def test_who_wants_no_answer_is_muted_all_the_same() -> None:
    scenario = Scenario(topics={"t": 1})
    client = scenario.connect()
    scenario.sandbox.limit(Quota.PRODUCE, 1_000)
    client.send(produce_request(acks=0), 9)
    number = client.send(ApiVersionsRequest(), 0)
    assert not client.frames
    scenario.scheduler.advance(1_000)
    client.take(ApiVersionsResponse, 0, number)


def test_who_fetches_too_much_gets_nothing_until_its_time_has_come() -> None:
    scenario = Scenario(topics={"t": 1})
    client = scenario.connect()
    for _ in range(2):
        throttled(client)
    scenario.sandbox.limit(Quota.FETCH, 1_000)
    first = fetch(client, session_epoch=0)
    assert (first.throttle_time_ms, len(first.responses[0].partitions[0].records or b"")) == (0, 4_000)
    session: dict[str, Any] = {"session_id": first.session_id, "session_epoch": 1}
    second = fetch(client, **session)
    assert (second.throttle_time_ms, second.session_id, second.responses) == (3_000, first.session_id, [])
    scenario.scheduler.advance(3_000)
    session["session_epoch"] = 2
    third = fetch(client, **session)
    assert (third.throttle_time_ms, len(third.responses[0].partitions[0].records or b"")) == (0, 4_000)


def test_a_throttled_fetch_opens_no_session() -> None:
    scenario = Scenario(topics={"t": 1})
    client = scenario.connect()
    throttled(client)
    scenario.sandbox.limit(Quota.FETCH, 1_000)
    fetch(client)
    got = fetch(client, session_epoch=0)
    assert (got.throttle_time_ms, got.session_id, got.responses) == (1_000, 0, [])
    assert len(scenario.cluster.nodes[1].fetch_sessions) == 0


@pytest.mark.parametrize("rate", [0, MAX_RATE + 1])
def test_limits_have_bounds(rate: int) -> None:
    with pytest.raises(ValueError, match=f"1 to {MAX_RATE}"):
        Scenario().sandbox.limit(Quota.FETCH, rate)


def test_nobody_saves_up_more_than_a_second() -> None:
    scenario = Scenario(topics={"t": 1})
    client = scenario.connect()
    scenario.sandbox.limit(Quota.PRODUCE, 2_000)
    assert throttled(client) == 0
    scenario.scheduler.advance(60_000)
    assert [throttled(client), throttled(client)] == [0, 1_000]
