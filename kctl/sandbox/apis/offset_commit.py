"""OffsetCommit: by members of either protocol, or by anybody while the group has no members."""

from kctl.client.broker_errors import ErrorCode
from kctl.client.protocol.api.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
    OffsetCommitResponse,
    OffsetCommitResponsePartition,
    OffsetCommitResponseTopic,
)
from kctl.sandbox.call import Call, Handler
from kctl.sandbox.groups.coordinator import CommittedOffset
from kctl.sandbox.groups.outbox import Refused

_TOPIC_IDS_FROM = 10


def _answer(call: Call, request: OffsetCommitRequest) -> OffsetCommitResponse:
    code = _group_error(call, request)
    return OffsetCommitResponse(topics=[_topic(call, request.group_id, code, topic) for topic in request.topics])


def _group_error(call: Call, request: OffsetCommitRequest) -> ErrorCode:
    groups = call.cluster.groups
    code = groups.error(request.group_id, call.node)
    if code is not ErrorCode.NONE:
        return code
    epoch = request.generation_id_or_member_epoch
    try:
        groups.check_commit(request.group_id, request.member_id, request.group_instance_id, epoch, call.version)
    except Refused as refusal:
        return refusal.code
    return ErrorCode.NONE


def _topic(
    call: Call, group_id: str, group_code: ErrorCode, asked: OffsetCommitRequestTopic
) -> OffsetCommitResponseTopic:
    name: str | None = asked.name
    missing = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    if call.version >= _TOPIC_IDS_FROM:
        topic = call.cluster.topic_of_id(asked.topic_id)
        name = None if topic is None else topic.name
        missing = ErrorCode.UNKNOWN_TOPIC_ID
    answers = []
    for partition in asked.partitions:
        code = group_code
        if code is ErrorCode.NONE and (name is None or call.cluster.partition(name, partition.partition_index) is None):
            code = missing
        if code is ErrorCode.NONE and name is not None:
            code = _commit(call, group_id, name, partition)
        answers.append(OffsetCommitResponsePartition(partition_index=partition.partition_index, error_code=code))
    return OffsetCommitResponseTopic(name=asked.name, topic_id=asked.topic_id, partitions=answers)


def _commit(call: Call, group_id: str, topic: str, asked: OffsetCommitRequestPartition) -> ErrorCode:
    if len((asked.committed_metadata or "").encode()) > call.cluster.settings.offset_metadata_max_bytes:
        return ErrorCode.OFFSET_METADATA_TOO_LARGE
    committed = CommittedOffset(asked.committed_offset, asked.committed_leader_epoch, asked.committed_metadata or "")
    call.cluster.groups.commit(group_id, topic, asked.partition_index, committed)
    return ErrorCode.NONE


HANDLER = Handler(OffsetCommitRequest, 2, 10, _answer)
