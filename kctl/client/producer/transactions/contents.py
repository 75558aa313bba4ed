"""Contents: partitions and groups of a transaction, and the start of transaction.timeout.ms.

The network loop owns it.
"""

from collections.abc import Callable

from kctl.client.clock import Clock
from kctl.client.cluster import TopicPartition
from kctl.client.errors import KafkaError
from kctl.client.producer.transactions.exchange import TransactionRequest
from kctl.client.producer.transactions.requests import ADD_PARTITIONS_VERSION, add_partitions, add_partitions_error
from kctl.client.protocol.api.transactions import AddOffsetsToTxnRequest, AddPartitionsToTxnResponse
from kctl.client.protocol.schema import Response
from kctl.client.requests.producer_id import ProducerId

_ADDING = ("AddPartitionsToTxn", "AddOffsetsToTxn")


class Contents:
    """Contents of one transaction.

    Attributes:
        wanted: partitions with records that were not added yet.
        started_at_ms: earliest start of the coordinator's timeout; None if it has no known transaction.
        unsettled: last adding request, if it got no response. Repeated, it shows whether the coordinator has a
            transaction.
    """

    def __init__(self, name: str, clock: Clock) -> None:
        self._name = name
        self._clock = clock
        self.wanted: dict[TopicPartition, None] = {}
        self.started_at_ms: int | None = None
        self.unsettled: TransactionRequest | None = None
        self._partitions: dict[TopicPartition, None] = {}
        self._latest: TransactionRequest | None = None

    def clear(self) -> None:
        self.wanted.clear()
        self._partitions.clear()
        self.started_at_ms = self.unsettled = None

    @property
    def is_begun(self) -> bool:
        """Whether the coordinator may know the transaction."""
        return self.started_at_ms is not None or self.unsettled is not None

    def start(self) -> None:
        if self.started_at_ms is None:
            self.started_at_ms = self._clock.now_ms()

    def has(self, partition: TopicPartition) -> bool:
        """Return whether the partition was added; if not, add it to `wanted`."""
        if partition in self._partitions:
            return True
        self.wanted[partition] = None
        return False

    def ask_for_partitions(self, identity: ProducerId) -> TransactionRequest:
        partitions = tuple(self.wanted)

        def read(response: Response) -> KafkaError | None:
            assert isinstance(response, AddPartitionsToTxnResponse)
            return add_partitions_error(response, partitions)

        def done(_: Response) -> None:
            self._added()
            for partition in partitions:
                self._partitions[partition] = None
                self.wanted.pop(partition, None)

        self._latest = TransactionRequest(
            add_partitions(self._name, identity, partitions), done, read, ADD_PARTITIONS_VERSION
        )
        return self._latest

    def ask_for_group(self, identity: ProducerId, group_id: str, added: Callable[[str], None]) -> TransactionRequest:
        """Return the request that adds a group's offsets; `added` is called on success."""

        def done(_: Response) -> None:
            self._added()
            added(group_id)

        request = AddOffsetsToTxnRequest(
            transactional_id=self._name,
            producer_id=identity.producer_id,
            producer_epoch=identity.epoch,
            group_id=group_id,
        )
        self._latest = TransactionRequest(request, done)
        return self._latest

    def response_lost(self, api: str) -> None:
        if api in _ADDING:
            self.unsettled = self._latest

    def _added(self) -> None:
        self.unsettled = None
        self.start()
