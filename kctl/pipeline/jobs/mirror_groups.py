"""Committed offsets of consumer groups, carried over by `mirror --groups` and checked by `verify --groups`.

The offsets of a group in the source are translated (`offset_translation`, tasks on Spark), and committed in the target
for the group of the same name, where that has no members and is not further already. So consumers that move to the
target continue without a gap and without a record twice.
Shown by tests/pipeline/test_mirrored_groups.py and tests/loopback/test_mirror_group_positions.py.
"""

import re
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from kctl.client.admin import EARLIEST, LATEST, Admin
from kctl.client.broker_errors import ErrorCode
from kctl.client.cluster import TopicPartition
from kctl.client.errors import BrokerError, KafkaError
from kctl.client.events import EventSink
from kctl.pipeline.jobs.mirror_positions import (
    MirrorTarget,
    committed_offsets,
    is_position,
    kept_positions,
    position_key,
)
from kctl.pipeline.jobs.offset_translation import TranslationTask, translate_offsets
from kctl.pipeline.ranges import OffsetRange
from kctl.pipeline.references import resolve
from kctl.pipeline.running import OnProgress, run_counted
from kctl.pipeline.session import Session

ALREADY_THERE = "is there already"
LOOKS = 3
"""How often the end of a mirror is looked at, where it moves meanwhile."""


class GroupSelection(NamedTuple):
    """Which groups. Attributes: names: these. pattern: those whose whole name matches; empty for none."""

    names: tuple[str, ...] = ()
    pattern: str = ""

    def __bool__(self) -> bool:
        return bool(self.names or self.pattern)


class GroupOffset(NamedTuple):
    """What became of the offset of a group.

    Attributes:
        topic, partition: in the source. source_offset: committed there.
        target_offset: where the group continues in the target; None where no such place is known.
        committed: in the target, before anything was written; None without any.
        problem: why it was not, or need not be, written; empty where it was.
    """

    group: str
    topic: str
    partition: int
    source_offset: int
    target_offset: int | None
    committed: int | None
    problem: str = ""

    @property
    def is_left_behind(self) -> bool:
        """Whether the group would not continue in the target where it is in the source."""
        return bool(self.problem) and (self.committed is None or self.committed != self.target_offset)


class MirroredTopics(NamedTuple):
    """What is mirrored: Kafka properties of both sides, and the target of each topic of the source."""

    properties: Mapping[str, object]
    target_properties: Mapping[str, object]
    targets: Mapping[str, MirrorTarget]
    events: EventSink


def carry_group_offsets(
    mirrored: MirroredTopics, groups: GroupSelection, session: Session, on_progress: OnProgress
) -> list[GroupOffset]:
    """Commit the translated offsets of the groups in the target, and return what became of each. Raises: KafkaError."""
    found = translate_groups(mirrored, groups, session, on_progress)
    wanted: dict[str, list[GroupOffset]] = {}
    for each in found:
        if not each.problem:
            wanted.setdefault(each.group, []).append(each)
    problems: dict[tuple[str, TopicPartition], str] = {}
    with Admin(resolve(mirrored.target_properties), events=mirrored.events) as admin:
        for group, some in wanted.items():
            offsets = {_target_of(mirrored, each): each.target_offset or 0 for each in some}
            for tp, error in admin.alter_group_offsets(group, offsets).failed.items():
                problems[group, tp] = _refusal(error)
    return [
        each if each.problem else each._replace(problem=problems.get((each.group, _target_of(mirrored, each)), ""))
        for each in found
    ]


def translate_groups(
    mirrored: MirroredTopics, groups: GroupSelection, session: Session, on_progress: OnProgress
) -> list[GroupOffset]:
    """Return where the groups continue in the target, without writing anything; `problem` says why not, or no need."""
    offsets = source_offsets(mirrored, groups)
    asked: dict[TopicPartition, list[int]] = {}
    for (_, tp), offset in offsets.items():
        asked.setdefault(tp, []).append(offset)
    if not asked:
        return []
    tasks, problems = _tasks(mirrored, asked)
    translated = run_counted(
        session,
        "kctl mirror: groups",
        "translating offsets of groups",
        tasks,
        translate_offsets,
        lambda _task: 1,
        on_progress,
    )
    places = {
        (task.source.topic_partition, each.offset): each
        for task, result in zip(tasks, translated, strict=True)
        for each in result
    }
    committed = target_offsets(mirrored, offsets)
    found = []
    for (group, tp), offset in sorted(offsets.items()):
        there = committed.get((group, tp))
        place = places.get((tp, offset))
        target_offset = None if place is None else place.target_offset
        problem = problems.get(tp, "") if place is None else place.problem
        if target_offset is not None and there is not None and there >= target_offset:
            problem = ALREADY_THERE if there == target_offset else f"the group is further there, at {there}"
        found.append(GroupOffset(group, *tp, offset, target_offset, there, problem))
    return found


def source_offsets(mirrored: MirroredTopics, groups: GroupSelection) -> dict[tuple[str, TopicPartition], int]:
    """Return what the groups have committed for the topics; positions of mirrors left out."""
    with Admin(resolve(mirrored.properties), events=mirrored.events) as admin:
        names = list(groups.names)
        if groups.pattern:
            pattern = re.compile(groups.pattern)
            listed = admin.list_groups()
            for error in listed.failed.values():
                raise error
            names += sorted(name for name in listed.groups if pattern.fullmatch(name))
        found: dict[tuple[str, TopicPartition], int] = {}
        for group in dict.fromkeys(names):
            committed = admin.list_group_offsets(group)
            committed.raise_first()
            for tp, offset in committed.done.items():
                if tp.topic in mirrored.targets and offset is not None and not is_position(offset):
                    found[group, tp] = offset.offset
        return found


def _tasks(
    mirrored: MirroredTopics, asked: Mapping[TopicPartition, list[int]]
) -> tuple[list[TranslationTask], dict[TopicPartition, str]]:
    """Return a task for each partition, and why there is none for others."""
    tasks, problems = [], {}
    ends = mirrored_ends(mirrored, asked)
    with Admin(resolve(mirrored.properties), events=mirrored.events) as admin:
        starts = admin.list_offsets(dict.fromkeys(asked, EARLIEST))
        starts.raise_first()
    with Admin(resolve(mirrored.target_properties), events=mirrored.events) as admin:
        named = {tp: TopicPartition(mirrored.targets[tp.topic].topic, tp.partition) for tp in asked}
        target_starts = admin.list_offsets({named[tp]: EARLIEST for tp in ends})
        target_starts.raise_first()
    for tp, offsets in asked.items():
        end = ends.get(tp)
        if end is None:
            problems[tp] = "the partition is not mirrored, or is being mirrored"
            continue
        source_end, target_end = end
        source = OffsetRange(*tp, min(starts[tp].offset, source_end), source_end)
        target = OffsetRange(*named[tp], min(target_starts[named[tp]].offset, target_end), target_end)
        tasks.append(
            TranslationTask(source, target, tuple(offsets), dict(mirrored.properties), dict(mirrored.target_properties))
        )
    return tasks, problems


def mirrored_ends(
    mirrored: MirroredTopics, partitions: Iterable[TopicPartition]
) -> dict[TopicPartition, tuple[int, int]]:
    """Return the offsets behind what was mirrored last, in source and target, of partitions that stand still."""
    found: dict[TopicPartition, tuple[int, int]] = {}
    with Admin(resolve(mirrored.target_properties), events=mirrored.events) as admin:
        left = list(partitions)
        for _ in range(LOOKS):
            before = _positions(admin, mirrored, left)
            targets = {tp: TopicPartition(mirrored.targets[tp.topic].topic, tp.partition) for tp in before}
            ends = admin.list_offsets(dict.fromkeys(targets.values(), LATEST), isolation_level="read_committed")
            ends.raise_first()
            after = _positions(admin, mirrored, left)
            still = [tp for tp in before if before[tp] == after.get(tp)]
            found |= {tp: (before[tp], ends[targets[tp]].offset) for tp in still}
            left = [tp for tp in left if tp not in found]
            if not left:
                break
    return found


def _positions(
    admin: Admin, mirrored: MirroredTopics, partitions: Iterable[TopicPartition]
) -> dict[TopicPartition, int]:
    """Return how far partitions of the source are mirrored; brokers delete offsets of groups without members."""
    numbers: dict[str, list[int]] = {}
    for topic, number in partitions:
        numbers.setdefault(topic, []).append(number)
    found: dict[TopicPartition, int] = {}
    for topic, some in numbers.items():
        for number, offset in committed_offsets(admin, mirrored.targets[topic], some, require_stable=True).items():
            if offset is not None:
                found[TopicPartition(topic, number)] = offset.offset
    missing = [
        tp for topic, some in numbers.items() for number in some if (tp := TopicPartition(topic, number)) not in found
    ]
    kept = kept_positions(resolve(mirrored.target_properties)) if missing else {}
    for tp in missing:
        position = kept.get(position_key(mirrored.targets[tp.topic], tp.partition))
        if position is not None and position.is_of(mirrored.targets[tp.topic]):
            found[tp] = position.source.offset
    return found


def target_offsets(
    mirrored: MirroredTopics, offsets: Mapping[tuple[str, TopicPartition], int]
) -> dict[tuple[str, TopicPartition], int]:
    """Return what the groups have committed in the target, by partition of the source."""
    found: dict[tuple[str, TopicPartition], int] = {}
    by_group: dict[str, list[TopicPartition]] = {}
    for group, tp in offsets:
        by_group.setdefault(group, []).append(tp)
    with Admin(resolve(mirrored.target_properties), events=mirrored.events) as admin:
        for group, partitions in by_group.items():
            named = {TopicPartition(mirrored.targets[tp.topic].topic, tp.partition): tp for tp in partitions}
            committed = admin.list_group_offsets(group, list(named))
            committed.raise_first()
            for target, offset in committed.done.items():
                if offset is not None:
                    found[group, named[target]] = offset.offset
    return found


def _target_of(mirrored: MirroredTopics, offset: GroupOffset) -> TopicPartition:
    return TopicPartition(mirrored.targets[offset.topic].topic, offset.partition)


def _refusal(error: KafkaError) -> str:
    if isinstance(error, BrokerError) and error.code == ErrorCode.UNKNOWN_MEMBER_ID:
        return "the group has members in the target"
    return str(error)
