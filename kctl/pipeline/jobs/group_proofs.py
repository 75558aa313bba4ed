"""Check whether consumer groups continue in a copy of a topic with the record that they would read next in the source.

Compares the records from the committed offset to the end on both sides, regardless of how the copy was made.
"""

from collections.abc import Iterator, Mapping
from itertools import islice
from typing import NamedTuple

from kctl.client.admin import EARLIEST, LATEST
from kctl.client.cluster import TopicPartition
from kctl.pipeline import isolation
from kctl.pipeline.fingerprints import COLUMNS, Compared, fingerprints
from kctl.pipeline.group_selection import GroupSelection
from kctl.pipeline.isolation import ReadingProperties
from kctl.pipeline.jobs.mirror_groups import MirroredTopics, source_offsets, target_offsets
from kctl.pipeline.jobs.offset_translation import Runs, read_side
from kctl.pipeline.ranges import OffsetRange, Planner
from kctl.pipeline.references import resolve
from kctl.pipeline.running import OnProgress, run_counted
from kctl.pipeline.session import Session
from kctl.pipeline.task_rounds import Attempt

SAME, REPEATS, SKIPS, DIFFERS, MISSING = "same", "repeats", "skips", "differs", "missing"


class GroupProof(NamedTuple):
    """Continuation of a group in the target.

    Attributes:
        target_offset: committed offset. None without one.
        continues: where the group continues.
            same: with the record that it would read next in the source.
            repeats, skips: `records` records earlier or later.
            differs: with another record.
            missing: the group has no offset, so auto.offset.reset decides.
    """

    group: str
    topic: str
    partition: int
    source_offset: int
    target_offset: int | None
    continues: str
    records: int = 0


def behind_only(proof: GroupProof, behind: int) -> GroupProof:
    """Return the proof, as `same` if the group skips only the `behind` records that the copy does not have yet."""
    return proof._replace(continues=SAME, records=0) if proof.continues == SKIPS and proof.records <= behind else proof


class _ProofTask(NamedTuple):
    source: OffsetRange
    target: OffsetRange
    compared: Compared
    properties: dict[str, object]
    target_properties: dict[str, object]

    @property
    def source_reading(self) -> ReadingProperties:
        return isolation.of_source(resolve(self.properties))

    @property
    def target_reading(self) -> ReadingProperties:
        return isolation.of_target(resolve(self.target_properties))


def prove_groups(
    mirrored: MirroredTopics, groups: GroupSelection, compared: Compared, session: Session, on_progress: OnProgress
) -> list[GroupProof]:
    """Return where each group continues, for each source partition in which it has a committed offset."""
    offsets = source_offsets(mirrored, groups)
    if not offsets:
        return []
    there = target_offsets(mirrored, offsets)
    named = {tp: TopicPartition(mirrored.targets[tp.topic].topic, tp.partition) for _, tp in offsets}
    source_bounds = _bounds(isolation.of_source(resolve(mirrored.properties)), list(named), mirrored)
    target_bounds = _bounds(isolation.of_target(resolve(mirrored.target_properties)), list(named.values()), mirrored)
    tasks, keys = [], []
    for (group, tp), offset in sorted(offsets.items()):
        if (group, tp) in there:
            keys.append((group, tp))
            tasks.append(
                _ProofTask(
                    _from(tp, offset, source_bounds[tp]),
                    _from(named[tp], there[group, tp], target_bounds[named[tp]]),
                    compared,
                    dict(mirrored.properties),
                    dict(mirrored.target_properties),
                )
            )
    proofs = run_counted(session, "kctl verify: groups", "comparing groups", tasks, prove, lambda _task: 1, on_progress)
    found = dict(zip(keys, proofs, strict=True))
    return [
        GroupProof(group, *tp, offset, there.get((group, tp)), *found.get((group, tp), (MISSING, 0)))
        for (group, tp), offset in sorted(offsets.items())
    ]


class _CountTask(NamedTuple):
    offsets: OffsetRange
    properties: dict[str, object]


def prove_exported_groups(
    exported: Mapping[str, Mapping[int, int]],
    offsets: Mapping[tuple[str, TopicPartition], int],
    properties: Mapping[str, object],
    session: Session,
    on_progress: OnProgress,
) -> list[GroupProof]:
    """Return where groups continue if their exported offsets are restored in a topic whose records kept their offsets.

    Args:
        offsets: current committed offsets in the cluster.
    """
    keys, tasks = [], []
    for (group, tp), offset in sorted(offsets.items()):
        kept = exported.get(group, {}).get(tp.partition)
        if kept is not None:
            keys.append((group, tp))
            tasks.append(_CountTask(OffsetRange(*tp, min(kept, offset), max(kept, offset)), dict(properties)))
    counts = run_counted(
        session, "kctl verify: groups", "comparing groups", tasks, count_between, lambda _task: 1, on_progress
    )
    between = dict(zip(keys, counts, strict=True))
    found = []
    for (group, tp), offset in sorted(offsets.items()):
        kept = exported.get(group, {}).get(tp.partition)
        if kept is None:
            found.append(GroupProof(group, *tp, offset, None, MISSING))
            continue
        records = between[group, tp]
        continues = SAME if records == 0 else REPEATS if kept < offset else SKIPS
        found.append(GroupProof(group, *tp, offset, kept, continues, records))
    return found


def count_between(task: _CountTask, _attempt: Attempt) -> int:
    reading = isolation.of_source(resolve(task.properties))
    with Planner(reading) as planner:
        tp = task.offsets.topic_partition
        start, end = planner.ends([tp], EARLIEST)[tp], planner.ends([tp], LATEST)[tp]
    left = task.offsets._replace(
        start_offset=min(max(task.offsets.start_offset, start), end), end_offset=min(task.offsets.end_offset, end)
    )
    if left.start_offset >= left.end_offset:
        return 0
    return Runs.of(read_side(reading, left, ("offset",))).count


def prove(task: _ProofTask, _attempt: Attempt) -> tuple[str, int]:
    if _is_same(task, 0, 0):
        return SAME, 0
    ours = Runs.of(read_side(task.source_reading, task.source, ("offset",))).count
    theirs = Runs.of(read_side(task.target_reading, task.target, ("offset",))).count
    if theirs > ours and _is_same(task, 0, theirs - ours):
        return REPEATS, theirs - ours
    if ours > theirs and _is_same(task, ours - theirs, 0):
        return SKIPS, ours - theirs
    return DIFFERS, 0


def _is_same(task: _ProofTask, skip_ours: int, skip_theirs: int) -> bool:
    """Return whether the records after the skipped ones are equal, up to the end of the shorter side.

    A target without records is equal only to a source without records.
    """
    ours = islice(_fingerprints(task.source_reading, task.source, task.compared), skip_ours, None)
    theirs = islice(_fingerprints(task.target_reading, task.target, task.compared), skip_theirs, None)
    for count, one in enumerate(ours):
        other = next(theirs, None)
        if other is None:
            return count > 0
        if one != other:
            return False
    return next(theirs, None) is None


def _fingerprints(reading: ReadingProperties, side: OffsetRange, compared: Compared) -> Iterator[int]:
    for batch in read_side(reading, side, COLUMNS):
        for _, fingerprint in fingerprints(batch, compared):
            yield fingerprint


def _bounds(
    reading: ReadingProperties, partitions: list[TopicPartition], mirrored: MirroredTopics
) -> dict[TopicPartition, tuple[int, int]]:
    with Planner(reading, events=mirrored.events) as planner:
        ends, starts = planner.ends(partitions, LATEST), planner.ends(partitions, EARLIEST)
    return {tp: (starts[tp], ends[tp]) for tp in partitions}


def _from(tp: TopicPartition, offset: int, bounds: tuple[int, int]) -> OffsetRange:
    start, end = bounds
    return OffsetRange(*tp, min(max(offset, start), end), end)
