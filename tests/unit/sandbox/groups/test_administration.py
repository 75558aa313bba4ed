"""Groups in admin requests: listed by their coordinator, described, deleted; offsets of topics in use stay."""

import pytest

from kctl.client.broker_errors import ErrorCode
from kctl.client.protocol.api.committed_offsets import (
    OffsetDeleteRequest,
    OffsetDeleteRequestPartition,
    OffsetDeleteRequestTopic,
    OffsetDeleteResponse,
)
from kctl.client.protocol.api.groups import (
    DeleteGroupsRequest,
    DeleteGroupsResponse,
    ListGroupsRequest,
    ListGroupsResponse,
)
from kctl.sandbox.groups.subscriptions import subscribed_topics
from tests.unit.sandbox.groups.members import CODES, ConsumerPeer, bench_of, stable_group, subscription
from tests.unit.sandbox.scenario import Scenario


def listed(scenario: Scenario, node_id: int, **filters: list[str]) -> list[tuple[str, str, str]]:
    answer = scenario.connect(node_id).call(ListGroupsRequest(**filters), ListGroupsResponse, 5)
    return [(group.group_id, group.group_state, group.group_type) for group in answer.groups]


def delete(scenario: Scenario) -> ErrorCode:
    request = DeleteGroupsRequest(groups_names=["g"])
    return CODES[scenario.connect().call(request, DeleteGroupsResponse, 2).results[0].error_code]


def delete_offset(scenario: Scenario, topic: str) -> ErrorCode:
    asked = [OffsetDeleteRequestTopic(name=topic, partitions=[OffsetDeleteRequestPartition(partition_index=0)])]
    request = OffsetDeleteRequest(group_id="g", topics=asked)
    return CODES[scenario.connect().call(request, OffsetDeleteResponse, 0).topics[0].partitions[0].error_code]


def test_a_group_is_listed_by_the_node_that_coordinates_it() -> None:
    scenario = bench_of(2)
    scenario.sandbox.move_coordinator("g", 1)
    stable_group(scenario, None)
    assert (listed(scenario, 1), listed(scenario, 2)) == ([("g", "Stable", "classic")], [])
    scenario.sandbox.move_coordinator("g", 2)
    assert (listed(scenario, 1), listed(scenario, 2)) == ([], [("g", "Stable", "classic")])
    assert listed(scenario, 2, states_filter=["stable"], types_filter=["CLASSIC"])
    assert not listed(scenario, 2, states_filter=["Empty"])
    assert not listed(scenario, 2, types_filter=["consumer"])


def test_a_group_is_deleted_with_its_offsets_once_nobody_is_in_it() -> None:
    scenario = bench_of()
    (member,) = stable_group(scenario, None)
    assert member.commit() is ErrorCode.NONE
    assert delete(scenario) is ErrorCode.NON_EMPTY_GROUP
    member.leave()
    assert (delete(scenario), delete(scenario)) == (ErrorCode.NONE, ErrorCode.GROUP_ID_NOT_FOUND)
    assert (scenario.cluster.groups.offsets, scenario.scheduler.pending) == ({}, 0)


@pytest.mark.parametrize("protocol", ["classic", "consumer"])
def test_offsets_of_topics_that_are_read_cannot_be_deleted(protocol: str) -> None:
    scenario = bench_of(topics={"t": 4, "u": 1})
    if protocol == "classic":
        assert stable_group(scenario, None)[0].commit() is ErrorCode.NONE
    else:
        peer = ConsumerPeer(scenario, "m1")
        assert (peer.beat(), peer.commit()) == (ErrorCode.NONE, ErrorCode.NONE)
    assert delete_offset(scenario, "t") is ErrorCode.GROUP_SUBSCRIBED_TO_TOPIC
    assert delete_offset(scenario, "u") is ErrorCode.NONE
    assert delete_offset(scenario, "none") is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert list(scenario.cluster.groups.offsets["g"]) == [("t", 0)]


def test_an_empty_group_changes_its_kind_and_keeps_its_offsets() -> None:
    scenario = bench_of()
    (member,) = stable_group(scenario, None)
    member.commit()
    assert ConsumerPeer(scenario, "m1").beat() is ErrorCode.GROUP_ID_NOT_FOUND
    member.leave()
    peer = ConsumerPeer(scenario, "m1")
    assert peer.beat() is ErrorCode.NONE
    assert listed(scenario, 1) == [("g", "Stable", "consumer")]
    peer.leave()
    stable_group(scenario, None)
    assert listed(scenario, 1) == [("g", "Stable", "classic")]
    assert list(scenario.cluster.groups.offsets["g"]) == [("t", 0)]


@pytest.mark.parametrize("damaged", [b"", b"\0", b"\0\1", b"\0\1\0\0\0\5", b"\xff\xff\0\0"])
def test_metadata_that_is_none_names_no_topics(damaged: bytes) -> None:
    assert subscribed_topics(damaged) == []
    assert subscribed_topics(subscription("t", "u")) == ["t", "u"]
    assert subscribed_topics(b"\x7f\xff" + subscription("t")[2:] + b"\xff\xff\xff\xff\0\0") == ["t"]
