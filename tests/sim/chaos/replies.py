"""What stands between a node and its handlers: answers with an error code, throttling, and notes of what was asked.

Owns the error answer of each API; the handlers of the sandbox are wrapped for one run and put back after it.
Shown by tests/sim/chaos/test_faults.py.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from kctl.client.broker_errors import ErrorCode
from kctl.client.protocol.api.consumer_group_heartbeat import ConsumerGroupHeartbeatResponse
from kctl.client.protocol.api.fetch import FetchableTopicResponse, FetchResponse, PartitionData
from kctl.client.protocol.api.find_coordinator import Coordinator, FindCoordinatorResponse
from kctl.client.protocol.api.heartbeat import HeartbeatResponse
from kctl.client.protocol.api.join_group import JoinGroupResponse
from kctl.client.protocol.api.leave_group import LeaveGroupResponse
from kctl.client.protocol.api.list_offsets import (
    ListOffsetsPartitionResponse,
    ListOffsetsResponse,
    ListOffsetsTopicResponse,
)
from kctl.client.protocol.api.offset_commit import (
    OffsetCommitResponse,
    OffsetCommitResponsePartition,
    OffsetCommitResponseTopic,
)
from kctl.client.protocol.api.offset_fetch import OffsetFetchResponse, OffsetFetchResponseGroup
from kctl.client.protocol.api.sync_group import SyncGroupResponse
from kctl.client.protocol.schema import Request, Response
from kctl.sandbox.apis import HANDLERS
from kctl.sandbox.call import Call, Handler

Noted = Callable[[Call, Any, Response | None], None]


def _fetch(request: Any, code: int) -> Response:
    def refused(index: int) -> PartitionData:
        return PartitionData(partition_index=index, error_code=code, high_watermark=-1, records=b"")

    return FetchResponse(
        responses=[
            FetchableTopicResponse(
                topic=topic.topic,
                topic_id=topic.topic_id,
                partitions=[refused(one.partition) for one in topic.partitions],
            )
            for topic in request.topics
        ]
    )


def _list_offsets(request: Any, code: int) -> Response:
    def refused(index: int) -> ListOffsetsPartitionResponse:
        return ListOffsetsPartitionResponse(partition_index=index, error_code=code)

    return ListOffsetsResponse(
        topics=[
            ListOffsetsTopicResponse(
                name=topic.name, partitions=[refused(one.partition_index) for one in topic.partitions]
            )
            for topic in request.topics
        ]
    )


def _offset_commit(request: Any, code: int) -> Response:
    def refused(index: int) -> OffsetCommitResponsePartition:
        return OffsetCommitResponsePartition(partition_index=index, error_code=code)

    return OffsetCommitResponse(
        topics=[
            OffsetCommitResponseTopic(
                name=topic.name,
                topic_id=topic.topic_id,
                partitions=[refused(one.partition_index) for one in topic.partitions],
            )
            for topic in request.topics
        ]
    )


def _find_coordinator(request: Any, code: int) -> Response:
    keys = [Coordinator(key=key, node_id=-1, host="", port=-1, error_code=code) for key in request.coordinator_keys]
    return FindCoordinatorResponse(coordinators=keys) if keys else FindCoordinatorResponse(error_code=code)


def _offset_fetch(request: Any, code: int) -> Response:
    if request.groups:
        groups = [OffsetFetchResponseGroup(group_id=one.group_id, error_code=code) for one in request.groups]
        return OffsetFetchResponse(groups=groups)
    return OffsetFetchResponse(error_code=code)


_REFUSALS: dict[str, Callable[[Any, int], Response]] = {
    "Fetch": _fetch,
    "ListOffsets": _list_offsets,
    "OffsetCommit": _offset_commit,
    "OffsetFetch": _offset_fetch,
    "FindCoordinator": _find_coordinator,
    "JoinGroup": lambda _, code: JoinGroupResponse(error_code=code),
    "SyncGroup": lambda _, code: SyncGroupResponse(error_code=code),
    "Heartbeat": lambda _, code: HeartbeatResponse(error_code=code),
    "LeaveGroup": lambda _, code: LeaveGroupResponse(error_code=code),
    "ConsumerGroupHeartbeat": lambda _, code: ConsumerGroupHeartbeatResponse(error_code=code),
}


class Replies:
    """What is wrong with the answers of all nodes now."""

    def __init__(self) -> None:
        self.throttle_ms = 0
        self._refusals: dict[str, list[ErrorCode]] = {}
        self._noted: list[Noted] = []

    def refuse(self, api: str, code: ErrorCode, times: int) -> None:
        """Answer the next requests of an API with that code, without doing what they ask."""
        self._refusals.setdefault(api, []).extend([code] * times)

    def heal(self) -> None:
        """Let all answers be as they are."""
        self._refusals.clear()
        self.throttle_ms = 0

    def on_request(self, noted: Noted) -> None:
        """Have every request noted, with the answer where there is one at once."""
        self._noted.append(noted)

    def answer(self, handler: Handler[Any], call: Call, request: Request) -> Response | None:
        """Answer in place of the handler, or with it."""
        api = handler.request.NAME
        left = self._refusals.get(api)
        if api == "Metadata" and left:
            response = handler.handle(call, request)
            self._refuse_topics(response, left.pop(0))
        elif left:
            response = _REFUSALS[api](request, left.pop(0))
        else:
            response = handler.handle(call, request)
        if response is not None and self.throttle_ms and hasattr(response, "throttle_time_ms"):
            response.throttle_time_ms = self.throttle_ms
        for noted in self._noted:
            noted(call, request, response)
        return response

    @staticmethod
    def _refuse_topics(response: Any, code: ErrorCode) -> None:
        for topic in response.topics:
            topic.error_code = code
            topic.partitions = []

    @contextmanager
    def installed(self) -> Iterator[None]:
        """Stand between nodes and handlers for as long as this lasts."""
        before = dict(HANDLERS)
        try:
            for key, handler in before.items():
                HANDLERS[key] = handler._replace(handle=self._wrapped(handler))
            yield
        finally:
            HANDLERS.update(before)

    def _wrapped(self, handler: Handler[Any]) -> Callable[[Call, Any], Response | None]:
        return lambda call, request: self.answer(handler, call, request)
