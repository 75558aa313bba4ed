"""LeaveGroup: request that removes members, and their error codes in the response."""

from collections.abc import Iterable, Iterator
from typing import Protocol, TypeVar

from kctl.client.protocol.api.group_membership import LeaveGroupRequest, LeaveGroupResponse, MemberIdentity

FIRST_VERSION_WITH_MEMBERS = 3
"""First version with several members, group.instance.id, and reason."""
MAX_REASON_LENGTH = 255


class Member(Protocol):
    @property
    def member_id(self) -> str: ...

    @property
    def group_instance_id(self) -> str | None: ...


M = TypeVar("M", bound=Member)


def leave_group(
    group_id: str, members: Iterable[Member], reason: str, *, takes_members: bool = True
) -> LeaveGroupRequest:
    """Return the request that removes the members.

    Args: takes_members: whether the broker accepts several members; if not, only the first is removed.
    """
    if not takes_members:
        return LeaveGroupRequest(group_id=group_id, member_id=next(iter(members)).member_id)
    identities = [
        MemberIdentity(
            member_id=member.member_id, group_instance_id=member.group_instance_id, reason=reason[:MAX_REASON_LENGTH]
        )
        for member in members
    ]
    return LeaveGroupRequest(group_id=group_id, members=identities)


def leave_code(response: LeaveGroupResponse) -> int:
    return response.error_code or next((each.error_code for each in response.members), 0)


def member_codes(response: LeaveGroupResponse, members: Iterable[M]) -> Iterator[tuple[M, int]]:
    """Yield each member in the response with its error code.

    Some brokers add the member id to entries of requests that had only a group.instance.id.
    """
    by_id = {(member.member_id, member.group_instance_id): member for member in members}
    by_instance = {instance: member for (_, instance), member in by_id.items() if instance}
    for one in response.members:
        member = by_id.get((one.member_id, one.group_instance_id)) or by_instance.get(one.group_instance_id or "")
        if member is not None:
            yield member, one.error_code
