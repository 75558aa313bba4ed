"""Streams groups described, with the partitions that each task reads. Source: KIP-1071.

Their offsets are committed as those of consumer groups are. Shown by tests/sim/admin/test_share_groups.py and, on a
real broker, tests/broker/test_share_groups.py.
"""

from collections.abc import Iterable, Iterator, Sequence

from kctl.client.admin.group_values import STREAMS, GroupDescription, MemberDescription
from kctl.client.admin.share_groups import flat
from kctl.client.broker_errors import broker_error
from kctl.client.cluster import Node, TopicPartition
from kctl.client.errors import KafkaError
from kctl.client.protocol.api.streams_groups import DescribedGroup, Subtopology, TaskIds


def streams_group(found: DescribedGroup, coordinator: Node | None) -> GroupDescription | KafkaError:
    """Return a group of a response to StreamsGroupDescribe."""
    if found.error_code:
        what = f"StreamsGroupDescribe of group {found.group_id}"
        return broker_error(found.error_code, what, found.error_message or None)
    parts = (found.topology.subtopologies or []) if found.topology is not None else []
    subtopologies = {part.subtopology_id: part for part in parts}
    topics = tuple(sorted({topic for part in parts for topic in part.source_topics}))
    return GroupDescription(
        group_id=found.group_id,
        type=STREAMS,
        state=found.group_state,
        protocol_type=STREAMS,
        assignor="",
        coordinator=coordinator,
        members=tuple(
            MemberDescription(
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
            for member in found.members
        ),
        epoch=found.group_epoch,
        target_epoch=found.assignment_epoch,
    )


def _by_subtopology(tasks: Iterable[TaskIds]) -> dict[str, Sequence[int]]:
    return {each.subtopology_id: sorted(each.partitions) for each in tasks}


def _read_by(tasks: Iterable[TaskIds], subtopologies: dict[str, Subtopology]) -> tuple[TopicPartition, ...]:
    """Return the partitions that tasks read: that of its number of each source topic of the subtopology."""

    def sources() -> Iterator[tuple[str, Sequence[int]]]:
        for task in tasks:
            part = subtopologies.get(task.subtopology_id)
            if part is not None:
                names = [*part.source_topics, *(info.name for info in part.repartition_source_topics)]
                yield from ((name, task.partitions) for name in names)

    return flat(sources())
