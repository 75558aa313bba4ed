"""Reassignments of partitions to other brokers, by the controller.

A repeated move has no effect; a repeated cancellation fails with NO_REASSIGNMENT_IN_PROGRESS.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from kctl.client.admin.call import Call, Items, Results, controller
from kctl.client.admin.topics import item_error
from kctl.client.broker_errors import ErrorCode, broker_error
from kctl.client.cluster import TopicPartition, by_topic
from kctl.client.errors import ApiTimeout, KafkaError
from kctl.client.protocol.api.reassignments import (
    AlterPartitionReassignmentsRequest,
    AlterPartitionReassignmentsResponse,
    ListPartitionReassignmentsRequest,
    ListPartitionReassignmentsResponse,
    ListPartitionReassignmentsTopics,
    ReassignablePartition,
    ReassignableTopic,
)
from kctl.client.requests.items import each_once
from kctl.client.requests.retry import ADMIN_TOPICS

PARTITIONS_PER_REQUEST = 1_000
"""Maximum number of partitions in a request; from Kafka 3.3 on, controllers reject more than 10,000 changes."""


class Reassignment(NamedTuple):
    """A move in progress.

    Attributes:
        replicas: all current replicas, including those being added.
        adding: replicas that are being added.
        removing: replicas to remove after the move.
    """

    replicas: tuple[int, ...]
    adding: tuple[int, ...]
    removing: tuple[int, ...]

    @property
    def target(self) -> tuple[int, ...]:
        """Replicas after the move."""
        return tuple(each for each in self.replicas if each not in self.removing)


def alter_reassignments(
    call: Call, targets: Mapping[TopicPartition, Sequence[int] | None]
) -> Results[TopicPartition, None]:
    def attempt(pending: list[TopicPartition]) -> dict[TopicPartition, bool | KafkaError]:
        found: dict[TopicPartition, bool | KafkaError] = {}
        for first in range(0, len(pending), PARTITIONS_PER_REQUEST):
            try:
                found |= ask(pending[first : first + PARTITIONS_PER_REQUEST])
            except ApiTimeout as timeout:
                if not found:
                    raise
                return found | dict.fromkeys((each for each in pending if each not in found), timeout)
        return found

    def ask(keys: Sequence[TopicPartition]) -> dict[TopicPartition, bool | KafkaError]:
        topics = [
            ReassignableTopic(name=topic, partitions=[entry(topic, index) for index in indexes])
            for topic, indexes in by_topic(keys).items()
        ]
        return call.ask_items(
            controller,
            lambda timeout_ms: AlterPartitionReassignmentsRequest(topics=topics, timeout_ms=timeout_ms),
            AlterPartitionReassignmentsResponse,
            keys,
            read,
        )

    def entry(topic: str, index: int) -> ReassignablePartition:
        target = targets[TopicPartition(topic, index)]
        return ReassignablePartition(partition_index=index, replicas=None if target is None else list(target))

    def read(response: AlterPartitionReassignmentsResponse) -> Items[TopicPartition, bool]:
        what = "move partitions"
        error = item_error(call, response.error_code, what, response.error_message)
        return error or items(response)

    def items(response: AlterPartitionReassignmentsResponse) -> Iterator[tuple[TopicPartition, bool | KafkaError]]:
        for topic in response.responses:
            for part in topic.partitions:
                key = TopicPartition(topic.name, part.partition_index)
                what = f"move {key}"
                yield key, item_error(call, part.error_code, what, part.error_message) or True

    return call.each(targets, attempt, ADMIN_TOPICS.is_retried).without_values()


def list_reassignments(call: Call, partitions: Sequence[TopicPartition] | None) -> dict[TopicPartition, Reassignment]:
    topics = None
    if partitions is not None:
        topics = [
            ListPartitionReassignmentsTopics(name=topic, partition_indexes=indexes)
            for topic, indexes in by_topic(partitions).items()
        ]
    while True:
        answer = call.answer_of(
            controller,
            lambda timeout_ms: ListPartitionReassignmentsRequest(topics=topics, timeout_ms=timeout_ms),
            ListPartitionReassignmentsResponse,
        )
        response = answer.response
        assert isinstance(response, ListPartitionReassignmentsResponse)
        if response.error_code not in (ErrorCode.NONE, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION):
            error = broker_error(response.error_code, "list reassignments", response.error_message)
            if error.code != ErrorCode.NOT_CONTROLLER:
                raise error
            call.client.metadata.request_update()
            call.pause(error)
            continue
        found = [
            (
                TopicPartition(topic.name, part.partition_index),
                Reassignment(tuple(part.replicas), tuple(part.adding_replicas), tuple(part.removing_replicas)),
            )
            for topic in response.topics
            for part in topic.partitions
        ]
        moves = {}
        for key, move in each_once(found, None, response.NAME, call.name_of(answer.node_id)).items():
            if isinstance(move, KafkaError):
                raise move
            moves[key] = move
        return moves
