"""Partitioner: which partition a record goes to: as asked, by its key, or whichever is convenient.

Owns the sticky choice and the turns of round robin, per topic. Used by the network loop only, with the newest
snapshot. Shown by tests/unit/producer/test_partitioner.py.

Source: KIP-794 (strictly uniform sticky). Differs: the adaptive weights of that KIP are not drawn; partitions without
a leader are left out instead.
"""

from random import Random

from kctl.client.cluster import NO_NODE, TopicInfo
from kctl.client.config import ProducerConfig
from kctl.client.producer.future import NO_PARTITION, SendFuture
from kctl.client.producer.murmur2 import partition_of_key


class _Turn:
    """Where a topic's records without a key go at present."""

    __slots__ = ("bytes_left", "partition", "topic")

    def __init__(self, topic: TopicInfo, partition: int, bytes_left: int) -> None:
        self.topic = topic
        """As it was when the partition was found to have a leader."""
        self.partition = partition
        self.bytes_left = bytes_left


class Partitioner:
    """The choice of partitions for one producer."""

    def __init__(self, config: ProducerConfig, chance: Random) -> None:
        self._chance = chance
        self._ignores_keys = config.partitioner_ignore_keys
        self._is_round_robin = config.partitioner_class == "round_robin"
        self._batch_size_bytes = max(config.batch_size, 1)
        self._turns: dict[str, _Turn] = {}

    def choose(self, record: SendFuture, topic: TopicInfo) -> int:
        """Return the partition for a record to the topic, which has at least one partition."""
        if record.partition != NO_PARTITION:
            return record.partition
        if self._is_round_robin:
            return self._next_in_turn(topic)
        if record.key is not None and not self._ignores_keys:
            return partition_of_key(record.key, len(topic.partitions))
        return self._sticky(record, topic)

    def _sticky(self, record: SendFuture, topic: TopicInfo) -> int:
        turn = self._turns.get(topic.name)
        if turn is None or turn.bytes_left <= 0 or turn.topic is not topic:
            turn = self._turns[topic.name] = self._next_sticky(turn, topic)
        turn.bytes_left -= record.size_bytes
        return turn.partition

    def _next_sticky(self, turn: _Turn | None, topic: TopicInfo) -> _Turn:
        choices = _available(topic)
        if turn is not None:
            if turn.bytes_left > 0 and turn.partition in choices:
                return _Turn(topic, turn.partition, turn.bytes_left)
            if len(choices) > 1 and turn.partition in choices:
                choices.remove(turn.partition)
        return _Turn(topic, self._chance.choice(choices), self._batch_size_bytes)

    def _next_in_turn(self, topic: TopicInfo) -> int:
        turn = self._turns.get(topic.name)
        if turn is None:
            turn = self._turns[topic.name] = _Turn(topic, self._chance.randrange(len(topic.partitions)), 0)
        choices = _available(topic)
        turn.partition = next((choice for choice in choices if choice > turn.partition), choices[0])
        return turn.partition


def _is_available(topic: TopicInfo, partition: int) -> bool:
    info = topic.partitions.get(partition)
    return info is not None and info.leader_id != NO_NODE


def _available(topic: TopicInfo) -> list[int]:
    """Return the partitions with a leader; all of them when none has one."""
    return [number for number in topic.partitions if _is_available(topic, number)] or list(topic.partitions)
