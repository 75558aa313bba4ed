"""Quorum of controllers, and fenced brokers."""

from kctl.client.protocol.api.cluster import (
    DescribeQuorumRequest,
    DescribeQuorumRequestPartitionData,
    DescribeQuorumRequestTopicData,
)

METADATA_TOPIC = "__cluster_metadata"
FIRST_VERSION_WITH_FENCED = 2
"""First version of DescribeCluster that reports fenced brokers (KIP-1073, Kafka 4.0)."""


def quorum_request() -> DescribeQuorumRequest:
    partition = DescribeQuorumRequestPartitionData(partition_index=0)
    return DescribeQuorumRequest(
        topics=[DescribeQuorumRequestTopicData(topic_name=METADATA_TOPIC, partitions=[partition])]
    )
