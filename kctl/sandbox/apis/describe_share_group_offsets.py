"""DescribeShareGroupOffsets: start offsets and lag of share groups. Source: KIP-932, KIP-1226.

Unknown groups have no offsets and no error.
"""

from kctl.client.broker_errors import ErrorCode
from kctl.client.protocol.api.share_group_offsets import (
    DescribeShareGroupOffsetsRequest,
    DescribeShareGroupOffsetsRequestGroup,
    DescribeShareGroupOffsetsResponse,
    DescribeShareGroupOffsetsResponseGroup,
    DescribeShareGroupOffsetsResponsePartition,
    DescribeShareGroupOffsetsResponseTopic,
)
from kctl.client.protocol.schema import ZERO_UUID
from kctl.sandbox.call import Call, Handler
from kctl.sandbox.groups.share import UNREAD, ShareGroup, ShareKey


def _answer(call: Call, request: DescribeShareGroupOffsetsRequest) -> DescribeShareGroupOffsetsResponse:
    return DescribeShareGroupOffsetsResponse(groups=[_group(call, asked) for asked in request.groups])


def _group(call: Call, asked: DescribeShareGroupOffsetsRequestGroup) -> DescribeShareGroupOffsetsResponseGroup:
    code = call.cluster.groups.error(asked.group_id, call.node)
    if code is not ErrorCode.NONE:
        return DescribeShareGroupOffsetsResponseGroup(group_id=asked.group_id, error_code=code)
    group = call.cluster.groups.get(asked.group_id)
    offsets = group.start_offsets if isinstance(group, ShareGroup) else {}
    if asked.topics is not None:
        wanted = [(topic.topic_name, list(topic.partitions)) for topic in asked.topics]
    else:
        wanted = _read_topics(call, offsets)
    return DescribeShareGroupOffsetsResponseGroup(
        group_id=asked.group_id, topics=[_topic(call, offsets, name, indexes) for name, indexes in wanted]
    )


def _read_topics(call: Call, offsets: dict[ShareKey, int]) -> list[tuple[str, list[int]]]:
    found: dict[str, list[int]] = {}
    for key in sorted(offsets):
        topic = call.cluster.topic_of_id(key.topic_id)
        if topic is not None:
            found.setdefault(topic.name, []).append(key.partition)
    return list(found.items())


def _topic(
    call: Call, offsets: dict[ShareKey, int], name: str, indexes: list[int]
) -> DescribeShareGroupOffsetsResponseTopic:
    topic = call.cluster.topics.get(name)
    topic_id = ZERO_UUID if topic is None else topic.topic_id
    parts = []
    for index in indexes:
        start = offsets.get(ShareKey(topic_id, index), UNREAD)
        part = DescribeShareGroupOffsetsResponsePartition(partition_index=index, start_offset=start)
        partition = call.cluster.partition(name, index)
        if partition is not None and start != UNREAD:
            part.leader_epoch = partition.leader_epoch
            part.lag = max(0, partition.high_watermark - max(start, partition.log.start_offset))
        parts.append(part)
    return DescribeShareGroupOffsetsResponseTopic(topic_name=name, topic_id=topic_id, partitions=parts)


HANDLER = Handler(DescribeShareGroupOffsetsRequest, 0, 1, _answer)
