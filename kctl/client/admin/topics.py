"""Topics: created, deleted, listed and described. Shown by tests/unit/admin and tests/sim/admin."""

from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

from kctl.client.admin.call import Call, Results, any_node, controller
from kctl.client.broker_errors import ErrorCode, broker_error
from kctl.client.cluster import PartitionInfo, TopicInfo
from kctl.client.errors import BrokerError, KafkaError
from kctl.client.network.in_flight import Answer
from kctl.client.protocol.api.create_topics import (
    CreatableReplicaAssignment,
    CreatableTopic,
    CreatableTopicConfig,
    CreateTopicsRequest,
    CreateTopicsResponse,
)
from kctl.client.protocol.api.delete_topics import DeleteTopicsRequest, DeleteTopicsResponse, DeleteTopicState
from kctl.client.protocol.api.metadata import MetadataResponse
from kctl.client.requests.retry import ADMIN_TOPICS
from kctl.client.requests.topics import described_topics, metadata_request

BROKER_DEFAULT = -1
"""Number of partitions or replicas: what the broker is configured to."""


class NewTopic(NamedTuple):
    """A topic to create; `assignments` (partition to node ids) replaces both counts."""

    name: str
    num_partitions: int = BROKER_DEFAULT
    replication_factor: int = BROKER_DEFAULT
    assignments: Mapping[int, Sequence[int]] = MappingProxyType({})
    configs: Mapping[str, str | None] = MappingProxyType({})


class CreatedTopic(NamedTuple):
    """A topic as it was created; counts are -1 where the broker does not report it."""

    name: str
    topic_id: bytes
    num_partitions: int
    replication_factor: int


class TopicListing(NamedTuple):
    """A topic's name and id, and its partitions by number."""

    name: str
    topic_id: bytes
    is_internal: bool
    partitions: Mapping[int, PartitionInfo] = MappingProxyType({})


def create_topics(call: Call, topics: Sequence[NewTopic], *, validate_only: bool) -> Results[str, CreatedTopic]:
    """Return what became of each topic, by name."""
    wanted = {topic.name: topic for topic in topics}

    def attempt(names: list[str]) -> dict[str, CreatedTopic | KafkaError]:
        entries = [_creatable(wanted[name]) for name in names]
        return call.ask_items(
            controller,
            lambda timeout_ms: CreateTopicsRequest(topics=entries, timeout_ms=timeout_ms, validate_only=validate_only),
            CreateTopicsResponse,
            names,
            read,
        )

    def read(response: CreateTopicsResponse) -> Iterator[tuple[str, CreatedTopic | KafkaError]]:
        for entry in response.topics:
            error = item_error(call, entry.error_code, f"CreateTopics {entry.name}", entry.error_message)
            created = CreatedTopic(entry.name, entry.topic_id, entry.num_partitions, entry.replication_factor)
            yield entry.name, error or created

    return call.each(wanted, attempt, ADMIN_TOPICS.is_retried)


def delete_topics(call: Call, names: Sequence[str]) -> Results[str, None]:
    """Return what became of each topic, by name."""

    def attempt(pending: list[str]) -> dict[str, bool | KafkaError]:
        return call.ask_items(
            controller,
            lambda timeout_ms: DeleteTopicsRequest(
                topics=[DeleteTopicState(name=name) for name in pending], topic_names=pending, timeout_ms=timeout_ms
            ),
            DeleteTopicsResponse,
            pending,
            read,
        )

    def read(response: DeleteTopicsResponse) -> Iterator[tuple[str, bool | KafkaError]]:
        for entry in response.responses:
            error = item_error(call, entry.error_code, f"DeleteTopics {entry.name}", entry.error_message)
            yield entry.name or "", error or True

    results = call.each(names, attempt, ADMIN_TOPICS.is_retried)
    return Results(dict.fromkeys(results.done), results.failed)


def list_topics(call: Call, *, include_internal: bool) -> dict[str, TopicListing]:
    """Return every topic that the client may describe, sorted by name."""
    answer = call.answer_of(any_node, lambda _: metadata_request(None), MetadataResponse)
    return {
        info.name: TopicListing(info.name, info.topic_id, info.is_internal, info.partitions)
        for info in sorted(_topics(call, answer), key=lambda info: info.name)
        if include_internal or not info.is_internal
    }


def describe_topics(call: Call, names: Sequence[str]) -> Results[str, TopicInfo]:
    """Return each topic with its partitions, leaders and replicas."""

    def attempt(pending: list[str]) -> dict[str, TopicInfo | KafkaError]:
        answer = call.answer_of(any_node, lambda _: metadata_request(pending), MetadataResponse)
        items = [(info.name, info.error or info) for info in _topics(call, answer)]
        return call.items(answer, pending, lambda _: items)

    return call.each(names, attempt, ADMIN_TOPICS.is_retried)


def _topics(call: Call, answer: Answer) -> list[TopicInfo]:
    assert isinstance(answer.response, MetadataResponse)
    topics = described_topics(answer.response, call.name_of(answer.node_id))
    if isinstance(topics, KafkaError):
        raise topics
    return topics


def _creatable(topic: NewTopic) -> CreatableTopic:
    return CreatableTopic(
        name=topic.name,
        num_partitions=BROKER_DEFAULT if topic.assignments else topic.num_partitions,
        replication_factor=BROKER_DEFAULT if topic.assignments else topic.replication_factor,
        assignments=[
            CreatableReplicaAssignment(partition_index=partition, broker_ids=list(node_ids))
            for partition, node_ids in topic.assignments.items()
        ],
        configs=[CreatableTopicConfig(name=name, value=value) for name, value in topic.configs.items()],
    )


def item_error(call: Call, code: int, what: str, text: str | None) -> BrokerError | None:
    """Return the error of one item, or None; after one about the controller, look the controller up again."""
    if code == ErrorCode.NONE:
        return None
    if code == ErrorCode.NOT_CONTROLLER:
        call.client.metadata.request_update()
    return broker_error(code, what, text or None)
