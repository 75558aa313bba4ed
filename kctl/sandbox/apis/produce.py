"""Produce: appends one batch to each partition. partition_append.py has the checks."""

from typing import cast

from kctl.client.broker_errors import ErrorCode
from kctl.client.protocol.api.produce import (
    BatchIndexAndErrorMessage,
    LeaderIdAndEpoch,
    NodeEndpoint,
    PartitionProduceData,
    PartitionProduceResponse,
    ProduceRequest,
    ProduceResponse,
    TopicProduceData,
    TopicProduceResponse,
)
from kctl.sandbox.acks_all import AcksAll, Replicating
from kctl.sandbox.batches import BatchRefused, header_of
from kctl.sandbox.call import Call, Handler
from kctl.sandbox.error_answers import error_answer
from kctl.sandbox.groups.offsets_topic import OFFSETS_TOPIC
from kctl.sandbox.groups.outbox import Refused
from kctl.sandbox.log_wait import LogWait
from kctl.sandbox.partition import NO_LEADER
from kctl.sandbox.partition_append import ALL, append, check_request
from kctl.sandbox.quotas import Quota

_WRITTEN_ALL_THE_SAME = (ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND, ErrorCode.REQUEST_TIMED_OUT)
"""Errors after which the records are in the log, because only replication is incomplete."""
_NAMES_LEADERS_FROM = 10
_TOPIC_IDS_FROM = 13
_ERRORS_SHOWN = 3


def _answer(call: Call, request: ProduceRequest) -> ProduceResponse | None:
    waits: list[Replicating] = []
    response = _carried_out(call, request, waits)
    size_bytes = sum(len(data.records or b"") for topic in request.topic_data for data in topic.partition_data)
    response.throttle_time_ms = call.over_quota_ms(Quota.PRODUCE, size_bytes)
    if request.acks == 0:
        call.answer(None)
        return None
    left = [one for one in waits if not one.is_over()] if request.acks == ALL and call.fails_with is None else []
    if not left:
        return response
    logs = [one.partition.log for one in waits]
    LogWait(call, AcksAll(response, left).answer).start(logs, max(0, request.timeout_ms))
    return None


def _carried_out(call: Call, request: ProduceRequest, waits: list[Replicating]) -> ProduceResponse:
    code = call.fails_with
    try:
        check_request(request)
    except Refused as refusal:
        code = refusal.code
    if code is not None and code not in _WRITTEN_ALL_THE_SAME:
        return cast(ProduceResponse, error_answer(request, call.version, code))
    response = ProduceResponse(responses=[_topic(call, request, data, waits) for data in request.topic_data])
    if code is not None:
        for topic in response.responses:
            for answer in topic.partition_responses:
                answer.error_code = answer.error_code or code
    _name_leaders(call, response)
    return response


def _name_of(call: Call, asked: TopicProduceData | TopicProduceResponse) -> str | None:
    if call.version < _TOPIC_IDS_FROM:
        return asked.name
    topic = call.cluster.topic_of_id(asked.topic_id)
    return None if topic is None else topic.name


def _topic(
    call: Call, request: ProduceRequest, data: TopicProduceData, waits: list[Replicating]
) -> TopicProduceResponse:
    name = _name_of(call, data)
    missing = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION if call.version < _TOPIC_IDS_FROM else ErrorCode.UNKNOWN_TOPIC_ID
    return TopicProduceResponse(
        name=data.name,
        topic_id=data.topic_id,
        partition_responses=[
            _refused(partition.index, missing) if name is None else _partition(call, request, name, partition, waits)
            for partition in data.partition_data
        ],
    )


def _partition(
    call: Call, request: ProduceRequest, topic: str, data: PartitionProduceData, waits: list[Replicating]
) -> PartitionProduceResponse:
    if topic == OFFSETS_TOPIC:
        return _refused(data.index, ErrorCode.INVALID_TOPIC_EXCEPTION)
    partition = call.led_partition(topic, data.index)
    if isinstance(partition, ErrorCode):
        return _refused(data.index, partition)
    try:
        appended = append(call, request, partition, data)
    except Refused as refusal:
        return _refused(data.index, refusal.code)
    except BatchRefused as error:
        return _refused_batch(data.index, topic, error)
    answer = PartitionProduceResponse(
        index=data.index,
        base_offset=appended.base_offset,
        log_append_time_ms=appended.append_time_ms,
        log_start_offset=partition.log.start_offset,
    )
    waits.append(Replicating(call.node.node_id, partition, answer, appended.base_offset + _count(data)))
    return answer


def _count(data: PartitionProduceData) -> int:
    assert data.records is not None
    return header_of(data.records).last_offset_delta + 1


def _refused_batch(index: int, topic: str, error: BatchRefused) -> PartitionProduceResponse:
    if not error.keyless:
        return _refused(index, error.code, str(error) if error.code is ErrorCode.INVALID_TIMESTAMP else None)
    text = f"Compacted topic cannot accept message without key in topic partition {topic}-{index}"
    shown = ", ".join(f"RecordError(batchIndex={number}, message='{text}')" for number in error.keyless[:_ERRORS_SHOWN])
    answer = _refused(
        index,
        error.code,
        f"One or more records have been rejected due to {len(error.keyless)} record errors in total, and only showing "
        f"the first three errors at most: [{shown}]",
    )
    answer.record_errors = [
        BatchIndexAndErrorMessage(batch_index=number, batch_index_error_message=text) for number in error.keyless
    ]
    return answer


def _refused(index: int, code: ErrorCode, message: str | None = None) -> PartitionProduceResponse:
    return PartitionProduceResponse(index=index, error_code=code, base_offset=-1, error_message=message)


def _name_leaders(call: Call, response: ProduceResponse) -> None:
    """Add the current leaders for NOT_LEADER_OR_FOLLOWER errors (KIP-951)."""
    leaders: dict[int, None] = {}
    for topic in response.responses:
        for answer in topic.partition_responses:
            name = _name_of(call, topic)
            partition = None if name is None else call.cluster.partition(name, answer.index)
            is_moved = answer.error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER
            if call.version < _NAMES_LEADERS_FROM or partition is None or not is_moved:
                continue
            answer.current_leader = LeaderIdAndEpoch(leader_id=partition.leader_id, leader_epoch=partition.leader_epoch)
            if partition.leader_id != NO_LEADER:
                leaders[partition.leader_id] = None
    nodes = [call.cluster.nodes[node_id] for node_id in leaders]
    response.node_endpoints = [
        NodeEndpoint(node_id=node.node_id, host=node.host, port=node.port, rack=node.rack) for node in nodes
    ]


HANDLER = Handler(ProduceRequest, 3, 13, _answer, advertised_from=0)
"""Advertised from version 0, as in Kafka 4. Otherwise librdkafka assumes no support for compression (KIP-896)."""
