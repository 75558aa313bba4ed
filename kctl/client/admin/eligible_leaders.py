"""Which replicas may lead a partition without losing records, though they are not in sync. Source: KIP-966.

Shown by tests/unit/admin/test_eligible_leaders.py and tests/broker/test_why_replicas.py.
"""

from collections.abc import Iterable
from functools import partial
from typing import NamedTuple

from kctl.client.admin.call import Call, Results, any_node
from kctl.client.broker_errors import ErrorCode, broker_error
from kctl.client.cluster import TopicPartition
from kctl.client.errors import RemoteProtocolError
from kctl.client.protocol.api.topics import (
    Cursor,
    DescribeTopicPartitionsRequest,
    DescribeTopicPartitionsResponse,
    TopicRequest,
)
from kctl.client.protocol.schema import Request

_LEADERLESS = frozenset({ErrorCode.NONE, ErrorCode.LEADER_NOT_AVAILABLE})


class EligibleLeaders(NamedTuple):
    """Replicas of a partition outside of its ISR.

    Attributes:
        eligible: they have all records below the high watermark, and may be elected without loss.
        last_known: they were eligible until they crashed, and may have lost records with that.
    """

    eligible: tuple[int, ...]
    last_known: tuple[int, ...]


def eligible_leaders(call: Call, topics: Iterable[str]) -> Results[TopicPartition, EligibleLeaders]:
    """Return them for all partitions of topics, page by page; those of topics with an error are in neither part."""
    names = sorted(set(topics))
    results: Results[TopicPartition, EligibleLeaders] = Results({}, {})
    cursor: Cursor | None = None
    while names:
        request = _request(names, cursor)
        response = call.ask(any_node, partial(_given, request), DescribeTopicPartitionsResponse)
        for topic in response.topics:
            for part in topic.partitions:
                key = TopicPartition(topic.name or "", part.partition_index)
                if part.error_code in _LEADERLESS:
                    results.done[key] = EligibleLeaders(
                        tuple(part.eligible_leader_replicas or ()), tuple(part.last_known_elr or ())
                    )
                else:
                    results.failed[key] = broker_error(part.error_code, f"DescribeTopicPartitions of {key}")
        further = response.next_cursor
        if further is None:
            break
        if cursor is not None and _place(further) <= _place(cursor):
            raise RemoteProtocolError("the pages of topics do not advance", api=response.NAME)
        cursor, names = further, [name for name in names if name >= further.topic_name]
    return results


def _request(names: list[str], cursor: Cursor | None) -> Request:
    return DescribeTopicPartitionsRequest(topics=[TopicRequest(name=name) for name in names], cursor=cursor)


def _given(request: Request, _timeout_ms: int) -> Request:
    return request


def _place(cursor: Cursor) -> tuple[str, int]:
    return cursor.topic_name, cursor.partition_index
