"""ShareFetch: records of a share group, and acknowledgements of earlier ones. Source: KIP-932, KIP-1206."""

from typing import NamedTuple

from kctl.client.broker_errors import ErrorCode
from kctl.client.protocol.api.share_groups import (
    AcquiredRecords,
    LeaderIdAndEpoch,
    PartitionData,
    ShareFetchableTopicResponse,
    ShareFetchRequest,
    ShareFetchResponse,
)
from kctl.sandbox.call import Call, Handler
from kctl.sandbox.groups.share import ShareKey
from kctl.sandbox.log_wait import LogWait
from kctl.sandbox.share_reads import ShareReads, reads_of
from kctl.sandbox.share_sessions import CLOSING, OPENING

_STRICT = 1
"""share_acquire_mode in which max_records may divide a batch."""


class _Asked(NamedTuple):
    call: Call
    request: ShareFetchRequest
    reads: ShareReads
    keys: list[ShareKey]
    acknowledged: dict[ShareKey, ErrorCode]
    """Results of the acknowledgements in the request."""


def _answer(call: Call, request: ShareFetchRequest) -> ShareFetchResponse | None:
    reads = reads_of(call, request.group_id, request.member_id)
    if isinstance(reads, ErrorCode):
        return ShareFetchResponse(error_code=reads)
    parts = {ShareKey(topic.topic_id, one.partition_index): one for topic in request.topics for one in topic.partitions}
    batches = {key: one.acknowledgement_batches for key, one in parts.items() if one.acknowledgement_batches}
    if batches and request.share_session_epoch == OPENING:
        return ShareFetchResponse(error_code=ErrorCode.INVALID_REQUEST)
    forgotten = [ShareKey(topic.topic_id, one) for topic in request.forgotten_topics_data for one in topic.partitions]
    session = reads.begin(request.share_session_epoch, parts, forgotten)
    if isinstance(session, ErrorCode):
        return ShareFetchResponse(error_code=session)
    acknowledged = {key: reads.acknowledge(key, given) for key, given in batches.items()}
    asked = _Asked(call, request, reads, list(session.keys), acknowledged)
    if request.share_session_epoch == CLOSING:
        reads.release(session)
        return _response(asked, {})
    found = _look(asked)
    if found or request.max_wait_ms <= 0 or not asked.keys:
        return _response(asked, found)
    LogWait(call, lambda is_last: _waited(asked, is_last=is_last)).start(reads.logs(asked.keys), request.max_wait_ms)
    return None


def _waited(asked: _Asked, *, is_last: bool) -> ShareFetchResponse | None:
    found = _look(asked)
    return _response(asked, found) if found or is_last else None


def _look(asked: _Asked) -> dict[ShareKey, PartitionData]:
    """Acquire records. Return the partitions with records or an error."""
    request, reads = asked.request, asked.reads
    is_strict = request.share_acquire_mode == _STRICT
    left_records, left_bytes = request.max_records, request.max_bytes
    found: dict[ShareKey, PartitionData] = {}
    for key in asked.keys:
        partition = reads.partition(key)
        if isinstance(partition, ErrorCode):
            found[key] = _refused(asked.call, key, partition)
            continue
        if left_records <= 0 or left_bytes <= 0:
            continue
        taken = reads.take(key, partition, left_records, left_bytes, is_strict=is_strict)
        if taken.acquired:
            left_records -= sum(one.last_offset - one.first_offset + 1 for one in taken.acquired)
            left_bytes -= len(taken.records)
            acquired = [
                AcquiredRecords(
                    first_offset=one.first_offset, last_offset=one.last_offset, delivery_count=one.deliveries
                )
                for one in taken.acquired
            ]
            data = PartitionData(partition_index=key.partition, records=taken.records, acquired_records=acquired)
            found[key] = data
    return found


def _refused(call: Call, key: ShareKey, code: ErrorCode) -> PartitionData:
    data = PartitionData(partition_index=key.partition, error_code=code, error_message=code.text, records=b"")
    topic = call.cluster.topic_of_id(key.topic_id)
    if code is ErrorCode.NOT_LEADER_OR_FOLLOWER and topic is not None:
        partition = topic.partitions[key.partition]
        data.current_leader = LeaderIdAndEpoch(leader_id=partition.leader_id, leader_epoch=partition.leader_epoch)
    return data


def _response(asked: _Asked, found: dict[ShareKey, PartitionData]) -> ShareFetchResponse:
    topics: dict[bytes, ShareFetchableTopicResponse] = {}
    for key in dict.fromkeys([*found, *asked.acknowledged]):
        data = found.get(key) or PartitionData(partition_index=key.partition, records=b"")
        code = asked.acknowledged.get(key, ErrorCode.NONE)
        if code is not ErrorCode.NONE:
            data.acknowledge_error_code, data.acknowledge_error_message = code, code.text
        topic = topics.setdefault(key.topic_id, ShareFetchableTopicResponse(topic_id=key.topic_id, partitions=[]))
        topic.partitions.append(data)
    return ShareFetchResponse(acquisition_lock_timeout_ms=asked.reads.lock_ms, responses=list(topics.values()))


HANDLER = Handler(ShareFetchRequest, 1, 2, _answer)
