"""TxnOffsetCommit: group offsets that take effect when the transaction commits."""

from kctl.client.broker_errors import ErrorCode
from kctl.client.protocol.api.transactions import (
    TxnOffsetCommitRequest,
    TxnOffsetCommitRequestPartition,
    TxnOffsetCommitResponse,
    TxnOffsetCommitResponsePartition,
    TxnOffsetCommitResponseTopic,
)
from kctl.sandbox.call import Call, Handler
from kctl.sandbox.groups.offsets import Claim, CommittedOffset
from kctl.sandbox.groups.outbox import Refused
from kctl.sandbox.groups.reconciliation import Slot
from kctl.sandbox.transactions.transaction import ProducerIdentity
from kctl.sandbox.transactions.verification import Speaks, add_or_verify

_LOADING_BY_NAME_FROM = 2
_ABORTABLE_FROM = 4
_ADDING_FROM = 5


def _answer(call: Call, request: TxnOffsetCommitRequest) -> TxnOffsetCommitResponse:
    slots = tuple(
        Slot(call.cluster.topics[topic.name].topic_id, partition.partition_index)
        for topic in request.topics
        for partition in topic.partitions
        if call.cluster.partition(topic.name, partition.partition_index) is not None
    )
    code = _group_error(call, request, slots) if slots else ErrorCode.NONE
    offsets: dict[tuple[str, int], CommittedOffset] = {}
    response = TxnOffsetCommitResponse(
        topics=[
            TxnOffsetCommitResponseTopic(
                name=topic.name,
                partitions=[
                    TxnOffsetCommitResponsePartition(
                        partition_index=asked.partition_index,
                        error_code=_partition(call, topic.name, asked, code, offsets),
                    )
                    for asked in topic.partitions
                ],
            )
            for topic in request.topics
        ]
    )
    if offsets:
        producer = ProducerIdentity(request.producer_id, request.producer_epoch)
        call.cluster.transactions.offsets.write(request.group_id, producer, offsets)
    return response


def _group_error(call: Call, request: TxnOffsetCommitRequest, slots: tuple[Slot, ...]) -> ErrorCode:
    groups = call.cluster.groups
    claim = Claim(
        request.member_id, request.group_instance_id, request.generation_id, call.version, slots, is_transactional=True
    )
    producer = ProducerIdentity(request.producer_id, request.producer_epoch)
    try:
        groups.check(request.group_id, call.node)
        _take_part(call, request, producer)
        groups.check_commit(request.group_id, claim)
        offsets = call.cluster.transactions.offsets
        offsets.check(offsets.home_of(request.group_id), producer)
    except Refused as refusal:
        return _for_a_producer(call, refusal.code)
    return ErrorCode.NONE


def _take_part(call: Call, request: TxnOffsetCommitRequest, producer: ProducerIdentity) -> None:
    home = call.cluster.transactions.offsets.home_of(request.group_id)
    if call.cluster.transactions.offsets.has_open(home, producer):
        return
    speaks = Speaks.OLD_ERRORS
    if call.version >= _ABORTABLE_FROM:
        speaks = Speaks.ADDING if call.version >= _ADDING_FROM else Speaks.ABORTABLE_ERRORS
    add_or_verify(call.cluster, request.transactional_id, producer, home, speaks)


def _for_a_producer(call: Call, code: ErrorCode) -> ErrorCode:
    if code is ErrorCode.NETWORK_EXCEPTION:
        code = ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
    if code is ErrorCode.COORDINATOR_LOAD_IN_PROGRESS and call.version < _LOADING_BY_NAME_FROM:
        return ErrorCode.COORDINATOR_NOT_AVAILABLE
    if code is ErrorCode.STALE_MEMBER_EPOCH:
        return ErrorCode.ILLEGAL_GENERATION
    return code


def _partition(
    call: Call,
    topic: str,
    asked: TxnOffsetCommitRequestPartition,
    group_code: ErrorCode,
    offsets: dict[tuple[str, int], CommittedOffset],
) -> ErrorCode:
    cluster = call.cluster
    if cluster.partition(topic, asked.partition_index) is None:
        return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    if group_code is not ErrorCode.NONE:
        return group_code
    metadata = asked.committed_metadata or ""
    if len(metadata.encode()) > cluster.settings.offset_metadata_max_bytes:
        return ErrorCode.OFFSET_METADATA_TOO_LARGE
    offsets[topic, asked.partition_index] = CommittedOffset(
        asked.committed_offset, asked.committed_leader_epoch, metadata
    )
    return ErrorCode.NONE


HANDLER = Handler(TxnOffsetCommitRequest, 0, 5, _answer)
