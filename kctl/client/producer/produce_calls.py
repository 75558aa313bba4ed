"""One Produce request: which batches it carries, and what the answer says about each. Pure.

Shown by tests/unit/producer/test_batch_sender.py.
"""

from collections.abc import Sequence
from typing import NamedTuple

from kctl.client.broker_errors import ErrorCode, broker_error
from kctl.client.cluster import NO_TOPIC_ID, Cluster
from kctl.client.errors import KafkaError, RemoteProtocolError
from kctl.client.producer.batch import Batch
from kctl.client.producer.future import Outcome
from kctl.client.producer.partition_queue import PartitionQueue
from kctl.client.protocol.api.produce import (
    LeaderIdAndEpoch,
    PartitionProduceData,
    PartitionProduceResponse,
    ProduceRequest,
    ProduceResponse,
    TopicProduceData,
)

NAMED_TOPICS_VERSION = 12
"""The last version that names topics; later ones carry their ids alone."""

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
"""Codes with which a broker refuses to append a batch. After any other, known to this client or not, it may be in the
log: its sequence numbers are not used again, or a broker that has it would take the next batch for a duplicate of it.

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
"""With acks=all these prove nothing either: a leader that steps down while it waits for its followers says so of what
it has appended, and the next one may have it. Source: Kafka's DelayedProduce."""

_ACKS_ALL = -1


class Sent(NamedTuple):
    """One batch in a request, the queue that it belongs to, and the number of the attempt."""

    queue: PartitionQueue
    batch: Batch
    attempt: int


class Verdict(NamedTuple):
    """What an answer says about one batch: an outcome, or an error to judge.

    `is_unanswered`: the batch was sent, and no readable answer speaks of it, so it is sent again until its deadline;
    `leader`: who leads the partition, where the answer names one; `is_leader_news`: and we did not know.
    """

    outcome: Outcome | None
    error: KafkaError | None = None
    code: int = 0
    is_maybe_written: bool = False
    leader: LeaderIdAndEpoch | None = None
    is_leader_news: bool = False
    is_unanswered: bool = False


def lost(error: KafkaError, *, was_sent: bool) -> Verdict:
    """Return the verdict on a batch whose request ended without an answer, or with one that cannot be read.

    Only a batch that was never sent is certainly in no log: what is wrong with an answer says nothing about it.
    """
    return Verdict(None, error, is_maybe_written=was_sent, is_unanswered=was_sent)


def produce_request(
    entries: Sequence[Sent], cluster: Cluster, acks: int, timeout_ms: int, transactional_id: str | None = None
) -> ProduceRequest:
    """Return the request that carries these batches, topics in order of first appearance."""
    topics: dict[str, TopicProduceData] = {}
    for queue, batch, _ in entries:
        topic, partition = queue.topic_partition
        data = topics.get(topic)
        if data is None:
            info = cluster.topics.get(topic)
            topic_id = NO_TOPIC_ID if info is None else info.topic_id
            data = topics[topic] = TopicProduceData(name=topic, topic_id=topic_id)
        data.partition_data.append(PartitionProduceData(index=partition, records=batch.data))
    return ProduceRequest(
        transactional_id=transactional_id, acks=acks, timeout_ms=timeout_ms, topic_data=list(topics.values())
    )


def max_version(request: ProduceRequest, limit: int | None = None) -> int | None:
    """Return the newest version that can carry the request: topic ids may be unknown, transactions set a limit."""
    if limit is not None and limit <= NAMED_TOPICS_VERSION:
        return limit
    return NAMED_TOPICS_VERSION if any(topic.topic_id == NO_TOPIC_ID for topic in request.topic_data) else limit


def verdicts(
    entries: Sequence[Sent], request: ProduceRequest, response: ProduceResponse, version: int, node_id: int
) -> list[Verdict]:
    """Return what the answer says about each batch, in the order of `entries`."""
    names = {topic.topic_id: topic.name for topic in request.topic_data}
    found: dict[tuple[str, int], PartitionProduceResponse] = {}
    for topic in response.responses:
        name = topic.name if version <= NAMED_TOPICS_VERSION else names.get(topic.topic_id, "")
        for part in topic.partition_responses:
            found[name, part.index] = part
    not_written = _NOT_WRITTEN - _LOST_WHILE_WAITING if request.acks == _ACKS_ALL else _NOT_WRITTEN
    return [_verdict(entry, found.get(entry.queue.topic_partition), node_id, not_written) for entry in entries]


def _verdict(
    entry: Sent, answer: PartitionProduceResponse | None, node_id: int, not_written: frozenset[ErrorCode]
) -> Verdict:
    if answer is not None and answer.error_code == ErrorCode.NONE:
        return Verdict(Outcome(None, answer.base_offset, answer.log_append_time_ms))
    what = f"Produce to {entry.queue.topic_partition} on node {node_id}"
    if answer is None:
        error = RemoteProtocolError(f"{what}: the answer says nothing about it", api="Produce")
        return lost(error, was_sent=True)
    code = answer.error_code
    if code == ErrorCode.DUPLICATE_SEQUENCE_NUMBER:
        return Verdict(Outcome())
    refusal = broker_error(code, what, _words(answer))
    return Verdict(None, refusal, code, code not in not_written, answer.current_leader)


def _words(answer: PartitionProduceResponse) -> str | None:
    """Return the broker's own words: on the batch, else on the first record it refused (KIP-467)."""
    if answer.error_message:
        return answer.error_message
    for entry in answer.record_errors:
        if entry.batch_index_error_message:
            return f"record {entry.batch_index}: {entry.batch_index_error_message}"
    return None
