"""Fetch: batches of several partitions, with or without a session.

Source: KIP-74 (limits), KIP-227 (sessions), KIP-516 (topic IDs), KIP-951 (leaders in errors).
"""

from typing import NamedTuple

from kctl.client.broker_errors import ErrorCode
from kctl.client.protocol.api.fetch import (
    FetchableTopicResponse,
    FetchRequest,
    FetchResponse,
    LeaderIdAndEpoch,
    NodeEndpoint,
    PartitionData,
)
from kctl.sandbox.call import Call, Handler
from kctl.sandbox.fetch_sessions import Answer, FetchContext, Wanted
from kctl.sandbox.log_wait import LogWait
from kctl.sandbox.partition import NO_LEADER
from kctl.sandbox.partition_read import Limits, missing, read, refused
from kctl.sandbox.quotas import Quota

_NAMES_LEADERS_FROM = 16
_OF_SESSIONS = (
    ErrorCode.FETCH_SESSION_ID_NOT_FOUND,
    ErrorCode.INVALID_FETCH_SESSION_EPOCH,
    ErrorCode.FETCH_SESSION_TOPIC_ID_ERROR,
)
_MOVED = (ErrorCode.NOT_LEADER_OR_FOLLOWER, ErrorCode.FENCED_LEADER_EPOCH)


class _Asked(NamedTuple):
    call: Call
    request: FetchRequest
    context: FetchContext
    present: list[Wanted]
    absent: list[Wanted]
    """Partitions missing when the request arrived. They come last in the response and do not complete the fetch."""


class _Look(NamedTuple):
    answers: list[Answer]
    is_enough: bool


def _answer(call: Call, request: FetchRequest) -> FetchResponse | None:
    context = call.node.fetch_sessions.begin(request, call.version, lambda topic_id: _name_of(call, topic_id))
    if call.fails_with in _OF_SESSIONS:
        return FetchResponse(error_code=call.fails_with)
    if isinstance(context, ErrorCode):
        return FetchResponse(error_code=context)
    present = [one for one in context.wanted if missing(call, one) is ErrorCode.NONE]
    absent = [one for one in context.wanted if missing(call, one) is not ErrorCode.NONE]
    fetch = _Asked(call, request, context, present, absent)
    look = _look(fetch)
    if look.is_enough or request.max_wait_ms <= 0 or not present:
        return _response(fetch, look)
    partitions = [call.cluster.partition(one.topic or "", one.asked.partition) for one in present]
    logs = [partition.log for partition in partitions if partition is not None]
    LogWait(call, lambda is_last: _waited(fetch, is_last=is_last)).start(logs, request.max_wait_ms)
    return None


def _name_of(call: Call, topic_id: bytes) -> str | None:
    topic = call.cluster.topic_of_id(topic_id)
    return None if topic is None else topic.name


def _waited(fetch: _Asked, *, is_last: bool) -> FetchResponse | None:
    look = _look(fetch)
    return _response(fetch, look) if is_last or look.is_enough else None


def _absence(call: Call, wanted: Wanted) -> PartitionData:
    data = refused(wanted.asked, missing(call, wanted))
    data.aborted_transactions = []  # an empty list as in Kafka, for these two errors only
    return data


def _is_urgent(data: PartitionData) -> bool:
    has_other_place = data.preferred_read_replica >= 0 or data.diverging_epoch.end_offset >= 0
    return data.error_code != ErrorCode.NONE or has_other_place


def _look(fetch: _Asked) -> _Look:
    call, request = fetch.call, fetch.request
    answers: list[Answer] = []
    size_bytes = 0
    is_urgent = False
    for wanted in fetch.present:
        if call.fails_with is not None:
            answers.append((wanted, refused(wanted.asked, call.fails_with)))
            is_urgent = True
            continue
        data = read(call, request, wanted, Limits(request.max_bytes - size_bytes, size_bytes == 0))
        answers.append((wanted, data))
        size_bytes += len(data.records or b"")
        is_urgent = is_urgent or _is_urgent(data)
    answers += [(wanted, _absence(call, wanted)) for wanted in fetch.absent]
    return _Look(answers, is_urgent or size_bytes >= request.min_bytes)


def _response(fetch: _Asked, look: _Look) -> FetchResponse:
    call = fetch.call
    throttle_time_ms = call.over_quota_ms(Quota.FETCH)
    if throttle_time_ms:
        answered = fetch.context.throttled()
    else:
        answered = fetch.context.finish(look.answers)
        size_bytes = sum(len(data.records or b"") for _, data in answered.answers)
        call.charge(Quota.FETCH, size_bytes)
    topics: list[FetchableTopicResponse] = []
    moved: dict[int, None] = {}
    for wanted, data in answered.answers:
        if not topics or (topics[-1].topic, topics[-1].topic_id) != (wanted.topic or "", wanted.topic_id):
            topics.append(FetchableTopicResponse(topic=wanted.topic or "", topic_id=wanted.topic_id, partitions=[]))
        topics[-1].partitions.append(data)
        if call.version >= _NAMES_LEADERS_FROM and data.error_code in _MOVED and wanted.topic is not None:
            partition = call.cluster.topics[wanted.topic].partitions[wanted.asked.partition]
            data.current_leader = LeaderIdAndEpoch(leader_id=partition.leader_id, leader_epoch=partition.leader_epoch)
            if partition.leader_id != NO_LEADER:
                moved[partition.leader_id] = None
    nodes = [call.cluster.nodes[node_id] for node_id in moved]
    return FetchResponse(
        throttle_time_ms=throttle_time_ms,
        error_code=answered.code,
        session_id=answered.session_id,
        responses=topics,
        node_endpoints=[
            NodeEndpoint(node_id=node.node_id, host=node.host, port=node.port, rack=node.rack) for node in nodes
        ],
    )


HANDLER = Handler(FetchRequest, 4, 18, _answer)
