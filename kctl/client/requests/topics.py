"""Metadata requests about given topics or all topics, and their responses.

Unlike the client's metadata, a response is newer than the call, and the request creates no topics.
"""

from collections.abc import Iterable

from kctl.client.broker_errors import broker_error
from kctl.client.cluster import TopicInfo
from kctl.client.errors import KafkaError
from kctl.client.metadata import malformed_metadata, topics_in
from kctl.client.protocol.api.metadata import MetadataRequest, MetadataRequestTopic, MetadataResponse
from kctl.client.protocol.topic_names import TopicNamesRequest, TopicNamesResponse


def metadata_request(names: Iterable[str] | None) -> MetadataRequest:
    topics = None if names is None else [MetadataRequestTopic(name=name) for name in names]
    return MetadataRequest(topics=topics, allow_auto_topic_creation=False)


def metadata_by_id_request(topic_ids: Iterable[bytes]) -> MetadataRequest:
    topics = [MetadataRequestTopic(topic_id=topic_id, name=None) for topic_id in topic_ids]
    return MetadataRequest(topics=topics, allow_auto_topic_creation=False)


def described_topics(response: MetadataResponse, broker: str = "a broker") -> list[TopicInfo] | KafkaError:
    """Return the topics, or the error of the whole response."""
    if response.error_code:
        return broker_error(response.error_code, "read metadata")
    return malformed_metadata(response, broker) or topics_in(response)


def topic_names_request() -> TopicNamesRequest:
    return TopicNamesRequest(topics=None, allow_auto_topic_creation=False)


def topic_names_in(response: TopicNamesResponse, broker: str, *, include_internal: bool) -> list[str] | KafkaError:
    if response.error_code:
        return broker_error(response.error_code, "read metadata")
    return malformed_metadata(response, broker) or sorted(
        topic.name
        for topic in response.topics
        if topic.name is not None and (include_internal or not topic.is_internal)
    )
