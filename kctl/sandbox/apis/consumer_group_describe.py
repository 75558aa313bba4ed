"""ConsumerGroupDescribe: groups of the consumer protocol, with current and target assignments."""

from itertools import groupby

from kctl.client.broker_errors import ErrorCode
from kctl.client.protocol.api.consumer_groups import (
    ConsumerGroupDescribeRequest,
    ConsumerGroupDescribeResponse,
    ConsumerGroupDescribeResponseAssignment,
    ConsumerGroupDescribeResponseTopicPartitions,
    DescribedGroup,
    Member,
)
from kctl.sandbox.apis.describe_groups import ALL_GROUP_OPERATIONS
from kctl.sandbox.call import Call, Handler
from kctl.sandbox.cluster import Cluster
from kctl.sandbox.groups.consumer import ConsumerGroup
from kctl.sandbox.groups.consumer_member import ConsumerMember
from kctl.sandbox.groups.outbox import Refused, no_group
from kctl.sandbox.groups.reconciliation import Slot
from kctl.sandbox.groups.surroundings import CLIENT_HOST

_SPEAKS_CLASSIC_PROTOCOL, _SPEAKS_CONSUMER_PROTOCOL = 0, 1


def _answer(call: Call, request: ConsumerGroupDescribeRequest) -> ConsumerGroupDescribeResponse:
    groups = [_group(call, group_id) for group_id in request.group_ids]
    if request.include_authorized_operations:
        for group in groups:
            if group.error_code == ErrorCode.NONE:
                group.authorized_operations = ALL_GROUP_OPERATIONS
    return ConsumerGroupDescribeResponse(groups=groups)


def _group(call: Call, group_id: str) -> DescribedGroup:
    try:
        call.cluster.groups.check(group_id, call.node)
        group = call.cluster.groups.get(group_id)
        if not isinstance(group, ConsumerGroup):
            raise no_group(group_id, "consumer group", exists=group is not None)
    except Refused as refusal:
        return DescribedGroup(group_id=group_id, error_code=refusal.code, error_message=refusal.message)
    return DescribedGroup(
        group_id=group_id,
        group_state=group.state_name,
        group_epoch=group.epoch,
        assignment_epoch=group.target_epoch,
        assignor_name=group.assignor,
        members=[_member(call.cluster, group, member) for member in group.members.values()],
    )


def _member(cluster: Cluster, group: ConsumerGroup, member: ConsumerMember) -> Member:
    return Member(
        member_id=member.member_id,
        instance_id=member.instance_id,
        rack_id=member.rack_id,
        member_epoch=member.progress.epoch,
        client_id=member.client_id,
        client_host=CLIENT_HOST,
        subscribed_topic_names=list(member.topic_names),
        subscribed_topic_regex=member.regex,
        assignment=_assignment(cluster, member.progress.assigned + member.progress.revoking),
        target_assignment=_assignment(cluster, group.target.get(member.member_id, ())),
        member_type=_SPEAKS_CONSUMER_PROTOCOL if member.classic_protocols is None else _SPEAKS_CLASSIC_PROTOCOL,
    )


def _assignment(cluster: Cluster, slots: tuple[Slot, ...]) -> ConsumerGroupDescribeResponseAssignment:
    topics = []
    for topic_id, of_topic in groupby(sorted(slots), key=lambda slot: slot.topic_id):
        topic = cluster.topic_of_id(topic_id)
        if topic is not None:
            indexes = [slot.partition for slot in of_topic]
            topics.append(
                ConsumerGroupDescribeResponseTopicPartitions(
                    topic_id=topic_id, topic_name=topic.name, partitions=indexes
                )
            )
    return ConsumerGroupDescribeResponseAssignment(topic_partitions=topics)


HANDLER = Handler(ConsumerGroupDescribeRequest, 0, 1, _answer)
