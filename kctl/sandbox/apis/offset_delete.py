"""OffsetDelete: deletes offsets of topics without subscribed members. Source: KIP-496."""

from collections.abc import Collection

from kctl.client.broker_errors import ErrorCode
from kctl.client.protocol.api.committed_offsets import (
    OffsetDeleteRequest,
    OffsetDeleteRequestTopic,
    OffsetDeleteResponse,
    OffsetDeleteResponsePartition,
    OffsetDeleteResponseTopic,
)
from kctl.sandbox.call import Call, Handler
from kctl.sandbox.groups.outbox import Refused


def _answer(call: Call, request: OffsetDeleteRequest) -> OffsetDeleteResponse:
    groups = call.cluster.groups
    try:
        groups.check(request.group_id, call.node)
        group = groups.get(request.group_id)
        if group is None:
            raise Refused(ErrorCode.GROUP_ID_NOT_FOUND)
        in_use = group.subscribed_topics()
    except Refused as refusal:
        return OffsetDeleteResponse(error_code=refusal.code)
    return OffsetDeleteResponse(topics=[_topic(call, request.group_id, topic, in_use) for topic in request.topics])


def _topic(
    call: Call, group_id: str, asked: OffsetDeleteRequestTopic, in_use: Collection[str]
) -> OffsetDeleteResponseTopic:
    answers, deleted = [], []
    for partition in asked.partitions:
        index = partition.partition_index
        if call.cluster.partition(asked.name, index) is None:
            code = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        elif asked.name in in_use:
            code = ErrorCode.GROUP_SUBSCRIBED_TO_TOPIC
        else:
            code = ErrorCode.NONE
            deleted.append((asked.name, index))
        answers.append(OffsetDeleteResponsePartition(partition_index=index, error_code=code))
    call.cluster.groups.forget(group_id, deleted)
    return OffsetDeleteResponseTopic(name=asked.name, partitions=answers)


HANDLER = Handler(OffsetDeleteRequest, 0, 0, _answer)
