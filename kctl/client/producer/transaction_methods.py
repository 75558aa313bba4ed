from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from datetime import timedelta
from typing import Protocol, runtime_checkable

from kctl.client.arguments import wrong_type
from kctl.client.clock import to_timeout_ms
from kctl.client.cluster import TopicPartition
from kctl.client.errors import AbortableTransactionError, ApiTimeout, CommitFailedError, MaxBlockTimeout
from kctl.client.loop.mailbox import Call
from kctl.client.producer.transactions.calls import GroupMember
from kctl.client.producer.transactions.states import Step
from kctl.client.requests.group_offsets import OffsetAndMetadata


@runtime_checkable
class TransactionalReader(Protocol):
    """Consumer of a transaction's input: `Consumer` or `AsyncConsumer`."""

    def positions(self) -> Mapping[TopicPartition, OffsetAndMetadata]: ...
    def group_metadata(self) -> GroupMember: ...
    def seek_to_committed(self) -> None: ...
    def _transaction_mark(self) -> tuple[int, int]: ...
    def _find_positions(self, timeout: float | timedelta | None) -> None: ...
    def _transaction_committed(self, offsets: Mapping[TopicPartition, OffsetAndMetadata]) -> None: ...


class TransactionMethods:
    """The transaction methods of `Producer`."""

    def _transact(
        self,
        step: Step,
        timeout: float | timedelta | None,
        offsets: Mapping[TopicPartition, int | OffsetAndMetadata] | None = None,
        member: GroupMember | None = None,
    ) -> Call:
        raise NotImplementedError

    def init_transactions(self, timeout: float | timedelta | None = None) -> None:
        """Obtain the producer id of transactional.id, and fence older producers with this transactional.id.

        Call it before any other method. It aborts a transaction that an older producer left open. After a timeout, this
        call, commit, abort and send_offsets_to_transaction can be repeated, which continues the same work. Until the
        work has ended, other calls raise IllegalStateError.

        Args:
            timeout: seconds. None uses max.block.ms.

        Raises:
            MaxBlockTimeout: with the state of the call and the time spent.
            BrokerError: not allowed at present. The call can be repeated.
            FatalTransactionError: only close() is possible. `cause` is the reason.
            IllegalStateError: no transactional.id, wrong state, or called in a callback.

        Source: KIP-98; KIP-654 for the bound.
        """
        self._transact(Step.INIT, timeout).is_collected = True

    def begin_transaction(self) -> None:
        """Begin a transaction. Later records become visible together or not at all.

        Raises:
            IllegalStateError, AbortableTransactionError, FatalTransactionError: the state does not allow it, for
                example because a transaction is open.
        """
        self._transact(Step.BEGIN, None).is_collected = True

    def send_offsets_to_transaction(
        self,
        offsets: Mapping[TopicPartition, int | OffsetAndMetadata],
        group_metadata: GroupMember,
        timeout: float | timedelta | None = None,
    ) -> None:
        """Commit a group's offsets as part of the transaction. They take effect when the transaction commits.

        Args:
            offsets: next offset to read, by partition.
            group_metadata: `Consumer.group_metadata()` from the time when the records were read, to detect an outdated
                member.
            timeout: seconds. None uses max.block.ms.

        Raises:
            AbortableTransactionError: with CommitFailedError as `cause` if the group has reassigned the partitions.
            MaxBlockTimeout, FatalTransactionError, IllegalStateError: as init_transactions().
            ValueError: an offset or the member is invalid.

        Source: KIP-447.
        """
        self._transact(Step.OFFSETS, timeout, offsets, group_metadata).is_collected = True

    def commit_transaction(self, timeout: float | timedelta | None = None) -> None:
        """Send all waiting records and commit the transaction, so that read_committed consumers see all of it.

        Never returns normally with an undelivered record.

        Raises:
            AbortableTransactionError: a record or the offsets are lost. Only abort_transaction() is possible.
            MaxBlockTimeout, FatalTransactionError, IllegalStateError: as init_transactions().
        """
        self._transact(Step.COMMIT, timeout).is_collected = True

    def abort_transaction(self, timeout: float | timedelta | None = None) -> None:
        """Abort the transaction, so that read_committed consumers see none of it. Waiting records are not sent.

        Raises: MaxBlockTimeout, FatalTransactionError, IllegalStateError: as init_transactions().
        """
        self._transact(Step.ABORT, timeout).is_collected = True

    def transaction(
        self, consumer: TransactionalReader | None = None, timeout: float | timedelta | None = None
    ) -> AbstractContextManager[None]:
        """Run a block in a transaction. Commit the transaction at the end of the block.

        After an exception, abort the transaction and raise the exception again.

        Args:
            consumer: its positions are committed with the transaction. After an exception it returns to its committed
                offsets and reads uncommitted records again. It needs enable.auto.commit=false.
            timeout: limit of each step, in seconds. None uses max.block.ms.

        Raises:
            AbortableTransactionError: the transaction was aborted. A new block can follow. `cause` is a
                CommitFailedError if a rebalance unassigned a partition with records of the block.
            MaxBlockTimeout: the commit, or the abort after an exception, continues. To wait for it, call
                commit_transaction() or abort_transaction(), or close.
            FatalTransactionError: as init_transactions().
            IllegalStateError: as init_transactions(), or the consumer has no group.id or enable.auto.commit=true.
        """
        if consumer is not None:
            if not isinstance(consumer, TransactionalReader):
                raise wrong_type("consumer", consumer, "a Consumer or an AsyncConsumer")
            consumer._transaction_mark()  # raises before anything begins
        to_timeout_ms(timeout, 0)
        return self._in_transaction(consumer, timeout)

    @contextmanager
    def _in_transaction(
        self, consumer: TransactionalReader | None, timeout: float | timedelta | None
    ) -> Iterator[None]:
        may_abort = False
        try:
            self.begin_transaction()
            may_abort = True
            mark = 0 if consumer is None else consumer._transaction_mark()[0]
            yield
            offsets = {} if consumer is None else self._send_positions(consumer, mark, timeout)
            may_abort = False
            self.commit_transaction(timeout)
            if consumer is not None:
                consumer._transaction_committed(offsets)
        except BaseException as error:
            try:
                if may_abort or isinstance(error, AbortableTransactionError):
                    self.abort_transaction(timeout)
            finally:
                if consumer is not None:
                    consumer.seek_to_committed()  # waits for the end of a commit that continues
            raise

    def _send_positions(
        self, consumer: TransactionalReader, mark: int, timeout: float | timedelta | None
    ) -> Mapping[TopicPartition, OffsetAndMetadata]:
        try:
            consumer._find_positions(timeout)
        except ApiTimeout as error:
            raise AbortableTransactionError(error) from error
        offsets = consumer.positions()
        if consumer._transaction_mark()[1] > mark:
            text = "partitions of its records were unassigned. Call poll() once, before the block"
            raise AbortableTransactionError(CommitFailedError(f"cannot commit the offsets of the block: {text}"))
        try:
            if offsets:
                self.send_offsets_to_transaction(offsets, consumer.group_metadata(), timeout)
        except MaxBlockTimeout as error:
            raise AbortableTransactionError(error) from error
        return offsets
