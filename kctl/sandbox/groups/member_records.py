"""Records of consumer groups in __consumer_offsets: epochs, members, and assignments.

The records are the differences between two snapshots, in Kafka's order.
"""

import struct
from collections.abc import Callable, Hashable, Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

from kctl.client.protocol import codec
from kctl.client.protocol.schema import NEVER, Message, field
from kctl.sandbox.groups.offset_records import GroupMetadataKey, Pair

_VERSION = 0


class GroupMemberKey(Message, versions=(0, 0), flexible_from=NEVER):
    NAME = "ConsumerGroupMemberMetadataKey"

    group: str = field("string", "0+", default="")
    member_id: str = field("string", "0+", default="")


class TargetAssignmentMetadataValue(Message, versions=(0, 0), flexible_from=0):
    """Epoch of a target assignment, for all kinds of groups."""

    NAME = "ConsumerGroupTargetAssignmentMetadataValue"

    assignment_epoch: int = field("int32", "0+", default=0)
    assignment_timestamp: int = field("int64", "0+", default=0, tag=0, tagged="0+")


Members = Mapping[str, Hashable]
_NONE: Members = MappingProxyType({})


class Snapshot(NamedTuple):
    """State of a group as in its records.

    Attributes:
        epoch: group epoch and further values of its record. None if not written.
        target_epoch: epoch of the target assignment, or None.
        members: subscriptions by member ID.
        targets: target assignments by member ID.
        currents: current assignments by member ID.
        others: topics by regular expression.
        is_assigned: whether an assignor computed the target, so that its time is known.
    """

    epoch: Hashable = None
    target_epoch: int | None = None
    members: Members = _NONE
    targets: Members = _NONE
    currents: Members = _NONE
    others: Members = _NONE
    is_assigned: bool = True


Encode = Callable[[Any], Message]


class Layout(NamedTuple):
    """Record types of one kind of group, with functions that return the values.

    Attributes:
        on_delete: types of the records of the whole group, the target assignment first.
        no_target: target assignment of members without a record of it.
    """

    epoch: tuple[int, Encode]
    target_epoch: int
    member: tuple[int, Encode]
    target: tuple[int, Encode]
    current: tuple[int, Encode]
    other: tuple[int, Callable[[Any, int], Message]]
    on_delete: tuple[int, ...]
    no_target: Hashable = ()


def value_bytes(message: Message) -> bytes:
    return struct.pack(">h", _VERSION) + codec.encode(message, _VERSION)


def group_key(kind: int, group_id: str) -> bytes:
    return struct.pack(">h", kind) + codec.encode(GroupMetadataKey(group=group_id), _VERSION)


def member_key(kind: int, group_id: str, member_id: str) -> bytes:
    """Return the key of a member record, or of another named record of a group."""
    return struct.pack(">h", kind) + codec.encode(GroupMemberKey(group=group_id, member_id=member_id), _VERSION)


def tombstones(layout: Layout, group_id: str, last: Snapshot) -> list[Pair]:
    ids = sorted(last.members)
    target, *groups = [(group_key(kind, group_id), None) for kind in layout.on_delete]
    currents, targets, members = (
        [(member_key(kind, group_id, member_id), None) for member_id in ids]
        for kind in (layout.current[0], layout.target[0], layout.member[0])
    )
    return [*currents, *targets, target, *members, *groups]


def changes(layout: Layout, group_id: str, before: Snapshot, now: Snapshot, wall_ms: int) -> list[Pair]:
    """Return the records of the changes between two snapshots, in Kafka's order."""
    pairs: list[Pair] = []
    for member_id in sorted(before.members.keys() - now.members.keys()):
        kinds = (layout.current[0], layout.target[0], layout.member[0])
        pairs += [(member_key(kind, group_id, member_id), None) for kind in kinds]
    pairs += _of_members(layout.member, group_id, before.members, now.members)
    gone = sorted(before.others.keys() - now.others.keys())
    pairs += [(member_key(layout.other[0], group_id, name), None) for name in gone]
    if now.epoch != before.epoch:
        kind, encode = layout.epoch
        pairs.append((group_key(kind, group_id), value_bytes(encode(now.epoch))))
    known = dict.fromkeys(now.targets, layout.no_target) | dict(before.targets)
    pairs += _of_members(layout.target, group_id, known, now.targets)
    if now.target_epoch is not None and now.target_epoch != before.target_epoch:
        at_ms = wall_ms if now.is_assigned else 0
        target = TargetAssignmentMetadataValue(assignment_epoch=now.target_epoch, assignment_timestamp=at_ms)
        pairs.append((group_key(layout.target_epoch, group_id), value_bytes(target)))
    return pairs + _of_members(layout.current, group_id, before.currents, now.currents)


def later_changes(layout: Layout, group_id: str, before: Snapshot, now: Snapshot, wall_ms: int) -> list[Pair]:
    """Return the records that Kafka writes after the response: topics of regular expressions."""
    kind, encode = layout.other
    record = (kind, lambda value: encode(value, wall_ms))
    return _of_members(record, group_id, before.others, now.others)


def _of_members(record: tuple[int, Encode], group_id: str, before: Members, now: Members) -> list[Pair]:
    kind, encode = record
    return [
        (member_key(kind, group_id, member_id), value_bytes(encode(value)))
        for member_id, value in sorted(now.items())
        if member_id not in before or before[member_id] != value
    ]
