"""ListOffsets: the earliest or latest offset, the first at or after a time, or the offset of the greatest timestamp."""

from kctl.client.broker_errors import ErrorCode
from kctl.client.protocol.api.partition_offsets import (
    ListOffsetsPartition,
    ListOffsetsPartitionResponse,
    ListOffsetsRequest,
    ListOffsetsResponse,
    ListOffsetsTopicResponse,
)
from kctl.sandbox.call import Call, Handler, epoch_error
from kctl.sandbox.log import PartitionLog
from kctl.sandbox.partition import Partition
from kctl.sandbox.partition_read import READ_COMMITTED
from kctl.sandbox.timestamps import first_at_or_after, greatest

LATEST = -1
EARLIEST = -2
MAX_TIMESTAMP = -3
EARLIEST_LOCAL = -4
LATEST_TIERED = -5
EARLIEST_PENDING_UPLOAD = -6
_EPOCHS_FROM = 4
_NOT_AVAILABLE_FROM = 5
_FIRST_VERSION = {MAX_TIMESTAMP: 7, EARLIEST_LOCAL: 8, LATEST_TIERED: 9, EARLIEST_PENDING_UPLOAD: 11}


def _answer(call: Call, request: ListOffsetsRequest) -> ListOffsetsResponse:
    return ListOffsetsResponse(
        topics=[
            ListOffsetsTopicResponse(
                name=topic.name,
                partitions=[_partition(call, request.isolation_level, topic.name, asked) for asked in topic.partitions],
            )
            for topic in request.topics
        ]
    )


def _partition(
    call: Call, isolation_level: int, topic: str, asked: ListOffsetsPartition
) -> ListOffsetsPartitionResponse:
    partition = call.led_partition(topic, asked.partition_index)
    if isinstance(partition, ErrorCode):
        return _refused(asked, partition)
    code = epoch_error(partition, asked.current_leader_epoch)
    if code is ErrorCode.NONE and call.version < _FIRST_VERSION.get(asked.timestamp, 0):
        code = ErrorCode.UNSUPPORTED_VERSION
    if code is not ErrorCode.NONE:
        return _refused(asked, code)
    end_offset = partition.high_watermark
    if isolation_level == READ_COMMITTED:
        end_offset = min(end_offset, partition.log.last_stable_offset)
    return _found(call, partition, asked, end_offset)


def _found(
    call: Call, partition: Partition, asked: ListOffsetsPartition, end_offset: int
) -> ListOffsetsPartitionResponse:
    offset, timestamp = _look_up(partition.log, asked.timestamp, end_offset)
    is_sought_above = asked.timestamp == LATEST or (asked.timestamp >= 0 and offset < 0)
    if is_sought_above and partition.begun_at > partition.high_watermark:  # the high watermark is not known yet
        is_known = call.version >= _NOT_AVAILABLE_FROM
        return _refused(asked, ErrorCode.OFFSET_NOT_AVAILABLE if is_known else ErrorCode.LEADER_NOT_AVAILABLE)
    return ListOffsetsPartitionResponse(
        partition_index=asked.partition_index,
        offset=offset,
        timestamp=timestamp,
        leader_epoch=_epoch(partition, asked.timestamp, offset) if call.version >= _EPOCHS_FROM else -1,
    )


def _epoch(partition: Partition, timestamp: int, offset: int) -> int:
    if offset < 0:
        return -1
    return partition.leader_epoch if timestamp == LATEST else partition.log.epochs.at(offset)


def _look_up(log: PartitionLog, timestamp: int, end_offset: int) -> tuple[int, int]:
    """Return an offset before `end_offset` and its timestamp, or -1 if there is none. LATEST returns `end_offset`."""
    if timestamp in (EARLIEST, EARLIEST_LOCAL):
        return log.start_offset, -1
    if timestamp == LATEST:
        return end_offset, -1
    if timestamp in (LATEST_TIERED, EARLIEST_PENDING_UPLOAD):
        return -1, -1
    found = greatest(log) if timestamp == MAX_TIMESTAMP else first_at_or_after(log, timestamp)
    return found if found[0] < end_offset else (-1, -1)


def _refused(asked: ListOffsetsPartition, code: ErrorCode) -> ListOffsetsPartitionResponse:
    return ListOffsetsPartitionResponse(partition_index=asked.partition_index, error_code=code)


HANDLER = Handler(ListOffsetsRequest, 1, 11, _answer)
