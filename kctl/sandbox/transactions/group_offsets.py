"""Offsets that transactions commit for groups: unseen until the transaction commits, dropped when it aborts.

Groups share the partitions of __consumer_offsets; a producer's epoch and its open transaction belong to one of those.
Shown by tests/unit/sandbox/transactions and tests/conformance/test_sandbox_transactions_against_kafka.py.
"""

from collections.abc import Callable
from typing import NamedTuple

from kctl.client.broker_errors import ErrorCode
from kctl.sandbox.groups.offsets import CommittedOffset
from kctl.sandbox.groups.outbox import Refused
from kctl.sandbox.transactions.transaction import ProducerIdentity, TopicPartition

OFFSETS_TOPIC = "__consumer_offsets"
_OFFSETS_PARTITIONS = 50
Commit = Callable[[str, TopicPartition, CommittedOffset, int], None]
"""Takes group, partition, offset, and when it was written: what was written later stays."""


class _Written(NamedTuple):
    group_id: str
    partition: TopicPartition
    committed: CommittedOffset
    number: int


def offsets_partition(group_id: str) -> TopicPartition:
    """Return the partition of __consumer_offsets that has a group, as Kafka finds it: by the name's hash in Java."""
    code = 0
    data = group_id.encode("utf-16-be", "surrogatepass")
    for at in range(0, len(data), 2):
        code = (31 * code + int.from_bytes(data[at : at + 2], "big")) & 0xFFFFFFFF
    return TopicPartition(OFFSETS_TOPIC, (code & 0x7FFFFFFF) % _OFFSETS_PARTITIONS)


class GroupOffsets:
    """What open transactions commit for groups."""

    def __init__(self, commit: Commit) -> None:
        self._commit = commit
        self._epochs: dict[tuple[TopicPartition, int], int] = {}
        """By partition of __consumer_offsets and producer id."""
        self._open: dict[tuple[TopicPartition, int], list[_Written]] = {}

    def has_open(self, home: TopicPartition, producer: ProducerIdentity) -> bool:
        """Return whether a transaction of this producer, in this epoch, has offsets in a partition."""
        key = home, producer.producer_id
        return key in self._open and self._epochs[key] == producer.epoch

    def check(self, home: TopicPartition, producer: ProducerIdentity) -> None:
        """Return when the producer may write.

        Raises:
            Refused: a newer epoch of it has written.
        """
        if producer.epoch < self._epochs.get((home, producer.producer_id), -1):
            raise Refused(ErrorCode.INVALID_PRODUCER_EPOCH)

    def write(
        self,
        group_id: str,
        producer: ProducerIdentity,
        partition: TopicPartition,
        committed: CommittedOffset,
        number: int,
    ) -> None:
        """Keep an offset until the transaction ends; `number` says when it was written."""
        key = offsets_partition(group_id), producer.producer_id
        self._epochs[key] = producer.epoch
        self._open.setdefault(key, []).append(_Written(group_id, partition, committed, number))

    def end(self, home: TopicPartition, producer: ProducerIdentity, *, commit: bool) -> None:
        """End a producer's transaction in one partition of __consumer_offsets."""
        key = home, producer.producer_id
        self._epochs[key] = producer.epoch
        for group_id, partition, committed, number in self._open.pop(key, []):
            if commit:
                self._commit(group_id, partition, committed, number)

    def is_unstable(self, group_id: str, partition: TopicPartition) -> bool:
        """Return whether an open transaction commits an offset of the group for the partition."""
        home = offsets_partition(group_id)
        return any(
            one.group_id == group_id and one.partition == partition
            for (at, _), written in self._open.items()
            if at == home
            for one in written
        )

    def forget(self, is_gone: Callable[[str, str], bool]) -> None:
        """Drop what was written for groups and topics that are gone; `is_gone` is asked with both names."""
        for key, written in self._open.items():
            self._open[key] = [one for one in written if not is_gone(one.group_id, one.partition.topic)]
