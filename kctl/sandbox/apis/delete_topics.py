"""DeleteTopics: by name, or by ID from version 6."""

from kctl.client.broker_errors import ErrorCode
from kctl.client.protocol.api.topics import (
    DeletableTopicResult,
    DeleteTopicsRequest,
    DeleteTopicsResponse,
    DeleteTopicState,
)
from kctl.client.protocol.schema import ZERO_UUID
from kctl.sandbox.call import Call, Handler

_TOPIC_IDS_FROM = 6


def _answer(call: Call, request: DeleteTopicsRequest) -> DeleteTopicsResponse:
    asked = request.topics
    if call.version < _TOPIC_IDS_FROM:
        asked = [DeleteTopicState(name=name) for name in request.topic_names]
    return DeleteTopicsResponse(responses=[_delete(call, topic) for topic in asked])


def _delete(call: Call, asked: DeleteTopicState) -> DeletableTopicResult:
    if (asked.name is None) is (asked.topic_id == ZERO_UUID):  # both or neither: the permission is for the ID
        code = ErrorCode.INVALID_REQUEST
        return DeletableTopicResult(name=asked.name, topic_id=asked.topic_id, error_code=code)
    if asked.name is None:
        topic = call.cluster.topic_of_id(asked.topic_id)
        missing = ErrorCode.UNKNOWN_TOPIC_ID
    else:
        topic = call.cluster.topics.get(asked.name)
        missing = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    if topic is None:
        return DeletableTopicResult(name=asked.name, topic_id=asked.topic_id, error_code=missing)
    call.cluster.delete_topic(topic.name)
    return DeletableTopicResult(name=topic.name, topic_id=topic.topic_id)


HANDLER = Handler(DeleteTopicsRequest, 1, 6, _answer)
