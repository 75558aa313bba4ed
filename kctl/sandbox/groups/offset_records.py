"""Commits and classic groups in __consumer_offsets, as in Kafka 4.3.

Keys begin with a type and values with a version, of two bytes each.
"""

import struct

from kctl.client.protocol import codec
from kctl.client.protocol.schema import NEVER, ZERO_UUID, Message, Struct, field

_COMMIT, _GROUP = 1, 2
_COMMIT_VERSION, _GROUP_VERSION = 4, 3

Pair = tuple[bytes, bytes | None]
"""Key and value of a record. The value None is a tombstone."""


class OffsetCommitKey(Message, versions=(0, 0), flexible_from=NEVER):
    group: str = field("string", "0+", default="")
    topic: str = field("string", "0+", default="")
    partition: int = field("int32", "0+", default=0)


class OffsetCommitValue(Message, versions=(0, 4), flexible_from=4):
    """Committed offset. Commits of transactions have no topic ID."""

    offset: int = field("int64", "0+", default=0)
    leader_epoch: int = field("int32", "3+", default=-1, ignorable=True)
    metadata: str = field("string", "0+", default="")
    commit_timestamp: int = field("int64", "0+", default=0)
    expire_timestamp: int = field("int64", "1", default=-1, ignorable=True)
    topic_id: bytes = field("uuid", "4+", default=ZERO_UUID, ignorable=True, tag=0, tagged="4+")


class GroupMetadataKey(Message, versions=(0, 0), flexible_from=NEVER):
    group: str = field("string", "0+", default="")


class MemberMetadata(Struct):
    member_id: str = field("string", "0+", default="")
    group_instance_id: str | None = field("string", "3+", default=None, nullable="3+", ignorable=True)
    client_id: str = field("string", "0+", default="")
    client_host: str = field("string", "0+", default="")
    rebalance_timeout: int = field("int32", "1+", default=-1, ignorable=True)
    session_timeout: int = field("int32", "0+", default=0)
    subscription: bytes = field("bytes", "0+", default=b"")
    assignment: bytes = field("bytes", "0+", default=b"")


class GroupMetadataValue(Message, versions=(0, 4), flexible_from=4):
    """Completed generation of a classic group."""

    protocol_type: str = field("string", "0+", default="")
    generation: int = field("int32", "0+", default=0)
    protocol: str | None = field("string", "0+", default=None, nullable="0+")
    leader: str | None = field("string", "0+", default=None, nullable="0+")
    current_state_timestamp: int = field("int64", "2+", default=-1, ignorable=True)
    members: list[MemberMetadata] = field([MemberMetadata], "0+", factory=list)


def commit_key(group_id: str, topic: str, partition: int) -> bytes:
    return struct.pack(">h", _COMMIT) + codec.encode(
        OffsetCommitKey(group=group_id, topic=topic, partition=partition), 0
    )


def commit_value(value: OffsetCommitValue) -> bytes:
    return struct.pack(">h", _COMMIT_VERSION) + codec.encode(value, _COMMIT_VERSION)


def group_key(group_id: str) -> bytes:
    return struct.pack(">h", _GROUP) + codec.encode(GroupMetadataKey(group=group_id), 0)


def group_value(value: GroupMetadataValue) -> bytes:
    return struct.pack(">h", _GROUP_VERSION) + codec.encode(value, _GROUP_VERSION)
