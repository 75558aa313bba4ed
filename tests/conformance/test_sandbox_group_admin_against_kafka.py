"""Administration of groups stays honest: lists with filters, commits by hand with leader epochs, all offsets of a group
in every version, and deletions get the same outcomes from the sandbox and from the newest Kafka.
"""

from collections.abc import Iterator
from typing import Any

import pytest

from kctl.client.broker_errors import ErrorCode
from kctl.client.protocol.api.committed_offsets import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
    OffsetCommitResponse,
    OffsetDeleteRequest,
    OffsetDeleteRequestPartition,
    OffsetDeleteRequestTopic,
    OffsetDeleteResponse,
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopic,
    OffsetFetchRequestTopics,
    OffsetFetchResponse,
)
from kctl.client.protocol.api.consumer_groups import (
    ConsumerGroupDescribeRequest,
    ConsumerGroupDescribeResponse,
)
from kctl.client.protocol.api.groups import (
    DeleteGroupsRequest,
    DeleteGroupsResponse,
    DescribeGroupsRequest,
    DescribeGroupsResponse,
    ListGroupsRequest,
    ListGroupsResponse,
)
from kctl.client.protocol.schema import ZERO_UUID
from tests.conformance.group_talk import NAMES, GroupTalk, Outcome, outcomes_of_both
from tests.support.kafka.cluster import KafkaCluster

pytestmark = pytest.mark.nightly

NOWHERE = b"\1" * 16


class _Admin:
    """What an administrator asks about the group of a conversation."""

    def __init__(self, talk: GroupTalk) -> None:
        self.talk = talk

    def listed(self, version: int, **filters: Any) -> list[Any]:
        got = self.talk.call(ListGroupsRequest(**filters), ListGroupsResponse, version)
        mine = [one for one in got.groups if one.group_id == self.talk.group_id]
        return [NAMES[got.error_code], [(one.protocol_type, one.group_state, one.group_type) for one in mine]]

    def commit(
        self, version: int, *commits: tuple[int, int, int, str | None], member_id: str = "", epoch: int = -1
    ) -> list[Any]:
        parts = [
            OffsetCommitRequestPartition(
                partition_index=index,
                committed_offset=offset,
                committed_leader_epoch=leader_epoch,
                committed_metadata=metadata,
            )
            for index, offset, leader_epoch, metadata in commits
        ]
        topic_id = self.talk.topic_id if version >= 10 else ZERO_UUID
        topics = [OffsetCommitRequestTopic(name=self.talk.topic, topic_id=topic_id, partitions=parts)]
        request = OffsetCommitRequest(
            group_id=self.talk.group_id, member_id=member_id, generation_id_or_member_epoch=epoch, topics=topics
        )
        answer = self.talk.call(request, OffsetCommitResponse, version)
        return _codes(answer.topics)

    def committed(self, version: int, partitions: list[int] | None, *, topic_id: bytes | None = None) -> list[Any]:
        """Ask for offsets of some partitions; None: of all that there are."""
        talk = self.talk
        if version < 8:
            old = None
            if partitions is not None:
                old = [OffsetFetchRequestTopic(name=talk.topic, partition_indexes=partitions)]
            answer = talk.call(OffsetFetchRequest(group_id=talk.group_id, topics=old), OffsetFetchResponse, version)
            return [NAMES[answer.error_code], [self._parts(topic.partitions) for topic in answer.topics]]
        topics = None
        if partitions is not None:
            found = (topic_id or talk.topic_id) if version >= 10 else ZERO_UUID
            topics = [OffsetFetchRequestTopics(name=talk.topic, topic_id=found, partition_indexes=partitions)]
        groups = [OffsetFetchRequestGroup(group_id=talk.group_id, topics=topics)]
        (group,) = talk.call(OffsetFetchRequest(groups=groups), OffsetFetchResponse, version).groups
        return [NAMES[group.error_code], [self._parts(topic.partitions) for topic in group.topics]]

    def _parts(self, partitions: Any) -> list[Any]:
        return sorted(
            [one.partition_index, one.committed_offset, one.committed_leader_epoch, one.metadata, NAMES[one.error_code]]
            for one in partitions
        )

    def delete_offsets(self, *partitions: int, topic: str | None = None) -> Outcome:
        asked = [OffsetDeleteRequestPartition(partition_index=index) for index in partitions]
        topics = [OffsetDeleteRequestTopic(name=topic or self.talk.topic, partitions=asked)]
        got = self.talk.call(OffsetDeleteRequest(group_id=self.talk.group_id, topics=topics), OffsetDeleteResponse, 0)
        return NAMES[got.error_code], _codes(got.topics)

    def delete(self, *groups: str) -> list[Any]:
        got = self.talk.call(DeleteGroupsRequest(groups_names=list(groups)), DeleteGroupsResponse, 2)
        return sorted([one.group_id.replace(self.talk.group_id, "G"), NAMES[one.error_code]] for one in got.results)

    def described(self, *groups: str) -> list[Any]:
        classic = self.talk.call(DescribeGroupsRequest(groups=list(groups)), DescribeGroupsResponse, 6).groups
        consumer = self.talk.call(
            ConsumerGroupDescribeRequest(group_ids=list(groups)), ConsumerGroupDescribeResponse, 1
        ).groups
        return [
            sorted(
                [one.group_id.replace(self.talk.group_id, "G"), NAMES[one.error_code], one.group_state] for one in kind
            )
            for kind in (classic, consumer)
        ]


def _codes(topics: Any) -> list[Any]:
    """Return partitions and their codes; Kafka tells those it refuses first, which is nothing to rely on."""
    return sorted([one.partition_index, NAMES[one.error_code]] for topic in topics for one in topic.partitions)


def _lists(admin: _Admin) -> Iterator[Any]:
    filters: list[dict[str, Any]] = [
        {},
        {"states_filter": ["Empty"]},
        {"states_filter": ["empty", "STABLE"]},
        {"states_filter": ["Dead"]},
        {"states_filter": ["Nonsense"]},
        {"types_filter": ["classic"]},
        {"types_filter": ["Consumer"]},
        {"types_filter": ["share"]},
        {"types_filter": ["nonsense"]},
        {"states_filter": ["Empty", "Stable"], "types_filter": ["classic", "consumer"]},
    ]
    for one in filters:
        yield one, admin.listed(5, **one)
    for version in (0, 3):
        yield f"version {version}", admin.listed(version)
    yield "version 4", admin.listed(4, states_filter=["Stable"])


def _offsets(admin: _Admin) -> Iterator[Any]:
    for version in range(1, 11):
        for asked in ([0, 1, 3, 9], [], None):
            if asked is not None or version >= 2:
                yield f"offsets of {asked}, version {version}", admin.committed(version, asked)
    yield "of an unknown topic", admin.committed(10, [0], topic_id=NOWHERE)


def _without_members(talk: GroupTalk) -> Iterator[Any]:
    admin = _Admin(talk)
    yield "nothing yet", [list(_lists(admin)), list(_offsets(admin))]
    yield "commits make a group", admin.commit(9, (0, 10, 0, "note"), (1, 20, -1, None), (9, 1, 0, ""))
    yield "lists", list(_lists(admin))
    yield "offsets", list(_offsets(admin))
    yield "with an id", admin.commit(10, (3, 30, 7, ""))
    yield "in old versions", [admin.commit(version, (2, version, 5, "m")) for version in range(2, 9)]
    yield "offsets again", list(_offsets(admin))
    yield "odd offsets", admin.commit(9, (2, -1, 0, ""), (2, -5, 0, ""), (2, 2**62, 0, ""))
    yield "are they kept", admin.committed(9, [2])
    yield "as a member", [admin.commit(9, (0, 1, 0, ""), member_id="m", epoch=epoch) for epoch in (-1, 0, 5)]
    yield "in a generation", [admin.commit(9, (0, 1, 0, ""), epoch=epoch) for epoch in (0, 5)]
    yield "delete offsets", [admin.delete_offsets(0, 2, 9), admin.delete_offsets(0, topic="no-topic")]
    yield "what is left", admin.committed(9, None)
    yield "described", admin.described(talk.group_id, "none-at-all", "")
    yield "delete", admin.delete(talk.group_id, "none-at-all", "")
    yield "gone", [admin.committed(9, None), admin.listed(5), admin.delete_offsets(0)]


def _with_classic_members(talk: GroupTalk) -> Iterator[Any]:
    admin = _Admin(talk)
    first, _ = talk.join()
    yield "join", [talk.join(first)[1], talk.sync(first, 1)]
    yield "lists", list(_lists(admin))
    yield "commit from outside", admin.commit(9, (0, 10, 0, "note"))
    yield "commit from outside, by id", admin.commit(10, (0, 10, 0, "note"))
    yield "commit as a member", admin.commit(9, (0, 10, 3, "note"), member_id=first, epoch=1)
    yield "read from outside", list(_offsets(admin))
    yield "delete", [admin.delete(talk.group_id), admin.delete_offsets(0)]
    yield "described", admin.described(talk.group_id)
    yield "leave", talk.leave((first, None))
    yield "empty", [admin.commit(9, (1, 1, 0, "")), admin.described(talk.group_id), admin.delete_offsets(0)]
    yield "delete when empty", admin.delete(talk.group_id)


def _with_consumer_members(talk: GroupTalk) -> Iterator[Any]:
    admin = _Admin(talk)
    yield "join", talk.beat("m1", 0)[0]
    yield "lists", list(_lists(admin))
    yield "commit from outside", [admin.commit(version, (0, 10, 0, "note")) for version in (8, 9, 10)]
    yield "commit as a member", admin.commit(9, (0, 10, 3, "note"), member_id="m1", epoch=2)
    yield "read from outside", list(_offsets(admin))
    yield "delete", [admin.delete(talk.group_id), admin.delete_offsets(0)]
    yield "described", admin.described(talk.group_id)
    yield "leave", talk.beat("m1", -1)[0]
    yield "lists when empty", list(_lists(admin))
    yield "empty", [admin.commit(9, (1, 1, 0, "")), admin.described(talk.group_id), admin.delete_offsets(0)]
    yield "delete when empty", admin.delete(talk.group_id)


def _differences(ours: list[Any], theirs: list[Any]) -> Iterator[Any]:
    """Yield what differs, as deep inside as the structure agrees."""
    for one, two in zip(ours, theirs, strict=True):
        if one == two:
            continue
        if isinstance(one, list | tuple) and isinstance(two, list | tuple) and len(one) == len(two):
            name = one[0] if isinstance(one[0], str) else None
            yield from ((name, found) for found in _differences(list(one), list(two)))
        else:
            yield one, two


@pytest.mark.parametrize("scenario", [_without_members, _with_classic_members, _with_consumer_members])
def test_outcomes_are_those_of_kafka(kafka_newest: KafkaCluster, scenario: Any) -> None:
    ours, theirs = outcomes_of_both(kafka_newest, scenario)
    assert list(_differences(ours, theirs)) == []
    assert ErrorCode.NONE.name in str(ours)
