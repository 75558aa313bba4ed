"""ElectLeaders: elects the preferred replica, or in an unclean election any available replica if there is no leader."""

from kctl.client.broker_errors import ErrorCode
from kctl.client.protocol.api.reassignments import (
    ElectLeadersRequest,
    ElectLeadersResponse,
    PartitionResult,
    ReplicaElectionResult,
)
from kctl.sandbox.call import Call, Handler
from kctl.sandbox.partition import NO_LEADER, Partition

_UNCLEAN = 1


def _answer(call: Call, request: ElectLeadersRequest) -> ElectLeadersResponse:
    is_for_all = request.topic_partitions is None
    asked = [(each.topic, each.partitions) for each in request.topic_partitions or ()]
    if is_for_all:
        asked = [(topic.name, list(topic.partitions)) for topic in call.cluster.topics.values()]
    results = []
    for topic, indexes in asked:
        codes = {index: _elect(call, topic, index, is_unclean=request.election_type == _UNCLEAN) for index in indexes}
        found = [
            PartitionResult(partition_id=index, error_code=code, error_message=None)
            for index, code in codes.items()
            if not (is_for_all and code == ErrorCode.ELECTION_NOT_NEEDED)
        ]
        results.append(ReplicaElectionResult(topic=topic, partition_result=found))
    return ElectLeadersResponse(replica_election_results=results)


def _elect(call: Call, topic: str, index: int, *, is_unclean: bool) -> ErrorCode:
    partition = call.cluster.partition(topic, index)
    if partition is None:
        return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    wanted = _unclean_leader(call, partition) if is_unclean else _preferred_leader(call, partition)
    if isinstance(wanted, ErrorCode):
        return wanted
    call.cluster.move_leader(topic, index, wanted)
    return ErrorCode.NONE


def _unclean_leader(call: Call, partition: Partition) -> int | ErrorCode:
    if partition.leader_id != NO_LEADER:
        return ErrorCode.ELECTION_NOT_NEEDED
    able = [each for each in partition.replicas if _is_up(call, each)]
    return able[0] if able else ErrorCode.ELIGIBLE_LEADERS_NOT_AVAILABLE


def _preferred_leader(call: Call, partition: Partition) -> int | ErrorCode:
    wanted = partition.replicas[0]
    if partition.leader_id == wanted:
        return ErrorCode.ELECTION_NOT_NEEDED
    return wanted if _can_lead(call, partition, wanted) else ErrorCode.PREFERRED_LEADER_NOT_AVAILABLE


def _can_lead(call: Call, partition: Partition, node_id: int) -> bool:
    return node_id in partition.in_sync and _is_up(call, node_id)


def _is_up(call: Call, node_id: int) -> bool:
    return not call.cluster.nodes[node_id].faults.is_down


HANDLER = Handler(ElectLeadersRequest, 0, 2, _answer)
