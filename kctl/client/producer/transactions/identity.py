"""TransactionalIdentity: producer id and epoch of a transactional.id, and permission to send batches.

The network loop owns it. Source: KIP-98, KIP-360, KIP-890. Differs: if the EndTxn response of version 2 has no producer
id, Java keeps its epoch.
"""

from kctl.client.clock import FOREVER_MS
from kctl.client.cluster import TopicPartition
from kctl.client.errors import KafkaError
from kctl.client.producer.partition_queue import PartitionSequence
from kctl.client.producer.transactions.contents import Contents
from kctl.client.producer.transactions.exchange import Exchange
from kctl.client.producer.transactions.requests import PRODUCE_V1_VERSION
from kctl.client.producer.transactions.status import TransactionStatus
from kctl.client.requests.producer_id import NO_PRODUCER_ID, ProducerId

_FEATURE = "transaction.version"


class TransactionalIdentity:
    """Identity of a transactional producer.

    Attributes:
        needs_epoch: whether the next transaction must wait for a new epoch.
        is_v2: whether transaction.version was 2 when the transaction began. Then brokers add partitions themselves, and
            the end of each transaction brings a new epoch.
    """

    def __init__(self, name: str, contents: Contents, exchange: Exchange, status: TransactionStatus) -> None:
        self.transactional_id: str | None = name
        self.error: KafkaError | None = None
        self.current = NO_PRODUCER_ID
        self.needs_epoch = False
        self.is_v2 = False
        self._needs_epoch_after_end = False
        self._contents = contents
        self._exchange = exchange
        self._status = status

    @property
    def last_error(self) -> KafkaError | None:
        return self._exchange.last_error or self._exchange.link.error

    @property
    def produce_max_version(self) -> int | None:
        return None if self.is_v2 else PRODUCE_V1_VERSION

    def assign_producer_id(self, topic_partition: TopicPartition, sequence: PartitionSequence) -> bool:
        """Return whether batches may be sent now; if so, `sequence` has the current producer id."""
        if not self._status.may_send or self.needs_epoch:
            return False
        if sequence.producer_id == self.current.producer_id and sequence.epoch > self.current.epoch:
            # numbers of the current epoch would be used again; InitProducerId aborts a transaction that has begun
            self.needs_epoch = not self._contents.is_begun and not self._exchange.api
            return False
        if self.is_v2:
            self._contents.start()
        elif not self._contents.has(topic_partition):
            return False
        if (sequence.producer_id, sequence.epoch) != self.current:
            sequence.adopt(*self.current)
        return True

    def run(self, now_ms: int) -> int:  # noqa: ARG002 (it has its own turn)
        """Do nothing, because `TransactionWork.run` requests the id."""
        return FOREVER_MS

    def learn_version(self) -> None:
        level = self._exchange.link.feature(_FEATURE)
        if level is not None:
            self.is_v2 = level >= 2

    def adopt(self, assigned: ProducerId) -> None:
        self.current = assigned
        self.needs_epoch = False

    def adopt_after_end(self, assigned: ProducerId) -> None:
        """Adopt the epoch in the EndTxn response. If version 2 leaves it out, the next transaction needs a new one.

        Without a new epoch, batches in flight at an abort could become part of the next transaction.
        """
        if assigned.is_assigned:
            self.current = assigned
            self._needs_epoch_after_end = False
        elif self.is_v2:
            self._needs_epoch_after_end = True

    def need_epoch_after_end(self) -> None:
        """Request a new epoch after this transaction, unless the EndTxn response brings one."""
        self._needs_epoch_after_end = not self.is_v2

    def ended(self) -> None:
        self.needs_epoch = self.needs_epoch or self._needs_epoch_after_end
        self._needs_epoch_after_end = False
