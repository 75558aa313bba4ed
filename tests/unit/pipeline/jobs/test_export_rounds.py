"""Rounds of an export: what becomes part of it while tasks run, at the end, and after an error."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from kctl.client.clock import ManualClock
from kctl.pipeline.export_files.manifests import ExportedRange
from kctl.pipeline.job_errors import FolderError
from kctl.pipeline.jobs import export_rounds
from kctl.pipeline.jobs.export import ExportPlan, ExportRequest
from kctl.pipeline.jobs.export_rounds import MOST_PLACES, ExportRounds
from kctl.pipeline.jobs.topic_decoding import TopicDecoding
from kctl.pipeline.ranges import OffsetRange, Selection
from kctl.pipeline.running import RoundResult, TaskCounts
from kctl.pipeline.targets import FolderTarget
from kctl.pipeline.task_rounds import Split
from tests.support.spark_in_process import session_in_process

TICK = TaskCounts(0, 0, 0, 4)
Run = Callable[["Job"], None]


class Job:
    """A round whose tasks end when a test says so."""

    def __init__(self, split: Split[Any, ExportedRange], take: Callable[[int, ExportedRange], None], tick: Any) -> None:
        self.places = [item.place for item in split.items]
        self._ranges = [each for item in split.items for each in item.ranges]
        self._take = take
        self._tick = tick

    def end(self, *positions: int) -> None:
        for at in positions:
            each = self._ranges[at]
            self._take(at, ExportedRange(each.topic, each.partition, each.start_offset, each.end_offset, 10, ()))

    def tick(self) -> None:
        self._tick(TICK)


class Target(FolderTarget):
    """A folder that notes what each commit adds, by partition and start."""

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self.commits: list[list[tuple[int, int]]] = []
        self.fails = False

    def commit(self, ranges: Sequence[ExportedRange], *rest: Any) -> Any:
        self.commits.append([(each.partition, each.start) for each in ranges])
        if self.fails:
            raise FolderError("taken")
        return super().commit(ranges, *rest)


def run(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, act: Callable[[Job, ManualClock, Target], None]) -> Target:
    """Run tasks of (partition 0 at 0), (0 at 10), (1 at 0 and 2 at 0) and (1 at 10) as `act` says."""
    clock, target = ManualClock(), Target(tmp_path / "x")

    def run_split(_session: object, _name: str, split: Any, *, on_done: Any, on_tick: Any) -> Any:
        act(Job(split, on_done, on_tick), clock, target)
        return RoundResult({}, [])

    monkeypatch.setattr(export_rounds, "run_split", run_split)
    request = ExportRequest(Selection(topics=("t",)), target.path, {"bootstrap.servers": "unused:1"})
    target.claim("run", request.settings)
    tasks = [[(0, 0)], [(0, 10)], [(1, 0), (2, 0)], [(1, 10)]]
    ranges = [tuple(OffsetRange("t", number, start, start + 10) for number, start in task) for task in tasks]
    with session_in_process() as session:
        rounds = ExportRounds(request, target, TopicDecoding(None, {}, "topic"), session, lambda _: None, clock=clock)
        rounds.run(ExportPlan(tuple(ranges), {}, 0))
        assert rounds.result.ranges == sum(map(len, target.commits))
    return target


def test_finished_ranges_are_committed_after_the_time_of_a_round(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def act(job: Job, clock: ManualClock, target: Target) -> None:
        job.end(0, 2)  # the second range of the task of position 2 is not done
        clock.advance(59_999)
        job.tick()
        assert target.commits == []
        clock.advance(1)
        job.tick()
        assert target.commits == [[(0, 0)]]
        assert not Path(job.places[0].round_folder).exists(), "a late attempt can rename nothing into place"
        assert Path(job.places[2].round_folder).exists()
        job.end(3, 1)
        clock.advance(59_999)
        job.tick()
        assert len(target.commits) == 1, "the time begins again with each commit"
        clock.advance(1)
        job.tick()
        assert target.commits[1:] == [[(0, 10), (1, 0), (2, 0)]]
        job.end(4)

    found = run(monkeypatch, tmp_path, act)
    assert found.commits[2:] == [[(1, 10)]]
    assert {key: point.offset for key, point in found.resume_points().items()} == {
        ("t", 0): 20,
        ("t", 1): 20,
        ("t", 2): 10,
    }


def test_range_behind_a_hole_waits(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def act(job: Job, clock: ManualClock, target: Target) -> None:
        job.end(1)
        clock.advance(60_000)
        job.tick()
        assert target.commits == []

    assert run(monkeypatch, tmp_path, act).commits == []


def test_failed_commit_is_the_error_of_the_round(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    targets = []

    def act(job: Job, clock: ManualClock, target: Target) -> None:
        targets.append(target)
        target.fails = True
        job.end(0)
        clock.advance(60_000)
        job.tick()

    with pytest.raises(FolderError, match="taken"):
        run(monkeypatch, tmp_path, act)
    assert targets[0].commits == [[(0, 0)]], "it may have been part of the export, so no other follows"


def test_tasks_of_a_large_round_share_places() -> None:
    tasks = [(OffsetRange("t", number, 0, 1),) for number in range(10 * MOST_PLACES)]
    places: list[Any] = [object() for _ in range(MOST_PLACES)]
    found = export_rounds._Round(tasks, places)
    assert [found.places_of_tasks.count(each) for each in places] == [10] * MOST_PLACES
