"""TopicWatch: which partitions patterns match, now and as topics come."""

from collections.abc import Container

from kctl.client.clock import Clock, Timer
from kctl.client.cluster import TopicPartition
from kctl.client.consumer import Consumer
from kctl.client.errors import ApiTimeout
from kctl.grammar.topics import TopicWords

LOOK_S = 1.0
"""Timeout of one look while reading: reading continues beside it only as far as was fetched ahead."""
LOOK_EVERY_MS = 30_000


class TopicWatch:
    """Looks for new partitions of the topics that patterns match."""

    def __init__(self, consumer: Consumer, words: TopicWords, clock: Clock, every_ms: int) -> None:
        self._consumer = consumer
        self._words = words
        self._clock = clock
        self._every_ms = min(every_ms, LOOK_EVERY_MS)
        self._timer = Timer(clock, self._every_ms)

    def new_partitions(self, known: Container[TopicPartition]) -> list[TopicPartition]:
        """Return the partitions that are not known yet; none before the time to look again has come."""
        self._timer.update()
        if self._timer.not_expired:
            return []
        try:
            topics = self._consumer.list_topics(LOOK_S)
        except ApiTimeout:  # reading itself reports what is wrong
            topics = {}
        self._timer = Timer(self._clock, self._every_ms)
        found = [info for topic in self._words.chosen_of(topics) for info in topics.get(topic, ())]
        partitions = [TopicPartition(info.topic, info.partition) for info in found]
        return [tp for tp in partitions if tp not in known]
