"""TransactionCalls: the methods of `Admin` about transactions, their producers, and records by offset.

Owns their arguments; one file per request does the work. Shown by tests/sim/admin.
"""

from collections.abc import Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from datetime import timedelta

from kctl.client.admin import abort, hanging, producers, records, transactions
from kctl.client.admin.call import Call, Results
from kctl.client.admin.hanging import OpenTransactions
from kctl.client.admin.producers import ActiveProducer, Producers
from kctl.client.admin.records import KeyRange, KeySample, RecordShape, RecordTime
from kctl.client.admin.transactions import TransactionDescription, TransactionFilter, TransactionList
from kctl.client.cluster import TopicPartition

Timeout = float | timedelta | None

STEPS = 4
"""A step of several waits for brokers that are silent in this part of the time that is left at most,"""
LEAST_STEP_S = 2
"""or for two seconds: slow brokers are not silent."""


class TransactionCalls:
    """What `Admin` has about transactions."""

    def _call(self, what: str, timeout: Timeout, partial_timeout: Timeout = None) -> Call:
        raise NotImplementedError

    def within(self, timeout: Timeout = None) -> AbstractContextManager[None]:
        """Give the calls of a block one timeout together; see `Admin.within`."""
        raise NotImplementedError

    def list_transactions(
        self,
        *,
        states: Sequence[str] = (),
        producer_ids: Sequence[int] = (),
        longer_than_ms: int | None = None,
        pattern: str | None = None,
        broker_ids: Sequence[int] | None = None,
        timeout: Timeout = None,
    ) -> TransactionList:
        """Return the transactional.ids of every broker, and the brokers that did not answer.

        Args:
            states: only these: `Ongoing`, `PrepareCommit`, `CompleteAbort`, ...
            producer_ids: only of these producers.
            longer_than_ms: only transactions that are ongoing for longer (Kafka 3.8).
            pattern: only ids that match this regular expression (Kafka 4.1).
            broker_ids: only those that these brokers coordinate; None: all.
        Raises:
            UnsupportedVersionError: a broker is older than Kafka 3.0, or than what a filter needs.
            KafkaError: no broker answered.
        """
        wanted = TransactionFilter(states, producer_ids, longer_than_ms, pattern)
        return transactions.list_transactions(self._call("listing transactions", timeout), wanted, broker_ids)

    def describe_transactions(
        self, transactional_ids: Sequence[str], *, timeout: Timeout = None
    ) -> Results[str, TransactionDescription]:
        """Return transactions with state, producer and partitions; TRANSACTIONAL_ID_NOT_FOUND where there is none.

        Raises: UnsupportedVersionError: the coordinator is older than Kafka 3.0.
        """
        call = self._call("describing transactions", timeout)
        return transactions.describe_transactions(call, transactional_ids)

    def describe_producers(
        self, partitions: Iterable[TopicPartition], *, timeout: Timeout = None
    ) -> Results[TopicPartition, Producers]:
        """Return the producers that the leader of each partition remembers, and where their transactions begin.

        Raises: UnsupportedVersionError: a leader is older than Kafka 2.8.
        """
        return producers.describe_producers(self._call("describing producers", timeout), partitions)

    def open_transactions(self, partitions: Iterable[TopicPartition], *, timeout: Timeout = None) -> OpenTransactions:
        """Return the transactions that are open on partitions, each with a verdict: running, overdue, hanging, ...

        Raises: UnsupportedVersionError: a broker is older than Kafka 3.0.
        """

        def new_call() -> Call:
            left_s = self._call(what, None).timer.remaining_ms / 1000
            return self._call(what, None, max(LEAST_STEP_S, left_s / STEPS))

        what = "looking for open transactions"
        with self.within(timeout):
            return hanging.open_transactions(new_call, partitions)

    def abort_transaction(
        self, partition: TopicPartition, start_offset: int, *, timeout: Timeout = None
    ) -> ActiveProducer:
        """Abort the open transaction that begins at an offset of a partition, whatever its coordinator has of it.

        For hanging transactions: records of one that is still in use would be split.

        Returns: its producer, as it was before.
        Raises:
            BrokerError: INVALID_TXN_STATE: no open transaction begins there. CLUSTER_AUTHORIZATION_FAILED.
            UnsupportedVersionError: the leader is older than Kafka 2.8.
        """
        call = self._call(f"aborting the transaction at offset {start_offset} of {partition}", timeout)
        return abort.abort_transaction(call, partition, start_offset)

    def find_records(
        self, offsets: Mapping[TopicPartition, int], *, timeout: Timeout = None
    ) -> Results[TopicPartition, RecordTime | None]:
        """Return offset and time of the first record at or after each offset, None where there is none yet.

        The record itself is read, one batch a partition. OFFSET_OUT_OF_RANGE outside of the log.
        """
        return records.find_records(self._call("reading records", timeout), offsets)

    def inspect_records(
        self, offsets: Mapping[TopicPartition, int], *, timeout: Timeout = None
    ) -> Results[TopicPartition, RecordShape | None]:
        """Return what the first record at or after each offset looks like: its size, and the id of its schema.

        A batch that cannot be read is a CorruptBatchError of its partition.
        """
        return records.inspect_records(self._call("reading records", timeout), offsets)

    def sample_keys(
        self, ranges: Mapping[TopicPartition, KeyRange], *, timeout: Timeout = None
    ) -> Results[TopicPartition, KeySample]:
        """Return how many of the first records of each range have a key that occurs again among them.

        One fetch of 256 KiB a partition. In what was compacted no key comes twice.
        """
        return records.sample_keys(self._call("reading keys", timeout), ranges)
