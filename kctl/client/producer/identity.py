"""ProducerIdentity: producer id for idempotence, which any broker assigns. The network loop owns it.

Source: KIP-98.
"""

from typing import Protocol

from kctl.client.backoff import ExponentialBackoff
from kctl.client.clock import FOREVER_MS
from kctl.client.cluster import TopicPartition
from kctl.client.cluster_client import ClusterClient
from kctl.client.errors import KafkaError, RemoteProtocolError
from kctl.client.network.in_flight import Answer, Outgoing
from kctl.client.producer.partition_queue import PartitionSequence
from kctl.client.protocol.api.init_producer_id import InitProducerIdResponse
from kctl.client.requests.producer_id import NO_PRODUCER_ID, init_producer_id, producer_id_in
from kctl.client.requests.retry import PRODUCER_ID, RetryPause


class Identity(Protocol):
    """Identity of the producer in its requests.

    Attributes:
        transactional_id: None without transactions.
        error: reason why no producer id will be assigned, or None.
    """

    transactional_id: str | None
    error: KafkaError | None

    @property
    def last_error(self) -> KafkaError | None: ...

    @property
    def produce_max_version(self) -> int | None:
        """Highest allowed Produce version; None for any."""
        ...

    def assign_producer_id(self, topic_partition: TopicPartition, sequence: PartitionSequence) -> bool:
        """Give the producer id to the sequence; return whether batches can be sent."""
        ...

    def run(self, now_ms: int) -> int:
        """Request a producer id if needed; return the time of the next call."""
        ...


class ProducerIdentity:
    def __init__(self, client: ClusterClient, backoff: ExponentialBackoff, request_timeout_ms: int) -> None:
        self.transactional_id: str | None = None
        self.error: KafkaError | None = None
        self.last_error: KafkaError | None = None
        self.produce_max_version: int | None = None
        self._client = client
        self._pause = RetryPause(backoff)
        self._request_timeout_ms = request_timeout_ms
        self._current = NO_PRODUCER_ID
        self._is_asking = False

    def assign_producer_id(self, topic_partition: TopicPartition, sequence: PartitionSequence) -> bool:  # noqa: ARG002 (any of them)
        if self._current == NO_PRODUCER_ID:
            return False
        if sequence.is_used_up and sequence.producer_id == self._current.producer_id:
            self._current = NO_PRODUCER_ID  # this partition starts again under the next id
            return False
        if sequence.producer_id == NO_PRODUCER_ID.producer_id or sequence.is_used_up:
            sequence.adopt(*self._current)
        return True

    def run(self, now_ms: int) -> int:
        if self._is_asking or self.error is not None or self._current != NO_PRODUCER_ID:
            return FOREVER_MS
        if now_ms < self._pause.until_ms:
            return self._pause.until_ms
        node = self._client.network.any_ready_node()
        if node is None:
            return FOREVER_MS
        self._is_asking = True
        self._client.send(Outgoing(node.node_id, init_producer_id(), self._request_timeout_ms, self._on_done))
        return FOREVER_MS

    def _on_done(self, answer: Answer) -> None:
        self._is_asking = False
        response = answer.response
        if isinstance(response, InitProducerIdResponse):
            assigned = producer_id_in(response)
        else:
            assigned = answer.error or RemoteProtocolError("no response", api="InitProducerId")
        if not isinstance(assigned, KafkaError):
            self._current = assigned
            self._pause.succeeded()
            self.last_error = None
            return
        self.last_error = assigned
        if not PRODUCER_ID.is_retried(assigned):
            self.error = assigned
        self._pause.failed(self._client.clock.now_ms())
