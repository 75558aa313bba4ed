"""BatchSender: sends the batches that are due to the leaders of their partitions, and judges the answers.

Owns the decision whether a batch is delivered, sent again or given up. Owned by the network loop.
Shown by tests/unit/producer/test_batch_sender.py.

Source: KIP-91, KIP-98; Java's Sender.
"""

from functools import partial

from kctl.client.backoff import ExponentialBackoff
from kctl.client.broker_errors import STALE_METADATA, ErrorCode, broker_error
from kctl.client.clock import FOREVER_MS
from kctl.client.cluster import NO_NODE, TopicPartition
from kctl.client.cluster_client import ClusterClient
from kctl.client.config import ProducerConfig
from kctl.client.errors import BrokerError, DeliveryTimeout, KafkaError, TransportError
from kctl.client.network.in_flight import Answer
from kctl.client.producer.accumulator import Accumulator, PartitionQueue
from kctl.client.producer.batch import Batch
from kctl.client.producer.deliveries import Deliveries
from kctl.client.producer.future import Outcome, SendFuture
from kctl.client.producer.identity import ProducerIdentity
from kctl.client.producer.produce_calls import Sent, Verdict, max_version, produce_request, verdicts
from kctl.client.protocol.api.produce import ProduceRequest, ProduceResponse

_TOO_LARGE = frozenset({ErrorCode.MESSAGE_TOO_LARGE, ErrorCode.RECORD_LIST_TOO_LARGE})


class BatchSender:
    """From the queues to the brokers and back."""

    def __init__(
        self,
        config: ProducerConfig,
        client: ClusterClient,
        accumulator: Accumulator,
        deliveries: Deliveries,
        identity: ProducerIdentity | None,
        backoff: ExponentialBackoff,
    ) -> None:
        self._client = client
        self._accumulator = accumulator
        self._deliveries = deliveries
        self._identity = identity
        self._backoff = backoff
        self._acks = config.acks
        self._retries = config.retries
        self._request_timeout_ms = config.request_timeout_ms
        self._delivery_timeout_ms = config.delivery_timeout_ms
        self._max_request_size = config.max_request_size

    # --- sending ------------------------------------------------------------------------------------------------------

    def run(self, now_ms: int) -> int:
        """Send every batch that is due and can go; return the nearest instant at which one is due or expires."""
        next_ms = FOREVER_MS
        ready: dict[int, list[PartitionQueue]] = {}
        for queue in self._accumulator.active():
            next_ms = min(next_ms, self._accumulator.expires_at_ms(queue))
            due_at_ms = self._accumulator.due_at_ms(queue)
            if due_at_ms > now_ms:
                next_ms = min(next_ms, due_at_ms)
            elif self._identity is not None and not self._identity.equip(queue.sequence):
                next_ms = min(next_ms, self._identity.run(now_ms))
            else:
                leader_id = self._ready_leader(queue)
                if leader_id != NO_NODE:
                    ready.setdefault(leader_id, []).append(queue)
        for node_id, queues in ready.items():
            self._send_to(node_id, queues)
        return next_ms

    def _ready_leader(self, queue: PartitionQueue) -> int:
        """Return the partition's leader if a request can be sent to it now; else work towards that."""
        leader_id = self._client.metadata.cluster.leader_id(*queue.topic_partition)
        if leader_id == NO_NODE:
            self._client.metadata.request_update()
        elif self._client.network.ready(leader_id):
            return leader_id
        elif self._client.network.node_error(leader_id) is not None:
            self._client.metadata.request_update()  # the partition may have another leader by now
        return NO_NODE

    def _send_to(self, node_id: int, queues: list[PartitionQueue]) -> None:
        """Send the next batch of each queue, in as few requests as max.request.size allows."""
        entries: list[Sent] = []
        size_bytes = 0
        for queue in queues:
            batch = queue.batch or self._accumulator.freeze(queue)
            if entries and size_bytes + len(batch.data) > self._max_request_size:
                self._send(node_id, entries)
                entries, size_bytes = [], 0
                if not self._client.network.is_ready(node_id):
                    return  # as many in flight as may be; what is frozen goes with the next
            entries.append(Sent(queue, batch))
            size_bytes += len(batch.data)
        self._send(node_id, entries)

    def _send(self, node_id: int, entries: list[Sent]) -> None:
        for _, batch in entries:
            batch.sent(node_id)
        request = produce_request(entries, self._client.metadata.cluster, self._acks, self._request_timeout_ms)
        self._client.send(
            node_id,
            request,
            timeout_ms=self._request_timeout_ms,
            on_done=partial(self._on_done, entries, request),
            expect_response=self._acks != 0,
            max_version=max_version(request),
        )

    # --- answers ------------------------------------------------------------------------------------------------------

    def _on_done(self, entries: list[Sent], request: ProduceRequest, answer: Answer) -> None:
        found: list[Verdict]
        if isinstance(answer.response, ProduceResponse):
            found = verdicts(entries, request, answer.response, answer.version, answer.node_id)
        elif answer.error is None:
            found = [Verdict(Outcome())] * len(entries)
        else:
            is_maybe_written = isinstance(answer.error, TransportError) or answer.error.retriable
            found = [Verdict(None, answer.error, is_maybe_written=is_maybe_written)] * len(entries)
            self._client.metadata.request_update()
        for entry, verdict in zip(entries, found, strict=True):
            if entry.queue.batch is entry.batch:  # else it was given up in the meantime
                self._judge(entry.queue, entry.batch, verdict)

    def _judge(self, queue: PartitionQueue, batch: Batch, verdict: Verdict) -> None:
        if verdict.outcome is not None:
            queue.batch = None
            self._accumulator.settle(queue)
            self._deliveries.finish(batch.pending(), verdict.outcome)
            return
        error = verdict.error
        assert error is not None
        batch.is_in_flight = False
        batch.may_be_written = batch.may_be_written or verdict.is_maybe_written
        if verdict.code in STALE_METADATA:
            self._client.metadata.request_update()
        if verdict.code in _TOO_LARGE and len(batch.records) > 1:
            queue.split()
            self._accumulator.settle(queue)
        elif self._may_retry(batch, error):
            retry_at_ms = self._client.clock.start_ms() + self._backoff.backoff_ms(batch.attempts - 1)
            batch.to_retry(error, retry_at_ms)
            self._accumulator.settle(queue)
        else:
            self._give_up(queue, error)

    def _may_retry(self, batch: Batch, error: KafkaError) -> bool:
        return error.retriable and batch.attempts <= self._retries

    def _give_up(self, queue: PartitionQueue, error: KafkaError) -> None:
        """Fail the batch under way; the next one follows."""
        batch = queue.batch
        assert batch is not None
        outcome = batch.failure(error)
        if isinstance(error, BrokerError) and error.code in _SEQUENCE_LOST:
            batch.may_be_written = True  # whatever the broker remembers of our sequences, it is not what we do
        queue.drop_batch()
        self._accumulator.settle(queue)
        self._deliveries.finish(batch.pending(), outcome)

    # --- limits -------------------------------------------------------------------------------------------------------

    def expire(self, now_ms: int) -> None:
        """Fail the records whose delivery deadline has passed."""
        for queue in self._accumulator.active():
            if self._accumulator.expires_at_ms(queue) <= now_ms:
                self._expire_queue(queue, now_ms)

    def _expire_queue(self, queue: PartitionQueue, now_ms: int) -> None:
        doing, cause = self._progress(queue)
        batch = queue.batch
        if batch is not None:
            expired = batch.take_expired(now_ms, self._delivery_timeout_ms)
            if expired:
                outcome = batch.failure(self.delivery_timeout(expired[0], now_ms, doing, cause))
                if batch.is_expired:
                    queue.drop_batch()
                elif not outcome.is_unknown:
                    queue.unfreeze()
                self._deliveries.finish(expired, outcome)
        waiting = queue.take_expired(now_ms, self._delivery_timeout_ms)
        if waiting:
            self._deliveries.finish(waiting, Outcome(self.delivery_timeout(waiting[0], now_ms, doing, cause)))
        self._accumulator.settle(queue)

    def delivery_timeout(
        self, record: SendFuture, now_ms: int, doing: str, cause: KafkaError | None
    ) -> DeliveryTimeout:
        """Return the error for a record that reached its limit."""
        elapsed_ms = now_ms - record.created_at_ms
        return DeliveryTimeout(doing, timeout_ms=self._delivery_timeout_ms, elapsed_ms=elapsed_ms, cause=cause)

    def _progress(self, queue: PartitionQueue) -> tuple[str, KafkaError | None]:
        """Say what the queue's next batch is waiting for, and what went wrong last."""
        batch = queue.batch
        name = f"{queue.topic_partition.topic}-{queue.topic_partition.partition}"
        attempts = 0 if batch is None else batch.attempts
        times = f" (sent {attempts} time{'' if attempts == 1 else 's'})" if attempts else ""
        if batch is not None and batch.is_in_flight:
            return f"waiting for node {batch.node_id} to acknowledge the batch to {name}{times}", batch.last_error
        info = self._client.metadata.cluster.partition(*queue.topic_partition)
        if info is None or info.leader_id == NO_NODE:
            leaderless = broker_error(ErrorCode.LEADER_NOT_AVAILABLE, name)
            if info is not None and self._client.metadata.cluster.nodes:
                return f"{name} had no known leader{times}", info.error or leaderless
            # Starting (again) from the bootstrap servers: nobody is known, so what went wrong before that is the cause.
            cause = (None if batch is None else batch.last_error) or self._client.last_error()
            return f"{name} had no known leader{times}", cause
        if self._identity is not None and not self._identity.equip(queue.sequence):
            return "waiting for a producer id", self._identity.last_error or self._client.last_error()
        if not self._client.network.is_ready(info.leader_id):
            where = f"waiting for a connection to node {info.leader_id}, the leader of {name}{times}"
            return where, self._client.network.node_error(info.leader_id)
        return f"the batch to {name} waited to be sent{times}", None if batch is None else batch.last_error

    def fail_all(self, error: KafkaError) -> None:
        """Give up everything at once; nothing more is sent of it."""
        for queue in self._accumulator.active():
            waiting = queue.take_all()
            if queue.batch is not None:
                self._give_up(queue, error)
            self._accumulator.settle(queue)
            self._deliveries.finish(waiting, Outcome(error))

    def outstanding(self) -> dict[TopicPartition, tuple[int, int]]:
        """Return by partition how many records would fail now, and of how many it is not known."""
        found = {}
        for queue in self._accumulator.active():
            batch = queue.batch
            pending = len(batch.pending()) if batch is not None else 0
            unknown = pending if batch is not None and (batch.is_in_flight or batch.may_be_written) else 0
            found[queue.topic_partition] = (len(queue.records) + pending - unknown, unknown)
        return found


_SEQUENCE_LOST = frozenset(
    {
        ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER,
        ErrorCode.UNKNOWN_PRODUCER_ID,
        ErrorCode.INVALID_PRODUCER_EPOCH,
    }
)
