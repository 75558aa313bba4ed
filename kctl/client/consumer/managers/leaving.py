"""Leaving: tells the coordinator that one member goes, again until it has heard it or the deadline has passed.

Owns one goodbye. It goes by the prompt connection, so a JoinGroup that is held back does not hold it up.
Shown by tests/sim/groups/test_deadlines.py.
"""

from kctl.client.broker_errors import ErrorCode
from kctl.client.clock import FOREVER_MS
from kctl.client.consumer.managers.coordinator import PROMPT, Coordinator
from kctl.client.consumer.managers.leaders import may_pass
from kctl.client.consumer.managers.membership import MemberIdentity
from kctl.client.consumer.managers.requests import Outgoing, Poll
from kctl.client.network.in_flight import Answer
from kctl.client.protocol.api import leave_group
from kctl.client.protocol.api.leave_group import LeaveGroupRequest, LeaveGroupResponse

FIRST_VERSION_WITH_MEMBERS = 3
GONE = frozenset({ErrorCode.NONE, ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.FENCED_INSTANCE_ID})
"""Codes that mean that the group does not count the member any more."""


class Leaving:
    """The goodbye of one member.

    Attributes: outcome: None while it is under way, then whether the group has confirmed it.
    """

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
        self.outcome: bool | None = None
        self._coordinator = coordinator
        self._identity = identity
        self._reason = reason
        self._deadline_at_ms = deadline_at_ms
        self._request_timeout_ms = request_timeout_ms
        self._retry_ms = retry_ms
        self._retry_at_ms = 0
        self._is_in_flight = False

    def poll(self, now_ms: int) -> Poll:
        if self.outcome is not None:
            return Poll([])
        if now_ms >= self._deadline_at_ms or self._coordinator.refusal is not None:
            self.outcome = False
            return Poll([])
        if self._is_in_flight:
            return Poll([], self._deadline_at_ms)
        if self._retry_at_ms > now_ms:
            return Poll([], min(self._retry_at_ms, self._deadline_at_ms))
        if not self._coordinator.ready(PROMPT):
            return Poll([], self._deadline_at_ms)
        self._is_in_flight = True
        return Poll([self._request(now_ms)], self._deadline_at_ms)

    def _request(self, now_ms: int) -> Outgoing:
        member_id, _, instance_id, _ = self._identity
        request = LeaveGroupRequest(group_id=self._coordinator.group_id)
        if self._coordinator.speaks(PROMPT, LeaveGroupRequest, FIRST_VERSION_WITH_MEMBERS):
            member = leave_group.MemberIdentity(
                member_id=member_id, group_instance_id=instance_id, reason=self._reason[:255]
            )
            request.members = [member]
        else:
            request.member_id = member_id
        timeout_ms = min(self._request_timeout_ms, self._deadline_at_ms - now_ms, FOREVER_MS)
        return self._coordinator.outgoing(PROMPT, request, timeout_ms, self._on_answer)

    def _on_answer(self, answer: Answer) -> None:
        self._is_in_flight = False
        self._retry_at_ms = answer.received_at_ms + self._retry_ms
        if not isinstance(answer.response, LeaveGroupResponse):
            if answer.error is not None and not may_pass(answer.error):
                self.outcome = False
            return
        code = answer.response.error_code or next((each.error_code for each in answer.response.members), 0)
        error = self._coordinator.check(code, "LeaveGroup")
        if code in GONE:
            self.outcome = True
        elif error is not None and not may_pass(error):
            self.outcome = False
