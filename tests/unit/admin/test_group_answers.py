"""Answers about groups that the sandbox does not give: old versions, other protocols, damaged bytes."""

from collections.abc import Callable

import pytest

from kctl.client.admin.group_descriptions import describe_all
from kctl.client.admin.group_values import MemberToRemove
from kctl.client.admin.groups import list_groups, remove_members
from kctl.client.broker_errors import ErrorCode
from kctl.client.errors import BrokerError, RemoteProtocolError
from kctl.client.protocol.api.find_coordinator import FindCoordinatorRequest, FindCoordinatorResponse
from kctl.client.protocol.api.group_membership import LeaveGroupRequest, LeaveGroupResponse, MemberResponse
from kctl.client.protocol.api.groups import (
    DescribedGroup,
    DescribedGroupMember,
    DescribeGroupsRequest,
    DescribeGroupsResponse,
    ListedGroup,
    ListGroupsRequest,
    ListGroupsResponse,
)
from kctl.client.protocol.api.metadata import MetadataRequest
from kctl.client.protocol.schema import Response
from kctl.client.protocol.versions import NodeVersions
from tests.unit.admin.test_call import AnsweringNetwork, call_with
from tests.unit.fake_network import SentRequest
from tests.unit.metadata_answers import answer

OLD = {10: (0, 3), 15: (0, 5), 16: (0, 4), 13: (0, 4)}
"""What Kafka 2.8 speaks of FindCoordinator, DescribeGroups, ListGroups and LeaveGroup."""

Answering = Callable[[SentRequest], Response]


@pytest.fixture(autouse=True)
def old_brokers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(AnsweringNetwork, "versions", lambda *_: NodeVersions(OLD))


def script(answers: Answering) -> Callable[[SentRequest], None]:
    """Answer metadata and look-ups (node 2, one key a request, as old brokers take it), and the rest by `answers`."""

    def take(sent: SentRequest) -> None:
        if isinstance(sent.request, MetadataRequest):
            sent.answer(answer())
        elif isinstance(sent.request, FindCoordinatorRequest):
            assert sent.request.coordinator_keys == []
            assert sent.request.key
            sent.answer(FindCoordinatorResponse(node_id=2, host="n2", port=9092))
        else:
            sent.answer(answers(sent))

    return take


def described(*groups: DescribedGroup) -> Answering:
    def take(sent: SentRequest) -> Response:
        assert isinstance(sent.request, DescribeGroupsRequest), "ConsumerGroupDescribe is not spoken there"
        assert sent.node_id == 2
        return DescribeGroupsResponse(groups=list(groups))

    return take


def test_a_dead_group_of_an_old_broker_is_no_group() -> None:
    idle = DescribedGroup(group_id="idle", group_state="Empty")
    results = describe_all(
        call_with(script(described(DescribedGroup(group_id="g", group_state="Dead"), idle))), ["g", "idle"]
    )
    assert list(results.done) == ["idle"]
    error = results.failed["g"]
    assert isinstance(error, BrokerError)
    assert error.code == ErrorCode.GROUP_ID_NOT_FOUND


def test_members_of_other_protocols_have_an_assignment_that_is_not_known() -> None:
    worker = DescribedGroupMember(
        member_id="w", client_host="/10.0.0.9", member_metadata=b"\1", member_assignment=b"\2"
    )
    group = DescribedGroup(group_id="g", group_state="Stable", protocol_type="connect", members=[worker])
    found = describe_all(call_with(script(described(group))), ["g"])["g"]
    assert (found.protocol_type, found.members[0].assignment, found.members[0].subscribed_topics) == (
        "connect", None, None,
    )  # fmt: skip
    assert found.members[0].host == "10.0.0.9"


@pytest.mark.parametrize("data", [b"\0", b"\xff\xff", b"\0\0\x7f\xff\xff\xff"])
def test_an_assignment_that_is_none_is_an_error_of_its_group(data: bytes) -> None:
    member = DescribedGroupMember(member_id="m", member_assignment=data)
    group = DescribedGroup(group_id="g", group_state="Stable", protocol_type="consumer", members=[member])
    results = describe_all(call_with(script(described(group))), ["g"])
    assert isinstance(results.failed["g"], RemoteProtocolError)


def test_old_brokers_tell_no_type_and_have_classic_groups_alone() -> None:
    def take(sent: SentRequest) -> Response:
        assert isinstance(sent.request, ListGroupsRequest)
        assert sent.request.types_filter == []
        groups = [ListedGroup(group_id=f"g{sent.node_id}", protocol_type="consumer", group_state="Stable")]
        return ListGroupsResponse(groups=groups)

    listed = list_groups(call_with(script(take)), [], ["classic"])
    assert {name: group.type for name, group in listed.groups.items()} == {"g1": "classic", "g2": "classic"}
    assert list_groups(call_with(script(take)), [], ["consumer"]).groups == {}


def test_a_removed_static_member_may_be_told_with_its_member_id() -> None:
    def take(sent: SentRequest) -> Response:
        assert isinstance(sent.request, LeaveGroupRequest)
        return LeaveGroupResponse(members=[MemberResponse(member_id="known-to-the-broker", group_instance_id="one")])

    one = MemberToRemove(group_instance_id="one")
    assert list(remove_members(call_with(script(take)), "g", [one]).done) == [one]
