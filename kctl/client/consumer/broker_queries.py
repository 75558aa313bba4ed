"""BrokerQueries: requests that any broker can handle: topics, and the client instance id (KIP-714)."""

from collections.abc import Callable
from functools import partial
from random import Random

from kctl.client.broker_errors import broker_error
from kctl.client.clock import FOREVER_MS
from kctl.client.cluster import Node
from kctl.client.cluster_client import ClusterClient
from kctl.client.config import ConsumerConfig
from kctl.client.consumer.events import AskClientInstanceId, AskTopics, CallDone, Report, TopicsAnswer
from kctl.client.errors import KafkaError, RemoteProtocolError
from kctl.client.network.in_flight import Answer, Outgoing
from kctl.client.protocol.api.metadata import MetadataResponse
from kctl.client.protocol.api.telemetry import GetTelemetrySubscriptionsRequest, GetTelemetrySubscriptionsResponse
from kctl.client.protocol.schema import Request, Response
from kctl.client.requests.request import NOTHING_TO_SEND, CallProgress, Poll
from kctl.client.requests.retry import METADATA, TELEMETRY, RetryPause, RetryRule, retry_backoff
from kctl.client.requests.topics import described_topics, metadata_request

Read = Callable[[Response], TopicsAnswer | bytes | KafkaError]
"""Function that returns the result in a response, or its error."""


class BrokerQuery:
    __slots__ = ("call_id", "deadline_at_ms", "error", "node", "pause", "read", "request", "rule", "what")

    def __init__(
        self,
        call: AskTopics | AskClientInstanceId,
        what: str,
        request: Request,
        read: Read,
        rule: RetryRule,
        pause: RetryPause,
    ) -> None:
        self.call_id = call.call_id
        self.deadline_at_ms = call.deadline_at_ms
        self.what = what
        self.request = request
        self.read = read
        self.rule = rule
        self.pause = pause
        self.node: Node | None = None
        self.error: KafkaError | None = None


class BrokerQueries:
    def __init__(
        self, config: ConsumerConfig, client: ClusterClient, rng: Random, report: Callable[[Report], None]
    ) -> None:
        self._request_timeout_ms = config.request_timeout_ms
        self._client = client
        self._report = report
        self._backoff = retry_backoff(config, rng)
        self._open: dict[int, BrokerQuery] = {}
        self._client_instance_id: bytes | None = None

    def ask_topics(self, call: AskTopics) -> None:
        what = "the metadata of all topics" if call.topics is None else f"the metadata of {', '.join(call.topics)}"
        self._ask(call, what, metadata_request(call.topics), partial(read_topics, call.topics), METADATA)

    def ask_client_instance_id(self, call: AskClientInstanceId) -> None:
        """Query the client instance id, unless known; the null id in the request lets the broker choose one."""
        if self._client_instance_id is not None:
            self._report(CallDone(call.call_id, self._client_instance_id, None))
        else:
            request = GetTelemetrySubscriptionsRequest()
            self._ask(call, "the client instance id", request, self._read_client_instance_id, TELEMETRY)

    def _ask(
        self, call: AskTopics | AskClientInstanceId, what: str, request: Request, read: Read, rule: RetryRule
    ) -> None:
        self._open[call.call_id] = BrokerQuery(call, what, request, read, rule, RetryPause(self._backoff))

    def abandon(self, call_id: int) -> None:
        self._open.pop(call_id, None)

    def progress(self, call_id: int) -> CallProgress | None:
        query = self._open.get(call_id)
        if query is None:
            return None
        broker = "" if query.node is None else f" from {query.node}"
        return CallProgress(f"waiting for {query.what}{broker}", query.error or self._client.last_error())

    def poll(self, now_ms: int) -> Poll:
        if not self._open:
            return NOTHING_TO_SEND
        requests = []
        next_at_ms = FOREVER_MS
        for query in list(self._open.values()):
            if now_ms >= query.deadline_at_ms:
                self.abandon(query.call_id)
                continue
            next_at_ms = min(next_at_ms, query.deadline_at_ms)
            if query.node is not None:
                continue
            if query.pause.until_ms > now_ms:
                next_at_ms = min(next_at_ms, query.pause.until_ms)
                continue
            query.node = self._client.network.any_ready_node()
            if query.node is not None:
                requests.append(self._outgoing(query, query.node))
        return Poll(requests, next_at_ms)

    def _outgoing(self, query: BrokerQuery, node: Node) -> Outgoing:
        return Outgoing(
            node.node_id,
            query.request,
            self._request_timeout_ms,
            partial(self._on_answer, query),
            is_for_any=True,
            wanted_until_ms=query.deadline_at_ms,
        )

    def _on_answer(self, query: BrokerQuery, answer: Answer) -> None:
        query.node = None
        if query.call_id not in self._open:
            return
        found = query.read(answer.response) if answer.response is not None else answer.error
        assert found is not None
        if not isinstance(found, KafkaError):
            self.abandon(query.call_id)
            self._report(CallDone(query.call_id, found, None))
        elif query.rule.is_retried(found):
            query.error = found
            query.pause.failed(answer.received_at_ms)
        else:
            self.abandon(query.call_id)
            self._report(CallDone(query.call_id, None, found))

    def _read_client_instance_id(self, response: Response) -> bytes | KafkaError:
        assert isinstance(response, GetTelemetrySubscriptionsResponse)
        if response.error_code:
            return broker_error(response.error_code, "read the client instance id")
        if self._client_instance_id is None:
            self._client_instance_id = response.client_instance_id
        return self._client_instance_id


def read_topics(wanted: tuple[str, ...] | None, response: Response) -> TopicsAnswer | KafkaError:
    """Return the partitions of each topic; for all topics (`wanted` is None), failed ones are left out."""
    assert isinstance(response, MetadataResponse)
    topics = described_topics(response)
    if isinstance(topics, KafkaError):
        return topics
    errors = [topic.error for topic in topics if topic.error is not None]
    if wanted is not None and errors:
        return errors[0]
    found = {topic.name: tuple(topic.partitions.values()) for topic in topics if topic.error is None}
    for name in wanted or ():
        if name not in found:
            text = f"the Metadata response does not contain topic {name}"
            return RemoteProtocolError(text, api="Metadata")
    return found
