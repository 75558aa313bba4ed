"""Offsets of partitions, by place or time, asked of all leaders at once. Shown by tests/sim/admin."""

from collections.abc import Mapping
from functools import partial
from typing import NamedTuple

from kctl.client.admin.call import Call
from kctl.client.admin.results import Results
from kctl.client.broker_errors import ErrorCode, broker_error
from kctl.client.cluster import NO_EPOCH, NO_NODE, TopicPartition
from kctl.client.errors import KafkaError, RemoteProtocolError
from kctl.client.network.in_flight import Answer
from kctl.client.protocol.api.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsResponse,
    ListOffsetsTopic,
)
from kctl.client.protocol.schema import Request
from kctl.client.requests.retry import ADMIN_OFFSETS, Decision

LATEST = -1
"""The offset of the next record."""
EARLIEST = -2
"""The first offset that is still there."""
MAX_TIMESTAMP = -3
"""The offset of the record with the largest timestamp."""

ISOLATION_LEVELS = {"read_uncommitted": 0, "read_committed": 1}
_CLIENT = -1
"""The replica id of everyone who is no broker."""
_NOT_FOUND = -1
"""The offset in an answer when no record is at or after the timestamp."""


class ListedOffset(NamedTuple):
    """An offset found; -1 when no record is at or after the time that was asked for."""

    offset: int
    timestamp_ms: int
    leader_epoch: int = NO_EPOCH


class OffsetsQuestion:
    """Offsets of some partitions."""

    def __init__(self, call: Call, specs: Mapping[TopicPartition, int], isolation_level: int) -> None:
        self._call = call
        self._specs = specs
        self._isolation_level = isolation_level

    def run(self) -> Results[TopicPartition, ListedOffset]:
        """Return the offset of each partition, or why there is none."""
        for topic, _ in self._specs:
            self._call.client.metadata.add_topic(topic)
        return self._call.each(self._specs, self._attempt, ADMIN_OFFSETS.is_retried)

    def _attempt(self, pending: list[TopicPartition]) -> dict[TopicPartition, ListedOffset | KafkaError]:
        topics = self._call.client.metadata.cluster.topics
        if any(key.topic not in topics for key in pending):
            metadata = self._call.client.metadata
            self._call.wait_until(
                lambda: all(key.topic in metadata.cluster.topics for key in pending), "waiting for the metadata"
            )
        found: dict[TopicPartition, ListedOffset | KafkaError] = {}
        by_leader: dict[int, list[TopicPartition]] = {}
        for key in pending:
            leader_id = self._call.client.metadata.cluster.leader_id(*key)
            if leader_id == NO_NODE:
                found[key] = self._why_no_leader(key)
                self._call.client.metadata.request_update()
            else:
                by_leader.setdefault(leader_id, []).append(key)
        builds = {node_id: partial(self._request, keys) for node_id, keys in by_leader.items()}
        for node_id, answer in self._call.ask_nodes(builds).items():
            found.update(self._read(by_leader[node_id], answer, node_id))
        return found

    def _why_no_leader(self, key: TopicPartition) -> KafkaError:
        topic = self._call.client.metadata.cluster.topics[key.topic]
        info = topic.partitions.get(key.partition)
        if topic.error is not None:
            return topic.error
        if info is None:
            count = f"the topic has {len(topic.partitions)} partitions"
            return broker_error(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"{key.topic}-{key.partition}", count)
        return info.error or broker_error(ErrorCode.LEADER_NOT_AVAILABLE, f"{key.topic}-{key.partition}")

    def _request(self, keys: list[TopicPartition], timeout_ms: int) -> Request:
        topics: dict[str, ListOffsetsTopic] = {}
        for key in keys:
            topic = topics.setdefault(key.topic, ListOffsetsTopic(name=key.topic))
            entry = ListOffsetsPartition(partition_index=key.partition, timestamp=self._specs[key])
            topic.partitions.append(entry)
        return ListOffsetsRequest(
            replica_id=_CLIENT,
            isolation_level=self._isolation_level,
            topics=list(topics.values()),
            timeout_ms=timeout_ms,
        )

    def _read(
        self, keys: list[TopicPartition], answer: Answer | KafkaError, node_id: int
    ) -> dict[TopicPartition, ListedOffset | KafkaError]:
        if isinstance(answer, KafkaError):
            self._call.client.metadata.request_update()
            return dict.fromkeys(keys, answer)
        response = answer.response
        assert isinstance(response, ListOffsetsResponse)
        found: dict[TopicPartition, ListedOffset | KafkaError] = {}
        for topic in response.topics:
            for part in topic.partitions:
                key = TopicPartition(topic.name, part.partition_index)
                if part.error_code:
                    error = broker_error(
                        part.error_code, f"ListOffsets of {key.topic}-{key.partition} on node {node_id}"
                    )
                    found[key] = error
                    if ADMIN_OFFSETS.decide(error) is Decision.LEADER:
                        self._call.client.metadata.request_update()
                elif part.offset < _NOT_FOUND:
                    text = f"ListOffsets of {key} on node {node_id} was answered with offset {part.offset}"
                    found[key] = RemoteProtocolError(text, api="ListOffsets")
                else:
                    found[key] = ListedOffset(part.offset, part.timestamp, part.leader_epoch)
        return found
