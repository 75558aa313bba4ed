"""BatchExpiry: fails records when delivery.timeout.ms has passed; the error has the reason of their wait.

The network loop owns it. Source: KIP-91. Differs: Java's batches expire with their first record.
"""

from collections.abc import Sequence
from functools import partial

from kctl.client.broker_errors import ErrorCode, broker_error
from kctl.client.cluster import NO_NODE
from kctl.client.cluster_client import ClusterClient
from kctl.client.config import ProducerConfig
from kctl.client.errors import DeliveryTimeout, KafkaError
from kctl.client.producer.accumulator import Accumulator
from kctl.client.producer.batch import Batch
from kctl.client.producer.identity import Identity
from kctl.client.producer.partition_queue import PartitionQueue
from kctl.client.producer.record_run import RecordRun
from kctl.client.wording import counted


class BatchExpiry:
    def __init__(
        self, config: ProducerConfig, client: ClusterClient, accumulator: Accumulator, identity: Identity | None
    ) -> None:
        self._client = client
        self._accumulator = accumulator
        self._identity = identity
        self._delivery_timeout_ms = config.delivery_timeout_ms

    def late(self, now_ms: int) -> list[PartitionQueue]:
        return [queue for queue in self._accumulator.active() if self._accumulator.expires_at_ms(queue) <= now_ms]

    def expire(self, late: Sequence[PartitionQueue], now_ms: int) -> None:
        for queue in late:
            self._accumulator.expire(queue, now_ms, partial(self._timed_out, now_ms))

    def _timed_out(self, now_ms: int, queue: PartitionQueue, batch: Batch | None, first: RecordRun) -> DeliveryTimeout:
        return self.delivery_timeout(first, now_ms, *self._doing(queue, batch))

    def delivery_timeout(self, run: RecordRun, now_ms: int, doing: str, cause: KafkaError | None) -> DeliveryTimeout:
        elapsed_ms = now_ms - run.created_at_ms
        return DeliveryTimeout(doing, timeout_ms=self._delivery_timeout_ms, elapsed_ms=elapsed_ms, cause=cause)

    def _doing(self, queue: PartitionQueue, batch: Batch | None) -> tuple[str, KafkaError | None]:
        """Return what a batch (None for waiting records) waits for, and its last error."""
        name = str(queue.topic_partition)
        attempts = 0 if batch is None else batch.attempts
        first = next(iter(queue.batches), None)
        if not attempts and first is not None and first.attempts:
            where, cause = self._doing(queue, first)
            return f"waiting behind another batch, never sent: {where}", cause
        times = f" (sent {counted(attempts, 'time')})" if attempts else ""
        if batch is not None and batch.is_in_flight:
            return f"waiting for broker {batch.node_id} to acknowledge the batch to {name}{times}", batch.last_error
        info = self._client.metadata.cluster.partition(*queue.topic_partition)
        if info is None or info.leader_id == NO_NODE:
            leaderless = broker_error(ErrorCode.LEADER_NOT_AVAILABLE, f"find the leader of {name}")
            if info is not None and self._client.metadata.cluster.nodes:
                return f"waiting for a leader of {name}{times}", info.error or leaderless
            # No broker is known after a (re)start from the bootstrap servers; use the earlier error.
            cause = (None if batch is None else batch.last_error) or self._client.last_error()
            return f"waiting for a leader of {name}{times}", cause
        if self._identity is not None and not self._identity.assign_producer_id(queue.topic_partition, queue.sequence):
            return "waiting for a producer id", self._identity.last_error or self._client.last_error()
        if not self._client.network.is_ready(info.leader_id):
            where = f"waiting for a connection to broker {info.leader_id}, the leader of {name}{times}"
            return where, self._client.network.status.node_error(info.leader_id)
        return f"waiting to send the batch to {name}{times}", None if batch is None else batch.last_error
