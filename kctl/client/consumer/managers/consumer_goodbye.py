"""ConsumerGoodbye: the last heartbeat of a KIP-848 member.

Shown by tests/unit/consumer/test_membership_consumer_ends.py.
"""

from kctl.client.broker_errors import ErrorCode
from kctl.client.consumer.managers.goodbye import Goodbye
from kctl.client.protocol.api.consumer_group_heartbeat import (
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
)
from kctl.client.protocol.schema import Response
from kctl.client.requests.coordinator import Coordinator


class ConsumerGoodbye(Goodbye):
    """One goodbye, as a heartbeat."""

    API = ConsumerGroupHeartbeatRequest.NAME
    GONE = frozenset(
        {ErrorCode.NONE, ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.GROUP_ID_NOT_FOUND, ErrorCode.FENCED_INSTANCE_ID}
    )

    def __init__(
        self,
        coordinator: Coordinator,
        request: ConsumerGroupHeartbeatRequest,
        *,
        deadline_at_ms: int,
        request_timeout_ms: int,
        retry_ms: int,
    ) -> None:
        super().__init__(
            coordinator, deadline_at_ms=deadline_at_ms, request_timeout_ms=request_timeout_ms, retry_ms=retry_ms
        )
        self._heartbeat = request

    def request(self) -> ConsumerGroupHeartbeatRequest:
        return self._heartbeat

    def code_of(self, response: Response) -> int:
        assert isinstance(response, ConsumerGroupHeartbeatResponse)
        return response.error_code
