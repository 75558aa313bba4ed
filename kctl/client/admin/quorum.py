"""The quorum of controllers: who leads it, who votes and who only copies, and how far each is behind.

Shown by tests/sim/admin/test_cluster.py.
"""

from typing import NamedTuple

from kctl.client.admin.call import Call, any_node
from kctl.client.broker_errors import broker_error
from kctl.client.errors import RemoteProtocolError
from kctl.client.protocol.api.cluster import (
    DescribeQuorumRequest,
    DescribeQuorumRequestPartitionData,
    DescribeQuorumRequestTopicData,
    DescribeQuorumResponse,
    ReplicaState,
)

METADATA_TOPIC = "__cluster_metadata"


class QuorumReplica(NamedTuple):
    """A controller or broker that has the log of metadata.

    Attributes:
        is_voter: it takes part in the election of the leader; others are observers.
        lag: records that it lacks.
        last_fetch_at_ms, last_caught_up_at_ms: instants by the leader's clock; -1 where it does not report them.
    """

    node_id: int
    is_voter: bool
    log_end_offset: int
    lag: int
    last_fetch_at_ms: int
    last_caught_up_at_ms: int


class QuorumDescription(NamedTuple):
    """The quorum, as its leader describes it."""

    leader_id: int
    leader_epoch: int
    high_watermark: int
    replicas: tuple[QuorumReplica, ...]


def describe_quorum(call: Call) -> QuorumDescription:
    """Return the quorum; a broker passes the request on to the leader."""
    topic = DescribeQuorumRequestTopicData(
        topic_name=METADATA_TOPIC, partitions=[DescribeQuorumRequestPartitionData(partition_index=0)]
    )
    while True:
        response = call.ask(any_node, lambda _: DescribeQuorumRequest(topics=[topic]), DescribeQuorumResponse)
        parts = [part for each in response.topics for part in each.partitions]
        code = response.error_code or next((part.error_code for part in parts if part.error_code), 0)
        if not code:
            break
        call.pause(broker_error(code, "DescribeQuorum", response.error_message or None))
    if len(parts) != 1:
        raise RemoteProtocolError(f"DescribeQuorum: {len(parts)} partitions of {METADATA_TOPIC}", api="DescribeQuorum")
    [part] = parts
    end = max((each.log_end_offset for each in part.current_voters if each.replica_id == part.leader_id), default=-1)

    def replica(state: ReplicaState, *, is_voter: bool) -> QuorumReplica:
        lag = max(0, end - state.log_end_offset) if end >= 0 and state.log_end_offset >= 0 else -1
        return QuorumReplica(
            state.replica_id,
            is_voter,
            state.log_end_offset,
            lag,
            state.last_fetch_timestamp,
            state.last_caught_up_timestamp,
        )

    replicas = [
        *(replica(each, is_voter=True) for each in part.current_voters),
        *(replica(each, is_voter=False) for each in part.observers),
    ]
    return QuorumDescription(part.leader_id, part.leader_epoch, part.high_watermark, tuple(replicas))
