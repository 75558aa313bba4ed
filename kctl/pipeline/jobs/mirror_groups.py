"""Committed offsets of consumer groups, copied by `mirror --groups` and checked by `verify --groups`.

Translated offsets are committed in the target for the group of equal name if it has no members and is not further
ahead, so consumers that move to the target miss and repeat no records.
"""

import re
from collections.abc import Container, Iterable, Mapping, Sequence
from typing import NamedTuple

from kctl.client.admin import EARLIEST, LATEST, Admin, OffsetAndMetadata, Results
from kctl.client.broker_errors import ErrorCode
from kctl.client.clock import Clock, SystemClock, Timer
from kctl.client.cluster import TopicPartition
from kctl.client.errors import ApiTimeout, BrokerError, KafkaError
from kctl.client.events import EventSink
from kctl.pipeline import isolation
from kctl.pipeline.group_selection import GroupSelection
from kctl.pipeline.jobs.mirror_positions import (
    NONE_REACHED,
    MirrorTarget,
    Reached,
    is_position,
    newest_positions,
)
from kctl.pipeline.jobs.offset_translation import Translated, TranslationTask, translate_offsets
from kctl.pipeline.ranges import OffsetRange, Planner
from kctl.pipeline.references import resolve
from kctl.pipeline.running import OnProgress, run_counted
from kctl.pipeline.session import Session

ALREADY_THERE = "exists already"
LEAST_SHARE_MS = 1000
"""Minimum timeout in ms for the commit of one of many groups, unless less time remains."""
LOOKS = 3
"""Maximum number of attempts to read the end of an active mirror."""


class GroupOffset(NamedTuple):
    """Outcome of a group's offset.

    Attributes:
        target_offset: next offset of the group in the target. None if unknown.
        committed: committed offset in the target before any change. None without one.
        problem: reason why the offset was not written. Empty if it was.
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
        """True if the group would not continue in the target where it would in the source."""
        return bool(self.problem) and (self.committed is None or self.committed != self.target_offset)


class MirroredTopics(NamedTuple):
    """A mirror.

    Attributes:
        properties, target_properties: Kafka properties of both sides.
        targets: dict from source topic to target.
        reached: positions after the last round.
    """

    properties: Mapping[str, object]
    target_properties: Mapping[str, object]
    targets: Mapping[str, MirrorTarget]
    events: EventSink
    reached: Reached = NONE_REACHED


def carry_group_offsets(
    mirrored: MirroredTopics, groups: GroupSelection, session: Session, on_progress: OnProgress
) -> list[GroupOffset]:
    """Commit the translated offsets of groups in the target, and return the outcome of each offset."""
    found = translate_groups(mirrored, groups, session, on_progress)
    with Admin(resolve(mirrored.target_properties), events=mirrored.events) as admin:
        return commit_offsets(admin, found, {topic: target.topic for topic, target in mirrored.targets.items()})


def commit_offsets(
    admin: Admin, found: Sequence[GroupOffset], targets: Mapping[str, str], clock: Clock | None = None
) -> list[GroupOffset]:
    """Commit the offsets without a problem, all within one timeout, and return the outcome of each offset."""
    wanted: dict[str, list[GroupOffset]] = {}
    for each in found:
        if not each.problem:
            wanted.setdefault(each.group, []).append(each)
    problems: dict[tuple[str, TopicPartition], str] = {}
    timer = Timer(clock or SystemClock(), admin.config.default_api_timeout_ms)
    for left, (group, some) in zip(range(len(wanted), 0, -1), wanted.items(), strict=True):
        timer.update()
        share_ms = min(timer.remaining_ms, max(timer.remaining_ms // left, LEAST_SHARE_MS))
        offsets = {TopicPartition(targets[each.topic], each.partition): each.target_offset or 0 for each in some}
        try:
            failed = admin.alter_group_offsets(group, offsets, timeout=share_ms / 1000).failed
        except ApiTimeout as e:  # other groups may have coordinators that respond
            failed = dict.fromkeys(offsets, e)
        for tp, error in failed.items():
            problems[group, tp] = _refusal(error)
    return [
        each
        if each.problem
        else each._replace(problem=problems.get((each.group, TopicPartition(targets[each.topic], each.partition)), ""))
        for each in found
    ]


def translate_groups(
    mirrored: MirroredTopics, groups: GroupSelection, session: Session, on_progress: OnProgress
) -> list[GroupOffset]:
    """Return the offsets of groups in the target without writing them."""
    offsets = source_offsets(mirrored, groups)
    if not offsets:
        return []
    tasks, problems = _tasks(mirrored, offsets_by_partition(offsets))
    places = find_places(session, "kctl mirror: groups", tasks, on_progress)
    committed = target_offsets(mirrored, offsets)
    found = []
    for (group, tp), offset in sorted(offsets.items()):
        there = committed.get((group, tp))
        place = places.get((tp, offset)) or Translated(offset, None, problems.get(tp, ""))
        found.append(group_offset(group, tp, place, there))
    return found


def offsets_by_partition(offsets: Mapping[tuple[str, TopicPartition], int]) -> dict[TopicPartition, list[int]]:
    found: dict[TopicPartition, list[int]] = {}
    for (_, tp), offset in offsets.items():
        found.setdefault(tp, []).append(offset)
    return found


def find_places(
    session: Session, job: str, tasks: Sequence[TranslationTask], on_progress: OnProgress
) -> dict[tuple[TopicPartition, int], Translated]:
    translated = run_counted(
        session, job, "translating offsets of groups", tasks, translate_offsets, lambda _task: 1, on_progress
    )
    return {
        (task.source.topic_partition, each.offset): each
        for task, result in zip(tasks, translated, strict=True)
        for each in result
    }


def group_offset(group: str, tp: TopicPartition, place: Translated, there: int | None) -> GroupOffset:
    """Return the outcome of a group's offset. It has a problem if the group is already there or further ahead."""
    problem = place.problem
    if place.target_offset is not None and there is not None and there >= place.target_offset:
        problem = (
            ALREADY_THERE
            if there == place.target_offset
            else f"the group has already committed offset {there} in the target, which is further ahead"
        )
    return GroupOffset(group, *tp, place.offset, place.target_offset, there, problem)


def source_offsets(mirrored: MirroredTopics, groups: GroupSelection) -> dict[tuple[str, TopicPartition], int]:
    with Admin(resolve(mirrored.properties), events=mirrored.events) as admin:
        return offsets_of(admin, groups, mirrored.targets)


def offsets_of(admin: Admin, groups: GroupSelection, topics: Container[str]) -> dict[tuple[str, TopicPartition], int]:
    """Return the committed offsets of groups in topics, without positions of mirrors."""
    names = list(groups.names)
    if groups.pattern:
        pattern = re.compile(groups.pattern)
        listed = admin.list_groups()
        for error in listed.failed.values():
            raise error
        names += sorted(name for name in listed.groups if pattern.fullmatch(name))
    found: dict[tuple[str, TopicPartition], int] = {}
    for group, committed in _committed(admin, dict.fromkeys(names)).items():
        committed.raise_first()
        for tp, offset in committed.done.items():
            if tp.topic in topics and not is_position(offset):
                found[group, tp] = offset.offset
    return found


def _committed(admin: Admin, groups: Iterable[str]) -> dict[str, Results[TopicPartition, OffsetAndMetadata]]:
    if not (names := list(groups)):
        return {}
    committed = admin.list_offsets_of_groups(names)
    committed.raise_first()
    return committed.done


def _tasks(
    mirrored: MirroredTopics, asked: Mapping[TopicPartition, list[int]]
) -> tuple[list[TranslationTask], dict[TopicPartition, str]]:
    tasks, problems = [], {}
    ends = mirrored_ends(mirrored, asked)
    ends |= _ends_without_records(mirrored, [tp for tp in asked if tp not in ends])
    with Admin(resolve(mirrored.properties), events=mirrored.events) as admin:
        starts, log_ends = (admin.list_offsets(dict.fromkeys(asked, where)) for where in (EARLIEST, LATEST))
        starts.raise_first()
        log_ends.raise_first()
    with Admin(resolve(mirrored.target_properties), events=mirrored.events) as admin:
        named = {tp: TopicPartition(mirrored.targets[tp.topic].topic, tp.partition) for tp in asked}
        target_starts = admin.list_offsets({named[tp]: EARLIEST for tp in ends})
        target_starts.raise_first()
    for tp, offsets in asked.items():
        end = ends.get(tp)
        if end is None:
            problems[tp] = "the partition is not mirrored yet, or its mirror is still running"
            continue
        source_end, target_end = end
        source = OffsetRange(*tp, min(starts[tp].offset, source_end), source_end, log_end=log_ends[tp].offset)
        target = OffsetRange(*named[tp], min(target_starts[named[tp]].offset, target_end), target_end)
        tasks.append(
            TranslationTask(source, target, tuple(offsets), dict(mirrored.properties), dict(mirrored.target_properties))
        )
    return tasks, problems


def mirrored_ends(
    mirrored: MirroredTopics, partitions: Iterable[TopicPartition]
) -> dict[TopicPartition, tuple[int, int]]:
    """Return the ends, in source and target, of mirrored partitions. Partitions that change during the check are left
    out.
    """
    found: dict[TopicPartition, tuple[int, int]] = {}
    with Admin(resolve(mirrored.target_properties), events=mirrored.events) as admin:
        left = list(partitions)
        for _ in range(LOOKS):
            before = _positions(admin, mirrored, left)
            targets = {tp: TopicPartition(mirrored.targets[tp.topic].topic, tp.partition) for tp in before}
            ends = isolation.committed_ends(admin, targets.values())
            after = _positions(admin, mirrored, left)
            still = [tp for tp in before if before[tp] == after.get(tp)]
            found |= {tp: (before[tp], ends[targets[tp]]) for tp in still}
            left = [tp for tp in left if tp not in found]
            if not left:
                break
    return found


def _ends_without_records(
    mirrored: MirroredTopics, partitions: list[TopicPartition]
) -> dict[TopicPartition, tuple[int, int]]:
    """Return the ends, in source and target, of partitions that are empty on both sides. They have no position."""
    with Planner(isolation.of_source(resolve(mirrored.properties)), events=mirrored.events) as planner:
        starts, ends = planner.ends(partitions, EARLIEST), planner.ends(partitions, LATEST)
    targets = {
        tp: TopicPartition(mirrored.targets[tp.topic].topic, tp.partition)
        for tp in partitions
        if starts[tp] == ends[tp]
    }
    with Planner(isolation.of_target(resolve(mirrored.target_properties)), events=mirrored.events) as planner:
        starts, target_ends = planner.ends([*targets.values()], EARLIEST), planner.ends([*targets.values()], LATEST)
    return {tp: (ends[tp], target_ends[each]) for tp, each in targets.items() if starts[each] == target_ends[each]}


def _positions(
    admin: Admin, mirrored: MirroredTopics, partitions: Sequence[TopicPartition]
) -> dict[TopicPartition, int]:
    properties, reached = resolve(mirrored.target_properties), mirrored.reached
    found = newest_positions(admin, properties, mirrored.targets, partitions, reached)
    offsets = {tp: position.source.offset for tp, position in found.items()}
    return {tp: offset for tp, offset in offsets.items() if offset >= reached.get(tp, 0)}


def target_offsets(
    mirrored: MirroredTopics, offsets: Mapping[tuple[str, TopicPartition], int]
) -> dict[tuple[str, TopicPartition], int]:
    with Admin(resolve(mirrored.target_properties), events=mirrored.events) as admin:
        return committed_in(admin, offsets, {topic: target.topic for topic, target in mirrored.targets.items()})


def committed_in(
    admin: Admin, offsets: Iterable[tuple[str, TopicPartition]], targets: Mapping[str, str]
) -> dict[tuple[str, TopicPartition], int]:
    """Return the committed offsets of groups in target topics, by group and source partition."""
    found: dict[tuple[str, TopicPartition], int] = {}
    wanted = list(offsets)
    by_group = _committed(admin, dict.fromkeys(group for group, _ in wanted))
    for group, tp in wanted:
        target = TopicPartition(targets[tp.topic], tp.partition)
        if (error := by_group[group].failed.get(target)) is not None:
            raise error
        if (offset := by_group[group].done.get(target)) is not None:
            found[group, tp] = offset.offset
    return found


def _refusal(error: KafkaError) -> str:
    if isinstance(error, BrokerError) and error.code == ErrorCode.UNKNOWN_MEMBER_ID:
        return "the group has active members in the target"
    return str(error)
