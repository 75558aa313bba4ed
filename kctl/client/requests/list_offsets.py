"""ListOffsets: request to one leader, and the offset or error of each partition in the response."""

from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from kctl.client.broker_errors import broker_error
from kctl.client.cluster import NO_EPOCH, PartitionInfo, TopicPartition
from kctl.client.errors import KafkaError, RemoteProtocolError
from kctl.client.protocol.api.partition_offsets import (
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsResponse,
    ListOffsetsTopic,
)

NOT_FOUND = -1
"""Offset in a response without a record at or after the timestamp."""
LATEST, EARLIEST = -1, -2
"""Timestamps for queries of the next and the first offset, which all partitions have."""
ISOLATION_LEVELS = {"read_uncommitted": 0, "read_committed": 1}
_CLIENT = -1
"""Replica id of clients."""


class OffsetAndTimestamp(NamedTuple):
    """An offset found by timestamp; `timestamp_ms` is -1 if not reported.

    If no record is at or after the timestamp, the admin client returns offset -1.
    """

    offset: int
    timestamp_ms: int
    leader_epoch: int = NO_EPOCH


def list_offsets(
    timestamps: Iterable[tuple[PartitionInfo, int]], isolation_level: str, timeout_ms: int = 0
) -> ListOffsetsRequest:
    topics: dict[str, ListOffsetsTopic] = {}
    for info, timestamp_ms in timestamps:
        entry = ListOffsetsPartition(
            partition_index=info.partition, current_leader_epoch=info.leader_epoch, timestamp=timestamp_ms
        )
        topics.setdefault(info.topic, ListOffsetsTopic(name=info.topic)).partitions.append(entry)
    return ListOffsetsRequest(
        replica_id=_CLIENT,
        isolation_level=ISOLATION_LEVELS[isolation_level],
        topics=list(topics.values()),
        timeout_ms=timeout_ms,
    )


def offsets_in(
    response: ListOffsetsResponse, node_id: int, timestamps: Mapping[TopicPartition, int]
) -> Iterator[tuple[TopicPartition, OffsetAndTimestamp | KafkaError]]:
    """Yield the offset or error of each partition. Args: timestamps: the timestamps of the request."""
    for topic in response.topics:
        for part in topic.partitions:
            key = TopicPartition(topic.name, part.partition_index)
            place = f"{key} on broker {node_id}"
            if part.error_code:
                yield key, broker_error(part.error_code, f"look up offsets of {place}")
            elif part.offset < (0 if timestamps.get(key) in (LATEST, EARLIEST) else NOT_FOUND):
                text = f"cannot look up offsets of {place}: {part.offset} is not an offset"
                yield key, RemoteProtocolError(text, api="ListOffsets", field="offset")
            else:
                yield key, OffsetAndTimestamp(part.offset, part.timestamp, part.leader_epoch)
