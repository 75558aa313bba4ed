"""StreamsGroupDescribe: streams groups, their topology, and the tasks of members. Source: KIP-1071."""

from kctl.client.protocol.api.streams_groups import (
    Assignment,
    DescribedGroup,
    Member,
    StreamsGroupDescribeRequest,
    StreamsGroupDescribeResponse,
    Subtopology,
    TaskIds,
    Topology,
)
from kctl.sandbox.apis.describe_groups import ALL_GROUP_OPERATIONS
from kctl.sandbox.call import Call, Handler
from kctl.sandbox.groups.outbox import Refused
from kctl.sandbox.groups.streams import StreamsGroup, StreamsMember
from kctl.sandbox.groups.surroundings import CLIENT_HOST


def _answer(call: Call, request: StreamsGroupDescribeRequest) -> StreamsGroupDescribeResponse:
    groups = [_group(call, group_id) for group_id in request.group_ids]
    for group in groups:
        if request.include_authorized_operations and not group.error_code:
            group.authorized_operations = ALL_GROUP_OPERATIONS
    return StreamsGroupDescribeResponse(groups=groups)


def _group(call: Call, group_id: str) -> DescribedGroup:
    try:
        call.cluster.groups.check(group_id, call.node)
        group = call.cluster.groups.streams(group_id, create=False)
    except Refused as refusal:
        return DescribedGroup(group_id=group_id, error_code=refusal.code, error_message=refusal.message)
    return DescribedGroup(
        group_id=group_id,
        group_state=group.state_name,
        group_epoch=group.epoch,
        assignment_epoch=group.epoch,
        topology=_topology(group),
        members=[_member(group, member) for member in group.members.values()],
    )


def _topology(group: StreamsGroup) -> Topology | None:
    if group.topology is None:
        return None
    parts = [
        Subtopology(
            subtopology_id=part.subtopology_id,
            source_topics=part.source_topics,
            repartition_sink_topics=part.repartition_sink_topics,
            state_changelog_topics=part.state_changelog_topics,
            repartition_source_topics=part.repartition_source_topics,
        )
        for part in group.topology.subtopologies
    ]
    return Topology(epoch=group.topology.epoch, subtopologies=parts)


def _member(group: StreamsGroup, member: StreamsMember) -> Member:
    tasks = [TaskIds(subtopology_id=name, partitions=each) for name, each in group.tasks_of(member).items()]
    return Member(
        member_id=member.member_id,
        member_epoch=member.epoch,
        instance_id=member.instance_id,
        rack_id=member.rack_id,
        client_id=member.client_id,
        client_host=CLIENT_HOST,
        process_id=member.process_id,
        assignment=Assignment(active_tasks=tasks),
        target_assignment=Assignment(active_tasks=tasks),
    )


HANDLER = Handler(StreamsGroupDescribeRequest, 0, 0, _answer)
