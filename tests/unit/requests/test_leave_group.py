"""LeaveGroup: the request in both forms, and the error code of each member in the response."""

from typing import NamedTuple

from kctl.client.protocol.api.group_membership import LeaveGroupResponse, MemberResponse
from kctl.client.requests.leave_group import MAX_REASON_LENGTH, leave_code, leave_group, member_codes


class Named(NamedTuple):
    """A member as a caller has it."""

    member_id: str = ""
    group_instance_id: str | None = None


DYNAMIC = Named("m-1")
STATIC = Named(group_instance_id="i-1")


def test_request_has_every_member_with_a_reason_that_is_cut_to_what_brokers_accept() -> None:
    request = leave_group("g", [DYNAMIC, STATIC], "x" * 300)
    assert [(one.member_id, one.group_instance_id) for one in request.members] == [("m-1", None), ("", "i-1")]
    assert {len(one.reason or "") for one in request.members} == {MAX_REASON_LENGTH}
    assert (request.group_id, request.member_id) == ("g", "")


def test_request_for_an_older_coordinator_names_one_member() -> None:
    request = leave_group("g", [DYNAMIC], "done", takes_members=False)
    assert (request.group_id, request.member_id, request.members) == ("g", "m-1", [])


def test_leave_code_is_that_of_the_group_before_that_of_the_member() -> None:
    member = MemberResponse(member_id="m-1", error_code=25)
    assert leave_code(LeaveGroupResponse(error_code=16, members=[member])) == 16
    assert leave_code(LeaveGroupResponse(members=[member])) == 25
    assert leave_code(LeaveGroupResponse()) == 0


def test_member_codes_finds_a_static_member_to_which_the_broker_added_its_member_id() -> None:
    response = LeaveGroupResponse(
        members=[
            MemberResponse(member_id="m-1", group_instance_id=None, error_code=0),
            MemberResponse(member_id="m-7", group_instance_id="i-1", error_code=25),
        ]
    )
    assert dict(member_codes(response, [DYNAMIC, STATIC, Named("m-9")])) == {DYNAMIC: 0, STATIC: 25}
