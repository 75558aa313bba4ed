"""AlterShareGroupOffsets: sets start offsets of a group without members, or of a new group. Source: KIP-932."""

from kctl.client.broker_errors import ErrorCode
from kctl.client.protocol.api.share_group_offsets import (
    AlterShareGroupOffsetsRequest,
    AlterShareGroupOffsetsRequestTopic,
    AlterShareGroupOffsetsResponse,
    AlterShareGroupOffsetsResponsePartition,
    AlterShareGroupOffsetsResponseTopic,
)
from kctl.client.protocol.schema import ZERO_UUID
from kctl.sandbox.call import Call, Handler
from kctl.sandbox.groups.outbox import Refused
from kctl.sandbox.groups.share import ShareGroup, ShareKey


def _answer(call: Call, request: AlterShareGroupOffsetsRequest) -> AlterShareGroupOffsetsResponse:
    groups = call.cluster.groups
    try:
        groups.check(request.group_id, call.node)
        group = groups.share(request.group_id, create=True)
        if not group.is_empty:
            raise Refused(ErrorCode.NON_EMPTY_GROUP, "The group is not empty.")
    except Refused as refusal:
        return AlterShareGroupOffsetsResponse(error_code=refusal.code, error_message=str(refusal))
    return AlterShareGroupOffsetsResponse(responses=[_topic(call, group, topic) for topic in request.topics])


def _topic(
    call: Call, group: ShareGroup, asked: AlterShareGroupOffsetsRequestTopic
) -> AlterShareGroupOffsetsResponseTopic:
    topic = call.cluster.topics.get(asked.topic_name)
    parts = []
    for part in asked.partitions:
        answer = AlterShareGroupOffsetsResponsePartition(partition_index=part.partition_index)
        if topic is None or part.partition_index not in topic.partitions:
            answer.error_code = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
            answer.error_message = "This server does not host this topic-partition."
        else:
            group.set_start(ShareKey(topic.topic_id, part.partition_index), part.start_offset)
        parts.append(answer)
    topic_id = ZERO_UUID if topic is None else topic.topic_id
    return AlterShareGroupOffsetsResponseTopic(topic_name=asked.topic_name, topic_id=topic_id, partitions=parts)


HANDLER = Handler(AlterShareGroupOffsetsRequest, 0, 0, _answer)
