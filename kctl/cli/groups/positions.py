"""Offsets of a group by its type: committed offsets, or start offsets of a share group."""

from collections.abc import Iterable, Mapping

from kctl.client.admin import Admin, GroupDescription, Results
from kctl.client.cluster import TopicPartition
from kctl.client.errors import KafkaError

SHARE = "share"


def is_share(group: GroupDescription | None) -> bool:
    """Return whether a group is a share group. None, a group that does not exist yet, is not."""
    return group is not None and group.type == SHARE


def positions(admin: Admin, group_id: str, group: GroupDescription | None) -> Results[TopicPartition, int | None]:
    """Return the offset of each partition of the group; None if a partition has no offset."""
    if is_share(group):
        shared = admin.list_share_group_offsets(group_id)
        return Results({tp: each.start_offset for tp, each in shared.done.items()}, shared.failed)
    found = admin.list_group_offsets(group_id)
    return Results({tp: None if each is None else each.offset for tp, each in found.done.items()}, found.failed)


def count_positions(admin: Admin, groups: Mapping[str, GroupDescription]) -> dict[str, int]:
    """Return the number of partitions in which each group has an offset. Raises: KafkaError: a lookup failed."""
    shared = {name: len(positions(admin, name, group).done) for name, group in groups.items() if is_share(group)}
    committed = admin.list_offsets_of_groups([name for name in groups if name not in shared])
    return {name: shared[name] if name in shared else len(committed[name].done) for name in groups}


def set_positions(
    admin: Admin, group_id: str, group: GroupDescription | None, offsets: Mapping[TopicPartition, int]
) -> Results[TopicPartition, None]:
    if is_share(group):
        return admin.alter_share_group_offsets(group_id, offsets)
    return admin.alter_group_offsets(group_id, offsets)


def forget_positions(
    admin: Admin, group_id: str, group: GroupDescription, partitions: Iterable[TopicPartition]
) -> Mapping[TopicPartition, KafkaError]:
    """Delete offsets and return the errors. For share groups, all offsets of each topic are deleted."""
    wanted = list(partitions)
    if not is_share(group):
        return admin.delete_group_offsets(group_id, wanted).failed
    failed = admin.delete_share_group_offsets(group_id, dict.fromkeys(tp.topic for tp in wanted)).failed
    return {tp: failed[tp.topic] for tp in wanted if tp.topic in failed}
