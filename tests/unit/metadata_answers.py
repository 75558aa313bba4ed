"""Metadata answers in a few words: `answer(topic("t", leader(0, node=1, epoch=5)))`."""

from kctl.client.broker_errors import ErrorCode
from kctl.client.cluster import NO_TOPIC_ID
from kctl.client.protocol.api.metadata import (
    MetadataResponse,
    MetadataResponseBroker,
    MetadataResponsePartition,
    MetadataResponseTopic,
)


def answer(*topics: MetadataResponseTopic, nodes: tuple[int, ...] = (1, 2), error: int = 0) -> MetadataResponse:
    brokers = [MetadataResponseBroker(node_id=node_id, host=f"n{node_id}", port=9092) for node_id in nodes]
    return MetadataResponse(
        brokers=brokers, controller_id=1, cluster_id="c", topics=list(topics), error_code=int(error)
    )


def topic(
    name: str, *partitions: MetadataResponsePartition, topic_id: bytes = NO_TOPIC_ID, error: int = 0
) -> MetadataResponseTopic:
    return MetadataResponseTopic(name=name, topic_id=topic_id, partitions=list(partitions), error_code=int(error))


def leader(partition: int, node: int, epoch: int = -1) -> MetadataResponsePartition:
    return MetadataResponsePartition(partition_index=partition, leader_id=node, leader_epoch=epoch)


def leaderless(partition: int) -> MetadataResponsePartition:
    return MetadataResponsePartition(
        partition_index=partition, leader_id=-1, error_code=int(ErrorCode.LEADER_NOT_AVAILABLE)
    )
