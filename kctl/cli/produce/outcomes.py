"""Outcomes: results of the records of `kctl produce`. The network loop calls it."""

from collections import deque
from collections.abc import Callable

from kctl.cli.limit_names import with_options
from kctl.cli.produce.undelivered import UndeliveredRecord
from kctl.client.cluster import TopicPartition
from kctl.client.errors import KafkaError
from kctl.client.producer import NO_PARTITION, SendFuture, SettledRows

_OF_THE_RECORD = ("MESSAGE_TOO_LARGE", "INVALID_RECORD", "INVALID_TIMESTAMP")
"""Errors that do not affect the following records."""


class Outcomes:
    """Counts of results, which the network loop writes. The command's thread calls `pop_failed`.

    Args: announce: called on the network loop with the first failure of each partition.
    """

    def __init__(self, now_ms: Callable[[], int], announce: Callable[[TopicPartition, KafkaError], None]) -> None:
        self._now_ms = now_ms
        self._announce = announce
        self._announced: set[TopicPartition] = set()
        self.delivered = 0
        self.delivered_at_ms: int | None = None
        """Instant of the last delivery."""
        self.undelivered = 0
        self.is_hopeless = False
        """Whether an error also affects following records."""
        self.oldest_ms: int | None = None
        self._failed: deque[SendFuture | SettledRows] = deque()

    @property
    def has_failed(self) -> bool:
        return bool(self._failed)

    def on_done(self, future: SendFuture) -> None:
        assert future.outcome is not None
        if future.outcome.error is None:
            self.delivered += 1
            self.delivered_at_ms = self._now_ms()
        else:
            self._fail(future, 1, future.outcome.error)

    def on_rows(self, rows: SettledRows) -> None:
        if rows.outcome.error is None:
            self.delivered += rows.count
            self.delivered_at_ms = self._now_ms()
        else:
            self._fail(rows, rows.count, rows.outcome.error)

    def _fail(self, failed: SendFuture | SettledRows, count: int, error: KafkaError) -> None:
        self.undelivered += count
        self.is_hopeless = self.is_hopeless or getattr(error, "name", "") not in _OF_THE_RECORD
        age_ms = max(0, self._now_ms() - failed.created_at_ms)
        self.oldest_ms = age_ms if self.oldest_ms is None else max(self.oldest_ms, age_ms)
        self._failed.append(failed)
        if failed.topic_partition not in self._announced:
            self._announced.add(failed.topic_partition)
            self._announce(failed.topic_partition, error)

    def pop_failed(self, keep: Callable[[UndeliveredRecord], None] | None) -> None:
        """Remove the failed records. Each is passed to `keep` if given."""
        while self._failed:
            failed = self._failed.popleft()
            if keep is None:
                continue
            records = _records_of(failed) if isinstance(failed, SettledRows) else [_undelivered(failed)]
            for record in records:
                keep(record)


def _undelivered(future: SendFuture) -> UndeliveredRecord:
    outcome = future.outcome
    assert outcome is not None
    cause = "" if outcome.error is None else with_options(str(outcome.error))
    return UndeliveredRecord(
        future.topic, _partition(future.partition), future.timestamp_ms, future.key, future.value, future.headers,
        cause, outcome.is_unknown,
    )  # fmt: skip


def _records_of(rows: SettledRows) -> list[UndeliveredRecord]:
    cause = with_options(str(rows.outcome.error))
    partition = _partition(rows.topic_partition.partition)
    return [
        UndeliveredRecord(
            each.topic,
            partition,
            each.timestamp_ms,
            each.key,
            each.value,
            each.headers or (),
            cause,
            rows.outcome.is_unknown,
        )
        for each in rows.records()
    ]


def _partition(number: int) -> int | None:
    return None if number == NO_PARTITION else number
