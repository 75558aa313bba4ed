"""A task of an export, whose ranges are finished by threads: what it yields, in which order, and what errors leave."""

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor

import pyarrow as pa
import pytest

from kctl.client.errors import KafkaError
from kctl.pipeline import range_reader
from kctl.pipeline.export_files.manifests import ExportedFile, ExportedRange
from kctl.pipeline.export_files.range_files import RangeName
from kctl.pipeline.jobs import export_task
from kctl.pipeline.jobs.export_task import FINISHED_AT_ONCE, ExportTask, export_ranges
from kctl.pipeline.ranges import OffsetRange
from kctl.pipeline.task_rounds import Attempt
from tests.support.bounds import bound

PATIENCE_S = bound(30)
RANGES = tuple(OffsetRange("t", partition, 0, 10, "an-id", 10) for partition in range(3 * FINISHED_AT_ONCE))


class Place:
    """A place whose files are nowhere; what happens to each range is noted, by partition.

    Args: finish: called before a range is finished, in its thread.
    """

    def __init__(self, finish: Callable[[int], None] = lambda _: None) -> None:
        self.finish = finish
        self.opened = [threading.Event() for _ in RANGES]
        self.left: set[int] = set()

    def open(self, name: RangeName, attempt: int) -> "Files":
        self.opened[name.partition].set()
        return Files(self, name.partition)


class Files:
    def __init__(self, place: Place, partition: int) -> None:
        self._place = place
        self._partition = partition
        self.records = 0
        self.newest_ms = 5

    def __enter__(self) -> "Files":
        return self

    def __exit__(self, *error: object) -> None:
        self._place.left.add(self._partition)

    def write(self, batch: pa.RecordBatch, *, is_copy: bool = False) -> None:
        self.records += batch.num_rows

    def close(self) -> None:
        """Nothing is open."""

    def finish(self) -> tuple[ExportedFile, ...]:
        self._place.finish(self._partition)
        return (ExportedFile(f"t/{self._partition}", self.records, 1),)


@pytest.fixture
def reading(monkeypatch: pytest.MonkeyPatch) -> Callable[[int], None]:
    """Ten records of each range, up to one whose records cannot be read."""

    def up_to(last: int) -> None:
        def batches(each: OffsetRange) -> Iterator[pa.RecordBatch]:
            if each.partition == last:
                raise KafkaError("cannot be read")
            yield pa.RecordBatch.from_pydict({"offset": list(range(10))})

        def read(_properties: object, ranges: tuple[OffsetRange, ...], *_: object, **__: object) -> Iterator[object]:
            for each in ranges:
                yield each, batches(each)

        monkeypatch.setattr(range_reader, "read_ranges", read)

    up_to(len(RANGES))
    return up_to


def run(place: Place) -> tuple[list[int], KafkaError | None]:
    """Return the partitions of the results, and the error after them."""
    task = ExportTask(RANGES, place, False, {"bootstrap.servers": "unused:1"}, {})
    found = []
    try:
        for each in export_ranges(task, Attempt(0, 0)):
            found.append(each.partition)
            assert each == ExportedRange(
                *("t", each.partition, 0, 10, 10), (ExportedFile(f"t/{each.partition}", 10, 1),), "an-id", 10, 5
            )
    except KafkaError as e:
        return found, e
    return found, None


@pytest.mark.usefixtures("reading")
def test_further_ranges_are_read_while_one_is_finished_and_results_stay_in_order() -> None:
    def finish(partition: int) -> None:
        if partition % FINISHED_AT_ONCE == 0:  # it waits for what the task reads after it
            assert place.opened[min(partition + FINISHED_AT_ONCE - 1, len(RANGES) - 1)].wait(PATIENCE_S)

    place = Place(finish)
    assert run(place) == (list(range(len(RANGES))), None)
    assert place.left == set(range(len(RANGES)))


@pytest.mark.usefixtures("reading")
def test_results_end_before_a_range_that_cannot_be_finished() -> None:
    def finish(partition: int) -> None:
        if partition == 5:
            assert place.opened[7].wait(PATIENCE_S)
            raise KafkaError("no space")

    place = Place(finish)
    found, error = run(place)
    assert (found, str(error)) == ([0, 1, 2, 3, 4], "no space")
    assert place.left == {number for number, each in enumerate(place.opened) if each.is_set()}


def test_results_before_a_range_that_cannot_be_read_count(reading: Callable[[int], None]) -> None:
    reading(5)
    place = Place(lambda _: assert_waited(place.opened[5]))
    found, error = run(place)
    assert (found, str(error)) == ([0, 1, 2, 3, 4], "cannot be read")
    assert place.left == set(range(6))


def assert_waited(event: threading.Event) -> None:
    assert event.wait(PATIENCE_S)


def test_task_that_is_ended_leaves_nothing_of_its_ranges(reading: Callable[[int], None]) -> None:
    place = Place()
    results = export_ranges(ExportTask(RANGES, place, False, {"bootstrap.servers": "unused:1"}, {}), Attempt(0, 0))
    next(iter(results))
    results.close()
    assert place.left == {number for number, each in enumerate(place.opened) if each.is_set()}


def test_task_waits_for_the_first_of_too_many_ranges_that_are_not_finished() -> None:
    waited: list[int] = []

    class Slow(Future[ExportedRange]):
        def __init__(self, partition: int) -> None:
            super().__init__()
            self._partition = partition

        def result(self, timeout: float | None = None) -> ExportedRange:
            waited.append(self._partition)
            return ExportedRange("t", self._partition, 0, 10, 10, ())

    class Pool(ThreadPoolExecutor):
        def submit(self, _work: object, offsets: OffsetRange, *_: object) -> Slow:  # type: ignore[override]
            return Slow(offsets.partition)

    finishing = export_task._Finishing(Pool())
    for each in RANGES[:FINISHED_AT_ONCE]:
        assert list(finishing.add(each, Files(Place(), 0))) == []
    assert waited == []
    assert [each.partition for each in finishing.add(RANGES[FINISHED_AT_ONCE], Files(Place(), 0))] == waited == [0]
