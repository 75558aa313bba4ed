"""Descriptions of groups by ConsumerGroupDescribe, DescribeGroups, ShareGroupDescribe, or StreamsGroupDescribe.

Because the type of a group is unknown, the APIs that the coordinator has are tried in this order.

Source: KIP-848, KIP-932, KIP-1071 and Java's DescribeConsumerGroupsHandler.
"""

from collections.abc import Iterable, Iterator, Sequence

from kctl.client.admin.call import Call, Items, Results
from kctl.client.admin.coordinators import Coordinators
from kctl.client.admin.group_values import (
    CLASSIC,
    CONSUMER,
    CONSUMER_PROTOCOL,
    SHARE,
    STREAMS,
    GroupDescription,
    MemberDescription,
)
from kctl.client.broker_errors import ErrorCode, broker_error
from kctl.client.cluster import Node, TopicPartition
from kctl.client.errors import BrokerError, KafkaError, ProtocolError
from kctl.client.protocol.api import consumer_groups, groups, share_groups, streams_groups
from kctl.client.protocol.api.consumer_groups import ConsumerGroupDescribeRequest, ConsumerGroupDescribeResponse
from kctl.client.protocol.api.consumer_protocol_assignment import ConsumerProtocolAssignment
from kctl.client.protocol.api.consumer_protocol_subscription import ConsumerProtocolSubscription
from kctl.client.protocol.api.groups import DescribeGroupsRequest, DescribeGroupsResponse
from kctl.client.protocol.api.share_groups import ShareGroupDescribeRequest, ShareGroupDescribeResponse
from kctl.client.protocol.api.streams_groups import StreamsGroupDescribeRequest, StreamsGroupDescribeResponse
from kctl.client.protocol.codec import decode_member_data
from kctl.client.protocol.schema import Request, Response

_DEAD = "Dead"
"""State of groups that do not exist, in brokers before 4.0."""
_NOT_THIS_TYPE = frozenset({ErrorCode.GROUP_ID_NOT_FOUND, ErrorCode.UNSUPPORTED_VERSION})
_CLASSIC_MEMBER = 0


def describe_all(call: Call, group_ids: Sequence[str]) -> Results[str, GroupDescription]:
    coordinators = Coordinators(call)
    found: list[tuple[str, GroupDescription | KafkaError]] = []
    """Results of earlier responses for the groups of the last one."""
    missing: dict[str, KafkaError] = {}
    asked = frozenset(group_ids)

    def build(node_id: int, groups: list[str]) -> Request:
        found[:] = [(group_id, each) for group_id, each in found if group_id not in groups]
        if call.client.network.supports(node_id, ConsumerGroupDescribeRequest):
            return ConsumerGroupDescribeRequest(group_ids=groups)
        return DescribeGroupsRequest(groups=groups)

    def described(response: Response) -> tuple[list[tuple[str, GroupDescription | KafkaError]], list[str]]:
        """Return the groups of a response, and the ids of groups that do not exist or have another type."""
        of_type: list[tuple[str, GroupDescription | KafkaError]] = []
        others = []
        for group_id, each in _decoded(response, coordinators):
            if group_id not in asked:
                continue
            if isinstance(each, BrokerError) and each.code in _NOT_THIS_TYPE:
                others.append(group_id)
                if isinstance(response, DescribeGroupsResponse):
                    missing[group_id] = each
            else:
                of_type.append((group_id, each))
        return of_type, others

    def ask_about_others(response: Response) -> Request | None:
        of_type, others = described(response)
        further = _further(response, others) if others else None
        if further is not None:
            node = coordinators.node(others[0])
            if node is None or not call.client.network.supports(node.node_id, type(further)):
                return None
            found.extend(of_type)
        return further

    def read(response: Response) -> Items[str, GroupDescription]:
        of_type, others = described(response)
        return [*found, *of_type, *((group_id, missing[group_id]) for group_id in others if group_id in missing)]

    results = coordinators.each_group(group_ids, build, read, follow=ask_about_others)
    order = [group_id for group_id in dict.fromkeys(group_ids) if group_id in results.done]
    return Results({group_id: results.done[group_id] for group_id in order}, results.failed)


def _further(response: Response, others: list[str]) -> Request | None:
    if isinstance(response, ConsumerGroupDescribeResponse):
        return DescribeGroupsRequest(groups=others)
    if isinstance(response, DescribeGroupsResponse):
        return ShareGroupDescribeRequest(group_ids=others)
    if isinstance(response, ShareGroupDescribeResponse):
        return StreamsGroupDescribeRequest(group_ids=others)
    return None


def _decoded(response: Response, coordinators: Coordinators) -> Iterator[tuple[str, GroupDescription | KafkaError]]:
    for group in getattr(response, "groups", ()):
        node = coordinators.node(group.group_id)
        if isinstance(response, ConsumerGroupDescribeResponse):
            members = map(_consumer_member, group.members)
            yield group.group_id, _of_type(CONSUMER, group, node, members, group.assignor_name)
        elif isinstance(response, ShareGroupDescribeResponse):
            members = map(_share_member, group.members)
            yield group.group_id, _of_type(SHARE, group, node, members, group.assignor_name)
        elif isinstance(response, StreamsGroupDescribeResponse):
            yield group.group_id, _of_streams(group, node)
        else:
            yield group.group_id, _of_classic(group, node)


def _of_type(
    type_: str,
    found: consumer_groups.DescribedGroup | share_groups.DescribedGroup | streams_groups.DescribedGroup,
    coordinator: Node | None,
    members: Iterable[MemberDescription],
    assignor: str = "",
) -> GroupDescription | KafkaError:
    if found.error_code:
        what = f"describe group {found.group_id}"
        return broker_error(found.error_code, what, found.error_message)
    return GroupDescription(
        group_id=found.group_id,
        type=type_,
        state=found.group_state,
        protocol_type=type_,
        assignor=assignor,
        coordinator=coordinator,
        members=tuple(members),
        epoch=found.group_epoch,
        target_epoch=found.assignment_epoch,
    )


def _flat(by_topic: Iterable[tuple[str, Sequence[int]]]) -> tuple[TopicPartition, ...]:
    return tuple(sorted(TopicPartition(topic, index) for topic, indexes in by_topic for index in indexes))


# --- KIP-848 --------------------------------------------------------------------------------------------------------


def _consumer_member(member: consumer_groups.Member) -> MemberDescription:
    return MemberDescription(
        member_id=member.member_id,
        group_instance_id=member.instance_id,
        client_id=member.client_id,
        host=member.client_host.lstrip("/"),
        assignment=_flat((each.topic_name, each.partitions) for each in member.assignment.topic_partitions),
        subscribed_topics=tuple(member.subscribed_topic_names),
        target_assignment=_flat(
            (each.topic_name, each.partitions) for each in member.target_assignment.topic_partitions
        ),
        epoch=member.member_epoch,
        subscribed_regex=member.subscribed_topic_regex or None,
        rack=member.rack_id,
        is_classic=member.member_type == _CLASSIC_MEMBER,
    )


def _share_member(member: share_groups.Member) -> MemberDescription:
    return MemberDescription(
        member_id=member.member_id,
        group_instance_id=None,
        client_id=member.client_id,
        host=member.client_host.lstrip("/"),
        assignment=_flat((each.topic_name, each.partitions) for each in member.assignment.topic_partitions),
        subscribed_topics=tuple(member.subscribed_topic_names),
        epoch=member.member_epoch,
        rack=member.rack_id,
    )


# --- streams groups -------------------------------------------------------------------------------------------------


def _of_streams(found: streams_groups.DescribedGroup, coordinator: Node | None) -> GroupDescription | KafkaError:
    parts = (found.topology.subtopologies or []) if found.topology is not None else []
    subtopologies = {part.subtopology_id: part for part in parts}
    topics = tuple(sorted({topic for part in parts for topic in part.source_topics}))

    def describe(member: streams_groups.Member) -> MemberDescription:
        return MemberDescription(
            member_id=member.member_id,
            group_instance_id=member.instance_id,
            client_id=member.client_id,
            host=member.client_host.lstrip("/"),
            assignment=_read_by(member.assignment.active_tasks, subtopologies),
            subscribed_topics=topics,
            target_assignment=_read_by(member.target_assignment.active_tasks, subtopologies),
            epoch=member.member_epoch,
            rack=member.rack_id,
            is_classic=member.is_classic,
            tasks=_by_subtopology(member.assignment.active_tasks),
            standby_tasks=_by_subtopology(member.assignment.standby_tasks),
        )

    return _of_type(STREAMS, found, coordinator, map(describe, found.members))


def _by_subtopology(tasks: Iterable[streams_groups.TaskIds]) -> dict[str, Sequence[int]]:
    return {each.subtopology_id: sorted(each.partitions) for each in tasks}


def _read_by(
    tasks: Iterable[streams_groups.TaskIds], subtopologies: dict[str, streams_groups.Subtopology]
) -> tuple[TopicPartition, ...]:
    """Return the partitions that tasks read: in each source topic, the partition with the number of the task."""

    def sources() -> Iterator[tuple[str, Sequence[int]]]:
        for task in tasks:
            part = subtopologies.get(task.subtopology_id)
            if part is not None:
                names = [*part.source_topics, *(info.name for info in part.repartition_source_topics)]
                yield from ((name, task.partitions) for name in names)

    return _flat(sources())


# --- the classic protocol -------------------------------------------------------------------------------------------


def _of_classic(found: groups.DescribedGroup, coordinator: Node | None) -> GroupDescription | KafkaError:
    what = f"describe group {found.group_id}"
    if found.error_code:
        return broker_error(found.error_code, what, found.error_message)
    if found.group_state == _DEAD:
        return broker_error(ErrorCode.GROUP_ID_NOT_FOUND, what)
    is_of_consumers = found.protocol_type == CONSUMER_PROTOCOL
    try:
        members = tuple(_classic_member(member, is_of_consumers) for member in found.members)
    except ProtocolError as error:
        return error
    return GroupDescription(
        group_id=found.group_id,
        type=CLASSIC,
        state=found.group_state,
        protocol_type=found.protocol_type,
        assignor=found.protocol_data,
        coordinator=coordinator,
        members=members,
    )


def _classic_member(member: groups.DescribedGroupMember, is_of_consumers: bool) -> MemberDescription:
    assignment: tuple[TopicPartition, ...] | None = None
    topics: tuple[str, ...] | None = None
    if is_of_consumers:
        assignment = ()
        if member.member_assignment:
            decoded = decode_member_data(ConsumerProtocolAssignment, member.member_assignment)
            assignment = _flat((each.topic, each.partitions) for each in decoded.assigned_partitions)
        if member.member_metadata:
            topics = tuple(decode_member_data(ConsumerProtocolSubscription, member.member_metadata).topics)
    return MemberDescription(
        member_id=member.member_id,
        group_instance_id=member.group_instance_id,
        client_id=member.client_id,
        host=member.client_host.lstrip("/"),
        assignment=assignment,
        subscribed_topics=topics,
    )
