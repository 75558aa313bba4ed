"""Batch: records of one partition, encoded once and sent until their result is known.

Brokers recognize a retry by its unchanged records. Sequence numbers may change only while no log contains the batch.
Records keep their own deadlines. The network loop owns batches.
"""

from collections.abc import Iterable

from kctl.client.clock import FOREVER_MS
from kctl.client.errors import KafkaError
from kctl.client.producer.future import Outcome
from kctl.client.producer.record_run import RecordRun
from kctl.client.protocol.pieces import Pieces
from kctl.client.records import renumber_batch

NO_SEQUENCE = -1


def count_of(runs: Iterable[RecordRun]) -> int:
    return sum([run.end - run.first for run in runs])


class Batch:
    """A batch whose records no longer change.

    Attributes:
        limit_bytes: batch limit when it was made.
        failures: failed attempts, without waits for an earlier batch.
        node_id: broker of the last attempt.
        is_in_flight: whether the last attempt has no response yet.
        may_be_written: whether an earlier attempt may have been written.
    """

    __slots__ = (
        "_next_expiry",
        "attempts",
        "base_sequence",
        "data",
        "encoded_bytes",
        "failures",
        "is_in_flight",
        "last_error",
        "limit_bytes",
        "may_be_written",
        "node_id",
        "plain_bytes",
        "record_count",
        "retry_at_ms",
        "runs",
    )

    def __init__(
        self, runs: list[RecordRun], data: Pieces, base_sequence: int, plain_bytes: int, limit_bytes: int = 0
    ) -> None:
        self.plain_bytes = plain_bytes
        self.limit_bytes = limit_bytes
        self.runs = runs
        self.record_count = count_of(runs)
        self.data = data
        self.encoded_bytes = len(data)
        self.base_sequence = base_sequence
        self.attempts = 0
        self.failures = 0
        self.node_id: int | None = None
        self.is_in_flight = False
        self.may_be_written = False
        self.retry_at_ms = 0
        self.last_error: KafkaError | None = None
        self._next_expiry = 0
        """Index of the first run that is not done."""
        while self._next_expiry < len(runs) and runs[self._next_expiry].outcome is not None:
            self._next_expiry += 1

    @property
    def size_bytes(self) -> int:
        """Size that counts for the broker's limit: the smaller of compressed and plain size."""
        return min(self.plain_bytes, self.encoded_bytes)

    def sent(self, node_id: int) -> None:
        self.attempts += 1
        self.node_id = node_id
        self.is_in_flight = True

    def to_retry(self, error: KafkaError, retry_at_ms: int) -> None:
        self.failures += 1
        self.last_error = error
        self.retry_at_ms = retry_at_ms

    def held_back(self, error: KafkaError) -> None:
        """Record that the batch must follow a missing earlier batch; no failure is counted."""
        self.last_error = error
        self.retry_at_ms = 0

    def renumber(self, producer_id: int, epoch: int, base_sequence: int) -> None:
        """Replace the sequence numbers of a batch that no log contains."""
        assert not self.is_in_flight
        assert not self.may_be_written
        head, body = self.data.head, self.data.body
        self.data = Pieces(renumber_batch(head, body, producer_id, epoch, base_sequence), body)
        self.base_sequence = base_sequence

    # --- deadlines ----------------------------------------------------------------------------------------------------

    def expires_at_ms(self, delivery_timeout_ms: int) -> int:
        if self._next_expiry >= len(self.runs):
            return FOREVER_MS
        return self.runs[self._next_expiry].created_at_ms + delivery_timeout_ms

    def pop_expired(self, now_ms: int, delivery_timeout_ms: int) -> list[RecordRun]:
        """Return newly expired records.

        Differs: in Java, the whole batch expires with its first record.
        """
        first = self._next_expiry
        while self._next_expiry < len(self.runs):
            run = self.runs[self._next_expiry]
            count = run.expired_count(now_ms, delivery_timeout_ms)
            if count == 0:
                break
            if count < run.count:
                self.runs.insert(self._next_expiry, run.cut_off(count))
            self._next_expiry += 1
        return self.runs[first : self._next_expiry]

    @property
    def is_expired(self) -> bool:
        return self._next_expiry >= len(self.runs)

    def pending(self) -> list[RecordRun]:
        return self.runs[self._next_expiry :] if self._next_expiry else self.runs

    @property
    def is_unknown(self) -> bool:
        """Whether an attempt may have been written."""
        return self.is_in_flight or self.may_be_written

    def failure(self, error: KafkaError) -> Outcome:
        return Outcome(error=error, is_unknown=self.is_unknown)
