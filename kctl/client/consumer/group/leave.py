"""GroupLeave: request that ends a membership, retried until the group confirms it or the deadline passes.

It uses the connection for prompt requests, so that a held JoinGroup does not delay it.
"""

from collections.abc import Callable

from kctl.client.broker_errors import ErrorCode
from kctl.client.clock import FOREVER_MS
from kctl.client.config import ConsumerConfig
from kctl.client.events import GroupChanged, GroupStep
from kctl.client.network.in_flight import Answer
from kctl.client.protocol.api.consumer_groups import ConsumerGroupHeartbeatRequest, ConsumerGroupHeartbeatResponse
from kctl.client.protocol.api.group_membership import LeaveGroupRequest, LeaveGroupResponse
from kctl.client.requests.coordinator import PROMPT, Coordinator
from kctl.client.requests.leave_group import leave_code
from kctl.client.requests.request import Poll
from kctl.client.requests.retry import MEMBERSHIP

GONE = frozenset({ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.FENCED_INSTANCE_ID, ErrorCode.GROUP_ID_NOT_FOUND})
"""Codes of a group that does not know the member. They count only from the second time on.

A suspended coordinator may forget members before it notices that it was replaced, while the new coordinator still waits
for them.
"""

LeaveRequest = LeaveGroupRequest | ConsumerGroupHeartbeatRequest


class GroupLeave:
    """End of one membership.

    Attributes:
        outcome: whether the group confirmed the end. None in progress.
    """

    def __init__(
        self,
        config: ConsumerConfig,
        coordinator: Coordinator,
        make_request: Callable[[], LeaveRequest],
        deadline_at_ms: int,
        member_id: str,
    ) -> None:
        self.outcome: bool | None = None
        self._config = config
        self._coordinator = coordinator
        self._make_request = make_request
        self._deadline_at_ms = deadline_at_ms
        self._member_id = member_id
        self._next_at_ms = 0
        self._was_unknown = False

    def poll(self, now_ms: int) -> Poll:
        if self.outcome is None and (now_ms >= self._deadline_at_ms or self._coordinator.refusal is not None):
            self.outcome = False
        if self.outcome is not None:
            return Poll([])
        if self._next_at_ms > now_ms:
            return Poll([], min(self._next_at_ms, self._deadline_at_ms))
        if self._coordinator.is_recheck_pending or not self._coordinator.ready(PROMPT):
            return Poll([], self._deadline_at_ms)
        self._next_at_ms = FOREVER_MS
        timeout_ms = min(self._config.request_timeout_ms, self._deadline_at_ms - now_ms)
        request = self._make_request()
        sent = self._coordinator.outgoing(PROMPT, request, timeout_ms, self._on_answer)
        return Poll([sent], self._deadline_at_ms)

    def _on_answer(self, answer: Answer) -> None:
        self._next_at_ms = answer.received_at_ms + self._config.retry_backoff_ms
        error = answer.error
        if answer.response is not None:
            code = _code_of(answer)
            if code == ErrorCode.NONE or (code in GONE and self._was_unknown):
                self.outcome = True
                left = GroupChanged(answer.received_at_ms, self._coordinator.key, self._member_id, -1, GroupStep.LEFT)
                self._coordinator.note(left)
                return
            error = self._coordinator.check(code, f"leave group {self._coordinator.key}")
            if code in GONE and error is not None:
                self._was_unknown = True
                self._coordinator.recheck()  # the next coordinator gets the request as well
                return
        if error is not None and not MEMBERSHIP.is_retried(error):
            self.outcome = False


def _code_of(answer: Answer) -> int:
    response = answer.response
    if isinstance(response, LeaveGroupResponse):
        return leave_code(response)
    assert isinstance(response, ConsumerGroupHeartbeatResponse)
    return response.error_code
