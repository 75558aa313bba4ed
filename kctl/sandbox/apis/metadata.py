"""Metadata: brokers, topics, and leaders. Creates topics if the request and the cluster allow it."""

from kctl.client.broker_errors import ErrorCode
from kctl.client.protocol.api.metadata import (
    MetadataRequest,
    MetadataRequestTopic,
    MetadataResponse,
    MetadataResponseBroker,
    MetadataResponsePartition,
    MetadataResponseTopic,
)
from kctl.client.protocol.schema import ZERO_UUID
from kctl.client.topic_names import is_topic_name
from kctl.sandbox.call import Call, Handler
from kctl.sandbox.cluster import Topic, TopicRefused
from kctl.sandbox.groups.offsets_topic import OFFSETS_TOPIC
from kctl.sandbox.partition import NO_LEADER, Partition

ALL_TOPIC_OPERATIONS = 0b1101_1111_1000
"""Read, write, create, delete, alter, describe, describe configs, alter configs: bits of Kafka's AclOperation."""


def _answer(call: Call, request: MetadataRequest) -> MetadataResponse:
    cluster = call.cluster
    if request.topics is None or (call.version == 0 and not request.topics):
        topics = [_topic(call, topic) for topic in call.node.state.known_topics(cluster.topics).values()]
    else:
        topics = [_asked(call, request, asked) for asked in request.topics]
    if request.include_topic_authorized_operations:
        for topic in topics:
            topic.topic_authorized_operations = ALL_TOPIC_OPERATIONS
    return MetadataResponse(
        brokers=[
            MetadataResponseBroker(node_id=node.node_id, host=node.host, port=node.port, rack=node.rack)
            for node in cluster.nodes.values()
            if node.state.is_listed
        ],
        cluster_id=cluster.settings.cluster_id,
        controller_id=cluster.forwarding_id,
        topics=topics,
    )


def _asked(call: Call, request: MetadataRequest, asked: MetadataRequestTopic) -> MetadataResponseTopic:
    topics = call.node.state.known_topics(call.cluster.topics)
    if asked.name is None or asked.topic_id != ZERO_UUID:
        topic = call.cluster.topic_of_id(asked.topic_id)
        if topics is not call.cluster.topics:
            topic = next((each for each in topics.values() if each.topic_id == asked.topic_id), None)
        if topic is not None:
            return _topic(call, topic)
        name = None if call.version >= 12 else ""
        return MetadataResponseTopic(error_code=ErrorCode.UNKNOWN_TOPIC_ID, name=name, topic_id=asked.topic_id)
    topic = topics.get(asked.name)
    if topic is not None:
        return _topic(call, topic)
    if asked.name in call.cluster.topics:
        return MetadataResponseTopic(error_code=ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, name=asked.name)
    return MetadataResponseTopic(error_code=_unknown(call, request, asked.name), name=asked.name)


def _unknown(call: Call, request: MetadataRequest, name: str) -> ErrorCode:
    if not is_topic_name(name):
        return ErrorCode.INVALID_TOPIC_EXCEPTION
    may_create = call.version < 4 or request.allow_auto_topic_creation
    has_controller = call.cluster.quorum.leader_id is not None
    if may_create and has_controller and call.cluster.settings.auto_create_topics_enable:
        try:
            if name == OFFSETS_TOPIC:
                call.cluster.groups.topic.create()
            else:
                call.cluster.create_topic(name)
        except TopicRefused as error:
            return error.code
    return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


def _topic(call: Call, topic: Topic) -> MetadataResponseTopic:
    return MetadataResponseTopic(
        name=topic.name,
        topic_id=topic.topic_id,
        is_internal=topic.name == OFFSETS_TOPIC,
        partitions=[_partition(call, partition) for partition in topic.partitions.values()],
    )


def _partition(call: Call, partition: Partition) -> MetadataResponsePartition:
    known = call.node.state.leadership(partition)
    has_leader = known.leader_id != NO_LEADER
    replicas = call.cluster.reassignments.replicas_in_metadata(partition)
    return MetadataResponsePartition(
        error_code=ErrorCode.NONE if has_leader else ErrorCode.LEADER_NOT_AVAILABLE,
        partition_index=partition.index,
        leader_id=known.leader_id,
        leader_epoch=known.leader_epoch,
        replica_nodes=list(replicas),
        isr_nodes=[each for each in known.in_sync if each in replicas],
        offline_replicas=[each for each in replicas if call.cluster.nodes[each].state.is_disk_offline],
    )


HANDLER = Handler(MetadataRequest, 0, 13, _answer)
