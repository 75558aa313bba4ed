"""FormerTopics: topics that were deleted and recreated while the consumer read them (KIP-516).

A position in the former topic is invalid in the topic that replaces it.
"""

from collections.abc import Iterable

from kctl.client.cluster import NO_EPOCH, NO_TOPIC_ID, TopicPartition
from kctl.client.consumer.fetch.partition import FetchState
from kctl.client.consumer.fetch.reports import PartitionReports
from kctl.client.requests.leaders import Leaders


class FormerTopics:
    def __init__(self, leaders: Leaders, reports: PartitionReports) -> None:
        self._leaders = leaders
        self._reports = reports
        self._ids: set[bytes] = set()

    def has(self, tp: TopicPartition, state: FetchState) -> bool:
        """Return whether the position or the metadata belongs to a former topic, and report it if so."""
        if state.topic_id != NO_TOPIC_ID:
            is_former = not self._leaders.is_the_one(tp.topic, state.topic_id)
            if is_former:
                self._reports.another_topic(tp, state)
            return is_former
        known = self._leaders.topic_id(tp.topic)
        if known in self._ids:  # metadata of a broker that is behind
            self._leaders.refresh()
            self._reports.another_topic(tp, state)
            return True
        if NO_TOPIC_ID in (state.read_id, known) or known == state.read_id or state.next_offset == 0:
            state.read_id = known if state.read_id == NO_TOPIC_ID or known != NO_TOPIC_ID else state.read_id
            return False
        self._ids.add(state.read_id)
        self._reports.truncated(tp, state, -1, NO_EPOCH, is_recreated=True)
        return True

    def ids_of(self, states: Iterable[tuple[TopicPartition, FetchState | None]]) -> dict[str, bytes]:
        """Return topic ids by name, for commits of positions; if positions of a topic differ, the former id."""
        ids: dict[str, bytes] = {}
        for tp, state in states:
            present = self._leaders.topic_id(tp.topic)
            topic_id = present if state is None or state.read_id == NO_TOPIC_ID else state.read_id
            if topic_id != NO_TOPIC_ID and ids.get(tp.topic, present) == present:
                ids[tp.topic] = topic_id
        return ids
