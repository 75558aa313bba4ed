"""OffsetCommit: commits of members of either protocol, or of any client while the group has no members."""

from kctl.client.broker_errors import ErrorCode
from kctl.client.protocol.api.committed_offsets import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
    OffsetCommitResponse,
    OffsetCommitResponsePartition,
    OffsetCommitResponseTopic,
)
from kctl.sandbox.call import Call, Handler
from kctl.sandbox.cluster import Topic
from kctl.sandbox.groups.offsets import Claim, CommittedOffset
from kctl.sandbox.groups.outbox import Refused
from kctl.sandbox.groups.reconciliation import Slot

_TOPIC_IDS_FROM = 10


def _answer(call: Call, request: OffsetCommitRequest) -> OffsetCommitResponse:
    found = [(asked, _found(call, asked)) for asked in request.topics]
    slots = tuple(
        Slot(topic.topic_id, partition.partition_index)
        for asked, topic in found
        if topic is not None
        for partition in asked.partitions
        if partition.partition_index in topic.partitions
    )
    code = _group_error(call, request, slots)
    offsets: dict[tuple[str, int], CommittedOffset] = {}
    response = OffsetCommitResponse(topics=[_topic(call, code, asked, topic, offsets) for asked, topic in found])
    call.cluster.groups.commit(request.group_id, offsets)
    return response


def _found(call: Call, asked: OffsetCommitRequestTopic) -> Topic | None:
    if call.version >= _TOPIC_IDS_FROM:
        return call.cluster.topic_of_id(asked.topic_id)
    return call.cluster.topics.get(asked.name)


def _group_error(call: Call, request: OffsetCommitRequest, slots: tuple[Slot, ...]) -> ErrorCode:
    groups = call.cluster.groups
    claim = Claim(
        request.member_id, request.group_instance_id, request.generation_id_or_member_epoch, call.version, slots
    )
    try:
        groups.check(request.group_id, call.node, may_be_nameless=True)
        if slots:
            groups.check_commit(request.group_id, claim)
    except Refused as refusal:
        return refusal.code
    return ErrorCode.NONE


def _committed(asked: OffsetCommitRequestPartition) -> CommittedOffset:
    return CommittedOffset(asked.committed_offset, asked.committed_leader_epoch, asked.committed_metadata or "")


def _topic(
    call: Call,
    group_code: ErrorCode,
    asked: OffsetCommitRequestTopic,
    topic: Topic | None,
    offsets: dict[tuple[str, int], CommittedOffset],
) -> OffsetCommitResponseTopic:
    missing = ErrorCode.UNKNOWN_TOPIC_ID if call.version >= _TOPIC_IDS_FROM else ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    answers = []
    for partition in asked.partitions:
        index, code = partition.partition_index, group_code
        if topic is None or index not in topic.partitions:
            code = missing
        elif code is ErrorCode.NONE:
            code = _check(call, partition)
            if code is ErrorCode.NONE:
                offsets[topic.name, index] = _committed(partition)
        answers.append(OffsetCommitResponsePartition(partition_index=index, error_code=code))
    return OffsetCommitResponseTopic(name=asked.name, topic_id=asked.topic_id, partitions=answers)


def _check(call: Call, asked: OffsetCommitRequestPartition) -> ErrorCode:
    is_long = len((asked.committed_metadata or "").encode()) > call.cluster.settings.offset_metadata_max_bytes
    return ErrorCode.OFFSET_METADATA_TOO_LARGE if is_long else ErrorCode.NONE


HANDLER = Handler(OffsetCommitRequest, 2, 10, _answer)
