"""CreateTopics: creates topics, each separately."""

from kctl.client.broker_errors import ErrorCode
from kctl.client.protocol.api.topics import (
    CreatableTopic,
    CreatableTopicConfigs,
    CreatableTopicResult,
    CreateTopicsRequest,
    CreateTopicsResponse,
)
from kctl.sandbox.call import Call, Handler
from kctl.sandbox.cluster import TopicRefused

_DYNAMIC_TOPIC_CONFIG = 1


def _answer(call: Call, request: CreateTopicsRequest) -> CreateTopicsResponse:
    names = [topic.name for topic in request.topics]
    once = [topic for topic in request.topics if names.count(topic.name) == 1]
    twice = {topic.name: topic for topic in request.topics if names.count(topic.name) > 1}
    return CreateTopicsResponse(
        topics=[
            *(_create(call, topic, validate_only=request.validate_only) for topic in once),
            *(_refused(topic, ErrorCode.INVALID_REQUEST, "Duplicate topic name.") for topic in twice.values()),
        ]
    )


def _create(call: Call, asked: CreatableTopic, *, validate_only: bool) -> CreatableTopicResult:
    partitions, replicas = asked.num_partitions, asked.replication_factor
    assignment = None
    if asked.assignments:
        if (partitions, replicas) != (-1, -1):
            return _refused(asked, ErrorCode.INVALID_REQUEST, "the request has both counts and a replica assignment")
        by_index = sorted(asked.assignments, key=lambda one: one.partition_index)
        if [one.partition_index for one in by_index] != list(range(len(by_index))):
            text = "partitions must be numbered from 0 without gaps or duplicates"
            return _refused(asked, ErrorCode.INVALID_REPLICA_ASSIGNMENT, text)
        assignment = [one.broker_ids for one in by_index]
    properties = {config.name: config.value for config in asked.configs if config.value is not None}
    try:
        topic = call.cluster.create_topic(
            asked.name, partitions, replicas, properties, assignment=assignment, validate_only=validate_only
        )
    except TopicRefused as error:
        return _refused(asked, error.code, str(error))
    return CreatableTopicResult(
        name=topic.name,
        topic_id=topic.topic_id,
        error_message=None,
        num_partitions=len(topic.partitions),
        replication_factor=len(topic.partitions[0].replicas),
        configs=[
            CreatableTopicConfigs(name=name, value=value, config_source=_DYNAMIC_TOPIC_CONFIG)
            for name, value in topic.properties.items()
        ],
    )


def _refused(asked: CreatableTopic, code: ErrorCode, message: str) -> CreatableTopicResult:
    return CreatableTopicResult(name=asked.name, error_code=code, error_message=message)


HANDLER = Handler(CreateTopicsRequest, 2, 7, _answer)
