"""BatchSender: sends due batches to the leaders of their partitions. The network loop owns it.

Source: KIP-91, KIP-98, KIP-951; Java's Sender.
"""

from collections.abc import Container, Sequence
from functools import partial
from typing import cast

from kctl.client.clock import FOREVER_MS
from kctl.client.cluster import NO_NODE, NO_TOPIC_ID, Cluster, NamedLeader, Node, TopicPartition
from kctl.client.cluster_client import ClusterClient
from kctl.client.config import ProducerConfig
from kctl.client.network.in_flight import Answer, Outgoing
from kctl.client.producer.accumulator import Accumulator
from kctl.client.producer.batch import Batch
from kctl.client.producer.future import Outcome
from kctl.client.producer.identity import Identity
from kctl.client.producer.metrics import ProducerCounters
from kctl.client.producer.partition_queue import PartitionQueue
from kctl.client.producer.partitioner import NodeProgress
from kctl.client.producer.produce_responses import (
    NAMED_TOPICS_VERSION,
    BatchResponse,
    ProduceResponseHandler,
    Sent,
    batch_responses,
    no_response,
)
from kctl.client.protocol.api.produce import PartitionProduceData, ProduceRequest, ProduceResponse, TopicProduceData


class BatchSender:
    def __init__(
        self,
        config: ProducerConfig,
        client: ClusterClient,
        accumulator: Accumulator,
        responses: ProduceResponseHandler,
        identity: Identity | None,
        counters: ProducerCounters,
        progress: NodeProgress,
    ) -> None:
        self._client = client
        self._accumulator = accumulator
        self._responses = responses
        self._identity = identity
        self._counters = counters
        self._progress = progress
        self._acks = config.acks
        self._request_timeout_ms = config.request_timeout_ms
        self._max_request_size = config.max_request_size
        self.is_over = False
        """Whether close() was forced and has returned its result; later responses are then ignored."""

    # --- sending ------------------------------------------------------------------------------------------------------

    def run(self, now_ms: int) -> int:
        """Send every batch that can be sent.

        Returns: time at which the next batch is due or expires.
        """
        due, next_ms = self._accumulator.look(now_ms)
        ready: dict[int, list[PartitionQueue]] = {}
        for queue in due:
            if not self._prepare(queue):
                next_ms = min(next_ms, FOREVER_MS if self._identity is None else self._identity.run(now_ms))
                continue
            leader_id = self._ready_leader(queue, ready, now_ms)
            if leader_id != NO_NODE:
                ready.setdefault(leader_id, []).append(queue)
        if self.is_over:
            return next_ms  # a callback of a failed record has just closed the producer
        for node_id, queues in ready.items():
            next_ms = min(next_ms, self._send_to(node_id, queues, now_ms))
        return next_ms

    def _prepare(self, queue: PartitionQueue) -> bool:
        """Assign sequence numbers to the queue if necessary; return whether its next batch can be sent."""
        if self._identity is None:
            return True
        if queue.needs_restart:
            self._accumulator.begin_epoch(queue)
        if not self._identity.assign_producer_id(queue.topic_partition, queue.sequence):
            return False
        if queue.needs_numbers:
            queue.number_frozen()
        return not queue.is_empty

    def _ready_leader(self, queue: PartitionQueue, ready: Container[int], now_ms: int) -> int:
        """Return the leader if it accepts requests; otherwise return NO_NODE, and connect or update metadata.

        Args: ready: brokers that were ready earlier in this turn.
        """
        leader_id = self._client.metadata.cluster.leader_id(*queue.topic_partition)
        if leader_id == NO_NODE:
            self._client.metadata.request_update()
        elif not queue.may_go_to(leader_id):
            return NO_NODE
        elif leader_id in ready:
            return leader_id
        elif self._client.network.ready(leader_id):
            self._progress.took_data(leader_id, now_ms)
            return leader_id
        else:
            self._progress.note_data(leader_id, now_ms)
            if self._client.network.status.node_error(leader_id) is not None:
                self._client.metadata.request_update()  # the partition may have a new leader
        return NO_NODE

    def _send_to(self, node_id: int, queues: list[PartitionQueue], now_ms: int) -> int:
        """Send batches until no queue is due or the broker is busy; queues with a sent batch move to the end.

        Returns: time at which the next batch is due.
        """
        line = queues
        next_ms = FOREVER_MS
        while line and self._client.network.is_ready(node_id):
            entries: list[Sent] = []
            size_bytes = 0
            served = 0
            for queue in line:
                batch = self._accumulator.next_batch(queue)
                if entries and size_bytes + batch.encoded_bytes > self._max_request_size:
                    break
                entries.append(Sent(queue, batch, batch.attempts + 1))
                size_bytes += batch.encoded_bytes
                served += 1
            self._send(node_id, entries, now_ms)
            again = []
            for queue in line[:served]:
                self._accumulator.served(queue)
                due_at_ms = self._accumulator.due_at_ms(queue)
                if due_at_ms <= now_ms:
                    again.append(queue)
                else:
                    next_ms = min(next_ms, due_at_ms)
            line = line[served:] + again
        return next_ms

    def _send(self, node_id: int, entries: list[Sent], now_ms: int) -> None:
        counters = self._counters
        for queue, batch, _ in entries:
            batch.sent(node_id)
            if batch.attempts == 1:
                waited_ms = now_ms - batch.runs[0].created_at_ms
                counters.first_sending(
                    queue.counters, batch.record_count, batch.encoded_bytes, batch.plain_bytes, max(0, waited_ms)
                )
            else:
                queue.counters.batches_retried += 1
        counters.requests_sent += 1
        counters.batches_in_flight += len(entries)
        identity = self._identity
        transactional_id = None if identity is None else identity.transactional_id
        request = _produce_request(
            entries, self._client.metadata.cluster, self._acks, self._request_timeout_ms, transactional_id
        )
        self._client.send(
            Outgoing(
                node_id,
                request,
                self._request_timeout_ms,
                partial(self._on_done, entries, request),
                _max_version(request, None if identity is None else identity.produce_max_version),
                expect_response=self._acks != 0,
            )
        )

    # --- responses ----------------------------------------------------------------------------------------------------

    def _on_done(self, entries: list[Sent], request: ProduceRequest, answer: Answer) -> None:
        self._counters.batches_in_flight -= len(entries)
        found: list[BatchResponse]
        if isinstance(answer.response, ProduceResponse):
            self._counters.throttle_time_ms += answer.response.throttle_time_ms
            found = batch_responses(entries, request, answer.response, answer.version, answer.node_id)
            self._learn_leaders(entries, found, answer.response)
        elif answer.error is None:
            found = [BatchResponse(Outcome())] * len(entries)
        else:
            found = [no_response(answer.error, was_sent=answer.was_sent)] * len(entries)
            self._client.metadata.request_update()
        for entry, response in zip(entries, found, strict=True):
            if not self.is_over and _is_current(entry.batch, entry.attempt):
                self._responses.handle(entry.queue, entry.batch, response)

    def _learn_leaders(self, entries: list[Sent], found: list[BatchResponse], produced: ProduceResponse) -> None:
        """Adopt the new leaders that the response names. Source: KIP-951."""
        named: dict[TopicPartition, NamedLeader] = {}
        places: dict[TopicPartition, int] = {}
        for at, (entry, response) in enumerate(zip(entries, found, strict=True)):
            leader = response.leader
            if leader is not None and leader.leader_id != NO_NODE:
                tp = TopicPartition(*entry.queue.topic_partition)
                named[tp], places[tp] = NamedLeader(leader.leader_id, leader.leader_epoch), at
        if not named:
            return
        nodes = [Node(node.node_id, node.host, node.port, node.rack) for node in produced.node_endpoints]
        for tp in self._client.learn_leaders(named, nodes):
            found[places[tp]] = found[places[tp]]._replace(is_leader_news=True)


def _produce_request(
    entries: Sequence[Sent], cluster: Cluster, acks: int, timeout_ms: int, transactional_id: str | None = None
) -> ProduceRequest:
    topics: dict[str, TopicProduceData] = {}
    for queue, batch, _ in entries:
        topic, partition = queue.topic_partition
        data = topics.get(topic)
        if data is None:
            info = cluster.topics.get(topic)
            topic_id = NO_TOPIC_ID if info is None else info.topic_id
            data = topics[topic] = TopicProduceData(name=topic, topic_id=topic_id)
        records = cast("bytes", batch.data)  # Pieces; only the encoder reads it
        data.partition_data.append(PartitionProduceData(index=partition, records=records))
    return ProduceRequest(
        transactional_id=transactional_id, acks=acks, timeout_ms=timeout_ms, topic_data=list(topics.values())
    )


def _max_version(request: ProduceRequest, limit: int | None = None) -> int | None:
    """Return the highest Produce version that topic ids and the transaction protocol allow; None for any."""
    if limit is not None and limit <= NAMED_TOPICS_VERSION:
        return limit
    return NAMED_TOPICS_VERSION if any(topic.topic_id == NO_TOPIC_ID for topic in request.topic_data) else limit


def _is_current(batch: Batch, attempt: int) -> bool:
    return batch.is_in_flight and batch.attempts == attempt
