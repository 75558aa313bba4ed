"""TransactionalIdentity: the producer id of a transaction, as whoever sends batches asks for it.

Shown by tests/unit/producer/transactions/test_transactions.py.
"""

from random import Random

from kctl.client.clock import FOREVER_MS
from kctl.client.cluster import TopicPartition
from kctl.client.cluster_client import ClusterClient
from kctl.client.config import ProducerConfig
from kctl.client.errors import KafkaError
from kctl.client.producer.partition_queue import PartitionSequence
from kctl.client.producer.transactions.transactions import Records, Transactions


class TransactionalIdentity:
    """Who the producer is while it has transactions; `transactions` does the work, in its own turn."""

    def __init__(self, config: ProducerConfig, client: ClusterClient, chance: Random, records: Records) -> None:
        self.transactional_id: str | None = config.transactional_id
        self.error: KafkaError | None = None
        self.transactions = Transactions(config, client, chance, records)

    @property
    def last_error(self) -> KafkaError | None:
        return self.transactions.last_error

    @property
    def produce_max_version(self) -> int | None:
        return self.transactions.produce_max_version

    def assign_producer_id(self, topic_partition: TopicPartition, sequence: PartitionSequence) -> bool:
        """Give the partition the producer id, if it is part of the transaction."""
        return self.transactions.assign_producer_id(topic_partition, sequence)

    def run(self, now_ms: int) -> int:  # noqa: ARG002 (it has its own turn)
        """Do nothing: `Transactions.run` asks for the id."""
        return FOREVER_MS
