"""TopicChoice: the topics a member wants, by name or by pattern, as the metadata shows them.

Owns the match of a pattern with the names of the cluster. Shown by tests/sim/groups/test_sharing.py.
"""

from kctl.client.consumer.group_events import Subscribe
from kctl.client.metadata import Metadata


class TopicChoice:
    """One subscription over time.

    Attributes: subscription: what the application asked for.
    """

    def __init__(self, subscription: Subscribe, metadata: Metadata, *, exclude_internal: bool) -> None:
        self.subscription = subscription
        self._metadata = metadata
        self._exclude_internal = exclude_internal
        self._asked_at_version = metadata.version
        if subscription.pattern is not None:  # whoever has wanted all topics before gets no new answer by wanting them
            metadata.request_update()

    @property
    def topics(self) -> tuple[str, ...] | None:
        """The topics wanted now; None while a pattern has no names to be matched with yet."""
        pattern = self.subscription.pattern
        if pattern is None:
            return self.subscription.topics
        if self._metadata.version == self._asked_at_version:
            return None
        known = self._metadata.cluster.topics
        return tuple(
            name
            for name in sorted(known)
            if pattern.fullmatch(name) and not (known[name].is_internal and self._exclude_internal)
        )


def partition_counts(metadata: Metadata, topics: tuple[str, ...]) -> dict[str, int] | None:
    """Return how many partitions each topic has, without those that do not exist; None while one is not known yet."""
    known = metadata.cluster.topics
    if any(topic not in known for topic in topics):
        return None
    return {topic: len(known[topic].partitions) for topic in topics if known[topic].partitions}
