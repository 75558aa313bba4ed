"""CreateTopics, DeleteTopics, InitProducerId."""

from kctl.client.broker_errors import ErrorCode
from kctl.client.protocol.api.init_producer_id import InitProducerIdRequest, InitProducerIdResponse
from kctl.client.protocol.api.topics import (
    CreatableReplicaAssignment,
    CreatableTopic,
    CreatableTopicConfig,
    CreatableTopicResult,
    CreateTopicsRequest,
    CreateTopicsResponse,
    DeletableTopicResult,
    DeleteTopicsRequest,
    DeleteTopicsResponse,
    DeleteTopicState,
)
from tests.unit.sandbox.scenario import Scenario


def _create(scenario: Scenario, *topics: CreatableTopic, validate_only: bool = False) -> list[CreatableTopicResult]:
    request = CreateTopicsRequest(topics=list(topics), validate_only=validate_only)
    return scenario.connect().call(request, CreateTopicsResponse).topics


def _topic(name: str, partitions: int = 1, replicas: int = 1) -> CreatableTopic:
    return CreatableTopic(name=name, num_partitions=partitions, replication_factor=replicas)


def test_each_topic_has_its_own_outcome() -> None:
    scenario = Scenario(nodes=3, topics={"old": 1})
    results = _create(scenario, _topic("new", 4, 2), _topic("old"), _topic("a b"), _topic("twice"), _topic("twice"))
    assert [result.error_code for result in results] == [
        ErrorCode.NONE,
        ErrorCode.TOPIC_ALREADY_EXISTS,
        ErrorCode.INVALID_TOPIC_EXCEPTION,
        ErrorCode.INVALID_REQUEST,
    ]
    assert (results[0].num_partitions, results[0].replication_factor) == (4, 2)
    assert results[0].topic_id == scenario.topic_id("new")
    assert list(scenario.cluster.topics) == ["old", "new"]


def test_defaults_configs_and_assignments() -> None:
    scenario = Scenario(nodes=3)
    configured = _topic("configured", -1, -1)
    configured.configs = [CreatableTopicConfig(name="max.message.bytes", value="123")]
    assigned = _topic("assigned", -1, -1)
    assigned.assignments = [CreatableReplicaAssignment(partition_index=0, broker_ids=[2, 1])]
    both = _topic("both")
    both.assignments = assigned.assignments
    first, second, third = _create(scenario, configured, assigned, both)
    assert [(config.name, config.value) for config in first.configs or ()] == [("max.message.bytes", "123")]
    assert scenario.cluster.topics["configured"].partitions[0].log.settings.max_message_bytes == 123
    assert (second.num_partitions, second.replication_factor) == (1, 2)
    assert third.error_code == ErrorCode.INVALID_REQUEST


def test_validate_only_creates_nothing() -> None:
    scenario = Scenario()
    (result,) = _create(scenario, _topic("t"), validate_only=True)
    assert result.error_code == ErrorCode.NONE
    assert not scenario.cluster.topics


def _delete(scenario: Scenario, request: DeleteTopicsRequest, version: int) -> list[DeletableTopicResult]:
    return scenario.connect().call(request, DeleteTopicsResponse, version).responses


def test_deleting_by_name_and_by_id() -> None:
    scenario = Scenario(topics={"a": 1, "b": 1, "c": 1})
    by_name = _delete(scenario, DeleteTopicsRequest(topic_names=["a", "x"]), 5)
    assert [result.error_code for result in by_name] == [ErrorCode.NONE, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION]
    states = [DeleteTopicState(topic_id=scenario.topic_id("b")), DeleteTopicState(topic_id=b"\1" * 16)]
    by_id = _delete(scenario, DeleteTopicsRequest(topics=states), 6)
    assert [(result.name, result.error_code) for result in by_id] == [
        ("b", ErrorCode.NONE),
        (None, ErrorCode.UNKNOWN_TOPIC_ID),
    ]
    assert list(scenario.cluster.topics) == ["c"]


def test_producer_ids_are_always_new() -> None:
    client = Scenario().connect()

    def init(producer_id: int = -1) -> tuple[int, int]:
        epoch = 0 if producer_id >= 0 else -1
        request = InitProducerIdRequest(transactional_id=None, producer_id=producer_id, producer_epoch=epoch)
        response = client.call(request, InitProducerIdResponse)
        assert response.error_code == ErrorCode.NONE
        return response.producer_id, response.producer_epoch

    first = init()
    assert [first, init(), init(first[0])] == [(first[0] + number, 0) for number in range(3)]
