"""Batch: records of one partition that travel together, encoded once and sent until their fate is known.

A batch is frozen before it is first sent: every repeat carries the same records, so that a broker can recognise it.
Only its sequence numbers may be rewritten, and only when it is certain that no log holds it. Its records keep their own
deadlines. Owned by the network loop.
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
    """Return how many records those are."""
    return sum([run.count for run in runs])


class Batch:
    """The frozen batch.

    Attributes:
        runs: its records.
        record_count: of all of them.
        data: the encoded batch.
        plain_bytes: its size before compression.
        limit_bytes: the limit of batches that it was made under.
        base_sequence: of its first record; NO_SEQUENCE without idempotence.
        attempts: how often it was sent.
        failures: how often an attempt ended without success, except where it only had to wait for one before it.
        node_id: to which node it was last sent; None before.
        is_in_flight: sent, and neither answered nor lost.
        may_be_written: an earlier attempt ended without a response that says whether the broker wrote it.
        retry_at_ms: not sent again before.
        last_error: why the last attempt failed.
    """

    __slots__ = (
        "_next_expiry",
        "attempts",
        "base_sequence",
        "data",
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
        """About its size for the broker's limit; without compression if that has made it larger."""
        return min(self.plain_bytes, len(self.data))

    def sent(self, node_id: int) -> None:
        self.attempts += 1
        self.node_id = node_id
        self.is_in_flight = True

    def to_retry(self, error: KafkaError, retry_at_ms: int) -> None:
        """Note why the attempt failed and when to send again."""
        self.failures += 1
        self.last_error = error
        self.retry_at_ms = retry_at_ms

    def held_back(self, error: KafkaError) -> None:
        """Note that the attempt failed because a batch before it is missing: it is sent again after that one."""
        self.last_error = error
        self.retry_at_ms = 0

    def renumber(self, producer_id: int, epoch: int, base_sequence: int) -> None:
        """Give a batch that is certainly in no log other sequence numbers; its records stay as they are encoded."""
        assert not self.is_in_flight
        assert not self.may_be_written
        head, body = self.data.head, self.data.body
        self.data = Pieces(renumber_batch(head, body, producer_id, epoch, base_sequence), body)
        self.base_sequence = base_sequence

    # --- deadlines ----------------------------------------------------------------------------------------------------

    def expires_at_ms(self, delivery_timeout_ms: int) -> int:
        """Return the deadline of the next record to expire."""
        if self._next_expiry >= len(self.runs):
            return FOREVER_MS
        return self.runs[self._next_expiry].created_at_ms + delivery_timeout_ms

    def pop_expired(self, now_ms: int, delivery_timeout_ms: int) -> list[RecordRun]:
        """Return the records whose deadline has passed since the last call; each is returned once.

        Differs: in Java the whole batch expires with its first record, so later records fail early.
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
        """Whether no record is left that anyone waits for."""
        return self._next_expiry >= len(self.runs)

    def pending(self) -> list[RecordRun]:
        """Return the records that have not expired."""
        return self.runs[self._next_expiry :] if self._next_expiry else self.runs

    @property
    def is_unknown(self) -> bool:
        """Whether some attempt may have been written, so that failing now would leave the outcome unknown."""
        return self.is_in_flight or self.may_be_written

    def failure(self, error: KafkaError) -> Outcome:
        """Return the outcome of failing now."""
        return Outcome(error=error, is_unknown=self.is_unknown)
