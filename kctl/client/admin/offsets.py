"""Offsets of partitions, by place or time, asked of all leaders at once. Shown by tests/sim/admin."""

from collections.abc import Iterable, Mapping
from functools import partial

from kctl.client.admin.call import Call, Items, Results
from kctl.client.broker_errors import ErrorCode, broker_error
from kctl.client.cluster import PartitionInfo, TopicPartition
from kctl.client.errors import KafkaError
from kctl.client.network.in_flight import Answer
from kctl.client.protocol.api.list_offsets import ListOffsetsResponse
from kctl.client.protocol.schema import Request
from kctl.client.requests.leaders import Leaders
from kctl.client.requests.list_offsets import OffsetAndTimestamp, list_offsets, offsets_in
from kctl.client.requests.retry import ADMIN_OFFSETS, Decision

LATEST = -1
"""The offset of the next record."""
EARLIEST = -2
"""The first offset that is still there."""
MAX_TIMESTAMP = -3
"""The offset of the record with the largest timestamp."""


class OffsetsQuestion:
    """Offsets of some partitions."""

    def __init__(self, call: Call, specs: Mapping[TopicPartition, int], isolation_level: str) -> None:
        self._call = call
        self._leaders = Leaders(call.client)
        self._specs = specs
        self._isolation_level = isolation_level

    def run(self) -> Results[TopicPartition, OffsetAndTimestamp]:
        """Return the offset of each partition, or why there is none."""
        for topic, _ in self._specs:
            self._call.client.metadata.add_topic(topic)
        return self._call.each(self._specs, self._attempt, ADMIN_OFFSETS.is_retried)

    def _attempt(self, pending: list[TopicPartition]) -> dict[TopicPartition, OffsetAndTimestamp | KafkaError]:
        topics = self._call.client.metadata.cluster.topics
        if any(key.topic not in topics for key in pending):
            metadata = self._call.client.metadata
            self._call.wait_until(
                lambda: all(key.topic in metadata.cluster.topics for key in pending), "waiting for the metadata"
            )
        found: dict[TopicPartition, OffsetAndTimestamp | KafkaError] = {}
        by_leader: dict[int, dict[TopicPartition, PartitionInfo]] = {}
        for key in pending:
            info = self._leaders.find(key)
            if info is None:
                why = self._leaders.why_none(key)
                found[key] = why or broker_error(ErrorCode.LEADER_NOT_AVAILABLE, str(key))
            else:
                by_leader.setdefault(info.leader_id, {})[key] = info
        builds = {node_id: partial(self._request, infos) for node_id, infos in by_leader.items()}
        for node_id, answer in self._call.ask_nodes(builds).items():
            found.update(self._read(by_leader[node_id], answer, node_id))
        return found

    def _request(self, infos: dict[TopicPartition, PartitionInfo], timeout_ms: int) -> Request:
        timestamps = [(info, self._specs[key]) for key, info in infos.items()]
        return list_offsets(timestamps, self._isolation_level, timeout_ms)

    def _read(
        self, keys: Iterable[TopicPartition], answer: Answer | KafkaError, node_id: int
    ) -> dict[TopicPartition, OffsetAndTimestamp | KafkaError]:
        def read(response: ListOffsetsResponse) -> Items[TopicPartition, OffsetAndTimestamp]:
            return offsets_in(response, node_id)

        found = self._call.items(answer, keys, read)
        errors = [each for each in found.values() if isinstance(each, KafkaError)]
        if isinstance(answer, KafkaError) or any(ADMIN_OFFSETS.decide(error) is Decision.LEADER for error in errors):
            self._leaders.refresh()
        return found
