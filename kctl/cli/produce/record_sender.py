"""RecordSender: sends records to the producer. Waits for metadata and memory are limited.

A wait for a topic ends at the delivery timeout of the waiting records, if that is shorter than max.block.ms. A wait for
memory ends after max.block.ms without a delivery.
"""

from collections.abc import Sequence
from typing import Protocol

from kctl.cli.produce.outcomes import Outcomes
from kctl.client.clock import Clock
from kctl.client.config import ProducerConfig
from kctl.client.errors import DeliveryTimeout, MaxBlockTimeout, RecordTooLargeError
from kctl.client.producer import Callback, RowsCallback
from kctl.client.records import Header


class RecordProducer(Protocol):
    """Methods of a producer that `kctl produce` calls."""

    def partitions_for(self, topic: str, timeout: float | None = None) -> object: ...

    def send(
        self,
        topic: str,
        value: bytes | None = None,
        key: bytes | None = None,
        partition: int | None = None,
        headers: Sequence[Header] | None = (),
        timestamp_ms: int | None = None,
        callback: Callback | None = None,
    ) -> object: ...

    def send_columns(
        self,
        topic: str,
        values: Sequence[bytes | None],
        keys: Sequence[bytes | None] | None = None,
        partition: int | None = None,
        headers: Sequence[Sequence[Header] | None] | None = None,
        timestamps_ms: Sequence[int | None] | None = None,
        callback: RowsCallback | None = None,
        timeout: float | None = None,
    ) -> object: ...


class RecordSender:
    """Sender with limited waits. `sent`: number of records that the producer accepted."""

    def __init__(self, producer: RecordProducer, outcomes: Outcomes, clock: Clock, config: ProducerConfig) -> None:
        self.sent = 0
        self._producer = producer
        self._outcomes = outcomes
        self._clock = clock
        self._max_block_ms = config.max_block_ms
        self._delivery_timeout_ms = config.delivery_timeout_ms
        self._is_transactional = config.transactional_id is not None
        self._topics: set[str] = set()
        """Topics whose metadata arrived once; later losses are part of the delivery of records."""

    def send(
        self,
        topic: str,
        value: bytes | None,
        key: bytes | None,
        partition: int | None,
        headers: Sequence[Header],
        timestamp_ms: int | None,
    ) -> None:
        """Send one record. Raises: as Producer.send; DeliveryTimeout: the topic is not known in time."""
        self._await_topic(topic)
        self._producer.send(topic, value, key, partition, headers, timestamp_ms, self._outcomes.on_done)
        self.sent += 1

    def send_rows(
        self,
        topic: str,
        values: Sequence[bytes | None],
        keys: Sequence[bytes | None] | None,
        partition: int | None,
        headers: Sequence[Sequence[Header]] | None,
        timestamps_ms: Sequence[int | None] | None = None,
    ) -> None:
        """Send rows.

        Raises:
            RecordTooLargeError: raised after sending the rows before it. A transaction fails instead.
            DeliveryTimeout: the topic is not known in time.
            KafkaError: as Producer.send_columns.
        """
        self._await_topic(topic)
        first, end, timeout_ms = 0, len(values), self._max_block_ms
        too_large: RecordTooLargeError | None = None
        while first < end:
            count = end - first
            rows = slice(first, end)
            is_whole = count == len(values)
            try:
                self._producer.send_columns(
                    topic,
                    values if is_whole else values[rows],
                    keys if is_whole or keys is None else keys[rows],
                    partition,
                    headers if is_whole or headers is None else headers[rows],
                    timestamps_ms if is_whole or timestamps_ms is None else timestamps_ms[rows],
                    callback=self._outcomes.on_rows,
                    timeout=timeout_ms / 1000,
                )
            except MaxBlockTimeout as e:
                first += e.accepted
                self.sent += e.accepted
                timeout_ms = self._max_block_ms - self._idle_ms()
                if timeout_ms <= 0 or self._is_transactional:
                    raise self._nothing_delivered(e) from None
            except RecordTooLargeError as e:
                if self._is_transactional:
                    e.row += first
                    raise
                too_large, end = e, first + e.row
                too_large.row = end
            else:
                first = end
                self.sent += count
        if too_large is not None:
            raise too_large

    def _idle_ms(self) -> int:
        """Return the time since the last delivery, or max.block.ms if there was none."""
        delivered_at_ms = self._outcomes.delivered_at_ms
        return self._max_block_ms if delivered_at_ms is None else self._clock.now_ms() - delivered_at_ms

    def _nothing_delivered(self, error: MaxBlockTimeout) -> MaxBlockTimeout:
        """Return `error` with the time of the whole wait in place of the last call."""
        elapsed_ms = max(error.elapsed_ms, self._max_block_ms)
        return MaxBlockTimeout(
            error.waiting_for,
            timeout_ms=self._max_block_ms,
            elapsed_ms=elapsed_ms,
            cause=error.cause,
            account=error.account,
        )

    def _await_topic(self, topic: str) -> None:
        if topic in self._topics or self._delivery_timeout_ms >= self._max_block_ms:
            return
        try:
            self._producer.partitions_for(topic, self._delivery_timeout_ms / 1000)
        except MaxBlockTimeout as e:
            raise DeliveryTimeout(
                e.waiting_for, timeout_ms=e.timeout_ms, elapsed_ms=e.elapsed_ms, cause=e.cause, account=e.account
            ) from None
        self._topics.add(topic)
