"""`ProducerMetrics` and its counters, which the loop writes once per batch. Any thread reads them without a lock."""

import math
from collections.abc import Mapping
from typing import NamedTuple


class TopicMetrics(NamedTuple):
    """Metrics of one topic since the producer was created.

    Attributes:
        records_sent: records sent, without retries.
        bytes_sent: compressed bytes of their batches, without retries.
        batches_sent: batches sent, without retries.
        batches_retried: retries of batches.
        records_delivered, records_failed, records_unknown: records by result. Unlike CloseResult, they include records
            of aborted transactions.
    """

    records_sent: int = 0
    bytes_sent: int = 0
    batches_sent: int = 0
    batches_retried: int = 0
    records_delivered: int = 0
    records_failed: int = 0
    records_unknown: int = 0


class ProducerMetrics(NamedTuple):
    """Totals and current state of a producer; also readable after close.

    Attributes:
        records_sent to records_unknown: sums over all topics; see TopicMetrics.
        requests_sent: Produce requests, with retries.
        batches_split: batches that were too large for the broker.
        epochs_begun: restarts of a partition's sequence numbers after a lost batch (KIP-360).
        queue_time_avg_ms, queue_time_max_ms: time from send() of the first record to the first attempt, by batch.
        throttle_time_ms: total pause requested by brokers.
        compression_ratio: ratio of sent bytes to plain bytes; 1.0 before anything is sent.
        records_outstanding: accepted records without a result.
        batches_in_flight: batches sent, without a response yet.
        buffer_used_bytes: used part of buffer.memory.
        buffer_total_bytes: buffer.memory.
        topics: metrics by topic, without records that never got a partition.
    """

    records_sent: int
    bytes_sent: int
    batches_sent: int
    batches_retried: int
    records_delivered: int
    records_failed: int
    records_unknown: int
    requests_sent: int
    batches_split: int
    epochs_begun: int
    queue_time_avg_ms: float
    queue_time_max_ms: int
    throttle_time_ms: int
    compression_ratio: float
    records_outstanding: int
    batches_in_flight: int
    buffer_used_bytes: int
    buffer_total_bytes: int
    topics: Mapping[str, TopicMetrics]

    def by_kafka_name(self) -> dict[str, float]:
        """Return these metrics by Kafka's names. Metrics without a measurement are NaN.

        Returns:
            record-send-total: records sent.
            record-error-total: failed and unknown records.
            batch-split-total: batches that were too large for the broker.
            batch-size-avg: compressed bytes per batch.
            compression-rate-avg: ratio of compressed to plain bytes.
            records-per-request-avg: records per Produce request; retries count as requests.
            record-queue-time-avg, record-queue-time-max: time from send() to the first attempt, by batch, in ms.
            produce-throttle-time-avg: throttle time per Produce request, in ms.
            buffer-total-bytes, buffer-available-bytes: size and free part of buffer.memory.

        Source: Kafka's producer metrics. Differs: counted since the beginning, without time windows.
        """
        return {
            "record-send-total": self.records_sent,
            "record-error-total": self.records_failed + self.records_unknown,
            "batch-split-total": self.batches_split,
            "batch-size-avg": _average(self.bytes_sent, self.batches_sent),
            "compression-rate-avg": self.compression_ratio if self.batches_sent else math.nan,
            "records-per-request-avg": _average(self.records_sent, self.requests_sent),
            "record-queue-time-avg": self.queue_time_avg_ms if self.batches_sent else math.nan,
            "record-queue-time-max": self.queue_time_max_ms if self.batches_sent else math.nan,
            "produce-throttle-time-avg": _average(self.throttle_time_ms, self.requests_sent),
            "buffer-total-bytes": self.buffer_total_bytes,
            "buffer-available-bytes": self.buffer_total_bytes - self.buffer_used_bytes,
        }


def _average(total: int, count: int) -> float:
    return total / count if count else math.nan


class TopicCounters:
    __slots__ = ("batches_retried", "batches_sent", "bytes_sent", "delivered", "failed", "records_sent", "unknown")

    def __init__(self) -> None:
        self.records_sent = 0
        self.bytes_sent = 0
        self.batches_sent = 0
        self.batches_retried = 0
        self.delivered = 0
        self.failed = 0
        self.unknown = 0

    def snapshot(self) -> TopicMetrics:
        return TopicMetrics(
            self.records_sent,
            self.bytes_sent,
            self.batches_sent,
            self.batches_retried,
            self.delivered,
            self.failed,
            self.unknown,
        )


class ProducerCounters:
    __slots__ = (
        "_topics",
        "batches_in_flight",
        "batches_split",
        "epochs_begun",
        "plain_bytes",
        "queue_time_max_ms",
        "queue_time_ms",
        "requests_sent",
        "throttle_time_ms",
    )

    def __init__(self) -> None:
        self._topics: dict[str, TopicCounters] = {}
        self.requests_sent = 0
        self.batches_split = 0
        self.batches_in_flight = 0
        self.epochs_begun = 0
        self.plain_bytes = 0
        self.queue_time_ms = 0
        self.queue_time_max_ms = 0
        self.throttle_time_ms = 0

    def of_topic(self, topic: str) -> TopicCounters:
        counters = self._topics.get(topic)
        if counters is None:
            counters = self._topics[topic] = TopicCounters()
        return counters

    def first_sending(
        self, topic: TopicCounters, records: int, size_bytes: int, plain_bytes: int, waited_ms: int
    ) -> None:
        topic.batches_sent += 1
        topic.records_sent += records
        topic.bytes_sent += size_bytes
        self.plain_bytes += plain_bytes
        self.queue_time_ms += waited_ms
        self.queue_time_max_ms = max(self.queue_time_max_ms, waited_ms)

    def snapshot(self, *, outstanding: int, buffer_used_bytes: int, buffer_total_bytes: int) -> ProducerMetrics:
        known = self._topics.copy()  # copy() is one step; list(items()) can be interrupted by the loop
        topics = {name: counters.snapshot() for name, counters in known.items()}
        sums = (
            TopicMetrics(*(sum(column) for column in zip(*topics.values(), strict=True))) if topics else TopicMetrics()
        )
        return ProducerMetrics(
            *sums,
            requests_sent=self.requests_sent,
            batches_split=self.batches_split,
            epochs_begun=self.epochs_begun,
            queue_time_avg_ms=self.queue_time_ms / sums.batches_sent if sums.batches_sent else 0.0,
            queue_time_max_ms=self.queue_time_max_ms,
            throttle_time_ms=self.throttle_time_ms,
            compression_ratio=sums.bytes_sent / self.plain_bytes if self.plain_bytes else 1.0,
            records_outstanding=outstanding,
            batches_in_flight=self.batches_in_flight,
            buffer_used_bytes=buffer_used_bytes,
            buffer_total_bytes=buffer_total_bytes,
            topics=topics,
        )
