"""CreatePartitions: adds partitions, for each topic separately."""

from kctl.client.broker_errors import ErrorCode
from kctl.client.protocol.api.topics import (
    CreatePartitionsRequest,
    CreatePartitionsResponse,
    CreatePartitionsTopic,
    CreatePartitionsTopicResult,
)
from kctl.sandbox.call import Call, Handler
from kctl.sandbox.cluster import TopicRefused


def _answer(call: Call, request: CreatePartitionsRequest) -> CreatePartitionsResponse:
    return CreatePartitionsResponse(
        results=[_grow(call, topic, validate_only=request.validate_only) for topic in request.topics]
    )


def _grow(call: Call, topic: CreatePartitionsTopic, *, validate_only: bool) -> CreatePartitionsTopicResult:
    assignment = None if topic.assignments is None else [each.broker_ids for each in topic.assignments]
    try:
        call.cluster.add_partitions(topic.name, topic.count, assignment, validate_only=validate_only)
    except TopicRefused as error:
        return CreatePartitionsTopicResult(name=topic.name, error_code=error.code, error_message=str(error))
    return CreatePartitionsTopicResult(name=topic.name, error_code=ErrorCode.NONE)


HANDLER = Handler(CreatePartitionsRequest, 0, 3, _answer)
