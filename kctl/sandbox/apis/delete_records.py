"""DeleteRecords: raises the log start offset. -1 means the end of the log."""

from kctl.client.broker_errors import ErrorCode
from kctl.client.protocol.api.partition_offsets import (
    DeleteRecordsPartition,
    DeleteRecordsPartitionResult,
    DeleteRecordsRequest,
    DeleteRecordsResponse,
    DeleteRecordsTopicResult,
)
from kctl.sandbox.call import Call, Handler
from kctl.sandbox.log import OffsetOutOfRange

_END = -1


def _answer(call: Call, request: DeleteRecordsRequest) -> DeleteRecordsResponse:
    return DeleteRecordsResponse(
        topics=[
            DeleteRecordsTopicResult(
                name=topic.name, partitions=[_partition(call, topic.name, asked) for asked in topic.partitions]
            )
            for topic in request.topics
        ]
    )


def _partition(call: Call, topic: str, asked: DeleteRecordsPartition) -> DeleteRecordsPartitionResult:
    partition = call.led_partition(topic, asked.partition_index)
    if isinstance(partition, ErrorCode):
        return _refused(asked, partition)
    log = partition.log
    before_offset = log.end_offset if asked.offset == _END else asked.offset
    try:
        if before_offset < 0:
            raise OffsetOutOfRange(f"offset {before_offset}")
        log.delete_records(before_offset)
    except OffsetOutOfRange:
        return _refused(asked, ErrorCode.OFFSET_OUT_OF_RANGE)
    return DeleteRecordsPartitionResult(partition_index=asked.partition_index, low_watermark=log.start_offset)


def _refused(asked: DeleteRecordsPartition, code: ErrorCode) -> DeleteRecordsPartitionResult:
    return DeleteRecordsPartitionResult(partition_index=asked.partition_index, low_watermark=-1, error_code=code)


HANDLER = Handler(DeleteRecordsRequest, 0, 2, _answer)
