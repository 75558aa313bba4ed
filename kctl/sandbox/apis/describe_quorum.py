"""DescribeQuorum: all nodes are voters, and the controller leads. Nodes with held metadata lag."""

from typing import TYPE_CHECKING

from kctl.client.broker_errors import ErrorCode
from kctl.client.protocol.api.cluster import (
    DescribeQuorumRequest,
    DescribeQuorumResponse,
    PartitionData,
    ReplicaState,
    TopicData,
)
from kctl.sandbox.call import Call, Handler

if TYPE_CHECKING:
    from kctl.sandbox.cluster import ClusterNode

_TOPIC = "__cluster_metadata"
_END_OFFSET, _HELD_OFFSET = 1_000, 900


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
    return PartitionData(
        partition_index=0,
        leader_id=_leader_id(call),
        leader_epoch=call.cluster.quorum.epoch,
        high_watermark=_END_OFFSET,
        current_voters=[_voter(node, now_ms) for node in call.cluster.nodes.values()],
    )


def _leader_id(call: Call) -> int:
    leader_id = call.cluster.quorum.leader_id
    assert leader_id is not None  # the request is executed by the leader
    return leader_id


def _voter(node: "ClusterNode", now_ms: int) -> ReplicaState:
    held_at_ms = node.state.held_at_ms
    followed_at_ms = now_ms if held_at_ms is None else held_at_ms
    return ReplicaState(
        replica_id=node.node_id,
        log_end_offset=_END_OFFSET if held_at_ms is None else _HELD_OFFSET,
        last_fetch_timestamp=followed_at_ms,
        last_caught_up_timestamp=followed_at_ms,
    )


HANDLER = Handler(DescribeQuorumRequest, 0, 2, _answer)
