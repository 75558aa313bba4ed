"""ShareGroupDescribe: share groups and the assignments of members. Source: KIP-932."""

from kctl.client.protocol.api.share_groups import (
    Assignment,
    DescribedGroup,
    Member,
    ShareGroupDescribeRequest,
    ShareGroupDescribeResponse,
    TopicPartitions,
)
from kctl.sandbox.apis.describe_groups import ALL_GROUP_OPERATIONS
from kctl.sandbox.call import Call, Handler
from kctl.sandbox.groups.outbox import Refused
from kctl.sandbox.groups.share import ShareGroup, ShareMember
from kctl.sandbox.groups.surroundings import CLIENT_HOST


def _answer(call: Call, request: ShareGroupDescribeRequest) -> ShareGroupDescribeResponse:
    groups = [_group(call, group_id) for group_id in request.group_ids]
    for group in groups:
        if request.include_authorized_operations and not group.error_code:
            group.authorized_operations = ALL_GROUP_OPERATIONS
    return ShareGroupDescribeResponse(groups=groups)


def _group(call: Call, group_id: str) -> DescribedGroup:
    try:
        call.cluster.groups.check(group_id, call.node)
        group = call.cluster.groups.share(group_id, create=False)
    except Refused as refusal:
        return DescribedGroup(group_id=group_id, error_code=refusal.code, error_message=refusal.message)
    return DescribedGroup(
        group_id=group_id,
        group_state=group.state_name,
        group_epoch=group.epoch,
        assignment_epoch=group.epoch,
        assignor_name=group.assignor,
        members=[_member(call, group, member) for member in group.members.values()],
    )


def _member(call: Call, group: ShareGroup, member: ShareMember) -> Member:
    shares = [
        TopicPartitions(topic_id=call.cluster.topics[name].topic_id, topic_name=name, partitions=indexes)
        for name, indexes in group.assignment(member).items()
    ]
    return Member(
        member_id=member.member_id,
        rack_id=member.rack_id,
        member_epoch=member.epoch,
        client_id=member.client_id,
        client_host=CLIENT_HOST,
        subscribed_topic_names=list(member.topic_names),
        assignment=Assignment(topic_partitions=shares),
    )


HANDLER = Handler(ShareGroupDescribeRequest, 1, 1, _answer)
