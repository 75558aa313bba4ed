"""Share and streams groups of the sandbox: epochs, shares of two members, sessions, and who is refused."""

import pytest

from kctl.client.broker_errors import ErrorCode
from kctl.client.protocol.api.share_groups import ShareGroupHeartbeatRequest
from kctl.client.protocol.api.streams_groups import StreamsGroupHeartbeatRequest
from kctl.client.protocol.api.streams_groups import StreamsGroupHeartbeatRequestSubtopology as Subtopology
from kctl.client.protocol.api.streams_groups import StreamsGroupHeartbeatRequestTopology as Topology
from kctl.sandbox.groups.heartbeat_group import HeartbeatGroup
from kctl.sandbox.groups.outbox import Refused
from kctl.sandbox.groups.share import ShareGroup, ShareKey
from kctl.sandbox.groups.streams import StreamsGroup
from tests.unit.sandbox.scenario import Scenario


@pytest.fixture
def scenario() -> Scenario:
    return Scenario(topics={"t": 4, "u": 2})


def share(group: ShareGroup, member_id: str, epoch: int = 0, *topics: str) -> int:
    request = ShareGroupHeartbeatRequest(group_id="g", member_id=member_id, member_epoch=epoch)
    request.subscribed_topic_names = list(topics) if topics else None
    return group.heartbeat(request, "client").member_epoch


def streams(group: StreamsGroup, member_id: str, epoch: int = 0, *topics: str) -> list[list[int]]:
    request = StreamsGroupHeartbeatRequest(group_id="g", member_id=member_id, member_epoch=epoch)
    if topics:
        request.topology = Topology(subtopologies=[Subtopology(subtopology_id="0", source_topics=list(topics))])
    return [task.partitions for task in group.heartbeat(request, "client").active_tasks or ()]


def test_every_member_of_a_share_group_has_all_partitions(scenario: Scenario) -> None:
    group = scenario.cluster.groups.share("g", create=True)
    assert share(group, "a", 0, "t") == 2
    assert share(group, "b", 0, "t", "u") == 4
    assert share(group, "a", 2) == 4
    assert [group.assignment(group.members[name]) for name in "ab"] == [
        {"t": [0, 1, 2, 3]},
        {"t": [0, 1, 2, 3], "u": [0, 1]},
    ]
    assert len(group.start_offsets) == 6
    assert set(group.start_offsets.values()) == {-1}
    assert ShareKey(scenario.topic_id("u"), 1) in group.start_offsets


def test_tasks_of_a_streams_group_are_shared_out(scenario: Scenario) -> None:
    group = scenario.cluster.groups.streams("g", create=True)
    assert streams(group, "a", 0, "t", "u") == [[0, 1, 2, 3]]
    assert streams(group, "b", 0, "t", "u") == [[1, 3]]
    assert streams(group, "a", 1) == [[0, 2]]
    assert streams(group, "a", 2) == []  # no news
    assert group.subscribed_topics() == {"t", "u"}
    streams(group, "b", -1)
    assert streams(group, "a", 2) == [[0, 1, 2, 3]]


@pytest.mark.parametrize("kind", ["share", "streams"])
def test_silent_member_is_removed_and_unknown_one_refused(scenario: Scenario, kind: str) -> None:
    groups = scenario.cluster.groups
    if kind == "share":
        share(groups.share("g", create=True), "a", 0, "t")
    else:
        streams(groups.streams("g", create=True), "a", 0, "t")
    group = groups.get("g")
    assert isinstance(group, HeartbeatGroup)
    assert group.state_name == "Stable"
    with pytest.raises(Refused) as fenced:
        group.member_of("a", 99)
    assert fenced.value.code is ErrorCode.FENCED_MEMBER_EPOCH
    scenario.scheduler.advance(scenario.cluster.settings.group_consumer_session_timeout_ms)
    assert (group.is_empty, group.state_name) == (True, "Empty")
    with pytest.raises(Refused) as unknown:
        group.member_of("a", 1)
    assert unknown.value.code is ErrorCode.UNKNOWN_MEMBER_ID


def test_streams_member_joins_with_a_topology(scenario: Scenario) -> None:
    group = scenario.cluster.groups.streams("g", create=True)
    with pytest.raises(Refused) as refused:
        streams(group, "a")
    assert refused.value.code is ErrorCode.INVALID_REQUEST
