"""Records deleted up to an offset, so that a log starts there. Shown by tests/sim/admin/test_records.py."""

from collections.abc import Iterator, Mapping

from kctl.client.admin.at_leaders import ask_leaders
from kctl.client.admin.call import Call, Results
from kctl.client.broker_errors import broker_error
from kctl.client.cluster import PartitionInfo, TopicPartition
from kctl.client.errors import KafkaError
from kctl.client.protocol.api.delete_records import (
    DeleteRecordsPartition,
    DeleteRecordsRequest,
    DeleteRecordsResponse,
    DeleteRecordsTopic,
)
from kctl.client.protocol.schema import Request


def delete_records(call: Call, before: Mapping[TopicPartition, int]) -> Results[TopicPartition, int]:
    """Return for each partition where its log starts then."""

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
                what = f"DeleteRecords of {key} on node {node_id}"
                yield key, broker_error(part.error_code, what) if part.error_code else part.low_watermark

    return ask_leaders(call, before, build, read)
