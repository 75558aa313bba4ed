"""DescribeGroups: classic groups and their members. Only stable groups have a protocol and member metadata."""

from kctl.client.broker_errors import ErrorCode
from kctl.client.protocol.api.groups import (
    DescribedGroup,
    DescribedGroupMember,
    DescribeGroupsRequest,
    DescribeGroupsResponse,
)
from kctl.sandbox.call import Call, Handler
from kctl.sandbox.groups.classic import ClassicGroup
from kctl.sandbox.groups.classic_member import ClassicMember
from kctl.sandbox.groups.classic_table import State
from kctl.sandbox.groups.outbox import Refused, no_group
from kctl.sandbox.groups.surroundings import CLIENT_HOST

ALL_GROUP_OPERATIONS = 0b1101_0100_1000
"""Read, delete, describe, describe configs, alter configs: bits of Kafka's AclOperation."""
_SAYS_MISSING_FROM = 6


def _answer(call: Call, request: DescribeGroupsRequest) -> DescribeGroupsResponse:
    groups = [_group(call, group_id) for group_id in request.groups]
    if request.include_authorized_operations:
        for group in groups:
            if group.error_code == ErrorCode.NONE:
                group.authorized_operations = ALL_GROUP_OPERATIONS
    return DescribeGroupsResponse(groups=groups)


def _group(call: Call, group_id: str) -> DescribedGroup:
    try:
        call.cluster.groups.check(group_id, call.node, may_be_nameless=True)
    except Refused as refusal:
        return DescribedGroup(group_id=group_id, error_code=refusal.code)
    group = call.cluster.groups.get(group_id)
    if not isinstance(group, ClassicGroup):
        return _missing(call, group_id, no_group(group_id, "classic group", exists=group is not None))
    return DescribedGroup(
        group_id=group_id,
        group_state=group.state_name,
        protocol_type=group.protocol_type,
        protocol_data=group.roster.protocol if group.state is State.STABLE else "",
        members=[_member(group, member) for member in group.members.values()],
    )


def _member(group: ClassicGroup, member: ClassicMember) -> DescribedGroupMember:
    return DescribedGroupMember(
        member_id=member.member_id,
        group_instance_id=member.instance_id,
        client_id=member.client_id,
        client_host=CLIENT_HOST,
        member_metadata=member.protocols[group.roster.protocol] if group.state is State.STABLE else b"",
        member_assignment=member.assignment,
    )


def _missing(call: Call, group_id: str, refusal: Refused) -> DescribedGroup:
    if call.version < _SAYS_MISSING_FROM:
        return DescribedGroup(group_id=group_id, group_state="Dead")
    return DescribedGroup(group_id=group_id, group_state="Dead", error_code=refusal.code, error_message=refusal.message)


HANDLER = Handler(DescribeGroupsRequest, 0, 6, _answer)
