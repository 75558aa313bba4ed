"""OffsetFetch: committed offsets of one group. From version 8, of several groups. From version 10, by topic ID."""

from collections.abc import Iterable
from itertools import groupby

from kctl.client.broker_errors import ErrorCode
from kctl.client.protocol.api.committed_offsets import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopics,
    OffsetFetchResponse,
    OffsetFetchResponseGroup,
    OffsetFetchResponsePartition,
    OffsetFetchResponsePartitions,
    OffsetFetchResponseTopic,
    OffsetFetchResponseTopics,
)
from kctl.client.protocol.schema import ZERO_UUID
from kctl.sandbox.call import Call, Handler
from kctl.sandbox.groups.offsets import CommittedOffset
from kctl.sandbox.groups.outbox import Refused
from kctl.sandbox.transactions.transaction import TopicPartition

_GROUP_ERRORS_FROM = 2
_MANY_GROUPS_FROM = 8
_TOPIC_IDS_FROM = 10
_NOTHING = CommittedOffset(-1, -1, "")
_Found = tuple[ErrorCode, CommittedOffset]


def _answer(call: Call, request: OffsetFetchRequest) -> OffsetFetchResponse:
    if call.version >= _MANY_GROUPS_FROM:
        return OffsetFetchResponse(groups=[_group(call, request, group) for group in request.groups])
    code = _group_error(call, request.group_id)
    if code is not ErrorCode.NONE:
        return _old_refusal(call, request, code)
    if request.topics is None:
        asked = _all_of(call, request.group_id)
    else:
        asked = [(topic.name, topic.partition_indexes) for topic in request.topics]
    return OffsetFetchResponse(topics=[_old_topic(call, request, name, indexes) for name, indexes in asked])


def _old_topic(call: Call, request: OffsetFetchRequest, name: str, indexes: Iterable[int]) -> OffsetFetchResponseTopic:
    partitions = [_old_partition(call, request, name, index) for index in indexes]
    return OffsetFetchResponseTopic(name=name, partitions=partitions)


def _old_refusal(call: Call, request: OffsetFetchRequest, code: ErrorCode) -> OffsetFetchResponse:
    if call.version >= _GROUP_ERRORS_FROM:
        return OffsetFetchResponse(error_code=code)
    return OffsetFetchResponse(
        topics=[
            OffsetFetchResponseTopic(
                name=topic.name,
                partitions=[
                    OffsetFetchResponsePartition(partition_index=index, committed_offset=-1, error_code=code)
                    for index in topic.partition_indexes
                ],
            )
            for topic in request.topics or ()
        ]
    )


def _group_error(call: Call, group_id: str, member_id: str | None = None, epoch: int = -1) -> ErrorCode:
    code = call.cluster.groups.error(group_id, call.node)
    if code is not ErrorCode.NONE:
        return code
    try:
        call.cluster.groups.check_fetch(group_id, member_id, epoch)
    except Refused as refusal:
        return refusal.code
    return ErrorCode.NONE


def _all_of(call: Call, group_id: str) -> list[tuple[str, list[int]]]:
    committed = sorted(call.cluster.groups.offsets.get(group_id, {}))
    return [(name, [index for _, index in keys]) for name, keys in groupby(committed, key=lambda key: key[0])]


def _committed(call: Call, request: OffsetFetchRequest, group_id: str, topic: str, index: int) -> _Found:
    """Return the committed offset, or an error if a transaction may change it and `require_stable` is set (KIP-447)."""
    if request.require_stable and call.cluster.transactions.offsets.is_unstable(group_id, TopicPartition(topic, index)):
        return ErrorCode.UNSTABLE_OFFSET_COMMIT, _NOTHING
    return ErrorCode.NONE, call.cluster.groups.offsets.get(group_id, {}).get((topic, index), _NOTHING)


def _old_partition(call: Call, request: OffsetFetchRequest, topic: str, index: int) -> OffsetFetchResponsePartition:
    code, found = _committed(call, request, request.group_id, topic, index)
    return OffsetFetchResponsePartition(
        partition_index=index,
        committed_offset=found.offset,
        committed_leader_epoch=found.leader_epoch,
        metadata=found.metadata,
        error_code=code,
    )


def _group(call: Call, request: OffsetFetchRequest, asked: OffsetFetchRequestGroup) -> OffsetFetchResponseGroup:
    code = _group_error(call, asked.group_id, asked.member_id, asked.member_epoch)
    if code is not ErrorCode.NONE:
        return OffsetFetchResponseGroup(group_id=asked.group_id, error_code=code)
    if asked.topics is None:
        topics = [
            _topic(call, request, asked.group_id, name, indexes) for name, indexes in _all_of(call, asked.group_id)
        ]
    else:
        topics = [_asked_topic(call, request, asked.group_id, topic) for topic in asked.topics]
    return OffsetFetchResponseGroup(group_id=asked.group_id, topics=topics)


def _asked_topic(
    call: Call, request: OffsetFetchRequest, group_id: str, asked: OffsetFetchRequestTopics
) -> OffsetFetchResponseTopics:
    if call.version < _TOPIC_IDS_FROM:
        return _topic(call, request, group_id, asked.name, asked.partition_indexes)
    topic = call.cluster.topic_of_id(asked.topic_id)
    if topic is not None:
        return _topic(call, request, group_id, topic.name, asked.partition_indexes)
    refused = [
        OffsetFetchResponsePartitions(partition_index=index, committed_offset=-1, error_code=ErrorCode.UNKNOWN_TOPIC_ID)
        for index in asked.partition_indexes
    ]
    return OffsetFetchResponseTopics(topic_id=asked.topic_id, partitions=refused)


def _topic(
    call: Call, request: OffsetFetchRequest, group_id: str, name: str, indexes: Iterable[int]
) -> OffsetFetchResponseTopics:
    topic = call.cluster.topics.get(name)
    partitions = [_partition(index, *_committed(call, request, group_id, name, index)) for index in indexes]
    topic_id = ZERO_UUID if topic is None else topic.topic_id
    return OffsetFetchResponseTopics(name=name, topic_id=topic_id, partitions=partitions)


def _partition(index: int, code: ErrorCode, found: CommittedOffset) -> OffsetFetchResponsePartitions:
    return OffsetFetchResponsePartitions(
        partition_index=index,
        committed_offset=found.offset,
        committed_leader_epoch=found.leader_epoch,
        metadata=found.metadata,
        error_code=code,
    )


HANDLER = Handler(OffsetFetchRequest, 1, 10, _answer)
