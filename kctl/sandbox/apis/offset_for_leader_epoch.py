"""OffsetForLeaderEpoch: the end offset of a leader epoch. Source: KIP-320."""

from kctl.client.broker_errors import ErrorCode
from kctl.client.protocol.api.partition_offsets import (
    EpochEndOffset,
    OffsetForLeaderEpochRequest,
    OffsetForLeaderEpochResponse,
    OffsetForLeaderPartition,
    OffsetForLeaderTopicResult,
)
from kctl.sandbox.call import Call, Handler, epoch_error


def _answer(call: Call, request: OffsetForLeaderEpochRequest) -> OffsetForLeaderEpochResponse:
    return OffsetForLeaderEpochResponse(
        topics=[
            OffsetForLeaderTopicResult(
                topic=topic.topic, partitions=[_partition(call, topic.topic, asked) for asked in topic.partitions]
            )
            for topic in request.topics
        ]
    )


def _partition(call: Call, topic: str, asked: OffsetForLeaderPartition) -> EpochEndOffset:
    partition = call.cluster.partition(topic, asked.partition)
    if partition is None:
        return EpochEndOffset(partition=asked.partition, error_code=ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
    if call.node.node_id not in partition.replicas:
        return EpochEndOffset(partition=asked.partition, error_code=ErrorCode.NOT_LEADER_OR_FOLLOWER)
    code = epoch_error(partition, asked.current_leader_epoch)
    if code is ErrorCode.NONE and partition.leader_id != call.node.node_id:
        code = ErrorCode.NOT_LEADER_OR_FOLLOWER
    if code is not ErrorCode.NONE:
        return EpochEndOffset(partition=asked.partition, error_code=code)
    end = partition.log.epochs.end_of(asked.leader_epoch, partition.log.end_offset)
    return EpochEndOffset(partition=asked.partition, leader_epoch=end.epoch, end_offset=end.end_offset)


HANDLER = Handler(OffsetForLeaderEpochRequest, 2, 4, _answer)
