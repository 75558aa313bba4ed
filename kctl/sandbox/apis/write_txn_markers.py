"""WriteTxnMarkers: ends transactions at the partition leaders. Source: KIP-98, KIP-664."""

from kctl.client.broker_errors import ErrorCode
from kctl.client.protocol.api.transaction_states import (
    WritableTxnMarker,
    WritableTxnMarkerPartitionResult,
    WritableTxnMarkerResult,
    WritableTxnMarkerTopicResult,
    WriteTxnMarkersRequest,
    WriteTxnMarkersResponse,
)
from kctl.sandbox.batches import BatchRefused
from kctl.sandbox.call import Call, Handler
from kctl.sandbox.groups.offsets_topic import OFFSETS_TOPIC
from kctl.sandbox.partition import Partition
from kctl.sandbox.transactions.transaction import ProducerIdentity, TopicPartition


def _answer(call: Call, request: WriteTxnMarkersRequest) -> WriteTxnMarkersResponse:
    return WriteTxnMarkersResponse(markers=[_marker(call, marker) for marker in request.markers])


def _marker(call: Call, marker: WritableTxnMarker) -> WritableTxnMarkerResult:
    topics = [
        WritableTxnMarkerTopicResult(
            name=topic.name,
            partitions=[
                WritableTxnMarkerPartitionResult(
                    partition_index=index, error_code=_write(call, marker, topic.name, index)
                )
                for index in topic.partition_indexes
            ],
        )
        for topic in marker.topics
    ]
    return WritableTxnMarkerResult(producer_id=marker.producer_id, topics=topics)


def _append(call: Call, partition: Partition, marker: WritableTxnMarker) -> None:
    partition.log.append_marker(
        marker.producer_id,
        marker.producer_epoch,
        partition.leader_epoch,
        call.cluster.scheduler.wall_ms(),
        commit=marker.transaction_result,
        by_epoch=marker.coordinator_epoch,
    )


def _write(call: Call, marker: WritableTxnMarker, topic: str, index: int) -> ErrorCode:
    if marker.producer_id < 0:
        return ErrorCode.UNKNOWN_SERVER_ERROR  # MemoryRecordsBuilder.validateProducerState throws, before an append
    producer = ProducerIdentity(marker.producer_id, marker.producer_epoch)
    if topic == OFFSETS_TOPIC:
        call.cluster.transactions.offsets.end(
            TopicPartition(topic, index),
            producer,
            commit=marker.transaction_result,
            coordinator_epoch=marker.coordinator_epoch,
        )
        return ErrorCode.NONE
    partition = call.led_partition(topic, index)
    if isinstance(partition, ErrorCode):
        return partition
    try:
        _append(call, partition, marker)
    except BatchRefused as refusal:
        is_fenced = refusal.code is ErrorCode.INVALID_PRODUCER_EPOCH  # Kafka has no other error for coordinators
        return ErrorCode.UNKNOWN_SERVER_ERROR if is_fenced else refusal.code
    return ErrorCode.NONE


HANDLER = Handler(WriteTxnMarkersRequest, 1, 2, _answer)
