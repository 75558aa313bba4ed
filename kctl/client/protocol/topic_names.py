"""Metadata about all topics without their partitions, which take most of the time to decode."""

from kctl.client.protocol.api.metadata import (
    MetadataRequest,
    MetadataRequestTopic,
    MetadataResponse,
    MetadataResponseBroker,
    MetadataResponsePartition,
)
from kctl.client.protocol.schema import ZERO_UUID, Request, Response, Struct, field


class NamedTopic(Struct):
    error_code: int = field("int16", "0+", default=0)
    name: str | None = field("string", "0+", default="", nullable="12+")
    topic_id: bytes = field("uuid", "10+", default=ZERO_UUID, ignorable=True)
    is_internal: bool = field("bool", "1+", default=False, ignorable=True)
    partitions: list[MetadataResponsePartition] = field([MetadataResponsePartition], "0+", factory=list, skipped=True)
    topic_authorized_operations: int = field("int32", "8+", default=-2147483648)


class TopicNamesResponse(
    Response,
    api_key=MetadataResponse.API_KEY,
    versions=MetadataResponse.VALID_VERSIONS,
    flexible_from=MetadataResponse.FLEXIBLE_FROM,
):
    NAME = MetadataResponse.NAME

    throttle_time_ms: int = field("int32", "3+", default=0, ignorable=True)
    brokers: list[MetadataResponseBroker] = field([MetadataResponseBroker], "0+", factory=list)
    cluster_id: str | None = field("string", "2+", default=None, nullable="2+", ignorable=True)
    controller_id: int = field("int32", "1+", default=-1, ignorable=True)
    topics: list[NamedTopic] = field([NamedTopic], "0+", factory=list)
    cluster_authorized_operations: int = field("int32", "8-10", default=-2147483648)
    error_code: int = field("int16", "13+", default=0, ignorable=True)


class TopicNamesRequest(Request, response=TopicNamesResponse):
    NAME = MetadataRequest.NAME

    topics: list[MetadataRequestTopic] | None = field([MetadataRequestTopic], "0+", factory=list, nullable="1+")
    allow_auto_topic_creation: bool = field("bool", "4+", default=True)
    include_cluster_authorized_operations: bool = field("bool", "8-10", default=False)
    include_topic_authorized_operations: bool = field("bool", "8+", default=False)
