"""Start offsets of share groups. Source: KIP-932, KIP-1226 (lag).

Share groups commit no offsets; the group has processed all records before the start offset of a partition.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from kctl.client.admin.call import Call, Items, Results
from kctl.client.admin.coordinators import Coordinators
from kctl.client.broker_errors import broker_error, code_error
from kctl.client.cluster import TopicPartition, by_topic
from kctl.client.errors import KafkaError
from kctl.client.protocol.api.share_group_offsets import (
    AlterShareGroupOffsetsRequest,
    AlterShareGroupOffsetsRequestPartition,
    AlterShareGroupOffsetsRequestTopic,
    AlterShareGroupOffsetsResponse,
    DeleteShareGroupOffsetsRequest,
    DeleteShareGroupOffsetsRequestTopic,
    DeleteShareGroupOffsetsResponse,
    DescribeShareGroupOffsetsRequest,
    DescribeShareGroupOffsetsRequestGroup,
    DescribeShareGroupOffsetsRequestTopic,
    DescribeShareGroupOffsetsResponse,
    DescribeShareGroupOffsetsResponseGroup,
)
from kctl.client.protocol.schema import Request

Offsets = dict[TopicPartition, "ShareOffset | KafkaError"]


class ShareOffset(NamedTuple):
    """Progress of a share group in a partition.

    Attributes:
        start_offset: offset before which all records are processed; None if the group has not read the partition.
        lag: number of later records that are not processed; None if not reported (Kafka 4.1).
    """

    start_offset: int | None
    lag: int | None


def list_share_offsets(
    call: Call, group_id: str, partitions: Sequence[TopicPartition] | None
) -> Results[TopicPartition, ShareOffset]:
    coordinators = Coordinators(call)

    def build(_node_id: int, _groups: list[str]) -> Request:
        group = DescribeShareGroupOffsetsRequestGroup(group_id=group_id, topics=None)
        if partitions is not None:
            group.topics = [
                DescribeShareGroupOffsetsRequestTopic(topic_name=topic, partitions=indexes)
                for topic, indexes in by_topic(partitions).items()
            ]
        return DescribeShareGroupOffsetsRequest(groups=[group])

    def read(response: DescribeShareGroupOffsetsResponse) -> Items[str, Offsets]:
        return [(group.group_id, _offsets_of(group)) for group in response.groups]

    offsets = coordinators.each_group([group_id], build, read)[group_id]
    return Results(
        {key: each for key, each in sorted(offsets.items()) if isinstance(each, ShareOffset)},
        {key: each for key, each in sorted(offsets.items()) if isinstance(each, KafkaError)},
    )


def _offsets_of(group: DescribeShareGroupOffsetsResponseGroup) -> Offsets | KafkaError:
    what = f"describe offsets of group {group.group_id}"
    if group.error_code:
        return broker_error(group.error_code, what, group.error_message)
    offsets: Offsets = {}
    for topic in group.topics:
        for part in topic.partitions:
            key = TopicPartition(topic.topic_name, part.partition_index)
            start = part.start_offset if part.start_offset >= 0 else None
            found = ShareOffset(start, part.lag if part.lag >= 0 else None)
            offsets[key] = code_error(part.error_code, f"{what}: {key}", part.error_message) or found
    return offsets


def alter_share_offsets(
    call: Call, group_id: str, offsets: Mapping[TopicPartition, int]
) -> Results[TopicPartition, None]:
    def build(pending: list[TopicPartition]) -> Request:
        topics = [
            AlterShareGroupOffsetsRequestTopic(
                topic_name=topic,
                partitions=[
                    AlterShareGroupOffsetsRequestPartition(
                        partition_index=index, start_offset=offsets[TopicPartition(topic, index)]
                    )
                    for index in indexes
                ],
            )
            for topic, indexes in by_topic(pending).items()
        ]
        return AlterShareGroupOffsetsRequest(group_id=group_id, topics=topics)

    def read(response: AlterShareGroupOffsetsResponse) -> Items[TopicPartition, bool]:
        what = f"set offsets of group {group_id}"
        if response.error_code:
            return broker_error(response.error_code, what, response.error_message)
        return [
            (
                key := TopicPartition(topic.topic_name, part.partition_index),
                code_error(part.error_code, f"{what}: {key}", part.error_message) or True,
            )
            for topic in response.responses
            for part in topic.partitions
        ]

    return Coordinators(call).each_item(group_id, offsets, build, read).without_values()


def delete_share_offsets(call: Call, group_id: str, topics: Iterable[str]) -> Results[str, None]:
    def build(pending: list[str]) -> Request:
        named = [DeleteShareGroupOffsetsRequestTopic(topic_name=topic) for topic in pending]
        return DeleteShareGroupOffsetsRequest(group_id=group_id, topics=named)

    def read(response: DeleteShareGroupOffsetsResponse) -> Items[str, bool]:
        what = f"delete offsets of group {group_id}"
        if response.error_code:
            return broker_error(response.error_code, what, response.error_message)
        return [
            (
                name := each.topic_name,
                code_error(each.error_code, f"{what} for topic {name}", each.error_message) or True,
            )
            for each in response.responses
        ]

    return Coordinators(call).each_item(group_id, topics, build, read).without_values()
