"""State machine of one transactional ID, without markers, timers, and responses.

Source: KIP-98, KIP-360 (epochs that continue), KIP-890 (an epoch for each transaction).
"""

from collections.abc import Callable, Iterable
from enum import Enum
from typing import NamedTuple

from kctl.client.broker_errors import ErrorCode
from kctl.sandbox.groups.outbox import Refused

NO_PRODUCER_ID = -1
NO_EPOCH = -1
GREATEST_EPOCH = 2**15 - 1
EPOCH_PER_TRANSACTION = 2
"""Lowest level of transaction.version with a separate epoch for each transaction (KIP-890)."""


class State(Enum):
    """State of a transaction. The value is Kafka's name."""

    EMPTY = "Empty"
    ONGOING = "Ongoing"
    PREPARE_COMMIT = "PrepareCommit"
    PREPARE_ABORT = "PrepareAbort"
    COMPLETE_COMMIT = "CompleteCommit"
    COMPLETE_ABORT = "CompleteAbort"


PREPARED = (State.PREPARE_COMMIT, State.PREPARE_ABORT)
"""States with missing markers."""


class TopicPartition(NamedTuple):
    """Partition of a transaction."""

    topic: str
    partition: int


class ProducerIdentity(NamedTuple):
    producer_id: int
    epoch: int


class Transaction:
    def __init__(self, transactional_id: str, producer_id: int) -> None:
        self.transactional_id = transactional_id
        self.producer_id = producer_id
        self.previous_producer_id = NO_PRODUCER_ID
        self.epoch = NO_EPOCH
        self.last_epoch = NO_EPOCH
        """Previous epoch, still valid for a producer that missed the change."""
        self.timeout_ms = 0
        self.started_at_ms = -1
        """Start of the transaction in wall-clock ms, or -1."""
        self.state = State.EMPTY
        self.partitions: dict[TopicPartition, None] = {}
        self._next_producer_id = NO_PRODUCER_ID

    @property
    def identity(self) -> ProducerIdentity:
        return ProducerIdentity(self.producer_id, self.epoch)

    @property
    def _is_exhausted(self) -> bool:
        return self.epoch >= GREATEST_EPOCH - 1

    # --- InitProducerId ---------------------------------------------------------------------------------------------

    def initialise(
        self, expected: ProducerIdentity | None, timeout_ms: int, new_producer_id: Callable[[], int]
    ) -> ProducerIdentity:
        """Assign the transactional ID to a producer in a new epoch, which fences the previous one.

        Args:
            expected: identity that a continuing producer believes to have. None for a new producer.
            new_producer_id: returns a new ID, used if no epochs are left.
        """
        if expected is not None and not self._is_known(expected):
            raise Refused(ErrorCode.PRODUCER_FENCED)
        if self.state in PREPARED or self.state is State.ONGOING:
            raise Refused(ErrorCode.CONCURRENT_TRANSACTIONS)
        if self._is_exhausted and (expected is None or expected.epoch == self.epoch):
            self.previous_producer_id, self.last_epoch = self.producer_id, NO_EPOCH if expected is None else self.epoch
            self.producer_id, self.epoch = new_producer_id(), 0
        else:
            self._next_epoch(expected)
        self.timeout_ms = timeout_ms
        self.state, self.started_at_ms = State.EMPTY, -1
        self.partitions.clear()
        return self.identity

    def _is_known(self, expected: ProducerIdentity) -> bool:
        return (
            self.epoch == NO_EPOCH
            or expected.producer_id == self.producer_id
            or (expected.producer_id == self.previous_producer_id and expected.epoch >= GREATEST_EPOCH - 1)
        )

    def _next_epoch(self, expected: ProducerIdentity | None) -> None:
        if expected is None:
            self.epoch, self.last_epoch = self.epoch + 1, NO_EPOCH
        elif self.epoch in (NO_EPOCH, expected.epoch):
            self.epoch, self.last_epoch = self.epoch + 1, self.epoch
        elif expected.epoch != self.last_epoch:
            raise Refused(ErrorCode.PRODUCER_FENCED)

    # --- partitions -------------------------------------------------------------------------------------------------

    def _check_holder(self, claimed: ProducerIdentity) -> None:
        if claimed.producer_id != self.producer_id:
            raise Refused(ErrorCode.INVALID_PRODUCER_ID_MAPPING)
        if claimed.epoch != self.epoch:
            raise Refused(ErrorCode.PRODUCER_FENCED)
        if self.state in PREPARED:
            raise Refused(ErrorCode.CONCURRENT_TRANSACTIONS)

    def add(self, claimed: ProducerIdentity, partitions: Iterable[TopicPartition], wall_ms: int) -> bool:
        """Add partitions. Return whether this starts a transaction."""
        self._check_holder(claimed)
        is_begun = self.state is not State.ONGOING
        if is_begun:
            self.state, self.started_at_ms = State.ONGOING, wall_ms
            self.partitions.clear()
        self.partitions.update(dict.fromkeys(partitions))
        return is_begun

    def verify(self, claimed: ProducerIdentity, partition: TopicPartition) -> None:
        """Raise TRANSACTION_ABORTABLE if a partition is not part of the open transaction."""
        self._check_holder(claimed)
        if self.state is not State.ONGOING or partition not in self.partitions:
            raise Refused(ErrorCode.TRANSACTION_ABORTABLE)

    # --- end of transactions ------------------------------------------------------------------------------------------

    def end(
        self,
        claimed: ProducerIdentity,
        *,
        commit: bool,
        has_own_epoch: bool,
        wall_ms: int,
        new_producer_id: Callable[[], int],
    ) -> ProducerIdentity:
        """Prepare to commit or abort. Return the identity for the producer's next transaction.

        Args:
            has_own_epoch: whether the producer uses KIP-890, so that the next transaction has a new epoch.
            new_producer_id: returns a new ID, used if no epochs are left.
        """
        wanted = State.PREPARE_COMMIT if commit else State.PREPARE_ABORT
        is_over = State.COMPLETE_COMMIT if commit else State.COMPLETE_ABORT
        is_repeated = has_own_epoch and self._check_epoch_of_own(claimed)
        if not has_own_epoch:
            self._check_epoch(claimed)
        if self.state is wanted:
            raise Refused(ErrorCode.CONCURRENT_TRANSACTIONS)
        if self.state is is_over and (is_repeated or not has_own_epoch):
            return self.identity
        if self.state is not State.ONGOING:
            # with an epoch for each transaction, an empty one can be aborted
            is_rested = self.state in (State.EMPTY, State.COMPLETE_ABORT, State.COMPLETE_COMMIT)
            if commit or is_repeated or not has_own_epoch or not is_rested:
                raise Refused(ErrorCode.INVALID_TXN_STATE)
            self.started_at_ms = wall_ms
            self.partitions.clear()
        if has_own_epoch and self._is_exhausted:
            self._next_producer_id = new_producer_id()
        return self._prepare(wanted, has_own_epoch=has_own_epoch)

    def _check_epoch(self, claimed: ProducerIdentity) -> None:
        if claimed.producer_id != self.producer_id:
            raise Refused(ErrorCode.INVALID_PRODUCER_ID_MAPPING)
        if claimed.epoch != self.epoch:
            raise Refused(ErrorCode.PRODUCER_FENCED)

    def _check_epoch_of_own(self, claimed: ProducerIdentity) -> bool:
        """Return whether a producer repeats a request because it missed the response with its next epoch."""
        has_new_id = (
            self.previous_producer_id == claimed.producer_id and claimed.epoch == GREATEST_EPOCH - 1 and self.epoch == 0
        )
        is_repeated = self.epoch == claimed.epoch + 1
        if claimed.producer_id != self.producer_id and not has_new_id:
            raise Refused(ErrorCode.INVALID_PRODUCER_ID_MAPPING)
        is_next = claimed.epoch == self.epoch
        if self.state in PREPARED:
            is_valid = is_repeated
        elif self.state in (State.COMPLETE_COMMIT, State.COMPLETE_ABORT):
            is_valid = is_repeated or has_new_id or is_next
        else:
            is_valid = is_next
        if not is_valid:
            raise Refused(ErrorCode.PRODUCER_FENCED)
        return is_repeated or has_new_id

    def fence(self, *, has_own_epoch: bool) -> None:
        """Abort the open transaction in a new epoch, which fences its producer."""
        if not has_own_epoch:
            self.epoch, self.last_epoch = self.epoch + 1, NO_EPOCH
        self._prepare(State.PREPARE_ABORT, has_own_epoch=has_own_epoch)

    def _prepare(self, state: State, *, has_own_epoch: bool) -> ProducerIdentity:
        self.state = state
        if has_own_epoch:
            self.epoch, self.last_epoch = self.epoch + 1, self.epoch
        if self._next_producer_id != NO_PRODUCER_ID:
            return ProducerIdentity(self._next_producer_id, 0)
        return self.identity

    def complete(self) -> None:
        self.state = State.COMPLETE_COMMIT if self.state is State.PREPARE_COMMIT else State.COMPLETE_ABORT
        self.partitions.clear()
        if self._next_producer_id != NO_PRODUCER_ID:
            self.previous_producer_id, self.producer_id, self.epoch = self.producer_id, self._next_producer_id, 0
            self._next_producer_id = NO_PRODUCER_ID
