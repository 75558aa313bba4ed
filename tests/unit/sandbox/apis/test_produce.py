"""Produce: appended batches, and errors by partition."""

import pytest

from kctl.client.broker_errors import ErrorCode
from kctl.client.protocol.api.produce import (
    PartitionProduceData,
    PartitionProduceResponse,
    ProduceRequest,
    ProduceResponse,
    TopicProduceData,
)
from kctl.sandbox.settings import ClusterSettings
from tests.unit.sandbox.scenario import WALL_MS, Scenario, batch


def _produce(*data: tuple[str, int, bytes | None], acks: int = -1) -> ProduceRequest:
    return ProduceRequest(
        acks=acks,
        topic_data=[
            TopicProduceData(name=name, partition_data=[PartitionProduceData(index=index, records=records)])
            for name, index, records in data
        ],
    )


def _answers(scenario: Scenario, request: ProduceRequest, version: int = 12) -> list[PartitionProduceResponse]:
    response = scenario.connect().call(request, ProduceResponse, version)
    return [answer for topic in response.responses for answer in topic.partition_responses]


def test_each_partition_has_its_own_outcome() -> None:
    scenario = Scenario(nodes=2, topics={"t": 2})
    answers = _answers(
        scenario,
        _produce(("t", 0, batch(b"a", b"b")), ("t", 1, batch(b"c")), ("t", 7, batch(b"d")), ("u", 0, batch(b"e"))),
    )
    assert [(answer.error_code, answer.base_offset) for answer in answers] == [
        (ErrorCode.NONE, 0),
        (ErrorCode.NOT_LEADER_OR_FOLLOWER, -1),
        (ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, -1),
        (ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, -1),
    ]
    assert (scenario.sandbox.end_offset("t", 0), scenario.sandbox.end_offset("t", 1)) == (2, 0)


@pytest.mark.parametrize("version", [12, 13])
def test_the_leader_is_named_to_those_who_ask_the_wrong_node(version: int) -> None:
    scenario = Scenario(nodes=2, topics={"t": 2})
    client = scenario.connect()
    request = _produce(("t", 1, batch(b"v")))
    request.topic_data[0].topic_id = scenario.topic_id("t")
    response = client.call(request, ProduceResponse, version)
    answer = response.responses[0].partition_responses[0]
    assert (answer.current_leader.leader_id, answer.current_leader.leader_epoch) == (2, 0)
    assert [(node.node_id, node.host, node.port) for node in response.node_endpoints] == [(2, "10.0.0.2", 9092)]


@pytest.mark.parametrize(
    ("records", "code"),
    [
        (None, ErrorCode.INVALID_RECORD),
        (batch(b"v")[:-1] + b"x", ErrorCode.CORRUPT_MESSAGE),
        (batch(b"v" * 200), ErrorCode.MESSAGE_TOO_LARGE),
        (batch(b"v", timestamps_ms=[WALL_MS * 2]), ErrorCode.INVALID_TIMESTAMP),
    ],
    ids=lambda value: value.name if isinstance(value, ErrorCode) else "batch",
)
def test_refused_batches(records: bytes | None, code: ErrorCode) -> None:
    scenario = Scenario(topics={"t": 1}, settings=ClusterSettings(message_max_bytes=200))
    (answer,) = _answers(scenario, _produce(("t", 0, records)))
    assert answer.error_code == code
    assert bool(answer.error_message) == (code is ErrorCode.INVALID_TIMESTAMP)
    assert scenario.sandbox.end_offset("t", 0) == 0


def test_acks_0_gets_no_answer_and_is_appended() -> None:
    scenario = Scenario(topics={"t": 1})
    client = scenario.connect()
    client.send(_produce(("t", 0, batch(b"v")), acks=0), 9)
    client.send(_produce(("t", 0, batch(b"v")), acks=0), 9)
    assert not client.frames
    client.call(_produce(("t", 0, batch(b"v")), acks=1), ProduceResponse, 9)
    assert scenario.sandbox.end_offset("t", 0) == 3


def test_other_acks_are_refused() -> None:
    scenario = Scenario(topics={"t": 1})
    (answer,) = _answers(scenario, _produce(("t", 0, batch(b"v")), acks=2))
    assert answer.error_code == ErrorCode.INVALID_REQUIRED_ACKS
    assert scenario.sandbox.end_offset("t", 0) == 0


def test_topic_ids() -> None:
    scenario = Scenario(topics={"t": 1})
    for topic_id, code in ((scenario.topic_id("t"), ErrorCode.NONE), (b"\1" * 16, ErrorCode.UNKNOWN_TOPIC_ID)):
        data = [PartitionProduceData(index=0, records=batch(b"v"))]
        request = ProduceRequest(acks=1, topic_data=[TopicProduceData(topic_id=topic_id, partition_data=data)])
        assert [answer.error_code for answer in _answers(scenario, request, 13)] == [code]


def test_log_append_time_is_told() -> None:
    scenario = Scenario()
    scenario.sandbox.create_topic("t", properties={"message.timestamp.type": "LogAppendTime"})
    scenario.scheduler.advance(5)
    (answer,) = _answers(scenario, _produce(("t", 0, batch(b"v"))))
    assert answer.log_append_time_ms == WALL_MS + 5


def test_a_repeated_sequence_is_appended_once() -> None:
    scenario = Scenario(topics={"t": 1})
    request = _produce(("t", 0, batch(b"v", producer=(1000, 0, 0))))
    offsets = [_answers(scenario, request)[0].base_offset for _ in range(2)]
    assert (offsets, scenario.sandbox.end_offset("t", 0)) == ([0, 0], 1)
