"""Leaving: the LeaveGroup of a member of a classic group. Shown by tests/sim/groups/test_deadlines.py."""

from kctl.client.broker_errors import ErrorCode
from kctl.client.consumer.managers.goodbye import Goodbye
from kctl.client.consumer.managers.membership import MemberIdentity
from kctl.client.protocol.api import leave_group
from kctl.client.protocol.api.leave_group import LeaveGroupRequest, LeaveGroupResponse
from kctl.client.protocol.schema import Response
from kctl.client.requests.coordinator import PROMPT, Coordinator

FIRST_VERSION_WITH_MEMBERS = 3


class Leaving(Goodbye):
    """One goodbye, as LeaveGroup."""

    API = LeaveGroupRequest.NAME
    GONE = frozenset({ErrorCode.NONE, ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.FENCED_INSTANCE_ID})

    def __init__(
        self,
        coordinator: Coordinator,
        identity: MemberIdentity,
        reason: str,
        *,
        deadline_at_ms: int,
        request_timeout_ms: int,
        retry_ms: int,
    ) -> None:
        super().__init__(
            coordinator, deadline_at_ms=deadline_at_ms, request_timeout_ms=request_timeout_ms, retry_ms=retry_ms
        )
        self._identity = identity
        self._reason = reason

    def request(self) -> LeaveGroupRequest:
        member_id, _, instance_id, _ = self._identity
        request = LeaveGroupRequest(group_id=self._coordinator.key)
        if self._coordinator.speaks(PROMPT, LeaveGroupRequest, FIRST_VERSION_WITH_MEMBERS):
            member = leave_group.MemberIdentity(
                member_id=member_id, group_instance_id=instance_id, reason=self._reason[:255]
            )
            request.members = [member]
        else:
            request.member_id = member_id
        return request

    def code_of(self, response: Response) -> int:
        assert isinstance(response, LeaveGroupResponse)
        return response.error_code or next((each.error_code for each in response.members), 0)
