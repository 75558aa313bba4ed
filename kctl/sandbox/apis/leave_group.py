"""LeaveGroup: removes members. From version 3, several members, and static members by group.instance.id."""

from typing import TYPE_CHECKING

from kctl.client.broker_errors import ErrorCode
from kctl.client.protocol.api.group_membership import (
    LeaveGroupRequest,
    LeaveGroupResponse,
    MemberIdentity,
    MemberResponse,
)
from kctl.sandbox.call import Call, Handler
from kctl.sandbox.groups.heartbeat_group import HeartbeatGroup
from kctl.sandbox.groups.outbox import Refused

if TYPE_CHECKING:
    from kctl.sandbox.groups.coordinator import Groups

_MANY_MEMBERS_FROM = 3


def _leave(groups: "Groups", group_id: str, leaving: list[MemberIdentity]) -> list[ErrorCode]:
    group = groups.get(group_id)
    if group is None or isinstance(group, HeartbeatGroup):
        return [ErrorCode.UNKNOWN_MEMBER_ID] * len(leaving)
    with groups.outbox:
        return group.leave([(member.member_id, member.group_instance_id) for member in leaving])


def _answer(call: Call, request: LeaveGroupRequest) -> LeaveGroupResponse:
    groups = call.cluster.groups
    leaving = request.members
    if call.version < _MANY_MEMBERS_FROM:
        leaving = [MemberIdentity(member_id=request.member_id)]
    try:
        groups.check(request.group_id, call.node)
    except Refused as refusal:
        return LeaveGroupResponse(error_code=refusal.code)
    codes = _leave(groups, request.group_id, leaving)
    if call.version < _MANY_MEMBERS_FROM:
        return LeaveGroupResponse(error_code=codes[0])
    return LeaveGroupResponse(
        members=[
            MemberResponse(member_id=member.member_id, group_instance_id=member.group_instance_id, error_code=code)
            for member, code in zip(leaving, codes, strict=True)
        ]
    )


HANDLER = Handler(LeaveGroupRequest, 0, 5, _answer)
