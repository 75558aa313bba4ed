"""ShareAcknowledge: results of records of a share group. Source: KIP-932."""

from kctl.client.broker_errors import ErrorCode
from kctl.client.protocol.api.share_groups import (
    ShareAcknowledgeRequest,
    ShareAcknowledgeResponse,
    ShareAcknowledgeResponsePartitionData,
    ShareAcknowledgeTopicResponse,
)
from kctl.sandbox.call import Call, Handler
from kctl.sandbox.groups.share import ShareKey
from kctl.sandbox.share_reads import reads_of
from kctl.sandbox.share_sessions import CLOSING, OPENING


def _answer(call: Call, request: ShareAcknowledgeRequest) -> ShareAcknowledgeResponse:
    reads = reads_of(call, request.group_id, request.member_id)
    if isinstance(reads, ErrorCode):
        return ShareAcknowledgeResponse(error_code=reads)
    epoch = request.share_session_epoch
    if epoch == OPENING:
        return ShareAcknowledgeResponse(error_code=ErrorCode.INVALID_SHARE_SESSION_EPOCH)
    session = reads.begin(epoch)
    if isinstance(session, ErrorCode):
        return ShareAcknowledgeResponse(error_code=session)
    topics = []
    for topic in request.topics:
        parts = []
        for part in topic.partitions:
            code = reads.acknowledge(ShareKey(topic.topic_id, part.partition_index), part.acknowledgement_batches)
            message = None if code is ErrorCode.NONE else code.text
            parts.append(
                ShareAcknowledgeResponsePartitionData(
                    partition_index=part.partition_index, error_code=code, error_message=message
                )
            )
        topics.append(ShareAcknowledgeTopicResponse(topic_id=topic.topic_id, partitions=parts))
    if epoch == CLOSING:
        reads.release(session)
    return ShareAcknowledgeResponse(acquisition_lock_timeout_ms=reads.lock_ms, responses=topics)


HANDLER = Handler(ShareAcknowledgeRequest, 1, 2, _answer)
