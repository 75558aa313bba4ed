"""Reads of share groups: partitions of a session, acknowledgements, and acquired records. Source: KIP-932.

Unlike in Kafka, share.auto.offset.reset=by_duration counts as latest, and records are acquired in isolation level
read_uncommitted.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from kctl.client.acls import AclOperation, AclResourceType
from kctl.client.broker_errors import ErrorCode
from kctl.sandbox.call import Call
from kctl.sandbox.configs import GROUP_PROPERTIES, Kind
from kctl.sandbox.groups.share import UNREAD, ShareGroup, ShareKey
from kctl.sandbox.groups.share_partition import Acknowledged, Acquired, SharePartition
from kctl.sandbox.log import PartitionLog
from kctl.sandbox.partition import Partition
from kctl.sandbox.runtime import Handle
from kctl.sandbox.share_sessions import ShareSession


class Taken(NamedTuple):
    """Records for one member."""

    records: bytes
    acquired: list[Acquired]


class ShareReads:
    """Work of one request of a member."""

    def __init__(self, call: Call, group: ShareGroup, member_id: str) -> None:
        self._call = call
        self._group = group
        self._member_id = member_id

    @property
    def _config(self) -> dict[str, str]:
        return {**GROUP_PROPERTIES, **self._call.cluster.configs.of(Kind.GROUP, self._group.group_id)}

    @property
    def lock_ms(self) -> int:
        """Time for which records are locked, in ms."""
        return int(self._config["share.record.lock.duration.ms"])

    def partition(self, key: ShareKey) -> Partition | ErrorCode:
        """Return a partition that this broker leads, or an error."""
        topic = self._call.cluster.topic_of_id(key.topic_id)
        if topic is None:
            return ErrorCode.UNKNOWN_TOPIC_ID
        allows = self._call.cluster.authorizer.allows
        if not allows(self._call.identity.principal, AclOperation.READ, AclResourceType.TOPIC, topic.name):
            return ErrorCode.TOPIC_AUTHORIZATION_FAILED
        return self._call.led_partition(topic.name, key.partition)

    def acknowledge(self, key: ShareKey, batches: Sequence[Acknowledged]) -> ErrorCode:
        partition = self.partition(key)
        if isinstance(partition, ErrorCode):
            return partition
        part = self._part(key, partition)
        code = part.acknowledge(self._member_id, batches)
        self._group.start_offsets[key] = part.start_offset
        return code

    def begin(
        self, epoch: int, added: Iterable[ShareKey] = (), forgotten: Iterable[ShareKey] = ()
    ) -> ShareSession | ErrorCode:
        """Return the session of the request after its changes, or an error."""
        sessions = self._call.node.share_sessions
        return sessions.begin(self._group.group_id, self._member_id, epoch, added, forgotten)

    def release(self, session: ShareSession) -> None:
        """Make the records of the member available."""
        for key in session.keys:
            partition = self.partition(key)
            if not isinstance(partition, ErrorCode):
                self._part(key, partition).release(self._member_id)

    def take(self, key: ShareKey, partition: Partition, most: int, max_bytes: int, *, is_strict: bool) -> Taken:
        """Acquire records for the member."""
        part = self._part(key, partition)
        log, end_offset = partition.log, partition.high_watermark
        batches = log.batches_from(min(part.available_offset, end_offset), end_offset)
        size_bytes = 0
        for at, batch in enumerate(batches):
            size_bytes += len(batch.data)
            if size_bytes > max_bytes:
                batches = batches[: max(1, at)]
                break
        acquired = part.acquire(self._member_id, batches, end_offset, most, is_strict=is_strict)
        if not acquired:
            return Taken(b"", [])
        last_offset = acquired[-1].last_offset
        return Taken(b"".join(one.data for one in batches if one.header.base_offset <= last_offset), acquired)

    def logs(self, keys: Sequence[ShareKey]) -> list[PartitionLog]:
        """Return the logs of the partitions that this broker leads."""
        partitions = [self.partition(key) for key in keys]
        return [one.log for one in partitions if not isinstance(one, ErrorCode)]

    def _part(self, key: ShareKey, partition: Partition) -> SharePartition:
        log = partition.log
        part = self._group.part(key, lambda start_offset: self._made(start_offset, partition))
        part.follow(partition.leader_epoch, log.start_offset, log.end_offset)
        self._group.start_offsets[key] = part.start_offset
        return part

    def _made(self, start_offset: int, partition: Partition) -> SharePartition:
        if start_offset == UNREAD:
            is_earliest = self._config["share.auto.offset.reset"] == "earliest"
            start_offset = partition.log.start_offset if is_earliest else partition.high_watermark
        scheduler, lock_ms = self._call.cluster.scheduler, self.lock_ms

        def call_later(action: Callable[[], None]) -> Handle:
            return scheduler.call_later(lock_ms, action)

        return SharePartition(start_offset, partition.leader_epoch, call_later, partition.log.wake)


def reads_of(call: Call, group_id: str | None, member_id: str | None) -> ShareReads | ErrorCode:
    """Return the reads of a member, or an error."""
    if not group_id or not member_id:
        return ErrorCode.INVALID_REQUEST
    group = call.cluster.groups.get(group_id)
    if not isinstance(group, ShareGroup):
        return ErrorCode.GROUP_ID_NOT_FOUND
    return ShareReads(call, group, member_id)
