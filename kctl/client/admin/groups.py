"""Groups: list, delete, remove members. After a lost response, an item that is already gone counts as removed."""

from collections.abc import Iterable, Sequence

from kctl.client.admin.call import Call, Items, Results
from kctl.client.admin.coordinators import Coordinators
from kctl.client.admin.every_broker import ask_every_broker
from kctl.client.admin.group_values import CLASSIC, GroupList, GroupListing, MemberToRemove
from kctl.client.broker_errors import ErrorCode, broker_error, code_error
from kctl.client.cluster import Node
from kctl.client.errors import KafkaError
from kctl.client.protocol.api.group_membership import LeaveGroupResponse
from kctl.client.protocol.api.groups import (
    DeleteGroupsRequest,
    DeleteGroupsResponse,
    ListGroupsRequest,
    ListGroupsResponse,
)
from kctl.client.protocol.schema import Request
from kctl.client.requests.leave_group import leave_group, member_codes

FIRST_VERSION_WITH_TYPES = 5
REASON = "removed by kctl"


def list_groups(
    call: Call, states: Sequence[str], types: Sequence[str], broker_ids: Sequence[int] | None = None
) -> GroupList:
    def build(node_id: int) -> Request:
        request = ListGroupsRequest(states_filter=list(states))
        if call.client.network.supports(node_id, ListGroupsRequest, FIRST_VERSION_WITH_TYPES):
            request.types_filter = list(types)
        return request

    groups, failed = ask_every_broker(call, build, _listed, broker_ids)
    wanted = {kind.lower() for kind in types}
    return GroupList({name: each for name, each in groups.items() if not wanted or each.type in wanted}, failed)


def _listed(node: Node, response: ListGroupsResponse) -> Items[str, GroupListing]:
    if response.error_code:
        return broker_error(response.error_code, f"list groups on {node}")
    return [
        (
            group.group_id,
            GroupListing(
                group.group_id,
                group.group_type.lower() or CLASSIC,  # brokers that do not report types have only this one
                group.group_state,
                group.protocol_type,
                node,
            ),
        )
        for group in response.groups
    ]


def delete_groups(call: Call, group_ids: Iterable[str]) -> Results[str, None]:
    sent: dict[str, int] = {}

    def build(_node_id: int, groups: list[str]) -> Request:
        for group_id in groups:
            sent[group_id] = sent.get(group_id, 0) + 1
        return DeleteGroupsRequest(groups_names=groups)

    def read(response: DeleteGroupsResponse) -> Items[str, bool]:
        return [(one.group_id, _deleted(one.group_id, one.error_code)) for one in response.results]

    def _deleted(group_id: str, code: int) -> bool | KafkaError:
        if code == ErrorCode.GROUP_ID_NOT_FOUND and sent.get(group_id, 0) > 1:
            return True
        if code and code != ErrorCode.GROUP_ID_NOT_FOUND:
            sent[group_id] = 0  # a response: nothing was done
        return code_error(code, f"delete group {group_id}") or True

    return Coordinators(call).each_group(group_ids, build, read).without_values()


def remove_members(call: Call, group_id: str, members: Iterable[MemberToRemove]) -> Results[MemberToRemove, None]:
    sent: dict[MemberToRemove, int] = {}

    def build(pending: list[MemberToRemove]) -> Request:
        for member in pending:
            sent[member] = sent.get(member, 0) + 1
        return leave_group(group_id, pending, REASON)

    def read(response: LeaveGroupResponse) -> Items[MemberToRemove, bool]:
        if response.error_code:
            sent.update(dict.fromkeys(sent, 0))  # a response: nothing was done
            return broker_error(response.error_code, f"remove members from group {group_id}")
        return [(member, _removed(member, code)) for member, code in member_codes(response, sent)]

    def _removed(member: MemberToRemove, code: int) -> bool | KafkaError:
        if code == ErrorCode.UNKNOWN_MEMBER_ID and sent[member] > 1:
            return True
        return code_error(code, f"remove {member} from group {group_id}") or True

    return Coordinators(call).each_item(group_id, members, build, read).without_values()
