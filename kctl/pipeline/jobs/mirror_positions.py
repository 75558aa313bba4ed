"""Positions of a mirror: progress of each source partition, stored in the target.

A transaction writes its position as the offset of the group `kctl-mirror.NAME.TOPIC`, and as a record of the compacted
topic `kctl-mirror-positions`. Brokers delete offsets of groups without members after offsets.retention.minutes (7 days
by default), and Kafka's tools can reset them, but the record stays. A run starts with the newer position.
"""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from math import inf
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeAlias

from kctl.client.admin import EARLIEST, Admin, ConfigResource, NewTopic, OffsetAndMetadata, ResourceType
from kctl.client.broker_errors import ErrorCode
from kctl.client.cluster import TopicPartition, by_topic
from kctl.client.errors import BrokerError
from kctl.client.runtime import Runtime
from kctl.pipeline import isolation
from kctl.pipeline.job_errors import MirrorPositionError
from kctl.pipeline.ranges import OffsetRange, Selection, plan_ranges
from kctl.pipeline.resume_point import NO_LOG_END, ResumePoint
from kctl.pipeline.session import check_packages

if TYPE_CHECKING:
    import pyarrow as pa

    from kctl.client.producer import Producer

POSITIONS_TOPIC: Final = "kctl-mirror-positions"
_COMPACTED: Final = {"cleanup.policy": "compact", "segment.bytes": str(16 * 1024 * 1024)}
"""Configs of the topic of positions. Segments are small, because brokers compact only closed segments, and each run
reads the whole topic.
"""
_VERSION: Final = 1
Reached: TypeAlias = Mapping[TopicPartition, int]
"""Positions after a round of the run. Only another program can set a position back below them."""
NONE_REACHED: Final[Reached] = MappingProxyType({})


class MirrorTarget(NamedTuple):
    """Target of one topic.

    Attributes:
        group_id: group whose offsets are the positions.
        topic_id: ID of the target topic. Empty if the brokers have no IDs.
    """

    topic: str
    group_id: str
    topic_id: str = ""


class MirrorPosition(NamedTuple):
    """Progress of a partition, with the topics on both sides.

    Attributes:
        run: ID of the run that wrote the position.
        counts: counts of that run for the partition, as JSON. If a worker is killed, the next attempt continues them.
    """

    source: ResumePoint
    target_topic_id: str
    run: str = ""
    counts: Any = None

    @classmethod
    def behind(
        cls, offsets: OffsetRange, target: MirrorTarget, offset: int, run: str = "", counts: Any = None
    ) -> "MirrorPosition":
        """Return the position of a copy that has reached `offset` in the range's partition."""
        return cls(ResumePoint(offset, offsets.topic_id, offsets.log_end), target.topic_id, run, counts)

    def counted_by(self, run: str) -> Any:
        return self.counts if self.run == run else None

    def is_ahead_of(self, other: "MirrorPosition") -> bool:
        """Return whether this position is further than `other`, whose topic ID is equal or unknown."""
        known = (self.source.topic_id, "")
        return other.source.topic_id in known and self.source.offset > other.source.offset

    def is_of(self, target: MirrorTarget) -> bool:
        """Return whether the position was written for this target topic. True if one of the IDs is unknown."""
        return not (self.target_topic_id and target.topic_id) or self.target_topic_id == target.topic_id


class Positions(NamedTuple):
    """Positions in the target, by source partition.

    Attributes:
        lost: partitions without a position, although their target has had records.
    """

    found: dict[TopicPartition, MirrorPosition]
    lost: list[TopicPartition]


def find_positions(
    admin: Admin,
    properties: Mapping[str, object],
    targets: Mapping[str, MirrorTarget],
    counts: Mapping[str, int],
    runtime: Runtime | None = None,
    *,
    reached: Reached = NONE_REACHED,
) -> Positions:
    """Return the position of each partition.

    The transaction of a killed run may stay open until transaction.timeout.ms, so the first request does not wait for
    it. Partitions that have records but no position are requested again with require_stable, because the group may not
    have the markers of a recent transaction yet.

    Args:
        targets: existing targets by source topic.
        counts: partition counts by source topic.
        reached: positions after the previous round.
    """
    partitions = [TopicPartition(topic, number) for topic in targets for number in range(counts[topic])]
    found = _group_positions(admin, targets, partitions, require_stable=False)
    found |= _newer(properties, targets, found, list(found), reached, runtime)
    unknown = _with_committed_data(admin, targets, [tp for tp in partitions if tp not in found])
    found |= _kept_of(targets, unknown, kept_positions(properties, runtime) if unknown else {})
    unknown = {tp: data for tp, data in unknown.items() if tp not in found and _has_records(properties, data, runtime)}
    found |= _group_positions(admin, targets, unknown, require_stable=True)
    lost = [tp for tp in unknown if tp not in found]
    if lost:  # an open transaction of another mirror may hide positions
        found |= _kept_of(targets, lost, kept_positions(properties, runtime, require_stable=True))
    return Positions(found, [tp for tp in lost if tp not in found])


def newest_positions(
    admin: Admin,
    properties: Mapping[str, object],
    targets: Mapping[str, MirrorTarget],
    partitions: Sequence[TopicPartition],
    reached: Reached,
) -> dict[TopicPartition, MirrorPosition]:
    """Return the position of each partition that has one, after open transactions of its group have ended."""
    found = _group_positions(admin, targets, partitions, require_stable=True)
    return found | _newer(properties, targets, found, partitions, reached)


def _newer(
    properties: Mapping[str, object],
    targets: Mapping[str, MirrorTarget],
    found: Mapping[TopicPartition, MirrorPosition],
    partitions: Sequence[TopicPartition],
    reached: Reached,
    runtime: Runtime | None = None,
) -> dict[TopicPartition, MirrorPosition]:
    """Return the kept positions that are newer than the found ones.

    Reads the topic of positions only if a found position is missing, or is behind `reached`.
    """
    if all(tp in found and found[tp].source.offset >= reached.get(tp, inf) for tp in partitions):
        return {}
    kept = _kept_of(targets, partitions, kept_positions(properties, runtime))
    return {tp: each for tp, each in kept.items() if tp not in found or each.is_ahead_of(found[tp])}


def _kept_of(
    targets: Mapping[str, MirrorTarget], sources: Iterable[TopicPartition], kept: Mapping[bytes, MirrorPosition]
) -> dict[TopicPartition, MirrorPosition]:
    found = {}
    for source in sources:
        target = targets[source.topic]
        position = kept.get(position_key(target, source.partition))
        if position is not None and position.is_of(target):
            found[source] = position
    return found


def committed_offsets(
    admin: Admin,
    target: MirrorTarget,
    numbers: Iterable[int],
    timeout: float | None = None,
    *,
    require_stable: bool = False,
) -> dict[int, OffsetAndMetadata | None]:
    """Return the group's offsets of some partitions. The value is None if an offset is missing or has expired."""
    asked = [TopicPartition(target.topic, number) for number in numbers]
    found = admin.list_group_offsets(target.group_id, asked, require_stable=require_stable, timeout=timeout)
    found.raise_first()
    return {tp.partition: found[tp] for tp in asked}


def write_position(
    producer: "Producer", target: MirrorTarget, partition: int, position: MirrorPosition
) -> OffsetAndMetadata:
    """Send the record of a position in the open transaction. Return the offset to commit in the transaction."""
    producer.send(
        POSITIONS_TOPIC, key=position_key(target, partition), value=_text(position, position.source.offset).encode()
    )
    return as_group_offset(position)


def as_group_offset(position: MirrorPosition) -> OffsetAndMetadata:
    return OffsetAndMetadata(position.source.offset, _text(position))


def create_positions_topic(admin: Admin) -> None:
    created = admin.create_topics([NewTopic(POSITIONS_TOPIC, 1, configs=_COMPACTED)])
    error = created.failed.get(POSITIONS_TOPIC)
    if error is None:
        return
    if not (isinstance(error, BrokerError) and error.code == ErrorCode.TOPIC_ALREADY_EXISTS):
        raise error
    topic = ConfigResource(ResourceType.TOPIC, POSITIONS_TOPIC)
    configs = admin.describe_configs([topic]).done.get(topic, {})  # empty without permission to read configs
    policy = configs["cleanup.policy"].value if "cleanup.policy" in configs else None
    if policy is not None and "delete" in policy:
        raise MirrorPositionError(
            f"cannot store positions of mirrors in topic {POSITIONS_TOPIC}: cleanup.policy={policy} deletes old "
            f"positions",
            f"keep all positions with: kctl topics alter {POSITIONS_TOPIC} --config cleanup.policy=compact",
        )


def _group_positions(
    admin: Admin, targets: Mapping[str, MirrorTarget], partitions: Iterable[TopicPartition], *, require_stable: bool
) -> dict[TopicPartition, MirrorPosition]:
    found: dict[TopicPartition, MirrorPosition] = {}
    for topic, numbers in by_topic(partitions).items():
        offsets = committed_offsets(admin, targets[topic], numbers, require_stable=require_stable)
        for number, offset in offsets.items():
            position = None if offset is None else position_of(offset)
            if position is not None and position.is_of(targets[topic]):
                found[TopicPartition(topic, number)] = position
    return found


def _with_committed_data(
    admin: Admin, targets: Mapping[str, MirrorTarget], partitions: Iterable[TopicPartition]
) -> dict[TopicPartition, OffsetRange]:
    """Return the range before the first open transaction of each target that has had data, by source partition."""
    asked = {tp: TopicPartition(targets[tp.topic].topic, tp.partition) for tp in partitions}
    ends = isolation.committed_ends(admin, asked.values())
    starts = admin.list_offsets(dict.fromkeys(asked.values(), EARLIEST))
    starts.raise_first()
    ranges = {tp: OffsetRange(*target, starts[target].offset, ends[target]) for tp, target in asked.items()}
    return {tp: each for tp, each in ranges.items() if each.end_offset > 0}


def _has_records(properties: Mapping[str, object], data: OffsetRange, runtime: Runtime | None) -> bool:
    """Return whether a partition has or had committed records. A killed run may have left only aborted records."""
    return data.start_offset > 0 or next(_read_target(properties, data, ("offset",), runtime), None) is not None


def _read_target(
    properties: Mapping[str, object], data: OffsetRange, columns: tuple[str, ...], runtime: Runtime | None
) -> "Iterator[pa.RecordBatch]":
    check_packages("pyarrow")
    from kctl.pipeline.range_reader import read_range

    return read_range(isolation.of_target(properties), data, columns, runtime=runtime)


def kept_positions(
    properties: Mapping[str, object], runtime: Runtime | None = None, *, require_stable: bool = False
) -> dict[bytes, MirrorPosition]:
    """Return the last position of each key in the topic of positions, or an empty dict if the topic does not exist.

    Positions after the start of an open transaction are not visible.

    Args:
        require_stable: wait until open transactions have ended. Raises ApiTimeout if they do not end.
    """
    found: dict[bytes, MirrorPosition] = {}
    for each in _kept_ranges(properties, runtime, require_stable=require_stable):
        for batch in _read_target(properties, each, ("key", "value"), runtime):
            for key, value in zip(batch.column("key").to_pylist(), batch.column("value").to_pylist(), strict=True):
                position = _position_in(value)
                if key is not None and position is not None:
                    found[key] = position
    return found


def _kept_ranges(
    properties: Mapping[str, object], runtime: Runtime | None, *, require_stable: bool
) -> list[OffsetRange]:
    try:
        planning = (isolation.with_open_transactions if require_stable else isolation.of_target)(properties)
        return plan_ranges(planning, Selection(topics=(POSITIONS_TOPIC,)), runtime=runtime)
    except BrokerError as error:
        if error.code != ErrorCode.UNKNOWN_TOPIC_OR_PARTITION:
            raise
        return []


def position_key(target: MirrorTarget, partition: int) -> bytes:
    return json.dumps([target.group_id, target.topic, partition], separators=(",", ":")).encode()


def _text(position: MirrorPosition, offset: int | None = None) -> str:
    said: dict[str, Any] = {"v": _VERSION} if offset is None else {"v": _VERSION, "offset": offset}
    said |= {"topic_id": position.source.topic_id, "log_end": position.source.log_end}
    if position.counts is not None:
        said |= {"run": position.run, "counts": position.counts}
    return json.dumps(said | {"target_topic_id": position.target_topic_id}, separators=(",", ":"))


def position_of(committed: OffsetAndMetadata) -> MirrorPosition:
    """Return the position in a group's offset. kctl 0.1 committed offsets without metadata."""
    return _parsed(committed.metadata, committed.offset) or MirrorPosition(ResumePoint(committed.offset), "")


def is_position(committed: OffsetAndMetadata) -> bool:
    """Return whether a group's offset is a position of a mirror, except positions of kctl 0.1."""
    return _parsed(committed.metadata, committed.offset) is not None


def _position_in(value: bytes | None) -> MirrorPosition | None:
    return None if value is None else _parsed(value.decode(errors="replace"), None)


def _parsed(text: str, offset: int | None) -> MirrorPosition | None:
    try:
        given = json.loads(text)
        at = int(given["offset"]) if offset is None else offset
        source = ResumePoint(at, str(given["topic_id"]), int(given.get("log_end", NO_LOG_END)))
        return MirrorPosition(source, str(given["target_topic_id"]), str(given.get("run", "")), given.get("counts"))
    except (ValueError, OverflowError, TypeError, KeyError, RecursionError):
        return None
