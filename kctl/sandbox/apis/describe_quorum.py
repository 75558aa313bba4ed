"""DescribeQuorum: every node is a voter and has all metadata; the controller leads."""

from kctl.client.broker_errors import ErrorCode
from kctl.client.protocol.api.describe_quorum import (
    DescribeQuorumRequest,
    DescribeQuorumResponse,
    PartitionData,
    ReplicaState,
    TopicData,
)
from kctl.sandbox.call import Call, Handler

_TOPIC = "__cluster_metadata"
_END_OFFSET = 1_000


def _answer(call: Call, request: DescribeQuorumRequest) -> DescribeQuorumResponse:
    return DescribeQuorumResponse(
        topics=[
            TopicData(
                topic_name=topic.topic_name,
                partitions=[_partition(call, topic.topic_name, each.partition_index) for each in topic.partitions],
            )
            for topic in request.topics
        ]
    )


def _partition(call: Call, topic: str, index: int) -> PartitionData:
    if (topic, index) != (_TOPIC, 0):
        return PartitionData(partition_index=index, error_code=ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
    now_ms = call.cluster.scheduler.wall_ms()
    voters = [
        ReplicaState(
            replica_id=node_id,
            log_end_offset=_END_OFFSET,
            last_fetch_timestamp=now_ms,
            last_caught_up_timestamp=now_ms,
        )
        for node_id in call.cluster.nodes
    ]
    return PartitionData(
        partition_index=0,
        leader_id=call.cluster.controller_id,
        leader_epoch=1,
        high_watermark=_END_OFFSET,
        current_voters=voters,
    )


HANDLER = Handler(DescribeQuorumRequest, 0, 2, _answer)
