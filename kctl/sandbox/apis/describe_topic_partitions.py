"""DescribeTopicPartitions: topics by name, in pages. A cursor has the start of the next page."""

from collections.abc import Sequence

from kctl.client.broker_errors import ErrorCode
from kctl.client.protocol.api.topics import (
    Cursor,
    DescribeTopicPartitionsRequest,
    DescribeTopicPartitionsResponse,
    DescribeTopicPartitionsResponsePartition,
    DescribeTopicPartitionsResponseTopic,
)
from kctl.client.topic_names import is_topic_name
from kctl.sandbox.apis.metadata import ALL_TOPIC_OPERATIONS
from kctl.sandbox.call import Call, Handler
from kctl.sandbox.groups.offsets_topic import OFFSETS_TOPIC
from kctl.sandbox.partition import NO_LEADER, Partition

_MOST_PARTITIONS = 2000
"""Kafka's max.request.partition.size.limit."""


def _answer(call: Call, request: DescribeTopicPartitionsRequest) -> DescribeTopicPartitionsResponse:
    asked = sorted({each.name for each in request.topics} or set(call.cluster.topics))
    cursor = request.cursor
    if cursor is not None:
        asked = [name for name in asked if name >= cursor.topic_name]
        if cursor.partition_index < 0 or (request.topics and asked[:1] != [cursor.topic_name]):
            return _refused(request)
    room = max(1, min(request.response_partition_limit, _MOST_PARTITIONS))
    response = DescribeTopicPartitionsResponse()
    for name in asked:
        if not room:
            response.next_cursor = Cursor(topic_name=name, partition_index=0)
            break
        first = cursor.partition_index if cursor is not None and name == cursor.topic_name else 0
        topic = call.cluster.topics.get(name)
        if topic is None:
            response.topics.append(_unknown(name))
            continue
        found = list(topic.partitions.values())[first : first + room]
        response.topics.append(_topic(name, topic.topic_id, found))
        if first + room < len(topic.partitions):
            response.next_cursor = Cursor(topic_name=name, partition_index=first + room)
            break
        room -= len(found)
    return response


def _refused(request: DescribeTopicPartitionsRequest) -> DescribeTopicPartitionsResponse:
    code = ErrorCode.INVALID_REQUEST
    topics = [DescribeTopicPartitionsResponseTopic(error_code=code, name=each.name) for each in request.topics]
    return DescribeTopicPartitionsResponse(topics=topics)


def _unknown(name: str) -> DescribeTopicPartitionsResponseTopic:
    is_valid = is_topic_name(name)
    return DescribeTopicPartitionsResponseTopic(
        error_code=ErrorCode.UNKNOWN_TOPIC_OR_PARTITION if is_valid else ErrorCode.INVALID_TOPIC_EXCEPTION,
        name=name,
        topic_authorized_operations=ALL_TOPIC_OPERATIONS,
    )


def _topic(name: str, topic_id: bytes, partitions: Sequence[Partition]) -> DescribeTopicPartitionsResponseTopic:
    return DescribeTopicPartitionsResponseTopic(
        name=name,
        topic_id=topic_id,
        is_internal=name == OFFSETS_TOPIC,
        topic_authorized_operations=ALL_TOPIC_OPERATIONS,
        partitions=[_partition(each) for each in partitions],
    )


def _partition(each: Partition) -> DescribeTopicPartitionsResponsePartition:
    return DescribeTopicPartitionsResponsePartition(
        error_code=ErrorCode.NONE if each.leader_id != NO_LEADER else ErrorCode.LEADER_NOT_AVAILABLE,
        partition_index=each.index,
        leader_id=each.leader_id,
        leader_epoch=each.leader_epoch,
        replica_nodes=list(each.replicas),
        isr_nodes=list(each.in_sync),
        eligible_leader_replicas=[],
        last_known_elr=[],
    )


HANDLER = Handler(DescribeTopicPartitionsRequest, 0, 0, _answer)
