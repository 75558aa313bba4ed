"""DescribeQuorum of the log of metadata, whose leader is the active controller of a KRaft cluster."""

from kctl.client.protocol.api.cluster import (
    DescribeQuorumRequest,
    DescribeQuorumRequestPartitionData,
    DescribeQuorumRequestTopicData,
)

METADATA_TOPIC = "__cluster_metadata"


def quorum_request() -> DescribeQuorumRequest:
    """Return the request for the quorum of controllers."""
    partition = DescribeQuorumRequestPartitionData(partition_index=0)
    return DescribeQuorumRequest(
        topics=[DescribeQuorumRequestTopicData(topic_name=METADATA_TOPIC, partitions=[partition])]
    )
