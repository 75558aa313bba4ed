"""`verify`: comparison of two topics, or of a topic and its export, with the differing records.

The tasks of the first round return tallies of fingerprints of both sides, which are equal for equal records in equal
order. In the second round, one task for each unequal partition reads both sides in parallel (`record_diff`). Ends are
fixed at the start, the target's first, so records that arrive later are not differences.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from kctl.client.admin import EARLIEST, LATEST, Admin
from kctl.client.errors import ConfigError
from kctl.client.events import EventSink, ignore_events
from kctl.pipeline import isolation
from kctl.pipeline.export_files.manifests import ExportedRange
from kctl.pipeline.fingerprints import COLUMNS, Compared, Entry, Tally, entries, fingerprints, tally
from kctl.pipeline.group_selection import GroupSelection
from kctl.pipeline.isolation import ReadingProperties
from kctl.pipeline.jobs.group_proofs import GroupProof, behind_only, prove_exported_groups, prove_groups
from kctl.pipeline.jobs.mirror_groups import MirroredTopics, offsets_of
from kctl.pipeline.jobs.mirror_positions import MirrorTarget
from kctl.pipeline.locations import Location, StoreUrl
from kctl.pipeline.range_packing import RANGE_BYTES, Packing, cut_to, pack, task_packing
from kctl.pipeline.ranges import OffsetRange, Planner, Selection, cut_ranges
from kctl.pipeline.record_diff import Differences, RecordDiff
from kctl.pipeline.references import refuse_plain_secrets, resolve
from kctl.pipeline.running import (
    OnProgress,
    ignore_progress,
    open_session,
    run_counted,
    run_split_counted,
    start_planning,
)
from kctl.pipeline.session import Session, SessionOptions, tasks_at_once
from kctl.pipeline.sizing import bytes_per_offset
from kctl.pipeline.targets import exported_ranges, facts_in, files_of
from kctl.pipeline.task_rounds import Attempt, Split

if TYPE_CHECKING:
    import pyarrow as pa


class VerifyRequest(NamedTuple):
    """Parameters of a comparison.

    Attributes:
        properties, target_properties: Kafka properties of both clusters, with secrets as references.
        folder: location of an export, instead of a target topic. Offsets are then compared.
        compared: compared fields in addition to key, value and headers.
        range_bytes: size of the log that one task of the first round reads, in bytes, approximately.
    """

    topic: str
    properties: Mapping[str, object]
    target_topic: str = ""
    target_properties: Mapping[str, object] = {}
    folder: Location | None = None
    compared: Compared = Compared()
    range_bytes: int = RANGE_BYTES
    groups: GroupSelection = GroupSelection()
    events: EventSink = ignore_events


class Piece(NamedTuple):
    """Input of one tally of the first round: offsets of a topic, or an exported range.

    Attributes:
        is_target: side of the piece.
        skip_to: first offset of the exported range that is read.
    """

    is_target: bool
    partition: int
    offsets: OffsetRange | None
    exported: ExportedRange | None = None
    skip_to: int = 0

    @property
    def size(self) -> int:
        if self.exported is not None:
            return self.exported.records
        return 0 if self.offsets is None else self.offsets.size


class VerifyPlan(NamedTuple):
    """Plan of a run. Each task has pieces of one side, in offset order."""

    tasks: tuple[tuple[Piece, ...], ...]
    partitions: tuple[int, ...]
    size_bytes: int

    @property
    def pieces(self) -> tuple[Piece, ...]:
        return tuple(piece for task in self.tasks for piece in task)

    def pieces_of(self, partition: int) -> tuple[tuple[Piece, ...], tuple[Piece, ...]]:
        of_partition = [piece for piece in self.pieces if piece.partition == partition]
        return (
            tuple(piece for piece in of_partition if not piece.is_target),
            tuple(piece for piece in of_partition if piece.is_target),
        )

    @property
    def offsets(self) -> int:
        return sum(piece.size for piece in self.pieces)


class PartitionComparison(NamedTuple):
    partition: int
    source_records: int
    target_records: int
    differences: Differences

    @property
    def is_equal(self) -> bool:
        return not self.differences.all

    @property
    def is_behind_only(self) -> bool:
        return self.differences.all == self.differences.behind > 0


class VerifyResult(NamedTuple):
    partitions: tuple[PartitionComparison, ...]
    groups: tuple[GroupProof, ...] = ()

    @property
    def is_equal(self) -> bool:
        return all(each.is_equal for each in self.partitions)


# --- the driver -----------------------------------------------------------------------------------------------------


def verify(
    request: VerifyRequest,
    *,
    session: Session | None = None,
    options: SessionOptions | None = None,
    on_progress: OnProgress = ignore_progress,
) -> VerifyResult:
    """Return the comparison of source and target by partition.

    Args: session, options, on_progress: as for `kctl.pipeline.jobs.export.export`.

    Raises:
        ConfigError: the request is invalid.
        FolderError, ExportDataError: the export is missing or damaged.
        SparkMissingError, SparkSetUpError, SparkFailedError: Spark cannot start, or failed the job.
        KafkaError: a cluster failed a request.
    """
    options = start_planning(session, options, on_progress)
    plan = plan_verify(request, options, session)
    with ExitStack() as stack:
        running = session or stack.enter_context(open_session(options, "kctl verify", on_progress))
        result = _compare(request, plan, running, on_progress)
        return result if not request.groups else _with_groups(request, result, running, on_progress)


def plan_verify(
    request: VerifyRequest, options: SessionOptions | None = None, session: Session | None = None
) -> VerifyPlan:
    """Return the plan of `verify`. Does not start Spark."""
    refuse_plain_secrets(request.properties)
    refuse_plain_secrets(request.target_properties)
    if request.folder is None and not request.target_topic:
        raise ConfigError("a comparison needs a target: a topic or an export")
    reading = isolation.of_source(resolve(request.properties))
    target_reading = isolation.of_target(resolve(request.target_properties))
    if request.folder is not None:
        target, first = _exported(request.folder, request.topic, request.properties)
    else:
        target, first = _offsets(target_reading, request.target_topic, request.events, is_target=True), {}
    source = _offsets(reading, request.topic, request.events, is_target=False)
    if request.folder is not None:
        source, target = _same_beginning(source, target, first)
    partitions = sorted({piece.partition for piece in [*source, *target]})
    packing = task_packing(tasks_at_once(session, options), request.range_bytes)
    ours, our_bytes = _cut(packing, reading, source)
    if request.folder is None:
        theirs, their_bytes = _cut(packing, target_reading, target)
    else:
        theirs = pack(target, packing, _file_bytes, lambda piece: piece.exported)  # files need no consumer
        their_bytes = sum(map(_file_bytes, target))
    return VerifyPlan((*ours, *theirs), tuple(partitions), our_bytes + their_bytes)


def _partition(piece: Piece) -> int:
    return piece.partition


def _file_bytes(piece: Piece) -> int:
    return 0 if piece.exported is None else sum(file.size_bytes for file in piece.exported.files)


def _offsets(properties: ReadingProperties, topic: str, events: EventSink, *, is_target: bool) -> list[Piece]:
    with Planner(properties, events=events) as planner:
        partitions = planner.partitions(Selection(topics=(topic,)))
        ends = planner.ends(partitions, LATEST)
        starts = planner.ends(partitions, EARLIEST)
    topic_id = planner.topic_ids[topic]
    return [
        Piece(is_target, tp.partition, OffsetRange(*tp, min(starts[tp], ends[tp]), ends[tp], topic_id, ends[tp]))
        for tp in partitions
    ]


def _exported(folder: Location, topic: str, properties: Mapping[str, object]) -> tuple[list[Piece], dict[int, int]]:
    ranges = exported_ranges(folder, topic, properties)
    first: dict[int, int] = {}
    for each in ranges:
        first.setdefault(each.partition, each.start)
    return [Piece(True, each.partition, None, each) for each in ranges], first


def _same_beginning(
    source: list[Piece], target: list[Piece], first: Mapping[int, int]
) -> tuple[list[Piece], list[Piece]]:
    """Return both sides from equal offsets on, because deleted or unexported records are not differences."""
    begins: dict[int, int] = {}
    kept = []
    for piece in source:
        assert piece.offsets is not None
        start = max(piece.offsets.start_offset, first.get(piece.partition, 0))
        begins[piece.partition] = start
        end = max(start, piece.offsets.end_offset)
        kept.append(piece._replace(offsets=piece.offsets._replace(start_offset=start, end_offset=end)))
    skipping = [piece._replace(skip_to=begins.get(piece.partition, 0)) for piece in target]
    return kept, [piece for piece in skipping if piece.exported is not None and piece.exported.end > piece.skip_to]


def _cut(packing: Packing, reading: ReadingProperties, pieces: list[Piece]) -> tuple[list[tuple[Piece, ...]], int]:
    ranges = [piece.offsets for piece in pieces if piece.offsets is not None]
    bytes_each = max(bytes_per_offset(reading, ranges).values(), default=0.0)
    cut = cut_to(packing.most_size, bytes_each)
    made = [
        piece._replace(offsets=each) for piece in pieces if piece.offsets for each in cut_ranges([piece.offsets], cut)
    ]
    tasks = pack(made, packing, lambda piece: piece.size * bytes_each, _partition)
    return tasks, round(sum(each.size for each in ranges) * bytes_each)


def _pairs(plan: VerifyPlan, tallied: Sequence[Tally]) -> dict[int, tuple[Tally, Tally]]:
    totals: dict[tuple[bool, int], Tally] = {}
    for piece, tally_of_piece in zip(plan.pieces, tallied, strict=True):
        key = piece.is_target, piece.partition
        totals[key] = totals.get(key, Tally()).then(tally_of_piece)
    return {p: (totals.get((False, p), Tally()), totals.get((True, p), Tally())) for p in plan.partitions}


def _compare(request: VerifyRequest, plan: VerifyPlan, session: Session, on_progress: OnProgress) -> VerifyResult:
    sides = _Sides(
        {False: dict(request.properties), True: dict(request.target_properties)},
        None if request.folder is None else files_of(request.folder, request.properties),
        request.compared._replace(offsets=request.folder is not None or request.compared.offsets),
    )
    tasks = [_TallyTask(sides, pieces) for pieces in plan.tasks]
    split = Split(tasks, [len(task.pieces) for task in tasks], tally_pieces)
    sizes = [piece.size for piece in plan.pieces]
    tallied = run_split_counted(session, "kctl verify: tally", "comparing", split, sizes, on_progress)
    pairs = _pairs(plan, tallied)
    unequal = [partition for partition, (ours, theirs) in pairs.items() if not ours.is_same(theirs)]
    found = _differences(plan, sides, unequal, session, on_progress)
    results = (
        PartitionComparison(partition, ours.records, theirs.records, found.get(partition, Differences()))
        for partition, (ours, theirs) in sorted(pairs.items())
    )
    return VerifyResult(tuple(results))


def _with_groups(
    request: VerifyRequest, result: VerifyResult, session: Session, on_progress: OnProgress
) -> VerifyResult:
    if request.folder is not None:
        with Admin(resolve(request.properties), events=request.events) as admin:
            offsets = offsets_of(admin, request.groups, [request.topic])
        facts = facts_in(request.folder, request.properties)
        exported = {group: of_topics.get(request.topic, {}) for group, of_topics in facts.groups.items()}
        proofs = prove_exported_groups(exported, offsets, request.properties, session, on_progress)
        return result._replace(groups=tuple(proofs))
    targets = {request.topic: MirrorTarget(request.target_topic, "")}
    mirrored = MirroredTopics(request.properties, request.target_properties, targets, request.events)
    behind = {each.partition: each.differences.behind for each in result.partitions}
    proofs = prove_groups(mirrored, request.groups, request.compared, session, on_progress)
    return result._replace(groups=tuple(behind_only(each, behind.get(each.partition, 0)) for each in proofs))


def _differences(
    plan: VerifyPlan, sides: "_Sides", unequal: list[int], session: Session, on_progress: OnProgress
) -> dict[int, Differences]:
    tasks = [_DiffTask(sides, *plan.pieces_of(partition)) for partition in unequal]
    found = run_counted(
        session,
        "kctl verify: differences",
        "finding the differences",
        tasks,
        diff_pieces,
        lambda task: sum(piece.size for piece in (*task.source, *task.target)),
        on_progress,
    )
    return dict(zip(unequal, found, strict=True))


# --- tasks ----------------------------------------------------------------------------------------------------------


class _Sides(NamedTuple):
    properties: dict[bool, dict[str, object]]
    folder: Path | StoreUrl | None
    compared: Compared

    def reading(self, *, is_target: bool) -> ReadingProperties:
        properties = resolve(self.properties[is_target])
        return isolation.of_target(properties) if is_target else isolation.of_source(properties)


class _TallyTask(NamedTuple):
    sides: _Sides
    pieces: tuple[Piece, ...]


class _DiffTask(NamedTuple):
    sides: _Sides
    source: tuple[Piece, ...]
    target: tuple[Piece, ...]


def tally_pieces(task: _TallyTask, _attempt: Attempt) -> Iterator[Tally]:
    compared = task.sides.compared
    for batches in _each(task.sides, task.pieces):
        yield tally(pair for batch in batches for pair in fingerprints(batch, compared))


def _each(sides: _Sides, pieces: tuple[Piece, ...]) -> "Iterator[Iterator[pa.RecordBatch]]":
    ranges = [piece.offsets for piece in pieces if piece.offsets is not None]
    if not ranges:
        yield from (_batches(sides, piece) for piece in pieces)
        return
    from kctl.pipeline.client_pool import TASK_CONSUMERS
    from kctl.pipeline.range_reader import read_ranges

    reading = sides.reading(is_target=pieces[0].is_target)
    for _, batches in read_ranges(reading, ranges, COLUMNS, is_exact=True, pool=TASK_CONSUMERS):
        yield batches


def diff_pieces(task: _DiffTask, _attempt: Attempt) -> Differences:
    return RecordDiff().run(
        _entries(task.sides, task.source),
        _entries(task.sides, task.target),
    )


def _entries(sides: _Sides, pieces: tuple[Piece, ...]) -> Iterator[Entry]:
    for piece in _joined(pieces):
        for batch in _batches(sides, piece):
            yield from entries(batch, sides.compared)


def _joined(pieces: tuple[Piece, ...]) -> Iterator[Piece]:
    ranges = [piece.offsets for piece in pieces if piece.offsets is not None]
    if ranges:
        whole = ranges[0]._replace(end_offset=ranges[-1].end_offset)
        yield pieces[0]._replace(offsets=whole)
        return
    yield from pieces


def _batches(sides: _Sides, piece: Piece) -> "Iterator[pa.RecordBatch]":
    if piece.offsets is not None:
        from kctl.pipeline.range_reader import read_range

        yield from read_range(sides.reading(is_target=piece.is_target), piece.offsets, COLUMNS, is_exact=True)
        return
    from kctl.pipeline.export_files.exported_records import read_exported

    assert piece.exported is not None
    assert sides.folder is not None
    for batch in read_exported(sides.folder, piece.exported, sides.properties[False]):
        yield _from(batch, piece.skip_to)


def _from(batch: "pa.RecordBatch", offset: int) -> "pa.RecordBatch":
    import pyarrow.compute as pc

    if not batch.num_rows or batch.column("offset")[0].as_py() >= offset:
        return batch
    return batch.filter(pc.greater_equal(batch.column("offset"), offset))
