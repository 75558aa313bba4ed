"""TelemetryManager: learns the id that the cluster gives this client for its metrics.

Owns the id, once it is known, and the calls that wait for it. Metrics themselves are not sent.
Shown by tests/sim/consumer/test_calls.py.
"""

from collections.abc import Callable
from random import Random

from kctl.client.broker_errors import broker_error
from kctl.client.cluster import Node
from kctl.client.cluster_client import ClusterClient
from kctl.client.config import ConsumerConfig
from kctl.client.consumer.events import AskClientInstanceId, CallDone, ToApplication
from kctl.client.errors import KafkaError
from kctl.client.network.in_flight import Answer, Outgoing
from kctl.client.protocol.api.get_telemetry_subscriptions import (
    GetTelemetrySubscriptionsRequest,
    GetTelemetrySubscriptionsResponse,
)
from kctl.client.requests.request import Poll, Progress
from kctl.client.requests.retry import TELEMETRY, retry_backoff


class TelemetryManager:
    """The client instance id: asked of any node, once, as soon as a call wants it.

    Source: KIP-714. A request with the null id lets the broker choose one.
    """

    def __init__(
        self, config: ConsumerConfig, client: ClusterClient, chance: Random, report: Callable[[ToApplication], None]
    ) -> None:
        self._request_timeout_ms = config.request_timeout_ms
        self._client = client
        self._report = report
        self._backoff = retry_backoff(config, chance)
        self._calls: dict[int, int] = {}
        """The deadline of each call that waits."""
        self._id: bytes | None = None
        self._node: Node | None = None
        """The broker that is being asked."""
        self._attempts = 0
        self._retry_at_ms = 0
        self._error: KafkaError | None = None

    def ask(self, question: AskClientInstanceId) -> None:
        self._calls[question.call_id] = question.deadline_at_ms

    def abandon(self, call_id: int) -> None:
        self._calls.pop(call_id, None)

    def progress(self, call_id: int) -> Progress | None:
        if call_id not in self._calls:
            return None
        broker = "" if self._node is None else f" from {self._node}"
        return Progress(f"waiting for the client instance id{broker}", self._error or self._client.last_error())

    def poll(self, now_ms: int) -> Poll:
        for call_id in [call_id for call_id, deadline_at_ms in self._calls.items() if now_ms >= deadline_at_ms]:
            self.abandon(call_id)
        if not self._calls:
            return Poll([])
        if self._id is not None:
            self._answer(self._id, None)
            return Poll([])
        deadline_at_ms = min(self._calls.values())
        if self._node is not None:
            return Poll([], deadline_at_ms)
        if self._retry_at_ms > now_ms:
            return Poll([], min(deadline_at_ms, self._retry_at_ms))
        self._node = self._client.network.any_ready_node()
        if self._node is None:
            return Poll([], deadline_at_ms)
        request = GetTelemetrySubscriptionsRequest()
        asked = Outgoing(
            self._node.node_id,
            request,
            self._request_timeout_ms,
            self._on_answer,
            is_for_any=True,
            wanted_until_ms=max(self._calls.values()),
        )
        return Poll([asked], deadline_at_ms)

    def _on_answer(self, answer: Answer) -> None:
        self._node = None
        error = answer.error
        if isinstance(answer.response, GetTelemetrySubscriptionsResponse):
            code = answer.response.error_code
            error = broker_error(code, "GetTelemetrySubscriptions") if code else None
            if error is None:
                self._id = answer.response.client_instance_id
                self._answer(self._id, None)
                return
        assert error is not None
        if TELEMETRY.is_retried(error):
            self._error = error
            self._retry_at_ms = answer.received_at_ms + self._backoff.backoff_ms(self._attempts)
            self._attempts += 1
        else:
            self._answer(None, error)

    def _answer(self, client_instance_id: bytes | None, error: KafkaError | None) -> None:
        for call_id in list(self._calls):
            self.abandon(call_id)
            self._report(CallDone(call_id, client_instance_id, error))
