"""Fetch: batches of several partitions, at once or when enough has arrived; no sessions (the id is always 0).

Source: KIP-74 (limits), KIP-320 (epochs), KIP-516 (topic ids), KIP-227 (a session id of 0 refuses a session).
"""

from collections.abc import Callable
from typing import NamedTuple

from kctl.client.broker_errors import ErrorCode
from kctl.client.protocol.api.fetch import (
    AbortedTransaction,
    FetchableTopicResponse,
    FetchPartition,
    FetchRequest,
    FetchResponse,
    FetchTopic,
    LeaderIdAndEpoch,
    NodeEndpoint,
    PartitionData,
)
from kctl.sandbox.call import Call, Handler, epoch_error
from kctl.sandbox.cluster import Partition
from kctl.sandbox.log import OffsetOutOfRange
from kctl.sandbox.seams import Handle

_NAMES_LEADERS_FROM = 16
_UNKNOWN = (ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, ErrorCode.UNKNOWN_TOPIC_ID)
_MOVED = (ErrorCode.NOT_LEADER_OR_FOLLOWER, ErrorCode.FENCED_LEADER_EPOCH)


class _Read(NamedTuple):
    """What one look at all partitions found."""

    response: FetchResponse
    size_bytes: int
    has_error: bool


def _answer(call: Call, request: FetchRequest) -> FetchResponse | None:
    if request.session_id != 0 and request.session_epoch > 0:
        return FetchResponse(error_code=ErrorCode.FETCH_SESSION_ID_NOT_FOUND)
    read = _read(call, request)
    if read.has_error or read.size_bytes >= request.min_bytes or request.max_wait_ms <= 0 or not request.topics:
        return read.response
    _Waiting(call, request).start()
    return None


class _Waiting:
    """A fetch that waits for enough bytes, an error, or the end of its patience."""

    def __init__(self, call: Call, request: FetchRequest) -> None:
        self._call = call
        self._request = request
        self._stops: list[Callable[[], None]] = []
        self._timer: Handle | None = None

    def start(self) -> None:
        self._call.on_abandoned = self._stop
        self._timer = self._call.cluster.scheduler.call_later(self._request.max_wait_ms, self._expire)
        for topic in self._request.topics:
            name = _topic_name(self._call, topic)
            for asked in topic.partitions:
                partition = None if name is None else self._call.cluster.partition(name, asked.partition)
                if partition is not None:
                    self._stops.append(partition.log.watch(self._look))

    def _look(self) -> None:
        read = _read(self._call, self._request)
        if read.has_error or read.size_bytes >= self._request.min_bytes:
            self._end(read)

    def _expire(self) -> None:
        self._end(_read(self._call, self._request))

    def _end(self, read: _Read) -> None:
        self._stop()
        self._call.answer(read.response)

    def _stop(self) -> None:
        for stop in self._stops:
            stop()
        self._stops.clear()
        if self._timer is not None:
            self._timer.cancel()


def _topic_name(call: Call, topic: FetchTopic) -> str | None:
    if call.version < 13:
        return topic.topic
    found = call.cluster.topic_of_id(topic.topic_id)
    return None if found is None else found.name


def _read(call: Call, request: FetchRequest) -> _Read:
    topics: list[FetchableTopicResponse] = []
    size_bytes = 0
    has_error = False
    moved: dict[int, None] = {}
    for asked_topic in request.topics:
        name = _topic_name(call, asked_topic)
        answers: list[PartitionData] = []
        for asked in asked_topic.partitions:
            answer = _partition(call, request, name, asked, request.max_bytes - size_bytes, is_first=size_bytes == 0)
            size_bytes += len(answer.records or b"")
            has_error = has_error or answer.error_code != ErrorCode.NONE
            if answer.current_leader.leader_id >= 0:
                moved[answer.current_leader.leader_id] = None
            answers.append(answer)
        topics.append(
            FetchableTopicResponse(topic=asked_topic.topic, topic_id=asked_topic.topic_id, partitions=answers)
        )
    nodes = [call.cluster.nodes[node_id] for node_id in moved]
    endpoints = [NodeEndpoint(node_id=node.node_id, host=node.host, port=node.port, rack=node.rack) for node in nodes]
    return _Read(FetchResponse(responses=topics, node_endpoints=endpoints), size_bytes, has_error)


def _partition(
    call: Call, request: FetchRequest, topic: str | None, asked: FetchPartition, left_bytes: int, *, is_first: bool
) -> PartitionData:
    if topic is None:
        return _refused(asked, ErrorCode.UNKNOWN_TOPIC_ID)
    partition = call.led_partition(topic, asked.partition)
    if isinstance(partition, ErrorCode):
        return _moved(call, asked, partition, call.cluster.partition(topic, asked.partition))
    code = epoch_error(partition, asked.current_leader_epoch)
    if code is not ErrorCode.NONE:
        return _moved(call, asked, code, partition)
    log = partition.log
    try:
        records = log.read(asked.fetch_offset, min(asked.partition_max_bytes, left_bytes), at_least_one=is_first)
    except OffsetOutOfRange:
        return _refused(asked, ErrorCode.OFFSET_OUT_OF_RANGE)
    return PartitionData(
        partition_index=asked.partition,
        high_watermark=log.end_offset,
        last_stable_offset=log.end_offset,
        log_start_offset=log.start_offset,
        aborted_transactions=[] if request.isolation_level == 1 else None,
        records=records,
    )


def _refused(asked: FetchPartition, code: ErrorCode) -> PartitionData:
    aborted: list[AbortedTransaction] | None = [] if code in _UNKNOWN else None
    return PartitionData(
        partition_index=asked.partition, error_code=code, high_watermark=-1, aborted_transactions=aborted, records=b""
    )


def _moved(call: Call, asked: FetchPartition, code: ErrorCode, partition: Partition | None) -> PartitionData:
    answer = _refused(asked, code)
    if partition is not None and call.version >= _NAMES_LEADERS_FROM and code in _MOVED:
        answer.current_leader = LeaderIdAndEpoch(leader_id=partition.leader_id, leader_epoch=partition.leader_epoch)
    return answer


HANDLER = Handler(FetchRequest, 4, 18, _answer)
