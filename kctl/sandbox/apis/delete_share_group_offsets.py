"""DeleteShareGroupOffsets: deletes the offsets of topics in a group without members. Source: KIP-932."""

from kctl.client.broker_errors import ErrorCode
from kctl.client.protocol.api.share_group_offsets import (
    DeleteShareGroupOffsetsRequest,
    DeleteShareGroupOffsetsResponse,
    DeleteShareGroupOffsetsResponseTopic,
)
from kctl.sandbox.call import Call, Handler
from kctl.sandbox.groups.outbox import Refused
from kctl.sandbox.groups.share import ShareGroup


def _answer(call: Call, request: DeleteShareGroupOffsetsRequest) -> DeleteShareGroupOffsetsResponse:
    groups = call.cluster.groups
    try:
        groups.check(request.group_id, call.node)
        group = groups.share(request.group_id, create=False)
        if not group.is_empty:
            raise Refused(ErrorCode.NON_EMPTY_GROUP, "The group is not empty.")
    except Refused as refusal:
        return DeleteShareGroupOffsetsResponse(error_code=refusal.code, error_message=str(refusal))
    names = [topic.topic_name for topic in request.topics]
    return DeleteShareGroupOffsetsResponse(responses=[_topic(call, group, name) for name in names])


def _topic(call: Call, group: ShareGroup, name: str) -> DeleteShareGroupOffsetsResponseTopic:
    topic = call.cluster.topics.get(name)
    if topic is None:
        code = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        return DeleteShareGroupOffsetsResponseTopic(topic_name=name, error_code=code, error_message=code.text)
    group.forget(topic.topic_id)
    return DeleteShareGroupOffsetsResponseTopic(topic_name=name, topic_id=topic.topic_id)


HANDLER = Handler(DeleteShareGroupOffsetsRequest, 0, 0, _answer)
