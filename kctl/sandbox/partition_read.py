"""Fetch from one partition, as leader or follower.

Source: KIP-320 (epochs), KIP-392 (followers, racks), KIP-595 (diverging epochs).
"""

from typing import TYPE_CHECKING, NamedTuple

from kctl.client.acls import AclOperation, AclResourceType
from kctl.client.broker_errors import ErrorCode
from kctl.client.protocol.api.fetch import (
    AbortedTransaction,
    EpochEndOffset,
    FetchPartition,
    FetchRequest,
    PartitionData,
)
from kctl.client.protocol.schema import ZERO_UUID
from kctl.sandbox.call import Call, epoch_error
from kctl.sandbox.log import OffsetOutOfRange
from kctl.sandbox.partition import Partition

if TYPE_CHECKING:
    from kctl.sandbox.fetch_sessions import Wanted

RACK_AWARE = "org.apache.kafka.common.replica.RackAwareReplicaSelector"
READ_COMMITTED = 1
_FOLLOWERS_FROM = 11


class Limits(NamedTuple):
    left_bytes: int
    is_first: bool
    """True if the response has no records yet. The first batch may exceed the limit."""


def missing(call: Call, wanted: "Wanted") -> ErrorCode:
    """Return the error of a partition that is unknown or denied, otherwise NONE. A fetch does not wait for it."""
    if wanted.topic is None:
        return ErrorCode.UNKNOWN_TOPIC_ID
    allows = call.cluster.authorizer.allows
    if not allows(call.identity.principal, AclOperation.READ, AclResourceType.TOPIC, wanted.topic):
        return ErrorCode.TOPIC_AUTHORIZATION_FAILED
    if call.cluster.partition(wanted.topic, wanted.asked.partition) is None:
        return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    return ErrorCode.NONE


def read(call: Call, request: FetchRequest, wanted: "Wanted", limits: Limits) -> PartitionData:
    asked = wanted.asked
    code = missing(call, wanted)
    if code is not ErrorCode.NONE:
        return refused(asked, code)
    assert wanted.topic is not None
    topic = call.cluster.topics[wanted.topic]
    partition = topic.partitions[asked.partition]
    if call.node.node_id not in partition.replicas:
        return refused(asked, ErrorCode.NOT_LEADER_OR_FOLLOWER)
    if wanted.topic_id not in (ZERO_UUID, topic.topic_id):
        return refused(asked, ErrorCode.INCONSISTENT_TOPIC_ID)
    code = epoch_error(partition, asked.current_leader_epoch)
    if code is ErrorCode.NONE and call.version < _FOLLOWERS_FROM and partition.leader_id != call.node.node_id:
        code = ErrorCode.NOT_LEADER_OR_FOLLOWER
    if code is not ErrorCode.NONE:
        return refused(asked, code)
    return _read(call, request, partition, asked, limits)


def _read(
    call: Call, request: FetchRequest, partition: Partition, asked: FetchPartition, limits: Limits
) -> PartitionData:
    end_offset = partition.readable_on(call.node.node_id)
    found = PartitionData(
        partition_index=asked.partition,
        high_watermark=end_offset,
        last_stable_offset=min(end_offset, partition.log.last_stable_offset),
        log_start_offset=partition.log.start_offset,
        aborted_transactions=None,
        records=b"",
    )
    is_committed = request.isolation_level == READ_COMMITTED
    nearer = _nearer_replica(call, request, partition, asked.fetch_offset)
    if nearer is not None:
        found.preferred_read_replica = nearer
        return found
    try:
        log_end_offset = partition.end_offset_on(call.node.node_id)
        diverging = _diverging(partition, asked, log_end_offset)
        if diverging is not None:
            found.diverging_epoch = diverging
            return found
        if not partition.log.start_offset <= asked.fetch_offset <= log_end_offset:
            raise OffsetOutOfRange(f"offset {asked.fetch_offset} is outside of a log that ends at {log_end_offset}")
    except OffsetOutOfRange:
        return refused(asked, ErrorCode.OFFSET_OUT_OF_RANGE)
    _add_records(found, partition, asked, limits, is_committed=is_committed)
    return found


def _add_records(
    found: PartitionData, partition: Partition, asked: FetchPartition, limits: Limits, *, is_committed: bool
) -> None:
    log = partition.log
    found.aborted_transactions = [] if is_committed else None
    until = found.last_stable_offset if is_committed else found.high_watermark
    if asked.fetch_offset >= until:
        return
    max_bytes = min(asked.partition_max_bytes, limits.left_bytes)
    found.records = log.read(asked.fetch_offset, max_bytes, at_least_one=limits.is_first, end_offset=until)
    if is_committed and found.records:
        found.aborted_transactions = [
            AbortedTransaction(producer_id=one.producer_id, first_offset=one.first_offset)
            for one in log.aborted_between(asked.fetch_offset, len(found.records))
        ]


def _nearer_replica(call: Call, request: FetchRequest, partition: Partition, offset: int) -> int | None:
    if offset < partition.log.start_offset or not _looks_for_nearer(call, request, partition):
        return None
    near = [
        node_id
        for node_id in partition.in_sync
        if call.cluster.nodes[node_id].rack == request.rack_id and partition.readable_on(node_id) >= offset
    ]
    return max(near, default=None)


def _looks_for_nearer(call: Call, request: FetchRequest, partition: Partition) -> bool:
    is_asked = call.version >= _FOLLOWERS_FROM and bool(request.rack_id) and request.rack_id != call.node.rack
    leads = partition.leader_id == call.node.node_id
    return is_asked and leads and call.cluster.settings.replica_selector_class == RACK_AWARE


def _diverging(partition: Partition, asked: FetchPartition, log_end_offset: int) -> EpochEndOffset | None:
    """Return the end of the last epoch that the log shares with the consumer's position, or None if it does not
    diverge.

    Raises: OffsetOutOfRange: the epoch is unknown, or the offset precedes the log.
    """
    if asked.last_fetched_epoch == -1:
        return None
    log = partition.log
    end = log.epochs.end_of(asked.last_fetched_epoch, log_end_offset)
    if end.end_offset == -1:
        raise OffsetOutOfRange(f"leader epoch {asked.last_fetched_epoch} is unknown")
    if asked.fetch_offset < log.start_offset:
        raise OffsetOutOfRange(f"offset {asked.fetch_offset} is before the log start offset {log.start_offset}")
    if end.epoch < asked.last_fetched_epoch or end.end_offset < asked.fetch_offset:
        return EpochEndOffset(epoch=end.epoch, end_offset=end.end_offset)
    return None


def refused(asked: FetchPartition, code: ErrorCode) -> PartitionData:
    return PartitionData(
        partition_index=asked.partition, error_code=code, high_watermark=-1, aborted_transactions=None, records=b""
    )
