from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from kctl.client.admin.call import Call, Results, any_node, broker, controller
from kctl.client.admin.spread import BrokersBehind, is_unknown_topic
from kctl.client.broker_errors import ErrorCode, broker_error
from kctl.client.cluster import NO_NODE, NOTHING, PartitionInfo, TopicId, TopicInfo
from kctl.client.errors import BrokerError, KafkaError
from kctl.client.network.in_flight import Answer
from kctl.client.protocol.api.metadata import MetadataResponse
from kctl.client.protocol.api.topics import (
    CreatableReplicaAssignment,
    CreatableTopic,
    CreatableTopicConfig,
    CreatePartitionsRequest,
    CreatePartitionsResponse,
    CreatePartitionsTopic,
    CreateTopicsRequest,
    CreateTopicsResponse,
    DeleteTopicsRequest,
    DeleteTopicsResponse,
    DeleteTopicState,
)
from kctl.client.protocol.schema import Request
from kctl.client.protocol.topic_names import TopicNamesResponse
from kctl.client.requests.retry import ADMIN, ADMIN_TOPICS
from kctl.client.requests.topics import described_topics, metadata_request, topic_names_in, topic_names_request

BROKER_DEFAULT = -1
"""Number of partitions or replicas that lets the broker choose by its configuration."""


class NewTopic(NamedTuple):
    """A topic to create. Attributes: assignments: broker ids by partition, in place of both counts."""

    name: str
    num_partitions: int = BROKER_DEFAULT
    replication_factor: int = BROKER_DEFAULT
    assignments: Mapping[int, Sequence[int]] = NOTHING
    configs: Mapping[str, str | None] = NOTHING


class CreatedTopic(NamedTuple):
    """A created topic; counts are -1 if the broker does not report them."""

    name: str
    topic_id: TopicId
    num_partitions: int
    replication_factor: int


class TopicListing(NamedTuple):
    """A topic in a list. Attributes: partitions: partitions by number."""

    name: str
    topic_id: TopicId
    is_internal: bool
    partitions: Mapping[int, PartitionInfo] = NOTHING


def create_topics(call: Call, topics: Sequence[NewTopic], *, validate_only: bool) -> Results[str, CreatedTopic]:
    wanted = {topic.name: topic for topic in topics}

    def build(names: list[str], timeout_ms: int) -> Request:
        entries = [_creatable(wanted[name]) for name in names]
        return CreateTopicsRequest(topics=entries, timeout_ms=timeout_ms, validate_only=validate_only)

    def read(response: CreateTopicsResponse) -> Iterator[tuple[str, CreatedTopic | KafkaError]]:
        for entry in response.topics:
            error = item_error(call, entry.error_code, f"create topic {entry.name}", entry.error_message)
            created = CreatedTopic(entry.name, TopicId(entry.topic_id), entry.num_partitions, entry.replication_factor)
            yield entry.name, error or created

    return call.ask_each(wanted, controller, build, CreateTopicsResponse, read, ADMIN_TOPICS.is_retried)


def delete_topics(call: Call, names: Sequence[str]) -> Results[str, None]:
    def build(pending: list[str], timeout_ms: int) -> Request:
        topics = [DeleteTopicState(name=name) for name in pending]
        return DeleteTopicsRequest(topics=topics, topic_names=pending, timeout_ms=timeout_ms)

    def read(response: DeleteTopicsResponse) -> Iterator[tuple[str, bool | KafkaError]]:
        for entry in response.responses:
            error = item_error(call, entry.error_code, f"delete topic {entry.name}", entry.error_message)
            yield entry.name or "", error or True

    results = call.ask_each(names, controller, build, DeleteTopicsResponse, read, ADMIN_TOPICS.is_retried)
    return results.without_values()


def list_topics(call: Call, *, include_internal: bool) -> dict[str, TopicListing]:
    answer = call.answer_of(any_node, lambda _: metadata_request(None), MetadataResponse)
    return {
        info.name: TopicListing(info.name, TopicId(info.topic_id), info.is_internal, info.partitions)
        for info in sorted(_topics(call, answer), key=lambda info: info.name)
        if include_internal or not info.is_internal
    }


def list_topic_names(call: Call, *, include_internal: bool) -> list[str]:
    answer = call.answer_of(any_node, lambda _: topic_names_request(), TopicNamesResponse)
    assert isinstance(answer.response, TopicNamesResponse)
    names = topic_names_in(answer.response, call.name_of(answer.node_id), include_internal=include_internal)
    if isinstance(names, KafkaError):
        raise names
    return names


def describe_topics(call: Call, names: Sequence[str], broker_id: int | None = None) -> Results[str, TopicInfo]:
    """Return each topic. Unless `broker_id` is given, another broker is queried about unknown topics."""
    behind = BrokersBehind(call)

    def attempt(pending: list[str]) -> dict[str, TopicInfo | KafkaError]:
        return _described(call, behind, pending, broker_id)

    def is_retried(error: KafkaError, tries: int) -> bool:
        may_be_behind = broker_id is None and tries == 1 and len(call.client.metadata.cluster.nodes) != 1
        return ADMIN_TOPICS.is_retried(error) or (may_be_behind and is_unknown_topic(error))

    return call.each(names, attempt, is_retried)


def wait_for_topics(call: Call, names: Sequence[str]) -> dict[str, TopicInfo]:
    behind = BrokersBehind(call)

    def attempt(pending: list[str]) -> dict[str, TopicInfo | KafkaError]:
        return {name: _with_leaders(found) for name, found in _described(call, behind, pending).items()}

    results = call.each(names, attempt, lambda error, _tries: ADMIN.is_retried(error))
    results.raise_first()
    return {name: results.done[name] for name in names}


def _with_leaders(found: TopicInfo | KafkaError) -> TopicInfo | KafkaError:
    if isinstance(found, KafkaError):
        return found
    for partition in found.partitions.values():
        if partition.leader_id == NO_NODE:
            what = f"find the leader of {found.name}-{partition.partition}"
            return partition.error or broker_error(ErrorCode.LEADER_NOT_AVAILABLE, what)
    return found


def _described(
    call: Call, behind: BrokersBehind, names: list[str], broker_id: int | None = None
) -> dict[str, TopicInfo | KafkaError]:
    route = behind.route if broker_id is None else broker(broker_id)
    is_for_any = broker_id is None
    answer = call.answer_of(route, lambda _: metadata_request(names), MetadataResponse, is_for_any=is_for_any)
    items = [
        (info.name, info.error or info._replace(topic_id=TopicId(info.topic_id))) for info in _topics(call, answer)
    ]
    found = call.items(answer, names, lambda _: items)
    if broker_id is None:
        behind.note(answer.node_id, found.values())
        behind.connect_another()
    return found


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


def item_error(call: Call, code: int, action: str, text: str | None) -> BrokerError | None:
    """Return the error of an item, or None. NOT_CONTROLLER also refreshes the metadata."""
    if code == ErrorCode.NONE:
        return None
    if code == ErrorCode.NOT_CONTROLLER:
        call.client.metadata.request_update()
    return broker_error(code, action, text)


def create_partitions(call: Call, counts: Mapping[str, int], *, validate_only: bool) -> Results[str, None]:
    """Return the outcome of each topic. After a lost response, a topic with the wanted count counts as success."""
    sent: dict[str, int] = {}

    def build(names: list[str], timeout_ms: int) -> Request:
        sent.update({name: sent.get(name, 0) + 1 for name in names})
        entries = [CreatePartitionsTopic(name=name, count=counts[name], assignments=None) for name in names]
        return CreatePartitionsRequest(topics=entries, timeout_ms=timeout_ms, validate_only=validate_only)

    def read(response: CreatePartitionsResponse) -> Iterator[tuple[str, bool | KafkaError]]:
        for entry in response.results:
            error = item_error(call, entry.error_code, f"add partitions to topic {entry.name}", entry.error_message)
            yield entry.name, error or True

    results = call.ask_each(counts, controller, build, CreatePartitionsResponse, read, ADMIN_TOPICS.is_retried)
    repeated = [
        name
        for name, error in results.failed.items()
        if sent.get(name, 0) > 1 and isinstance(error, BrokerError) and error.code == ErrorCode.INVALID_PARTITIONS
    ]
    done = dict.fromkeys(results.done)
    if repeated:
        found = describe_topics(call, repeated).done
        done |= {name: None for name, info in found.items() if len(info.partitions) == counts[name]}
    return Results(done, {name: error for name, error in results.failed.items() if name not in done})
