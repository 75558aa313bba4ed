"""Intake: accepted records get a partition and join its queue; waits for a topic's partitions are answered.

A record whose topic has vanished from the metadata waits here until the topic is back or its deadline passes, and
later records of that topic wait behind it. Owned by the network loop. Shown by tests/unit/producer/test_intake.py.
"""

from collections import deque

from kctl.client.broker_errors import ErrorCode, broker_error
from kctl.client.clock import FOREVER_MS
from kctl.client.cluster import TopicInfo, TopicPartition
from kctl.client.cluster_client import ClusterClient, LedgerMark
from kctl.client.errors import KafkaError
from kctl.client.producer.accumulator import Accumulator
from kctl.client.producer.deliveries import Deliveries
from kctl.client.producer.future import Outcome, SendFuture
from kctl.client.producer.mailbox import TopicWait
from kctl.client.producer.partitioner import Partitioner


class _Asked:
    """A wait for a topic, and how things were when it began."""

    __slots__ = ("ledger", "version", "wait")

    def __init__(self, wait: TopicWait, version: int, ledger: LedgerMark) -> None:
        self.wait = wait
        self.version = version
        self.ledger = ledger


class Intake:
    """From the mailbox to the queues."""

    def __init__(
        self, client: ClusterClient, partitioner: Partitioner, accumulator: Accumulator, deliveries: Deliveries
    ) -> None:
        self._client = client
        self._partitioner = partitioner
        self._accumulator = accumulator
        self._deliveries = deliveries
        self._homeless: dict[str, deque[SendFuture]] = {}
        """Records by topics that the metadata has lost."""
        self._asked: list[_Asked] = []
        self._seen_version = 0

    # --- records ------------------------------------------------------------------------------------------------------

    def take(self, record: SendFuture) -> None:
        """Accept a record."""
        self._deliveries.accept(record)
        topic = self._client.metadata.cluster.topics.get(record.topic)
        if topic is None or not topic.partitions or record.topic in self._homeless:
            self._homeless.setdefault(record.topic, deque()).append(record)
            self._client.metadata.add_topic(record.topic)
            return
        self._place(record, topic)

    def _place(self, record: SendFuture, topic: TopicInfo) -> None:
        record.partition = self._partitioner.choose(record, topic)
        if record.partition not in topic.partitions:
            self._deliveries.finish([record], Outcome(no_such_partition(topic, record.partition)))
            return
        self._accumulator.add(record)

    def look_again(self) -> None:
        """Place the homeless records and answer the waits that newer metadata allows to."""
        version = self._client.metadata.version
        if version == self._seen_version:
            return
        self._seen_version = version
        topics = self._client.metadata.cluster.topics
        for name in [name for name in self._homeless if name in topics and topics[name].partitions]:
            for record in self._homeless.pop(name):
                self._place(record, topics[name])
        self._answer()

    def take_expired(self, now_ms: int, delivery_timeout_ms: int) -> list[SendFuture]:
        """Take out the homeless records whose deadline has passed."""
        expired = []
        for name, records in list(self._homeless.items()):
            while records and records[0].created_at_ms + delivery_timeout_ms <= now_ms:
                expired.append(records.popleft())
            if not records:
                del self._homeless[name]
        return expired

    def outstanding(self) -> dict[TopicPartition, tuple[int, int]]:
        """Return the homeless records as `BatchSender.outstanding` does: all of them would fail."""
        found: dict[TopicPartition, tuple[int, int]] = {}
        for records in self._homeless.values():
            for record in records:
                failed, _ = found.get(record.topic_partition, (0, 0))
                found[record.topic_partition] = (failed + 1, 0)
        return found

    def take_all(self) -> list[SendFuture]:
        """Take out every homeless record."""
        taken = [record for records in self._homeless.values() for record in records]
        self._homeless.clear()
        return taken

    # --- waits --------------------------------------------------------------------------------------------------------

    def ask(self, wait: TopicWait) -> None:
        """Answer the wait as soon as the topic, and the partition if one is named, is known or known not to be."""
        metadata = self._client.metadata
        topic = metadata.cluster.topics.get(wait.topic)
        if topic is not None and is_usable(topic, wait.partition):
            wait.finish()
            return
        metadata.add_topic(wait.topic)
        if topic is not None:
            metadata.request_update()
        self._client.network.forgive()
        self._asked.append(_Asked(wait, metadata.version, self._client.ledger_mark()))

    def _answer(self) -> None:
        for asked in list(self._asked):
            topic = self._client.metadata.cluster.topics.get(asked.wait.topic)
            if topic is None or asked.version == self._client.metadata.version:
                continue
            if is_usable(topic, asked.wait.partition):
                self._finish(asked, None)
            elif topic.partitions:
                self._finish(asked, no_such_partition(topic, asked.wait.partition))
            elif topic.error is not None and not topic.error.retriable:
                self._finish(asked, topic.error)

    def expire(self, now_ms: int) -> None:
        """End the waits whose deadline has passed, each saying what was missing."""
        for asked in [asked for asked in self._asked if asked.wait.timer.deadline_at_ms <= now_ms]:
            topic = self._client.metadata.cluster.topics.get(asked.wait.topic)
            cause = topic.error if topic is not None and topic.error is not None else self._client.last_error()
            account = self._client.account_since(asked.ledger)
            waiting_for = f"waiting for the metadata of topic {asked.wait.topic}"
            self._finish(asked, asked.wait.timed_out(waiting_for, cause, account))

    def fail_waits(self, error: KafkaError) -> None:
        """End every wait with the error."""
        for asked in list(self._asked):
            self._finish(asked, error)

    @property
    def is_asked(self) -> bool:
        return bool(self._asked)

    def _finish(self, asked: _Asked, error: KafkaError | None) -> None:
        self._asked.remove(asked)
        asked.wait.finish(error)

    def next_deadline_ms(self, delivery_timeout_ms: int) -> int:
        """Return the nearest deadline of a wait or a homeless record."""
        waits = [asked.wait.timer.deadline_at_ms for asked in self._asked]
        heads = [records[0].created_at_ms + delivery_timeout_ms for records in self._homeless.values()]
        return min([FOREVER_MS, *waits, *heads])


def is_usable(topic: TopicInfo, partition: int | None) -> bool:
    """Return whether a record can be placed: the topic has partitions, and the one asked for if one is."""
    return bool(topic.partitions) and (partition is None or partition in topic.partitions)


def no_such_partition(topic: TopicInfo, partition: int | None) -> KafkaError:
    """Return the error for a partition number that the topic does not have."""
    count = len(topic.partitions)
    has = f"the topic has {count} partition{'' if count == 1 else 's'}"
    return broker_error(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"{topic.name}-{partition}", has)
