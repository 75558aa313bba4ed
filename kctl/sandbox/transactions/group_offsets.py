"""Group offsets of open transactions, which are invisible until commit.

Producer epochs and open transactions belong to a partition of __consumer_offsets (`home`), which groups share.
"""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, NamedTuple

from kctl.client.broker_errors import ErrorCode
from kctl.sandbox.groups.offsets import CommittedOffset
from kctl.sandbox.groups.offsets_topic import OFFSETS_TOPIC
from kctl.sandbox.groups.outbox import Refused
from kctl.sandbox.transactions.transaction import ProducerIdentity, TopicPartition

if TYPE_CHECKING:
    from kctl.sandbox.groups.coordinator import Groups


class _Written(NamedTuple):
    group_id: str
    partition: TopicPartition
    committed: CommittedOffset
    number: int


class GroupOffsets:
    def __init__(self, groups: "Groups") -> None:
        self._groups = groups
        self._epochs: dict[tuple[TopicPartition, int], int] = {}
        """Epochs by partition of __consumer_offsets and producer ID."""
        self._open: dict[tuple[TopicPartition, int], list[_Written]] = {}

    def home_of(self, group_id: str) -> TopicPartition:
        return TopicPartition(OFFSETS_TOPIC, self._groups.topic.index_of(group_id))

    def has_open(self, home: TopicPartition, producer: ProducerIdentity) -> bool:
        """Return whether an open transaction of the producer, in this epoch, has offsets in the partition `home`."""
        key = home, producer.producer_id
        return key in self._open and self._epochs[key] == producer.epoch

    def check(self, home: TopicPartition, producer: ProducerIdentity) -> None:
        if producer.epoch < self._epochs.get((home, producer.producer_id), -1):
            raise Refused(ErrorCode.INVALID_PRODUCER_EPOCH)

    def write(
        self, group_id: str, producer: ProducerIdentity, offsets: Mapping[tuple[str, int], CommittedOffset]
    ) -> None:
        key = self.home_of(group_id), producer.producer_id
        self._epochs[key] = producer.epoch
        written = self._open.setdefault(key, [])
        written += [
            _Written(group_id, TopicPartition(*at), committed, self._groups.next_write())
            for at, committed in offsets.items()
        ]
        self._groups.topic.committed(group_id, offsets, producer)

    def end(self, home: TopicPartition, producer: ProducerIdentity, *, commit: bool, coordinator_epoch: int) -> None:
        """End a producer's transaction in one partition of __consumer_offsets."""
        key = home, producer.producer_id
        self._epochs[key] = producer.epoch
        self._groups.topic.ended(home.partition, producer, commit=commit, coordinator_epoch=coordinator_epoch)
        for group_id, partition, committed, number in self._open.pop(key, []):
            if commit:
                self._groups.keep(group_id, *partition, committed, number)

    def is_unstable(self, group_id: str, partition: TopicPartition) -> bool:
        """Return whether an open transaction has an offset of the group for the partition."""
        home = self.home_of(group_id)
        return any(
            one.group_id == group_id and one.partition == partition
            for (at, _), written in self._open.items()
            if at == home
            for one in written
        )

    def forget(self, is_gone: Callable[[str, str], bool]) -> None:
        """Drop the offsets of deleted groups and topics.

        Args:
            is_gone: function of the group ID and the topic.
        """
        for key, written in self._open.items():
            self._open[key] = [one for one in written if not is_gone(one.group_id, one.partition.topic)]
