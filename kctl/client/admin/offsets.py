from collections.abc import Iterator, Mapping
from typing import NamedTuple

from kctl.client.admin.at_leaders import ask_leaders
from kctl.client.admin.call import Call, Items, Results
from kctl.client.broker_errors import broker_error, code_error
from kctl.client.cluster import PartitionInfo, TopicPartition
from kctl.client.errors import KafkaError, RemoteProtocolError, UnsupportedVersionError
from kctl.client.protocol.api.partition_offsets import (
    DeleteRecordsPartition,
    DeleteRecordsPartitionResult,
    DeleteRecordsRequest,
    DeleteRecordsResponse,
    DeleteRecordsTopic,
    ListOffsetsRequest,
    ListOffsetsResponse,
    OffsetForLeaderEpochRequest,
    OffsetForLeaderEpochResponse,
    OffsetForLeaderPartition,
    OffsetForLeaderTopic,
)
from kctl.client.protocol.schema import Request
from kctl.client.requests.list_offsets import OffsetAndTimestamp, list_offsets, offsets_in

MAX_TIMESTAMP = -3
"""Offset of the record with the largest timestamp."""
FIRST_VERSION_WITH_MAX_TIMESTAMP = 7


def find_offsets(
    call: Call, specs: Mapping[TopicPartition, int], isolation_level: str
) -> Results[TopicPartition, OffsetAndTimestamp]:
    def build(infos: dict[TopicPartition, PartitionInfo], timeout_ms: int) -> Request:
        for key, info in infos.items():
            if specs[key] == MAX_TIMESTAMP:
                _check_max_timestamp(call, info.leader_id)
        return list_offsets([(info, specs[key]) for key, info in infos.items()], isolation_level, timeout_ms)

    def read(response: ListOffsetsResponse, node_id: int) -> Items[TopicPartition, OffsetAndTimestamp]:
        return offsets_in(response, node_id, specs)

    return ask_leaders(call, specs, build, read)


def _check_max_timestamp(call: Call, node_id: int) -> None:
    """Raise UnsupportedVersionError if a broker would handle MAX_TIMESTAMP as a time and return the first record."""
    if not call.client.network.supports(node_id, ListOffsetsRequest, FIRST_VERSION_WITH_MAX_TIMESTAMP):
        needed = f"ListOffsets version {FIRST_VERSION_WITH_MAX_TIMESTAMP} (Kafka 3.0)"
        text = f"cannot find the largest timestamp: broker {call.name_of(node_id)} does not support {needed}"
        raise UnsupportedVersionError(text, api=ListOffsetsRequest.NAME)


CONSUMER = -1
"""Replica id of clients."""


class EpochEnd(NamedTuple):
    """End of a leader epoch in the log, or of the largest epoch below it; both values are -1 if there is none."""

    leader_epoch: int
    end_offset: int


def epoch_ends(call: Call, epochs: Mapping[TopicPartition, int]) -> Results[TopicPartition, EpochEnd]:
    def build(infos: dict[TopicPartition, PartitionInfo], _timeout_ms: int) -> Request:
        topics: dict[str, OffsetForLeaderTopic] = {}
        for key, info in infos.items():
            asked = OffsetForLeaderPartition(
                partition=key.partition, current_leader_epoch=info.leader_epoch, leader_epoch=epochs[key]
            )
            topics.setdefault(key.topic, OffsetForLeaderTopic(topic=key.topic)).partitions.append(asked)
        return OffsetForLeaderEpochRequest(replica_id=CONSUMER, topics=list(topics.values()))

    def read(
        response: OffsetForLeaderEpochResponse, node_id: int
    ) -> Iterator[tuple[TopicPartition, EpochEnd | KafkaError]]:
        for topic in response.topics:
            for part in topic.partitions:
                key = TopicPartition(topic.topic, part.partition)
                what = f"look up the leader epoch of {key} on {call.name_of(node_id)}"
                yield key, code_error(part.error_code, what) or EpochEnd(part.leader_epoch, part.end_offset)

    return ask_leaders(call, epochs, build, read)


def delete_records(call: Call, before: Mapping[TopicPartition, int]) -> Results[TopicPartition, int]:
    def build(infos: dict[TopicPartition, PartitionInfo], timeout_ms: int) -> Request:
        topics: dict[str, DeleteRecordsTopic] = {}
        for key in infos:
            entry = DeleteRecordsPartition(partition_index=key.partition, offset=before[key])
            topics.setdefault(key.topic, DeleteRecordsTopic(name=key.topic)).partitions.append(entry)
        return DeleteRecordsRequest(topics=list(topics.values()), timeout_ms=timeout_ms)

    def read(response: DeleteRecordsResponse, node_id: int) -> Iterator[tuple[TopicPartition, int | KafkaError]]:
        for topic in response.topics:
            for part in topic.partitions:
                key = TopicPartition(topic.name, part.partition_index)
                what = f"delete records of {key} on broker {node_id}"
                yield key, _low_watermark(part, what)

    return ask_leaders(call, before, build, read)


def _low_watermark(part: DeleteRecordsPartitionResult, what: str) -> int | KafkaError:
    if part.error_code:
        return broker_error(part.error_code, what)
    if part.low_watermark < 0:
        text = f"cannot {what}: {part.low_watermark} is not an offset"
        return RemoteProtocolError(text, api="DeleteRecords", field="low_watermark")
    return part.low_watermark
