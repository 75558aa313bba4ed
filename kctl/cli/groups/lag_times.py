"""Lag in time: the age of the next unread record, and its remaining retention.

The record at the committed offset is read, because interpolated times are wrong if rates change. Times of records that
cannot be read are unknown.
"""

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from kctl.cli.groups.lag import PartitionLag, short
from kctl.client.admin import Admin, ConfigEntry, ConfigResource, RecordTime, ResourceType
from kctl.client.cluster import TopicPartition
from kctl.client.errors import ApiTimeout, KafkaError
from kctl.grammar.integers import integer_in


class LagTimes(NamedTuple):
    """Times of one partition of a group; None if unknown or not applicable.

    Attributes:
        lag_ms: age of the next unread record; 0 if all records are read.
        retention_left_ms: minimum time until retention.ms deletes the record.
        note: reason for an unknown age, unless no time was left to read the record.
    """

    lag_ms: int | None = None
    retention_left_ms: int | None = None
    note: str = ""


UNKNOWN = LagTimes()
Key = tuple[str, TopicPartition]
NextRecords = Mapping[tuple[TopicPartition, int], RecordTime | KafkaError | None]
"""Next record by partition and offset; None if there is none."""
MOST_MARKERS = 100
"""Maximum lag for which `wait` checks whether only markers are left."""
MARKERS_ONLY = "all records read: only transaction markers follow"


def next_records(admin: Admin, lags: Iterable[PartitionLag]) -> NextRecords:
    """Return the next record of each partition with a lag. Return an empty dict if reading fails."""
    behind = [lag for lag in lags if lag.lag]
    try:
        return _records(admin, behind) if behind else {}
    except KafkaError:  # what came before has used up the time; the lag itself is known all the same
        return {}


def without_markers(lags: Iterable[PartitionLag], records: NextRecords) -> list[PartitionLag]:
    """Return the partitions. The lag is 0 if only transaction markers are left, which groups do not read."""

    def is_read(lag: PartitionLag) -> bool:
        return bool(lag.lag) and records.get((lag.partition, _next_offset(lag)), UNKNOWN) is None

    return [lag._replace(lag=0, note=lag.note or MARKERS_ONLY) if is_read(lag) else lag for lag in lags]


def lag_times(admin: Admin, lags: Iterable[PartitionLag], records: NextRecords, wall_ms: int) -> dict[Key, LagTimes]:
    times: dict[Key, LagTimes] = {}
    behind: list[PartitionLag] = []
    for lag in lags:
        if lag.lag == 0:
            times[lag.group_id, lag.partition] = LagTimes(lag_ms=0)
        elif lag.lag is not None:
            behind.append(lag)
    if not behind or not records:
        return times
    try:
        limits = _retention_ms(admin, {lag.partition.topic for lag in behind})
    except KafkaError:
        limits = {}
    for lag in behind:
        record = records.get((lag.partition, _next_offset(lag)))
        if isinstance(record, KafkaError):
            if not isinstance(record, ApiTimeout):
                times[lag.group_id, lag.partition] = LagTimes(note=f"age unknown: {short(record)}")
        elif record is not None and record.timestamp_ms is not None:
            lag_ms = max(0, wall_ms - record.timestamp_ms)
            limit_ms = limits.get(lag.partition.topic)
            left_ms = None if limit_ms is None else max(0, limit_ms - lag_ms)
            times[lag.group_id, lag.partition] = LagTimes(lag_ms, left_ms)
    return times


def _next_offset(lag: PartitionLag) -> int:
    assert lag.committed is not None
    return max(lag.committed, lag.start)


def _records(admin: Admin, behind: Iterable[PartitionLag]) -> NextRecords:
    wanted: dict[TopicPartition, list[int]] = {}
    for lag in behind:
        offsets = wanted.setdefault(lag.partition, [])
        if _next_offset(lag) not in offsets:
            offsets.append(_next_offset(lag))
    found: dict[tuple[TopicPartition, int], RecordTime | KafkaError | None] = {}
    while wanted:
        turn = {tp: offsets.pop() for tp, offsets in wanted.items()}
        results = admin.find_records(turn)
        found |= {(tp, turn[tp]): record for tp, record in results.done.items()}
        found |= {(tp, turn[tp]): error for tp, error in results.failed.items()}
        wanted = {tp: offsets for tp, offsets in wanted.items() if offsets}
    return found


def _retention_ms(admin: Admin, topics: Iterable[str]) -> dict[str, int]:
    resources = {ConfigResource(ResourceType.TOPIC, topic): topic for topic in sorted(topics)}
    results = admin.describe_configs(list(resources))
    limits: dict[str, int] = {}
    for resource, configs in results.done.items():
        limit_ms = _limit_ms(configs)
        if limit_ms is not None:
            limits[resources[resource]] = limit_ms
    return limits


def _limit_ms(configs: Mapping[str, ConfigEntry]) -> int | None:
    policy, retention = configs.get("cleanup.policy"), configs.get("retention.ms")
    if policy is None or retention is None or "delete" not in (policy.value or "") or retention.value is None:
        return None
    return integer_in(retention.value)
