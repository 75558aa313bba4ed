"""Embedded consumer protocol in JoinGroup and SyncGroup, after a version of two bytes."""

import struct
from collections.abc import Iterable, Mapping
from itertools import groupby
from typing import TYPE_CHECKING, TypeVar

from kctl.client.errors import RemoteProtocolError
from kctl.client.protocol import codec
from kctl.client.protocol.api.consumer_protocol_assignment import ConsumerProtocolAssignment, TopicPartition
from kctl.client.protocol.api.consumer_protocol_subscription import ConsumerProtocolSubscription
from kctl.client.protocol.schema import Message
from kctl.sandbox.groups.reconciliation import Slot

if TYPE_CHECKING:
    from kctl.sandbox.cluster import Topic

M = TypeVar("M", bound=Message)
Topics = Mapping[str, "Topic"]


class Malformed(Exception):
    """Invalid message, or user data of a custom assignor."""


def _read(kind: type[M], data: bytes) -> M:
    if len(data) < 2:
        raise Malformed(f"{len(data)} bytes")
    (version,) = struct.unpack_from(">h", data)
    first, last = kind.VALID_VERSIONS
    try:
        message, _ = codec.decode_header(kind, data[2:], min(max(version, first), last))
    except RemoteProtocolError as error:
        raise Malformed(str(error)) from error
    return message


def subscription(metadata: bytes) -> ConsumerProtocolSubscription:
    return _read(ConsumerProtocolSubscription, metadata)


def slots_named(partitions: Iterable[object], topics: Topics) -> tuple[Slot, ...]:
    """Return the partitions of JoinGroup or SyncGroup data by topic ID. Leaves out unknown topics."""
    found = []
    for one in partitions:
        topic = topics.get(one.topic)  # type: ignore[attr-defined]  # both messages have a struct of their own
        if topic is not None:
            found += [Slot(topic.topic_id, index) for index in one.partitions]  # type: ignore[attr-defined]  # as above
    return tuple(found)


def assigned_slots(assignment: bytes, topics: Topics) -> tuple[Slot, ...]:
    if not assignment:
        return ()
    said = _read(ConsumerProtocolAssignment, assignment)
    if said.user_data:
        raise Malformed("the assignment contains user data of the assignor")
    return slots_named(said.assigned_partitions, topics)


def assignment_bytes(slots: Iterable[Slot], topics: Topics, metadata: bytes) -> bytes:
    """Return an encoded assignment in the version that the member's `metadata` has."""
    names = {topic.topic_id: topic.name for topic in topics.values()}
    first, last = ConsumerProtocolAssignment.VALID_VERSIONS
    version = min(max(struct.unpack_from(">h", metadata)[0], first), last)
    found = [slot for slot in sorted(slots) if slot.topic_id in names]
    said = [
        TopicPartition(topic=names[topic_id], partitions=[slot.partition for slot in of_topic])
        for topic_id, of_topic in groupby(found, key=lambda slot: slot.topic_id)
    ]
    message = ConsumerProtocolAssignment(assigned_partitions=said, user_data=None)
    return struct.pack(">h", version) + codec.encode(message, version)
