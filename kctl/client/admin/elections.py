"""Leader elections, and replicas that may be elected. A retry that needs no election counts as success.

Source: KIP-460, KIP-966.
"""

from collections.abc import Iterable, Iterator, Sequence
from enum import IntEnum
from typing import NamedTuple

from kctl.client.admin.call import Call, Items, Results, Unanswered, any_node, controller
from kctl.client.admin.topics import item_error
from kctl.client.broker_errors import ErrorCode, broker_error
from kctl.client.cluster import TopicPartition, by_topic
from kctl.client.errors import KafkaError, RemoteProtocolError
from kctl.client.protocol.api.reassignments import ElectLeadersRequest, ElectLeadersResponse, TopicPartitions
from kctl.client.protocol.api.topics import (
    Cursor,
    DescribeTopicPartitionsRequest,
    DescribeTopicPartitionsResponse,
    TopicRequest,
)
from kctl.client.protocol.schema import Request
from kctl.client.requests.retry import ADMIN_TOPICS

_LEADERLESS = frozenset({ErrorCode.NONE, ErrorCode.LEADER_NOT_AVAILABLE})


class ElectionType(IntEnum):
    """Kind of election; the values are Kafka's numbers."""

    PREFERRED = 0
    UNCLEAN = 1


def elect_leaders(
    call: Call, election_type: ElectionType, partitions: Sequence[TopicPartition]
) -> Results[TopicPartition, bool]:
    unanswered = Unanswered()

    def build(pending: list[TopicPartition], timeout_ms: int) -> ElectLeadersRequest:
        unanswered.sent()
        topics = [TopicPartitions(topic=topic, partitions=indexes) for topic, indexes in by_topic(pending).items()]
        return ElectLeadersRequest(election_type=election_type, topic_partitions=topics, timeout_ms=timeout_ms)

    def read(response: ElectLeadersResponse) -> Items[TopicPartition, bool]:
        was_lost = unanswered.answered()
        return item_error(call, response.error_code, "elect leaders", None) or items(response, was_lost=was_lost)

    def items(response: ElectLeadersResponse, *, was_lost: bool) -> Iterator[tuple[TopicPartition, bool | KafkaError]]:
        for topic in response.replica_election_results:
            for part in topic.partition_result:
                key = TopicPartition(topic.topic, part.partition_id)
                if part.error_code == ErrorCode.ELECTION_NOT_NEEDED:
                    yield key, was_lost
                else:
                    yield key, item_error(call, part.error_code, f"elect a leader of {key}", part.error_message) or True

    return call.ask_each(partitions, controller, build, ElectLeadersResponse, read, ADMIN_TOPICS.is_retried)


class EligibleLeaders(NamedTuple):
    """Replicas of a partition outside of its ISR.

    Attributes:
        eligible: replicas that have all records below the high watermark, and may be elected without loss.
        last_known: replicas that were eligible until they crashed, and may have lost records.
    """

    eligible: tuple[int, ...]
    last_known: tuple[int, ...]


def eligible_leaders(call: Call, topics: Iterable[str]) -> Results[TopicPartition, EligibleLeaders]:
    """Return the eligible leaders of all partitions; topics with errors are left out."""
    names = sorted(set(topics))
    results: Results[TopicPartition, EligibleLeaders] = Results({}, {})
    cursor: Cursor | None = None

    def build(_timeout_ms: int) -> Request:
        return DescribeTopicPartitionsRequest(topics=[TopicRequest(name=name) for name in names], cursor=cursor)

    while names:
        response = call.ask(any_node, build, DescribeTopicPartitionsResponse)
        for topic in response.topics:
            for part in topic.partitions:
                key = TopicPartition(topic.name or "", part.partition_index)
                if part.error_code in _LEADERLESS:
                    results.done[key] = EligibleLeaders(
                        tuple(part.eligible_leader_replicas or ()), tuple(part.last_known_elr or ())
                    )
                else:
                    results.failed[key] = broker_error(part.error_code, f"describe {key}")
        further = response.next_cursor
        if further is None:
            break
        if cursor is not None and _place(further) <= _place(cursor):
            raise RemoteProtocolError(
                "the DescribeTopicPartitions response does not advance to the next page", api=response.NAME
            )
        cursor, names = further, [name for name in names if name >= further.topic_name]
    return results


def _place(cursor: Cursor) -> tuple[str, int]:
    return cursor.topic_name, cursor.partition_index
