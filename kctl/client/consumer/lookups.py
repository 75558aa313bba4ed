"""Lookups: the questions that an application asks the cluster, as blocking calls with a timer.

Owns the way from a question to its answer over the link, nothing of partitions or positions.
Shown by tests/sim/consumer and tests/sim/groups.
"""

from collections.abc import Iterable, Mapping
from typing import cast

from kctl.client.clock import Timer
from kctl.client.cluster import TopicPartition
from kctl.client.consumer.events import (
    LATEST_TIMESTAMP,
    AskClientInstanceId,
    AskOffsets,
    AskTopics,
    OffsetAndTimestamp,
    OffsetsAnswer,
    TopicsAnswer,
)
from kctl.client.consumer.group_events import AskCommitted, CommittedAnswer, OffsetAndMetadata
from kctl.client.consumer.network_link import NetworkLink


class Lookups:
    """Each returns what the cluster answers, or raises ApiTimeout when the timer ends first."""

    def __init__(self, link: NetworkLink) -> None:
        self._link = link

    def topics(self, topics: tuple[str, ...] | None, timer: Timer) -> TopicsAnswer:
        """Return the partitions of these topics; None asks for all."""
        answer = self._link.ask(lambda call_id: AskTopics(call_id, topics, timer.deadline_at_ms), timer)
        return cast(TopicsAnswer, answer)

    def offsets(
        self, timestamps_ms: Mapping[TopicPartition, int], timer: Timer
    ) -> dict[TopicPartition, OffsetAndTimestamp | None]:
        """Return the first record at or after each timestamp; None where all are older."""
        asked = tuple((TopicPartition(*tp), timestamp_ms) for tp, timestamp_ms in timestamps_ms.items())
        if not asked:
            return {}
        answer = self._link.ask(lambda call_id: AskOffsets(call_id, asked, timer.deadline_at_ms), timer)
        found = cast(OffsetsAnswer, answer)
        return {tp: found[tp] for tp, _ in asked}

    def ends(
        self, topic_partitions: Iterable[TopicPartition], timestamp_ms: int, timer: Timer
    ) -> dict[TopicPartition, int]:
        """Return the first or the next offset of each partition."""
        found = self.offsets(dict.fromkeys(topic_partitions, timestamp_ms), timer)
        return {tp: 0 if each is None else each.offset for tp, each in found.items()}

    def client_instance_id(self, timer: Timer) -> bytes:
        """Return the 16 bytes by which the cluster knows this client."""
        answer = self._link.ask(lambda call_id: AskClientInstanceId(call_id, timer.deadline_at_ms), timer)
        return cast(bytes, answer)

    def start(self, topic_partition: TopicPartition, timestamp_ms: int, timer: Timer) -> int:
        """Return where a partition starts by timestamp; its end where no record is that young."""
        for wanted_ms in (timestamp_ms, LATEST_TIMESTAMP):
            found = self.offsets({topic_partition: wanted_ms}, timer)[topic_partition]
            if found is not None:
                return found.offset
        return 0

    def committed(
        self, topic_partitions: Iterable[TopicPartition], timer: Timer
    ) -> dict[TopicPartition, OffsetAndMetadata | None]:
        """Return what the group has committed for each partition."""
        asked = tuple(TopicPartition(*tp) for tp in topic_partitions)
        if not asked:
            return {}
        answer = self._link.ask(lambda call_id: AskCommitted(call_id, asked, timer.deadline_at_ms), timer)
        found = cast(CommittedAnswer, answer)
        return {tp: found[tp] for tp in asked}
