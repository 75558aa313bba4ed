"""TransactionMethods: the methods of `Producer` for transactions.

Owns what they promise; transactions/ does the work.
"""

from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from datetime import timedelta
from typing import Protocol, runtime_checkable

from kctl.client.arguments import wrong_type
from kctl.client.clock import to_timeout_ms
from kctl.client.cluster import TopicPartition
from kctl.client.errors import AbortableTransactionError
from kctl.client.loop.mailbox import Call
from kctl.client.producer.transactions.calls import GroupMember
from kctl.client.producer.transactions.states import Step
from kctl.client.requests.group_offsets import OffsetAndMetadata


@runtime_checkable
class TransactionalReader(Protocol):
    """The consumer of records that a transaction processes: `Consumer` or `AsyncConsumer`, by shape alone."""

    def positions(self) -> Mapping[TopicPartition, OffsetAndMetadata]: ...
    def group_metadata(self) -> GroupMember: ...
    def seek_to_committed(self) -> None: ...


class TransactionMethods:
    """The methods of `Producer` for transactions."""

    def _transact(
        self,
        step: Step,
        timeout: float | timedelta | None,
        offsets: Mapping[TopicPartition, int | OffsetAndMetadata] | None = None,
        member: GroupMember | None = None,
    ) -> Call:
        raise NotImplementedError

    def init_transactions(self, timeout: float | timedelta | None = None) -> None:
        """Get the producer id of transactional.id, before anything else; older producers of that name are fenced.

        What an older one left open is aborted first. This call, and those that commit, abort and send offsets, can be
        made again after a timeout: it then continues with the same work; other calls are refused until it has ended.

        Args: timeout: seconds; None is max.block.ms.
        Raises:
            MaxBlockTimeout: with what it was waiting for, and where the time went.
            BrokerError: not allowed, for now; the call can be made again.
            FatalTransactionError: only close() is left; `cause` is why.
            IllegalStateError: no transactional.id, the wrong moment, or called in a callback.
        Source: KIP-98; KIP-654 for the bound.
        """
        self._transact(Step.INIT, timeout).is_collected = True

    def begin_transaction(self) -> None:
        """Begin a transaction: what is sent from here on is seen together or not at all.

        Raises: IllegalStateError, AbortableTransactionError, FatalTransactionError: one is open, or it is not the time.
        """
        self._transact(Step.BEGIN, None).is_collected = True

    def send_offsets_to_transaction(
        self,
        offsets: Mapping[TopicPartition, int | OffsetAndMetadata],
        group_metadata: GroupMember,
        timeout: float | timedelta | None = None,
    ) -> None:
        """Commit a group's offsets as part of the transaction: they count when it commits.

        Args:
            offsets: the next offset to read, by partition.
            group_metadata: `Consumer.group_metadata()`, taken when the records were read, so that a member that the
                group has left behind is found out.
            timeout: seconds; None is max.block.ms.
        Raises:
            AbortableTransactionError: with CommitFailedError as `cause`, when the group has given the partitions away.
            MaxBlockTimeout, FatalTransactionError, IllegalStateError: as init_transactions().
            ValueError: an offset or a member that cannot be.
        Source: KIP-447.
        """
        self._transact(Step.OFFSETS, timeout, offsets, group_metadata).is_collected = True

    def commit_transaction(self, timeout: float | timedelta | None = None) -> None:
        """Send what waits, and end the transaction so that read_committed consumers see all of it.

        It never returns normally with a record of the transaction undelivered.

        Raises:
            AbortableTransactionError: a record or the offsets are lost; only abort_transaction() is left.
            MaxBlockTimeout, FatalTransactionError, IllegalStateError: as init_transactions().
        """
        self._transact(Step.COMMIT, timeout).is_collected = True

    def abort_transaction(self, timeout: float | timedelta | None = None) -> None:
        """End the transaction so that read_committed consumers see nothing of it; what waits is not sent.

        Raises: MaxBlockTimeout, FatalTransactionError, IllegalStateError: as init_transactions().
        """
        self._transact(Step.ABORT, timeout).is_collected = True

    def transaction(
        self, consumer: TransactionalReader | None = None, timeout: float | timedelta | None = None
    ) -> AbstractContextManager[None]:
        """Run a block in a transaction: commit it at the end, or abort it after an exception, which is raised again.

        Args:
            consumer: its positions are committed with the transaction. After an abort it continues with its committed
                offsets, so that the records come again. Set enable.auto.commit=false for it.
            timeout: of each step, in seconds; None is max.block.ms.
        Raises:
            AbortableTransactionError: the transaction was aborted; a new block can follow.
            MaxBlockTimeout: the commit continues; call commit_transaction() again to wait for it, or close.
            FatalTransactionError, IllegalStateError: as init_transactions().
        """
        if consumer is not None and not isinstance(consumer, TransactionalReader):
            raise wrong_type("consumer", consumer, "a Consumer or an AsyncConsumer")
        to_timeout_ms(timeout, 0)  # refused here, before anything is begun
        return self._in_transaction(consumer, timeout)

    @contextmanager
    def _in_transaction(
        self, consumer: TransactionalReader | None, timeout: float | timedelta | None
    ) -> Iterator[None]:
        self.begin_transaction()
        try:
            yield
            offsets = {} if consumer is None else consumer.positions()
            member = None if consumer is None else consumer.group_metadata()
        except BaseException:
            self._undo(consumer, timeout)
            raise
        try:
            if offsets and member is not None:
                self.send_offsets_to_transaction(offsets, member, timeout)
            self.commit_transaction(timeout)
        except AbortableTransactionError:
            self._undo(consumer, timeout)
            raise

    def _undo(self, consumer: TransactionalReader | None, timeout: float | timedelta | None) -> None:
        """Abort the transaction and let its records come again."""
        try:
            self.abort_transaction(timeout)
        finally:
            if consumer is not None:
                consumer.seek_to_committed()
