"""ConsumerGoodbye: the last heartbeat of a KIP-848 member, sent again until it is heard or the deadline has passed.

Shown by tests/unit/consumer/test_membership_consumer.py.
"""

from kctl.client.broker_errors import ErrorCode
from kctl.client.clock import FOREVER_MS
from kctl.client.consumer.managers.coordinator import PROMPT, Coordinator
from kctl.client.consumer.managers.leaders import may_pass
from kctl.client.consumer.managers.requests import Poll
from kctl.client.network.in_flight import Answer
from kctl.client.protocol.api.consumer_group_heartbeat import (
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
)

GONE = frozenset(
    {ErrorCode.NONE, ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.GROUP_ID_NOT_FOUND, ErrorCode.FENCED_INSTANCE_ID}
)
"""Codes that mean that the group does not count the member any more."""


class ConsumerGoodbye:
    """One goodbye.

    Attributes: outcome: None while it is under way, then whether the group has confirmed it.
    """

    def __init__(
        self,
        coordinator: Coordinator,
        request: ConsumerGroupHeartbeatRequest,
        *,
        deadline_at_ms: int,
        request_timeout_ms: int,
        retry_ms: int,
    ) -> None:
        self.outcome: bool | None = None
        self._coordinator = coordinator
        self._request = request
        self._deadline_at_ms = deadline_at_ms
        self._request_timeout_ms = request_timeout_ms
        self._retry_ms = retry_ms
        self._next_at_ms = 0

    def poll(self, now_ms: int) -> Poll:
        if self.outcome is None and (now_ms >= self._deadline_at_ms or self._coordinator.refusal is not None):
            self.outcome = False
        if self.outcome is not None:
            return Poll([])
        if self._next_at_ms > now_ms:
            return Poll([], min(self._next_at_ms, self._deadline_at_ms))
        if not self._coordinator.ready(PROMPT):
            return Poll([], self._deadline_at_ms)
        self._next_at_ms = FOREVER_MS
        timeout_ms = min(self._request_timeout_ms, self._deadline_at_ms - now_ms)
        request = self._coordinator.outgoing(PROMPT, self._request, timeout_ms, self._on_answer)
        return Poll([request], self._deadline_at_ms)

    def _on_answer(self, answer: Answer) -> None:
        error = answer.error
        if isinstance(answer.response, ConsumerGroupHeartbeatResponse):
            if answer.response.error_code in GONE:
                self.outcome = True
                return
            error = self._coordinator.check(answer.response.error_code, "ConsumerGroupHeartbeat")
        if error is not None and not may_pass(error):
            self.outcome = False
        self._next_at_ms = answer.received_at_ms + self._retry_ms
