"""Groups deleted, and members removed from them.

A request may be done although its answer was lost; that what it removes is gone is then what was wanted, and no error.
Shown by tests/sim/admin/test_groups.py and test_group_faults.py.
"""

from collections.abc import Iterable

from kctl.client.admin.call import Call, Items, Results
from kctl.client.admin.coordinators import Coordinators
from kctl.client.admin.group_values import MemberToRemove
from kctl.client.broker_errors import ErrorCode, broker_error
from kctl.client.errors import KafkaError
from kctl.client.protocol.api.group_membership import LeaveGroupResponse
from kctl.client.protocol.api.groups import DeleteGroupsRequest, DeleteGroupsResponse
from kctl.client.protocol.schema import Request
from kctl.client.requests.leave_group import leave_group, member_codes

REASON = "removed by kctl"


def delete_groups(call: Call, group_ids: Iterable[str]) -> Results[str, None]:
    """Delete groups with all they have committed; the coordinator refuses those that have members."""
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
            sent[group_id] = 0  # it was answered: nothing was done
        return broker_error(code, f"DeleteGroups of group {group_id}") if code else True

    return Coordinators(call).each_group(group_ids, build, read).without_values()


def remove_members(call: Call, group_id: str, members: Iterable[MemberToRemove]) -> Results[MemberToRemove, None]:
    """Make members leave; a consumer that still lives joins again as a new one."""
    sent: dict[MemberToRemove, int] = {}

    def build(pending: list[MemberToRemove]) -> Request:
        for member in pending:
            sent[member] = sent.get(member, 0) + 1
        return leave_group(group_id, pending, REASON)

    def read(response: LeaveGroupResponse) -> Items[MemberToRemove, bool]:
        if response.error_code:
            sent.update(dict.fromkeys(sent, 0))  # it was answered: nothing was done
            return broker_error(response.error_code, f"LeaveGroup of group {group_id}")
        return [(member, _removed(member, code)) for member, code in member_codes(response, sent)]

    def _removed(member: MemberToRemove, code: int) -> bool | KafkaError:
        if code == ErrorCode.UNKNOWN_MEMBER_ID and sent[member] > 1:
            return True
        return broker_error(code, f"LeaveGroup of {member} of group {group_id}") if code else True

    return Coordinators(call).each_item(group_id, members, build, read).without_values()
