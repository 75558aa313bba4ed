"""Offsets of a group: OffsetFetch, OffsetCommit, and OffsetDelete."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import NamedTuple, TypeVar

from kctl.client.arguments import check
from kctl.client.broker_errors import ErrorCode, broker_error
from kctl.client.cluster import NO_EPOCH, NO_TOPIC_ID, TopicPartition, by_topic
from kctl.client.errors import KafkaError
from kctl.client.protocol.api.committed_offsets import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
    OffsetCommitResponseTopic,
    OffsetDeleteResponseTopic,
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopic,
    OffsetFetchRequestTopics,
    OffsetFetchResponse,
    OffsetFetchResponseGroup,
    OffsetFetchResponsePartition,
    OffsetFetchResponsePartitions,
)
from kctl.client.protocol.api.transactions import TxnOffsetCommitResponseTopic
from kctl.client.requests.items import each_once

FIRST_VERSION_WITH_STABLE_OFFSETS = 7
FIRST_VERSION_WITH_GROUPS = 8
LAST_VERSION_WITH_NAMES = 9
"""Last version of OffsetFetch and OffsetCommit with topic names; later versions have topic ids."""
NOTHING = -1
"""Offset in a response without a commit."""

Speaks = Callable[[int], bool]
"""Function that returns whether the connected coordinator supports this version."""
E = TypeVar("E")


class OffsetAndMetadata(NamedTuple):
    """Committed offset of a partition: the offset of the next record to read, and text of the committer."""

    offset: int
    metadata: str = ""
    leader_epoch: int = NO_EPOCH


Committed = dict[TopicPartition, OffsetAndMetadata | KafkaError | None]


def checked_offsets(
    offsets: Mapping[TopicPartition, int | OffsetAndMetadata],
) -> dict[TopicPartition, OffsetAndMetadata]:
    """Return offsets to commit as OffsetAndMetadata.

    Raises: TypeError, ValueError: `offsets` does not map partitions to offsets from 0 to 2^63 - 1.
    """
    taken = check("offsets", offsets, Mapping[TopicPartition, int | OffsetAndMetadata])
    checked: dict[TopicPartition, OffsetAndMetadata] = {}
    for tp, given in taken.items():
        committed = given if isinstance(given, OffsetAndMetadata) else OffsetAndMetadata(given)
        if committed.offset < 0:
            raise ValueError(f"the offset for {tp} must be from 0 to 2^63 - 1, not {committed.offset}")
        checked[tp] = committed
    return checked


def offset_fetch(
    group_id: str, partitions: Iterable[TopicPartition] | None, speaks: Speaks, *, require_stable: bool
) -> OffsetFetchRequest:
    """Return the request for the committed offsets of partitions; None means all partitions.

    Args: require_stable: whether to wait for transactions that commit these offsets; older brokers ignore it.
    """
    asked = None if partitions is None else list(by_topic(partitions).items())
    request = OffsetFetchRequest(require_stable=require_stable and speaks(FIRST_VERSION_WITH_STABLE_OFFSETS))
    if speaks(FIRST_VERSION_WITH_GROUPS):
        group = OffsetFetchRequestGroup(group_id=group_id, topics=None)
        if asked is not None:
            group.topics = [OffsetFetchRequestTopics(name=name, partition_indexes=indexes) for name, indexes in asked]
        request.groups = [group]
        return request
    request.group_id, request.topics = group_id, None
    if asked is not None:
        request.topics = [OffsetFetchRequestTopic(name=name, partition_indexes=indexes) for name, indexes in asked]
    return request


def committed_in(
    response: OffsetFetchResponse, group_id: str, asked: Iterable[TopicPartition], broker: str = "the coordinator"
) -> Committed | KafkaError:
    """Return the committed offset, None, or an error for each partition; or the error of the group."""
    groups = [(each.group_id, each) for each in response.groups]
    group = each_once(groups, [group_id], "OffsetFetch", broker)[group_id] if groups else response
    return group if isinstance(group, KafkaError) else committed_of(group, group_id, asked, broker)


def committed_of(
    group: OffsetFetchResponseGroup | OffsetFetchResponse, group_id: str, asked: Iterable[TopicPartition], broker: str
) -> Committed | KafkaError:
    if group.error_code == ErrorCode.GROUP_ID_NOT_FOUND:  # Kafka responds without commits
        return dict.fromkeys(asked)
    if group.error_code:
        return broker_error(group.error_code, f"read committed offsets of group {group_id}")
    parts = [(topic.name, part) for topic in group.topics for part in topic.partitions]
    items = [(TopicPartition(name, part.partition_index), _committed(name, part, group_id)) for name, part in parts]
    return each_once(items, None, "OffsetFetch", broker)


def _committed(
    topic: str, part: OffsetFetchResponsePartition | OffsetFetchResponsePartitions, group_id: str
) -> OffsetAndMetadata | KafkaError | None:
    if part.error_code:
        what = f"read the committed offset of {TopicPartition(topic, part.partition_index)} for group {group_id}"
        return broker_error(part.error_code, what)
    if part.committed_offset <= NOTHING:
        return None
    return OffsetAndMetadata(part.committed_offset, part.metadata or "", part.committed_leader_epoch)


def commit_entries(offsets: Mapping[TopicPartition, OffsetAndMetadata], make: Callable[..., E]) -> dict[str, list[E]]:
    """Return the entries of a commit by topic. Args: make: entry class of the request."""
    topics: dict[str, list[E]] = {}
    for (topic, partition), committed in offsets.items():
        entry = make(
            partition_index=partition,
            committed_offset=committed.offset,
            committed_leader_epoch=committed.leader_epoch,
            committed_metadata=committed.metadata,
        )
        topics.setdefault(topic, []).append(entry)
    return topics


def offset_commit(
    group_id: str,
    offsets: Mapping[TopicPartition, OffsetAndMetadata],
    *,
    topic_ids: Mapping[str, bytes] = {},
    generation: int = -1,
    member_id: str = "",
    group_instance_id: str | None = None,
) -> OffsetCommitRequest:
    """Return the request to commit offsets, by default without membership."""
    return OffsetCommitRequest(
        group_id=group_id,
        generation_id_or_member_epoch=generation,
        member_id=member_id,
        group_instance_id=group_instance_id,
        topics=[
            OffsetCommitRequestTopic(name=topic, topic_id=topic_ids.get(topic, NO_TOPIC_ID), partitions=partitions)
            for topic, partitions in commit_entries(offsets, OffsetCommitRequestPartition).items()
        ],
    )


def codes_in(
    topics: Iterable[OffsetCommitResponseTopic | OffsetDeleteResponseTopic | TxnOffsetCommitResponseTopic],
    topic_ids: Mapping[str, bytes] = {},
) -> Iterator[tuple[TopicPartition, int]]:
    """Yield the error code of each partition. Args: topic_ids: ids in the request, by topic name."""
    names = {topic_id: name for name, topic_id in topic_ids.items()}
    for topic in topics:
        name = topic.name
        if isinstance(topic, OffsetCommitResponseTopic):
            name = name or names.get(topic.topic_id, "")
        for part in topic.partitions:
            yield TopicPartition(name, part.partition_index), part.error_code
