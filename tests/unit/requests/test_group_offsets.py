"""Requests about the offsets of a group in every version, and what their responses say."""

import pytest

from kctl.client.broker_errors import ErrorCode
from kctl.client.cluster import NO_TOPIC_ID, TopicPartition
from kctl.client.errors import BrokerError
from kctl.client.protocol.api.committed_offsets import (
    OffsetCommitResponsePartition,
    OffsetCommitResponseTopic,
    OffsetFetchResponse,
    OffsetFetchResponseGroup,
    OffsetFetchResponsePartition,
    OffsetFetchResponsePartitions,
    OffsetFetchResponseTopic,
    OffsetFetchResponseTopics,
)
from kctl.client.requests.group_offsets import (
    OffsetAndMetadata,
    Speaks,
    checked_offsets,
    codes_in,
    committed_in,
    offset_commit,
    offset_fetch,
)

A0, A1, B0 = TopicPartition("a", 0), TopicPartition("a", 1), TopicPartition("b", 0)


def newest(version: int) -> Speaks:
    return lambda at_least: version >= at_least


@pytest.mark.parametrize(("version", "is_stable"), [(6, False), (7, True), (8, True)])
def test_offset_fetch_requires_stable_offsets_where_the_broker_can(version: int, *, is_stable: bool) -> None:
    assert offset_fetch("g", [A0], newest(version), require_stable=True).require_stable is is_stable
    assert not offset_fetch("g", [A0], newest(version), require_stable=False).require_stable


def test_offset_fetch_names_the_group_as_its_version_does() -> None:
    old = offset_fetch("g", [A0, B0, A1], newest(7), require_stable=False)
    assert (old.group_id, old.groups) == ("g", [])
    assert [(each.name, each.partition_indexes) for each in old.topics or ()] == [("a", [0, 1]), ("b", [0])]
    new = offset_fetch("g", [A0, B0, A1], newest(8), require_stable=False)
    [group] = new.groups
    assert (new.group_id, group.group_id) == ("", "g")
    assert [(each.name, each.partition_indexes) for each in group.topics or ()] == [("a", [0, 1]), ("b", [0])]


@pytest.mark.parametrize("version", [7, 8])
def test_offset_fetch_without_partitions_asks_for_all_and_with_none_for_nothing(version: int) -> None:
    every = offset_fetch("g", None, newest(version), require_stable=False)
    none = offset_fetch("g", [], newest(version), require_stable=False)
    topics = [request.groups[0].topics if request.groups else request.topics for request in (every, none)]
    assert topics == [None, []]


def test_committed_offsets_are_read_from_both_forms_of_the_response() -> None:
    new = OffsetFetchResponseGroup(
        group_id="g",
        topics=[
            OffsetFetchResponseTopics(
                name="a",
                partitions=[
                    OffsetFetchResponsePartitions(
                        partition_index=0, committed_offset=7, committed_leader_epoch=3, metadata="x"
                    ),
                    OffsetFetchResponsePartitions(partition_index=1, committed_offset=-1),
                ],
            )
        ],
    )
    found = committed_in(OffsetFetchResponse(groups=[new]), "g", [A0, A1])
    assert found == {A0: OffsetAndMetadata(7, "x", 3), A1: None}
    part = OffsetFetchResponsePartition(partition_index=0, committed_offset=7, metadata=None)
    old = OffsetFetchResponse(topics=[OffsetFetchResponseTopic(name="b", partitions=[part])])
    assert committed_in(old, "g", [B0]) == {B0: OffsetAndMetadata(7)}


def test_nothing_is_committed_by_an_unknown_group() -> None:
    response = OffsetFetchResponse(
        groups=[OffsetFetchResponseGroup(group_id="g", error_code=ErrorCode.GROUP_ID_NOT_FOUND)]
    )
    assert committed_in(response, "g", [A0, B0]) == {A0: None, B0: None}


def test_errors_name_the_group_and_the_partition() -> None:
    refused = committed_in(OffsetFetchResponse(error_code=ErrorCode.GROUP_AUTHORIZATION_FAILED), "g", [A0])
    assert isinstance(refused, BrokerError)
    assert "read committed offsets of group g" in str(refused)
    part = OffsetFetchResponsePartition(partition_index=0, error_code=ErrorCode.UNSTABLE_OFFSET_COMMIT)
    found = committed_in(OffsetFetchResponse(topics=[OffsetFetchResponseTopic(name="a", partitions=[part])]), "g", [A0])
    assert isinstance(found, dict)
    assert "read the committed offset of a-0 for group g" in str(found[A0])


def test_offset_commit_names_topics_by_id_too_where_it_is_known() -> None:
    ids = {"a": b"1" * 16}
    request = offset_commit("g", {A0: OffsetAndMetadata(7, "x", 3), B0: OffsetAndMetadata(9)}, topic_ids=ids)
    a, b = request.topics
    assert (a.name, a.topic_id, b.name, b.topic_id) == ("a", b"1" * 16, "b", NO_TOPIC_ID)
    [entry] = a.partitions
    assert (entry.committed_offset, entry.committed_metadata, entry.committed_leader_epoch) == (7, "x", 3)
    assert (request.member_id, request.generation_id_or_member_epoch, request.group_instance_id) == ("", -1, None)


def test_codes_are_of_topics_by_name_or_by_id() -> None:
    parts = [
        OffsetCommitResponsePartition(partition_index=0),
        OffsetCommitResponsePartition(partition_index=1, error_code=ErrorCode.ILLEGAL_GENERATION),
    ]
    by_id = OffsetCommitResponseTopic(topic_id=b"1" * 16, partitions=parts)
    by_name = OffsetCommitResponseTopic(name="b", partitions=parts[:1])
    assert dict(codes_in([by_id, by_name], {"a": b"1" * 16})) == {A0: 0, A1: ErrorCode.ILLEGAL_GENERATION, B0: 0}


def test_offsets_to_commit_are_brought_into_one_form() -> None:
    given = OffsetAndMetadata(7, "text", 3)
    assert checked_offsets({A0: 0, ("a", 1): given}) == {A0: OffsetAndMetadata(0), A1: given}  # type: ignore[dict-item]  # as callers do
    assert checked_offsets({A0: 2**63 - 1}) == {A0: OffsetAndMetadata(2**63 - 1)}


@pytest.mark.parametrize("offset", [-1, 2**63, True, 1.0, "1", None])
def test_offsets_to_commit_that_are_no_offsets_are_refused(offset: int) -> None:
    for given in (offset, OffsetAndMetadata(offset)):
        with pytest.raises((TypeError, ValueError), match="a-0"):
            checked_offsets({A0: given})
