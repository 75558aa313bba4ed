"""Share group: its members, start offsets, and records. Source: KIP-932.

Members get all partitions of their topics.
"""

from collections.abc import Callable
from typing import NamedTuple

from kctl.client.protocol.api.share_groups import (
    ShareGroupHeartbeatRequest,
    ShareGroupHeartbeatResponse,
    ShareGroupHeartbeatResponseAssignment,
    ShareGroupHeartbeatResponseTopicPartitions,
)
from kctl.sandbox.groups.heartbeat_group import JOIN, LEAVE, HeartbeatGroup, HeartbeatMember
from kctl.sandbox.groups.offsets import Claim
from kctl.sandbox.groups.outbox import no_group
from kctl.sandbox.groups.share_partition import SharePartition
from kctl.sandbox.groups.surroundings import Surroundings

UNREAD = -1
"""Start offset of an unread partition."""


class ShareKey(NamedTuple):
    """Partition by topic ID, which distinguishes recreated topics."""

    topic_id: bytes
    partition: int


class ShareMember(HeartbeatMember):
    def __init__(self, member_id: str, client_id: str) -> None:
        super().__init__(member_id, client_id)
        self.topic_names: tuple[str, ...] = ()


class ShareGroup(HeartbeatGroup[ShareMember]):
    kind = "share"
    protocol_type = "share"
    assignor = "simple"

    def __init__(self, group_id: str, surroundings: Surroundings) -> None:
        super().__init__(group_id, surroundings)
        self.start_offsets: dict[ShareKey, int] = {}
        self._parts: dict[ShareKey, SharePartition] = {}

    def heartbeat(self, request: ShareGroupHeartbeatRequest, client_id: str) -> ShareGroupHeartbeatResponse:
        if request.member_epoch == LEAVE:
            self.member_of(request.member_id, LEAVE)
            self.remove(request.member_id)
            return ShareGroupHeartbeatResponse(member_id=request.member_id, member_epoch=LEAVE)
        if request.member_epoch == JOIN and request.member_id not in self.members:
            self.admit(ShareMember(request.member_id, client_id))
        member = self.member_of(request.member_id, request.member_epoch)
        names = request.subscribed_topic_names
        if names is not None and tuple(sorted(names)) != member.topic_names:
            member.topic_names = tuple(sorted(names))
            self.epoch += 1
        member.rack_id = request.rack_id if request.rack_id is not None else member.rack_id
        for name, indexes in self.assignment(member).items():
            for index in indexes:
                self.start_offsets.setdefault(ShareKey(self._topics[name].topic_id, index), UNREAD)
        is_news = member.epoch != self.epoch or request.member_epoch == JOIN
        member.epoch = self.epoch
        self.expect_heartbeat(member.member_id)
        shares = [
            ShareGroupHeartbeatResponseTopicPartitions(topic_id=self._topics[name].topic_id, partitions=indexes)
            for name, indexes in self.assignment(member).items()
        ]
        return ShareGroupHeartbeatResponse(
            member_id=member.member_id,
            member_epoch=member.epoch,
            heartbeat_interval_ms=self.heartbeat_interval_ms,
            assignment=ShareGroupHeartbeatResponseAssignment(topic_partitions=shares) if is_news else None,
        )

    def assignment(self, member: ShareMember) -> dict[str, list[int]]:
        return {name: sorted(self._topics[name].partitions) for name in member.topic_names if name in self._topics}

    def subscribed_topics(self) -> set[str]:
        return {name for member in self.members.values() for name in member.topic_names}

    def part(self, key: ShareKey, make: Callable[[int], SharePartition]) -> SharePartition:
        """Return the records of a partition.

        Args: make: creates them from the start offset, which is UNREAD before the first fetch.
        """
        part = self._parts.get(key)
        if part is None:
            part = self._parts[key] = make(self.start_offsets.get(key, UNREAD))
        return part

    def set_start(self, key: ShareKey, start_offset: int) -> None:
        """Set the start offset, and forget which records were acknowledged."""
        self.start_offsets[key] = start_offset
        self._parts.pop(key, None)

    def forget(self, topic_id: bytes) -> None:
        for key in [key for key in self.start_offsets if key.topic_id == topic_id]:
            del self.start_offsets[key]
            self._parts.pop(key, None)

    def check_commit(self, claim: Claim) -> None:  # noqa: ARG002 - the group's interface
        """Raise Refused, because share groups have no commits."""
        raise no_group(self.group_id, "consumer group", exists=True)
