"""AlterPartitionReassignments: starts or cancels the reassignment of each partition separately."""

from kctl.client.broker_errors import ErrorCode
from kctl.client.protocol.api.reassignments import (
    AlterPartitionReassignmentsRequest,
    AlterPartitionReassignmentsResponse,
    ReassignablePartition,
    ReassignablePartitionResponse,
    ReassignableTopicResponse,
)
from kctl.sandbox.call import Call, Handler
from kctl.sandbox.groups.outbox import Refused


def _answer(call: Call, request: AlterPartitionReassignmentsRequest) -> AlterPartitionReassignmentsResponse:
    may_resize = request.allow_replication_factor_change
    return AlterPartitionReassignmentsResponse(
        allow_replication_factor_change=may_resize,
        error_message=None,
        responses=[
            ReassignableTopicResponse(
                name=topic.name,
                partitions=[_alter(call, topic.name, each, may_resize=may_resize) for each in topic.partitions],
            )
            for topic in request.topics
        ],
    )


def _alter(call: Call, topic: str, asked: ReassignablePartition, *, may_resize: bool) -> ReassignablePartitionResponse:
    response = ReassignablePartitionResponse(partition_index=asked.partition_index, error_message=None)
    partition = call.cluster.partition(topic, asked.partition_index)
    if not may_resize and partition is not None and asked.replicas is not None:
        move = call.cluster.reassignments.moves.get((topic, asked.partition_index))
        if len(asked.replicas) != len(partition.replicas if move is None else move.original):
            response.error_code = ErrorCode.INVALID_REPLICATION_FACTOR
            return response
    try:
        call.cluster.reassignments.alter(topic, asked.partition_index, asked.replicas)
    except Refused as error:
        response.error_code = error.code
    return response


HANDLER = Handler(AlterPartitionReassignmentsRequest, 0, 1, _answer)
