"""ListPartitionReassignments: ongoing reassignments, of all or of some partitions."""

from kctl.client.protocol.api.reassignments import (
    ListPartitionReassignmentsRequest,
    ListPartitionReassignmentsResponse,
    OngoingPartitionReassignment,
    OngoingTopicReassignment,
)
from kctl.sandbox.call import Call, Handler


def _answer(call: Call, request: ListPartitionReassignmentsRequest) -> ListPartitionReassignmentsResponse:
    wanted = None if request.topics is None else {each.name: each.partition_indexes for each in request.topics}
    topics: dict[str, OngoingTopicReassignment] = {}
    for (topic, index), move in call.cluster.reassignments.moves.items():
        if wanted is None or index in wanted.get(topic, ()):
            ongoing = topics.setdefault(topic, OngoingTopicReassignment(name=topic))
            ongoing.partitions.append(
                OngoingPartitionReassignment(
                    partition_index=index,
                    replicas=[*move.target, *move.removing],
                    adding_replicas=move.adding,
                    removing_replicas=move.removing,
                )
            )
    return ListPartitionReassignmentsResponse(error_message=None, topics=list(topics.values()))


HANDLER = Handler(ListPartitionReassignmentsRequest, 0, 0, _answer)
