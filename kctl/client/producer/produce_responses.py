"""Produce responses: decides whether to complete, retry, split, or fail each batch. The network loop owns the handler.

Source: KIP-98, KIP-360; Java's Sender.completeBatch and TransactionManager.canRetry. Differs: a batch that may be
written fails as unknown if the broker has forgotten its producer, or reports it as out of order although no earlier
batch is missing. Java retries the batch and may write it twice.
"""

from collections.abc import Sequence
from typing import NamedTuple

from kctl.client.backoff import ExponentialBackoff
from kctl.client.broker_errors import ErrorCode, broker_error
from kctl.client.cluster_client import ClusterClient
from kctl.client.config import ProducerConfig
from kctl.client.errors import KafkaError, RemoteProtocolError
from kctl.client.producer.accumulator import Accumulator
from kctl.client.producer.batch import Batch
from kctl.client.producer.future import Outcome
from kctl.client.producer.partition_queue import PartitionQueue
from kctl.client.protocol.api.produce import LeaderIdAndEpoch, PartitionProduceResponse, ProduceRequest, ProduceResponse
from kctl.client.requests.retry import PRODUCE, RETRIES, Decision

NAMED_TOPICS_VERSION = 12
"""Last version with topic names; later versions use topic ids."""

_NOT_WRITTEN = frozenset(
    {
        ErrorCode.CORRUPT_MESSAGE,
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        ErrorCode.LEADER_NOT_AVAILABLE,
        ErrorCode.NOT_LEADER_OR_FOLLOWER,
        ErrorCode.REPLICA_NOT_AVAILABLE,
        ErrorCode.MESSAGE_TOO_LARGE,
        ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
        ErrorCode.COORDINATOR_NOT_AVAILABLE,
        ErrorCode.NOT_COORDINATOR,
        ErrorCode.INVALID_TOPIC_EXCEPTION,
        ErrorCode.RECORD_LIST_TOO_LARGE,
        ErrorCode.NOT_ENOUGH_REPLICAS,
        ErrorCode.INVALID_REQUIRED_ACKS,
        ErrorCode.TOPIC_AUTHORIZATION_FAILED,
        ErrorCode.CLUSTER_AUTHORIZATION_FAILED,
        ErrorCode.INVALID_TIMESTAMP,
        ErrorCode.UNSUPPORTED_VERSION,
        ErrorCode.INVALID_REQUEST,
        ErrorCode.UNSUPPORTED_FOR_MESSAGE_FORMAT,
        ErrorCode.POLICY_VIOLATION,
        ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER,
        ErrorCode.INVALID_PRODUCER_EPOCH,
        ErrorCode.INVALID_TXN_STATE,
        ErrorCode.INVALID_PRODUCER_ID_MAPPING,
        ErrorCode.CONCURRENT_TRANSACTIONS,
        ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED,
        ErrorCode.UNKNOWN_PRODUCER_ID,
        ErrorCode.FENCED_LEADER_EPOCH,
        ErrorCode.UNKNOWN_LEADER_EPOCH,
        ErrorCode.UNSUPPORTED_COMPRESSION_TYPE,
        ErrorCode.INVALID_RECORD,
        ErrorCode.THROTTLING_QUOTA_EXCEEDED,
        ErrorCode.PRODUCER_FENCED,
        ErrorCode.UNKNOWN_TOPIC_ID,
        ErrorCode.INCONSISTENT_TOPIC_ID,
        ErrorCode.TRANSACTION_ABORTABLE,
    }
)
"""Codes that prove that the broker did not append a batch.

After any other code, a log may contain it, and its sequence numbers are not used again: a broker that has the batch
would handle the next one as a duplicate.

Source: Kafka's UnifiedLog, ReplicaManager and KafkaApis.handleProduceRequest. Differs: Java uses the numbers again
after every code that is not retriable.
"""

_LOST_WHILE_WAITING = frozenset(
    {
        ErrorCode.NOT_LEADER_OR_FOLLOWER,
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        ErrorCode.UNKNOWN_TOPIC_ID,
    }
)
"""Codes that prove nothing with acks=all.

A leader that steps down while it waits for its followers returns them for appended batches, which the next leader may
have. Source: Kafka's DelayedProduce.
"""

_ACKS_ALL = -1


class Sent(NamedTuple):
    queue: PartitionQueue
    batch: Batch
    attempt: int


class BatchResponse(NamedTuple):
    """Response for one batch: an outcome, or an error to handle.

    Attributes:
        has_no_response: whether the batch was sent without a readable response, so it is retried until its deadline.
        is_leader_news: whether the client did not know `leader` before.
    """

    outcome: Outcome | None
    error: KafkaError | None = None
    code: int = 0
    is_maybe_written: bool = False
    leader: LeaderIdAndEpoch | None = None
    is_leader_news: bool = False
    has_no_response: bool = False


def no_response(error: KafkaError, *, was_sent: bool) -> BatchResponse:
    """Return the state of a batch without a valid response. If it was never sent, no log contains it."""
    return BatchResponse(None, error, is_maybe_written=was_sent, has_no_response=was_sent)


def batch_responses(
    entries: Sequence[Sent], request: ProduceRequest, produced: ProduceResponse, version: int, node_id: int
) -> list[BatchResponse]:
    names = {topic.topic_id: topic.name for topic in request.topic_data}
    found: dict[tuple[str, int], PartitionProduceResponse] = {}
    for topic in produced.responses:
        name = topic.name if version <= NAMED_TOPICS_VERSION else names.get(topic.topic_id, "")
        for part in topic.partition_responses:
            found[name, part.index] = part
    not_written = _NOT_WRITTEN - _LOST_WHILE_WAITING if request.acks == _ACKS_ALL else _NOT_WRITTEN
    return [_batch_response(entry, found.get(entry.queue.topic_partition), node_id, not_written) for entry in entries]


def _batch_response(
    entry: Sent, answer: PartitionProduceResponse | None, node_id: int, not_written: frozenset[ErrorCode]
) -> BatchResponse:
    if answer is not None and answer.error_code == ErrorCode.NONE:
        return BatchResponse(Outcome(None, answer.base_offset, answer.log_append_time_ms))
    place = f"{entry.queue.topic_partition} on broker {node_id}"
    if answer is None:
        error = RemoteProtocolError(f"the Produce response does not contain {place}", api="Produce")
        return no_response(error, was_sent=True)
    code = answer.error_code
    if code == ErrorCode.DUPLICATE_SEQUENCE_NUMBER:
        return BatchResponse(Outcome())
    refusal = broker_error(code, f"produce to {place}", _broker_message(answer))
    return BatchResponse(None, refusal, code, code not in not_written, answer.current_leader)


def _broker_message(answer: PartitionProduceResponse) -> str | None:
    """Return the broker's message for the batch, or for its first rejected record (KIP-467)."""
    if answer.error_message:
        return answer.error_message
    for entry in answer.record_errors:
        if entry.batch_index_error_message:
            return f"record {entry.batch_index}: {entry.batch_index_error_message}"
    return None


class ProduceResponseHandler:
    def __init__(
        self,
        config: ProducerConfig,
        client: ClusterClient,
        accumulator: Accumulator,
        backoff: ExponentialBackoff,
    ) -> None:
        self._client = client
        self._accumulator = accumulator
        self._backoff = backoff
        self._retries = config.retries
        self._is_transactional = config.transactional_id is not None

    def handle(self, queue: PartitionQueue, batch: Batch, response: BatchResponse) -> None:
        error = response.error
        if response.outcome is not None:
            self._accumulator.acknowledge(queue, batch, response.outcome)
            return
        assert error is not None
        batch.is_in_flight = False
        if response.is_maybe_written and not queue.needs_restart:
            batch.may_be_written = True
        decision = PRODUCE.decide(error)
        if decision is Decision.LEADER and not response.is_leader_news:
            self._client.metadata.request_update()
        if decision is Decision.SEQUENCE and queue.is_idempotent:
            self._handle_lost_sequence(queue, batch, response.code, error)
        elif batch.is_expired:
            self._accumulator.fail(queue, batch, error)
        elif decision is Decision.SPLIT and batch.record_count > 1 and not batch.may_be_written:
            self._accumulator.split(queue, batch)
        elif (decision in RETRIES or response.has_no_response) and batch.failures < self._retries:
            self._send_again(batch, error, at_once=response.is_leader_news)
        else:
            self._accumulator.fail(queue, batch, error)

    def _send_again(self, batch: Batch, error: KafkaError, *, at_once: bool = False) -> None:
        wait_ms = 0 if at_once else self._backoff.backoff_ms(batch.failures)
        batch.to_retry(error, self._client.clock.start_ms() + wait_ms)

    def _handle_lost_sequence(self, queue: PartitionQueue, batch: Batch, code: int, error: KafkaError) -> None:
        """Handle OUT_OF_ORDER_SEQUENCE_NUMBER and similar codes: wait, send again with a new epoch, or fail the batch.

        Batches behind a batch that was not written are sent again after it. The oldest batch was certainly not written
        if an earlier one failed, or if no attempt of it is in doubt. Otherwise the error proves nothing about earlier
        attempts.
        """
        is_oldest = queue.batches[0] is batch
        if code == ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER and not is_oldest:
            batch.held_back(error)
            if batch.is_expired:
                self._accumulator.fail(queue, batch, error)
            return
        if code == ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER and (queue.has_gap or not batch.may_be_written):
            queue.lost_sequence()
        queue.needs_restart = True
        may_go_again = code != ErrorCode.INVALID_PRODUCER_EPOCH and not batch.is_unknown
        if self._is_transactional:
            may_go_again = False  # its epoch belongs to the transaction, which can only be aborted now
        if may_go_again and not batch.is_expired and batch.failures < self._retries:
            self._send_again(batch, error)
        else:
            self._accumulator.fail(queue, batch, error)
