"""Rounds of an export: tasks execute on Spark, and the target commits finished ranges.

Tasks write into places, temporary destinations that a few tasks share. After `round_ms`, the places whose tasks are
done are committed while other tasks continue, so a job that is killed every few minutes makes progress. After a
failure, the finished ranges that precede the first unfinished range of their partition are committed.
"""

from collections.abc import Mapping, Sequence
from itertools import accumulate, pairwise
from typing import TYPE_CHECKING, NamedTuple

from kctl.client.clock import Clock, SystemClock, Timer
from kctl.pipeline.export_files.cluster_facts import NO_FACTS, ClusterFacts
from kctl.pipeline.export_files.folder import ERRORS
from kctl.pipeline.export_files.manifests import COMMITTED_AT, ExportedRange
from kctl.pipeline.jobs.export_task import ExportTask, export_ranges
from kctl.pipeline.jobs.topic_decoding import TopicDecoding
from kctl.pipeline.range_order import without_holes
from kctl.pipeline.ranges import OffsetRange
from kctl.pipeline.running import JobProgress, OnProgress, TaskCounts, run_split
from kctl.pipeline.session import Session
from kctl.pipeline.targets import RoundPlace, Target, limits_of
from kctl.pipeline.task_rounds import Split

if TYPE_CHECKING:
    from kctl.pipeline.jobs.export import ExportPlan, ExportRequest

ROUND_TASKS = 32
"""Tasks of a round for each slot of Spark, so that slots are idle only at the end of a round."""
ROUND_MS = 60_000
MOST_PLACES = 64
"""Maximum number of places of a round, each of which is a directory."""


class ExportResult(NamedTuple):
    """Counts of ranges, records and files that a run added to the export."""

    ranges: int = 0
    records: int = 0
    files: int = 0
    size_bytes: int = 0
    rounds: int = 0
    gaps: int = 0
    """Number of offsets without a record: compacted records, transaction markers, or aborted records."""
    bad_records: int = 0
    """Number of records in the error directory: undecodable, or with a value that the target cannot hold."""

    def plus(self, ranges: Sequence[ExportedRange]) -> "ExportResult":
        files = [file for each in ranges for file in each.files]
        return ExportResult(
            self.ranges + len(ranges),
            self.records + sum(each.records for each in ranges),
            self.files + len(files),
            self.size_bytes + sum(file.size_bytes for file in files),
            self.rounds + 1,
            self.gaps + sum(each.end - each.start - each.records for each in ranges),
            self.bad_records + sum(file.records for file in files if file.path.startswith(f"{ERRORS}/")),
        )


class ExportRounds:
    def __init__(
        self,
        request: "ExportRequest",
        target: Target,
        decoding: TopicDecoding,
        session: Session,
        on_progress: OnProgress,
        *,
        name: str = "kctl export",
        phase: str = "exporting",
        clock: Clock | None = None,
    ) -> None:
        self._request = request
        self._name = name
        self._phase = phase
        self._target = target
        self._decoding = decoding
        self._session = session
        self._on_progress = on_progress
        self._clock = clock or SystemClock()
        self._rounds = self._places = 0
        self._lag = 0
        self._lost = 0
        self._facts = NO_FACTS
        self._is_broken = False
        self.done = 0
        self.result = ExportResult()

    def run(self, plan: "ExportPlan", facts: ClusterFacts = NO_FACTS) -> None:
        self._lag, self._facts = plan.offsets, facts
        size = ROUND_TASKS * self._session.parallelism
        for at in range(0, len(plan.tasks), size):
            self._round(plan.tasks[at : at + size])

    def _round(self, shared: Sequence[tuple[OffsetRange, ...]]) -> None:
        ranges = [each for task in shared for each in task]
        self._rounds += 1
        request = self._request
        if request.decode is not None and any(each.topic not in self._decoding.plans for each in ranges):
            self._decoding.fit(ranges, self._target)
        under_way = _Round(shared, [self._place() for _ in range(min(len(shared), MOST_PLACES))])
        timer = Timer(self._clock, request.round_ms)

        def take(position: int, exported: ExportedRange) -> None:
            under_way.done[position] = exported
            self.done += ranges[position].size
            self._lag -= ranges[position].size

        def tick(counts: TaskCounts) -> None:
            nonlocal timer
            self._report(counts)
            timer.update()
            if timer.is_expired:
                self._commit(*under_way.ended())
                timer = Timer(self._clock, request.round_ms)

        try:
            found = run_split(
                self._session,
                f"{self._name}, round {self._rounds}",
                Split(self._tasks(under_way), [len(task) for task in shared], export_ranges),
                on_done=take,
                on_tick=tick,
            )
        except BaseException:
            if not self._is_broken:
                self._commit(*under_way.rest())
            raise
        self._commit(*under_way.rest())
        found.raise_first()

    def _place(self) -> RoundPlace:
        self._places += 1
        return self._target.begin(self._places, self._request.kind)

    def _tasks(self, under_way: "_Round") -> list[ExportTask]:
        request = self._request
        plans, types = self._decoding.plans, self._decoding.types
        limits = limits_of(request.folder, request.kind, request.on_bad_record)
        return [
            ExportTask(each, place, request.allow_loss, dict(request.properties), plans, types, limits)
            for each, place in zip(under_way.tasks, under_way.places_of_tasks, strict=True)
        ]

    def _commit(self, kept: Sequence[ExportedRange], ended: Sequence[RoundPlace]) -> None:
        if not kept:
            return
        self._is_broken = True  # no further commit after a failed one
        settings = {**self._request.settings, COMMITTED_AT: str(self._clock.wall_ms())}
        self._target.commit(kept, settings, self._facts, ended)
        self._is_broken = False
        self._facts = NO_FACTS
        self.result = self.result.plus(kept)

    def _report(self, counts: TaskCounts) -> None:
        self._lost = max(self._lost, counts.failed)
        self._on_progress(
            JobProgress(self._phase, counts.done, counts.active, counts.total, self._lost, self.done, self._lag)
        )


class _Round:
    """Tasks of a round, with their places.

    Attributes:
        done: dict from index of the range in all tasks to result.
    """

    def __init__(self, tasks: Sequence[tuple[OffsetRange, ...]], places: Sequence[RoundPlace]) -> None:
        self.tasks = tasks
        self.done: dict[int, ExportedRange] = {}
        self._ranges = [each for task in tasks for each in task]
        self._is_committed = [False] * len(self._ranges)
        numbers = [task * len(places) // len(tasks) for task in range(len(tasks))]
        self.places_of_tasks = [places[number] for number in numbers]
        self._open: dict[int, tuple[RoundPlace, list[int]]] = {}
        """Uncommitted places with the positions of their ranges."""
        bounds = pairwise(accumulate(map(len, tasks), initial=0))
        for number, (first, end) in zip(numbers, bounds, strict=True):
            self._open.setdefault(number, (places[number], []))[1].extend(range(first, end))

    def ended(self) -> tuple[list[ExportedRange], list[RoundPlace]]:
        """Return the ranges to commit while tasks continue, and the places without active tasks."""
        over = [number for number, (_, positions) in self._open.items() if all(each in self.done for each in positions)]
        writing = {each for number, (_, positions) in self._open.items() if number not in over for each in positions}
        kept = self._kept({at: each for at, each in self.done.items() if at not in writing})
        return kept, [self._open.pop(number)[0] for number in over] if kept else []

    def rest(self) -> tuple[list[ExportedRange], list[RoundPlace]]:
        places = [place for place, _ in self._open.values()]
        self._open.clear()
        return self._kept(self.done), places

    def _kept(self, done: Mapping[int, ExportedRange]) -> list[ExportedRange]:
        kept = []
        for position in without_holes(self._ranges, done):
            if not self._is_committed[position]:
                self._is_committed[position] = True
                kept.append(done[position])
        return kept
