"""Positions of a mirror: how far each partition of the source is in the target, kept in the target itself.

A position is written in the transaction that holds its records, twice: as the offset of the group
`kctl-mirror.NAME.TOPIC`, where `kctl groups lag` shows it, and as a record of the compacted topic
`kctl-mirror-positions`. Brokers delete offsets of groups without members after offsets.retention.minutes (7 days by
default), and tools of Kafka set them back; the record stays. So a run begins with the newer one of the two. A position
names the topics on both sides by their ids.
"""

import json
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from kctl.client.admin import EARLIEST, Admin, ConfigResource, NewTopic, OffsetAndMetadata, ResourceType
from kctl.client.broker_errors import ErrorCode
from kctl.client.cluster import TopicPartition, by_topic
from kctl.client.errors import BrokerError
from kctl.client.runtime import Runtime
from kctl.pipeline import isolation
from kctl.pipeline.job_errors import MirrorPositionError
from kctl.pipeline.ranges import OffsetRange, Selection, plan_ranges
from kctl.pipeline.resume_point import NO_LOG_END, ResumePoint

if TYPE_CHECKING:
    from kctl.client.producer import Producer

POSITIONS_TOPIC: Final = "kctl-mirror-positions"
_COMPACTED: Final = {"cleanup.policy": "compact", "segment.bytes": str(16 * 1024 * 1024)}
"""Brokers compact closed segments alone, and each run reads the whole topic."""
_VERSION: Final = 1


class MirrorTarget(NamedTuple):
    """Where one topic is mirrored to.

    Attributes:
        topic: in the target. group_id: that has its positions.
        topic_id: of the target's topic; empty where the brokers have no ids.
    """

    topic: str
    group_id: str
    topic_id: str = ""


class MirrorPosition(NamedTuple):
    """How far a partition is mirrored, and between which topics.

    Attributes:
        run: the id of the run that wrote it.
        counts: what that run had counted of the partition up to here, as JSON has it: an attempt that follows one whose
            worker was killed continues its account, too.
    """

    source: ResumePoint
    target_topic_id: str
    run: str = ""
    counts: Any = None

    @classmethod
    def behind(
        cls, offsets: OffsetRange, target: MirrorTarget, offset: int, run: str = "", counts: Any = None
    ) -> "MirrorPosition":
        """Return the position that has everything before an offset of the range's partition."""
        return cls(ResumePoint(offset, offsets.topic_id, offsets.log_end), target.topic_id, run, counts)

    def counted_by(self, run: str) -> Any:
        """Return what a run had counted up to here; None where another one wrote the position."""
        return self.counts if self.run == run else None

    def is_ahead_of(self, other: "MirrorPosition") -> bool:
        """Whether this is the newer one of two positions in the same topic, as far as that is known."""
        known = (self.source.topic_id, "")
        return other.source.topic_id in known and self.source.offset > other.source.offset

    def is_of(self, target: MirrorTarget) -> bool:
        """Whether the target's topic is still the one that was written to."""
        return not (self.target_topic_id and target.topic_id) or self.target_topic_id == target.topic_id


class Positions(NamedTuple):
    """What the target knows of each partition of the source.

    Attributes:
        found: by partition of the source.
        lost: partitions whose target has had records, and that have no position.
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
    is_first: bool = True,
) -> Positions:
    """Return how far each partition is mirrored.

    The transaction of a killed run may stay open until transaction.timeout.ms, so the first request does not wait for
    transactions to end. Only partitions that seem to have lost their position are requested again with
    require_stable: the markers of a transaction that was just committed may not have reached the group yet.

    Args:
        admin, properties: of the target's cluster.
        targets: by topic of the source; those that are missing in the target left out.
        counts: of the partitions of each topic of the source.
        is_first: False: this run has found positions before, so the offsets of the groups are its own.
    """
    partitions = [TopicPartition(topic, number) for topic in targets for number in range(counts[topic])]
    found = _group_positions(admin, targets, partitions, require_stable=False)
    if found and is_first:
        kept = _kept_of(targets, found, kept_positions(properties, runtime))
        found |= {tp: position for tp, position in kept.items() if position.is_ahead_of(found[tp])}
    unknown = _with_committed_data(admin, targets, [tp for tp in partitions if tp not in found])
    found |= _kept_of(targets, unknown, kept_positions(properties, runtime) if unknown else {})
    unknown = {tp: data for tp, data in unknown.items() if tp not in found and _has_records(properties, data, runtime)}
    found |= _group_positions(admin, targets, unknown, require_stable=True)
    lost = [tp for tp in unknown if tp not in found]
    if lost:  # a transaction of another mirror may hide them
        found |= _kept_of(targets, lost, kept_positions(properties, runtime, require_stable=True))
    return Positions(found, [tp for tp in lost if tp not in found])


def _kept_of(
    targets: Mapping[str, MirrorTarget], sources: Iterable[TopicPartition], kept: Mapping[bytes, MirrorPosition]
) -> dict[TopicPartition, MirrorPosition]:
    """Return the kept positions of partitions of the source, those of deleted targets left out."""
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
    """Return what the group has for some partitions; None where it has no offset, or its offset has expired."""
    asked = [TopicPartition(target.topic, number) for number in numbers]
    found = admin.list_group_offsets(target.group_id, asked, require_stable=require_stable, timeout=timeout)
    found.raise_first()
    return {tp.partition: found[tp] for tp in asked}


def write_position(
    producer: "Producer", target: MirrorTarget, partition: int, position: MirrorPosition
) -> OffsetAndMetadata:
    """Send the record of a position in the open transaction; return the offset to commit in it."""
    producer.send(
        POSITIONS_TOPIC, key=position_key(target, partition), value=_text(position, position.source.offset).encode()
    )
    return as_group_offset(position)


def as_group_offset(position: MirrorPosition) -> OffsetAndMetadata:
    """Return a position as an offset of the group."""
    return OffsetAndMetadata(position.source.offset, _text(position))


def create_positions_topic(admin: Admin) -> None:
    """Create the topic of the positions where the target has none.

    Raises: MirrorPositionError: the topic deletes old positions.
    """
    created = admin.create_topics([NewTopic(POSITIONS_TOPIC, 1, configs=_COMPACTED)])
    error = created.failed.get(POSITIONS_TOPIC)
    if error is None:
        return
    if not (isinstance(error, BrokerError) and error.code == ErrorCode.TOPIC_ALREADY_EXISTS):
        raise error
    topic = ConfigResource(ResourceType.TOPIC, POSITIONS_TOPIC)
    configs = admin.describe_configs([topic]).done.get(topic, {})  # none if the principal must not read them
    policy = configs["cleanup.policy"].value if "cleanup.policy" in configs else None
    if policy is not None and "delete" in policy:
        raise MirrorPositionError(
            f"topic {POSITIONS_TOPIC} deletes old positions (cleanup.policy={policy})",
            f"kctl topics alter {POSITIONS_TOPIC} --config cleanup.policy=compact",
        )


def _group_positions(
    admin: Admin, targets: Mapping[str, MirrorTarget], partitions: Iterable[TopicPartition], *, require_stable: bool
) -> dict[TopicPartition, MirrorPosition]:
    """Return the positions that the groups have for partitions of the source, those of deleted targets left out."""
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
    """Return the offsets before the first open transaction of each target that has any, by partition of the source."""
    asked = {tp: TopicPartition(targets[tp.topic].topic, tp.partition) for tp in partitions}
    ends = isolation.committed_ends(admin, asked.values())
    starts = admin.list_offsets(dict.fromkeys(asked.values(), EARLIEST))
    starts.raise_first()
    ranges = {tp: OffsetRange(*target, starts[target].offset, ends[target]) for tp, target in asked.items()}
    return {tp: each for tp, each in ranges.items() if each.end_offset > 0}


def _has_records(properties: Mapping[str, object], data: OffsetRange, runtime: Runtime | None) -> bool:
    """Whether a partition has, or had, records that were not aborted; its first transaction may have been killed."""
    from kctl.pipeline.range_reader import read_range

    if data.start_offset > 0:
        return True
    reading = isolation.of_target(properties)
    return next(read_range(reading, data, ("offset",), runtime=runtime), None) is not None


def kept_positions(
    properties: Mapping[str, object], runtime: Runtime | None = None, *, require_stable: bool = False
) -> dict[bytes, MirrorPosition]:
    """Return the last position of each key in the positions topic; none where there is no such topic.

    An open transaction hides what others have committed behind its first record.

    Args: require_stable: wait for its end, and raise ApiTimeout where it does not end.
    """
    from kctl.pipeline.range_reader import read_range

    reading = isolation.of_target(properties)
    found: dict[bytes, MirrorPosition] = {}
    for each in _kept_ranges(properties, runtime, require_stable=require_stable):
        for batch in read_range(reading, each, ("key", "value"), runtime=runtime):
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
    """Return the key of a position in the topic of positions."""
    return json.dumps([target.group_id, target.topic, partition], separators=(",", ":")).encode()


def _text(position: MirrorPosition, offset: int | None = None) -> str:
    said: dict[str, Any] = {"v": _VERSION} if offset is None else {"v": _VERSION, "offset": offset}
    said |= {"topic_id": position.source.topic_id, "log_end": position.source.log_end}
    if position.counts is not None:
        said |= {"run": position.run, "counts": position.counts}
    return json.dumps(said | {"target_topic_id": position.target_topic_id}, separators=(",", ":"))


def position_of(committed: OffsetAndMetadata) -> MirrorPosition:
    """Return the position that the group has; kctl 0.1 committed offsets without metadata."""
    return _parsed(committed.metadata, committed.offset) or MirrorPosition(ResumePoint(committed.offset), "")


def is_position(committed: OffsetAndMetadata) -> bool:
    """Whether an offset of a group is a position of a mirror; one of kctl 0.1 looks like other offsets."""
    return _parsed(committed.metadata, committed.offset) is not None


def _position_in(value: bytes | None) -> MirrorPosition | None:
    return None if value is None else _parsed(value.decode(errors="replace"), None)


def _parsed(text: str, offset: int | None) -> MirrorPosition | None:
    """Return what a text says, or None where it is not a position's."""
    try:
        given = json.loads(text)
        at = int(given["offset"]) if offset is None else offset
        source = ResumePoint(at, str(given["topic_id"]), int(given.get("log_end", NO_LOG_END)))
        return MirrorPosition(source, str(given["target_topic_id"]), str(given.get("run", "")), given.get("counts"))
    except (ValueError, OverflowError, TypeError, KeyError, RecursionError):
        return None
