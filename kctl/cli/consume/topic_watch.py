"""TopicWatch: new partitions of topics that match patterns."""

from collections.abc import Container

from kctl.client.clock import Clock, Timer
from kctl.client.cluster import TopicPartition
from kctl.client.consumer import Consumer
from kctl.client.errors import ApiTimeout
from kctl.grammar.topics import TopicWords

LOOK_S = 1.0
"""Timeout of a check, during which only prefetched records are read."""
LOOK_EVERY_MS = 30_000


class TopicWatch:
    def __init__(self, consumer: Consumer, words: TopicWords, clock: Clock, every_ms: int) -> None:
        self._consumer = consumer
        self._words = words
        self._clock = clock
        self._every_ms = min(every_ms, LOOK_EVERY_MS)
        self._timer = Timer(clock, self._every_ms)

    def new_partitions(self, known: Container[TopicPartition]) -> list[TopicPartition]:
        """Return partitions of matching topics that are not in `known`. Return an empty list before the next check is
        due.
        """
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
