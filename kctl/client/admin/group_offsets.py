"""Committed offsets of a group: read, set and deleted by somebody who is no member of it.

Owns the requests and the fate of each partition; the coordinator lets only groups without members be changed.
Shown by tests/sim/admin/test_group_offsets.py.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import TypeVar

from kctl.client.admin.call import Call
from kctl.client.admin.coordinators import Coordinators
from kctl.client.admin.results import Results
from kctl.client.broker_errors import ErrorCode, broker_error
from kctl.client.cluster import TopicPartition
from kctl.client.committed_offset import OffsetAndMetadata
from kctl.client.errors import KafkaError
from kctl.client.protocol.api.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
    OffsetCommitResponse,
)
from kctl.client.protocol.api.offset_delete import (
    OffsetDeleteRequest,
    OffsetDeleteRequestPartition,
    OffsetDeleteRequestTopic,
    OffsetDeleteResponse,
)
from kctl.client.protocol.api.offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopic,
    OffsetFetchRequestTopics,
    OffsetFetchResponse,
    OffsetFetchResponsePartition,
    OffsetFetchResponsePartitions,
)
from kctl.client.protocol.schema import Request, Response

P = TypeVar("P")

FIRST_VERSION_WITH_GROUPS = 8
LAST_VERSION_WITH_NAMES = 9
"""From the next version on, OffsetFetch and OffsetCommit name topics by their id."""
NOTHING = -1
"""The offset in an answer where nothing is committed."""

Committed = dict[TopicPartition, OffsetAndMetadata | KafkaError | None]


def list_group_offsets(
    call: Call, group_id: str, partitions: Sequence[TopicPartition] | None, *, require_stable: bool
) -> Results[TopicPartition, OffsetAndMetadata | None]:
    """Return what is committed for each partition, None where nothing is; without partitions whatever is committed."""
    coordinators = Coordinators(call)

    def build(node_id: int, _groups: list[str]) -> Request:
        if call.speaks(node_id, OffsetFetchRequest, FIRST_VERSION_WITH_GROUPS):
            group = OffsetFetchRequestGroup(group_id=group_id, topics=_new_topics(partitions))
            return OffsetFetchRequest(groups=[group], require_stable=require_stable)
        return OffsetFetchRequest(group_id=group_id, topics=_old_topics(partitions), require_stable=require_stable)

    def read(response: Response) -> dict[str, Committed | KafkaError]:
        assert isinstance(response, OffsetFetchResponse)
        group = response.groups[0] if response.groups else None
        code = response.error_code if group is None else group.error_code
        if code == ErrorCode.GROUP_ID_NOT_FOUND:  # Kafka answers that nothing is committed; others do not know it yet
            return {group_id: {}}
        if code:
            return {group_id: broker_error(code, f"OffsetFetch of group {group_id}")}
        found: Committed = {}
        for topic in response.topics if group is None else group.topics:
            for part in topic.partitions:
                found[TopicPartition(topic.name, part.partition_index)] = _fate(group_id, topic.name, part)
        passing = [each for each in found.values() if isinstance(each, KafkaError) and each.retriable]
        return {group_id: passing[0] if passing else found}

    found = coordinators.each_group([group_id], build, read, max_version=LAST_VERSION_WITH_NAMES)[group_id]
    asked = sorted(found) if partitions is None else partitions
    missing = [key for key in asked if key not in found]
    failed = {key: fate for key in asked if isinstance(fate := found.get(key), KafkaError)}
    done = {key: fate for key in asked if key not in missing and not isinstance(fate := found[key], KafkaError)}
    return Results(done | dict.fromkeys(missing), failed)


def _fate(
    group_id: str, topic: str, part: OffsetFetchResponsePartition | OffsetFetchResponsePartitions
) -> OffsetAndMetadata | KafkaError | None:
    if part.error_code:
        return broker_error(part.error_code, f"OffsetFetch of {topic}-{part.partition_index} of group {group_id}")
    if part.committed_offset <= NOTHING:
        return None
    return OffsetAndMetadata(part.committed_offset, part.metadata or "", part.committed_leader_epoch)


def alter_group_offsets(
    call: Call, group_id: str, offsets: Mapping[TopicPartition, OffsetAndMetadata]
) -> Results[TopicPartition, None]:
    """Commit offsets in the name of nobody, which a group takes while it has no members."""

    def build(pending: list[TopicPartition]) -> Request:
        topics: list[OffsetCommitRequestTopic] = []
        for name, indexes in _by_topic(pending).items():
            entries = [
                OffsetCommitRequestPartition(
                    partition_index=index,
                    committed_offset=offsets[TopicPartition(name, index)].offset,
                    committed_leader_epoch=offsets[TopicPartition(name, index)].leader_epoch,
                    committed_metadata=offsets[TopicPartition(name, index)].metadata,
                )
                for index in indexes
            ]
            topics.append(OffsetCommitRequestTopic(name=name, partitions=entries))
        return OffsetCommitRequest(group_id=group_id, topics=topics)

    def read(response: Response) -> dict[TopicPartition, bool | KafkaError]:
        assert isinstance(response, OffsetCommitResponse)
        return {
            TopicPartition(topic.name, part.partition_index): _error(
                part.error_code, f"OffsetCommit of {topic.name}-{part.partition_index} of group {group_id}"
            )
            or True
            for topic in response.topics
            for part in topic.partitions
        }

    results = Coordinators(call).each_item(group_id, offsets, build, read, max_version=LAST_VERSION_WITH_NAMES)
    return Results(dict.fromkeys(results.done), results.failed)


def delete_group_offsets(
    call: Call, group_id: str, partitions: Iterable[TopicPartition]
) -> Results[TopicPartition, None]:
    """Forget what is committed; topics that a member reads are refused by the coordinator. Source: KIP-496."""
    asked: list[TopicPartition] = []

    def build(pending: list[TopicPartition]) -> Request:
        asked[:] = pending
        topics = [
            OffsetDeleteRequestTopic(
                name=name, partitions=[OffsetDeleteRequestPartition(partition_index=index) for index in indexes]
            )
            for name, indexes in _by_topic(pending).items()
        ]
        return OffsetDeleteRequest(group_id=group_id, topics=topics)

    def read(response: Response) -> dict[TopicPartition, bool | KafkaError]:
        assert isinstance(response, OffsetDeleteResponse)
        if response.error_code:
            return dict.fromkeys(asked, broker_error(response.error_code, f"OffsetDelete of group {group_id}"))
        return {
            TopicPartition(topic.name, part.partition_index): _error(
                part.error_code, f"OffsetDelete of {topic.name}-{part.partition_index} of group {group_id}"
            )
            or True
            for topic in response.topics
            for part in topic.partitions
        }

    results = Coordinators(call).each_item(group_id, partitions, build, read)
    return Results(dict.fromkeys(results.done), results.failed)


def _error(code: int, what: str) -> KafkaError | None:
    return broker_error(code, what) if code else None


def _by_topic(partitions: Iterable[TopicPartition]) -> dict[str, list[int]]:
    grouped: dict[str, list[int]] = {}
    for topic, index in partitions:
        grouped.setdefault(topic, []).append(index)
    return grouped


def _new_topics(partitions: Sequence[TopicPartition] | None) -> list[OffsetFetchRequestTopics] | None:
    if partitions is None:
        return None
    return [OffsetFetchRequestTopics(name=name, partition_indexes=of) for name, of in _by_topic(partitions).items()]


def _old_topics(partitions: Sequence[TopicPartition] | None) -> list[OffsetFetchRequestTopic] | None:
    if partitions is None:
        return None
    return [OffsetFetchRequestTopic(name=name, partition_indexes=of) for name, of in _by_topic(partitions).items()]
