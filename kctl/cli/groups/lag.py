"""Lag of groups by partition: end offset minus committed offset.

If either is unknown, the lag is None and a note has the reason.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import NamedTuple

from kctl.cli.admin_client import half_of_rest_s, no_offsets_found
from kctl.cli.groups.positions import is_share
from kctl.client.admin import EARLIEST, LATEST, Admin, GroupDescription, MemberDescription, OffsetAndMetadata, Results
from kctl.client.broker_errors import ErrorCode
from kctl.client.cluster import TopicPartition
from kctl.client.errors import AdvertisedAddressError, ApiTimeout, BrokerError, KafkaError, KafkaTimeoutError
from kctl.pipeline.mirrored_offsets import is_of_mirror

NOT_COMMITTED = "no committed offset"
NOT_READ = "no record read yet"
GONE = "no such topic or partition"
BEYOND = "committed offset is beyond the end: the topic was recreated or truncated"
MIRRORED = "progress of kctl pipeline mirror: the offset belongs to the source topic"


class PartitionLag(NamedTuple):
    """One partition of one group.

    Attributes:
        committed: committed offset, or start offset of a share group; None if missing or unknown.
        end: end offset; None if the partition is missing or the end is unknown.
        lag: None unless both offsets are known and consistent.
        note: anomaly, or empty.
        error: reason for an unknown offset, unless the partition does not exist.
        start: start offset of the log, if known.
        is_share: whether the group is a share group.
    """

    group_id: str
    partition: TopicPartition
    committed: int | None
    end: int | None
    lag: int | None
    member: MemberDescription | None
    note: str
    error: KafkaError | None
    start: int = 0
    is_share: bool = False

    @property
    def unread(self) -> int | None:
        """Return the number of unread offsets: the lag, or the whole log if the group has no committed offset."""
        is_new = self.note == NOT_COMMITTED and self.end is not None
        return (self.end or 0) - self.start if is_new else self.lag


def partition_lags(
    admin: Admin, groups: Collection[GroupDescription], wanted: Mapping[str, Sequence[int]] | None = None
) -> dict[str, list[PartitionLag]]:
    """Return the partitions of each group: committed, assigned, and unread partitions of its topics.

    Args: wanted: partition numbers by topic; None for all.
    Raises: KafkaError: the offsets of a group are unavailable.
    """
    committed: dict[str, dict[TopicPartition, int | KafkaError | None]] = {}
    owners: dict[str, dict[TopicPartition, MemberDescription]] = {}
    mirrored: dict[str, set[TopicPartition]] = {}
    shared: dict[str, Mapping[TopicPartition, int | None]] = {}
    """Lag of share group partitions, counted by their coordinators."""
    groups = list(groups)
    found = admin.list_offsets_of_groups([group.group_id for group in groups if not is_share(group)])
    for group in groups:
        owners[group.group_id] = {tp: member for member in group.members for tp in member.assignment or ()}
        if is_share(group):
            committed[group.group_id], shared[group.group_id] = _shared(admin, group, wanted)
            continue
        results = found[group.group_id]
        committed[group.group_id] = _committed(results, owners[group.group_id], wanted)
        mirrored[group.group_id] = {tp for tp, offset in results.done.items() if is_of_mirror(offset)}
    added = set() if wanted is not None else _add_uncommitted(admin, groups, committed, mirrored)
    every = sorted({tp for of_group in committed.values() for tp in of_group})
    ends = admin.list_offsets(dict.fromkeys(every, LATEST), partial_timeout=half_of_rest_s(admin))
    starts = _starts(admin, ends.done)
    lags: dict[str, list[PartitionLag]] = {}
    for group_id, of_group in committed.items():
        lags[group_id] = []
        for tp in sorted(of_group):
            end = ends.failed.get(tp) or ends.done[tp].offset
            lag = partition_lag(group_id, tp, of_group[tp], starts.get(tp, 0), end, owners[group_id].get(tp))
            if group_id in shared:
                lag = _of_share_group(lag, shared[group_id].get(tp))
            elif tp in mirrored[group_id] and lag.end is not None:
                lag = lag._replace(lag=None, note=MIRRORED)
            if (group_id, tp) not in added or lag.unread != 0:
                lags[group_id].append(lag)
    return lags


def _add_uncommitted(
    admin: Admin,
    groups: Sequence[GroupDescription],
    committed: Mapping[str, dict[TopicPartition, int | KafkaError | None]],
    mirrored: Mapping[str, set[TopicPartition]],
) -> set[tuple[str, TopicPartition]]:
    """Add partitions without committed offset of each group's topics to `committed`, and return them."""
    added: set[tuple[str, TopicPartition]] = set()
    topics: dict[str, set[str]] = {}
    for group in groups:
        if group.group_id in mirrored:  # share groups have a start offset in each partition that they read
            subscribed = {topic for member in group.members for topic in member.subscribed_topics or ()}
            own = committed[group.group_id].keys() - mirrored[group.group_id]
            topics[group.group_id] = {tp.topic for tp in own} | subscribed
    named = sorted(set().union(*topics.values()))
    described = admin.describe_topics(named).done if named else {}
    for group_id, of_group in topics.items():
        for topic in of_group & described.keys():
            for index in described[topic].partitions:
                tp = TopicPartition(topic, index)
                if tp not in committed[group_id]:
                    committed[group_id][tp] = None
                    added.add((group_id, tp))
    return added


def _shared(
    admin: Admin, group: GroupDescription, wanted: Mapping[str, Sequence[int]] | None
) -> tuple[dict[TopicPartition, int | KafkaError | None], Mapping[TopicPartition, int | None]]:
    results = admin.list_share_group_offsets(group.group_id)
    offsets: dict[TopicPartition, int | KafkaError | None] = dict.fromkeys(
        tp for member in group.members for tp in member.assignment or ()
    )
    offsets |= {tp: each.start_offset for tp, each in results.done.items()}
    offsets |= results.failed
    if wanted is not None:
        named = [TopicPartition(topic, index) for topic, indexes in wanted.items() for index in indexes]
        offsets = {tp: offsets.get(tp) for tp in named}
    return offsets, {tp: each.lag for tp, each in results.done.items()}


def _of_share_group(lag: PartitionLag, counted_lag: int | None) -> PartitionLag:
    """Return `lag` with the number of records that the coordinator of the share group counts."""
    is_known = lag.lag is not None and counted_lag is not None
    note = NOT_READ if lag.note == NOT_COMMITTED else lag.note
    return lag._replace(lag=counted_lag if is_known else lag.lag, note=note, member=None, is_share=True)


def _starts(admin: Admin, partitions: Iterable[TopicPartition]) -> dict[TopicPartition, int]:
    """Return the start offsets that are known. If one is missing, only a note is lost."""
    try:
        results = admin.list_offsets(dict.fromkeys(partitions, EARLIEST))
    except ApiTimeout:  # a leader that did not report its end has used up the time
        return {}
    return {tp: found.offset for tp, found in results.done.items()}


def _committed(
    results: Results[TopicPartition, OffsetAndMetadata],
    owners: Mapping[TopicPartition, MemberDescription],
    wanted: Mapping[str, Sequence[int]] | None,
) -> dict[TopicPartition, int | KafkaError | None]:
    found: dict[TopicPartition, int | KafkaError | None] = dict.fromkeys(owners)
    if wanted is not None:
        found |= {TopicPartition(topic, index): None for topic, indexes in wanted.items() for index in indexes}
    found |= {tp: offset.offset for tp, offset in results.done.items()}
    found |= results.failed
    if wanted is None:
        return found
    return {tp: offset for tp, offset in found.items() if tp.partition in wanted.get(tp.topic, ())}


def partition_lag(
    group_id: str,
    tp: TopicPartition,
    committed: int | KafkaError | None,
    start: int,
    end: int | KafkaError,
    member: MemberDescription | None,
) -> PartitionLag:
    """Return the lag of a partition, given its committed, start and end offset."""
    if isinstance(committed, KafkaError):
        error = committed
        return PartitionLag(group_id, tp, None, None, None, member, f"committed offset unknown: {short(error)}", error)
    if isinstance(end, KafkaError):
        if isinstance(end, BrokerError) and end.code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION:
            return PartitionLag(group_id, tp, committed, None, None, member, GONE, None)
        return PartitionLag(group_id, tp, committed, None, None, member, f"end unknown: {short(end)}", end)
    if committed is None:
        return PartitionLag(group_id, tp, None, end, None, member, NOT_COMMITTED, None, start)
    if committed > end:
        return PartitionLag(group_id, tp, committed, end, None, member, BEYOND, None)
    note = f"{start - committed} unread records were deleted: the log starts at {start}" if committed < start else ""
    return PartitionLag(group_id, tp, committed, end, end - committed, member, note, None, start)


def no_lag_text(admin: Admin, group_id: str) -> str:
    return f"group {group_id} has no assigned partitions and {no_offsets_found(admin)}"


def short(error: KafkaError) -> str:
    """Return an error in one or a few words, for a table."""
    if isinstance(error, BrokerError):
        return error.name
    if isinstance(error, AdvertisedAddressError):
        return short(error.cause)
    if isinstance(error, KafkaTimeoutError):
        return "no response in time" if error.cause is None else short(error.cause)
    return type(error).__name__
