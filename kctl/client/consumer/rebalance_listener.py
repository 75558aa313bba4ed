"""RebalanceListener: what an application does when partitions come and go. Shown by tests/sim/groups."""

from collections.abc import Sequence

from kctl.client.cluster import TopicPartition


class RebalanceListener:
    """Subclass it and override what you need; every method runs on the application thread, inside poll or close.

    What a method raises comes out of that poll, after the change has been applied.

    Source: Java's ConsumerRebalanceListener, KIP-429.
    """

    def on_partitions_revoked(self, topic_partitions: Sequence[TopicPartition]) -> None:
        """These go to others; they are still assigned, so offsets can be committed. Others wait for the return."""

    def on_partitions_assigned(self, topic_partitions: Sequence[TopicPartition]) -> None:
        """A rebalance is over and these have come; the others of the assignment stayed. A seek here decides."""

    def on_partitions_lost(self, topic_partitions: Sequence[TopicPartition]) -> None:
        """These may be read by others already: nothing of them can be committed. Else as `on_partitions_revoked`."""
        self.on_partitions_revoked(topic_partitions)
