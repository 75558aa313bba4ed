"""What a run of an export begins with, and what of a round that was not finished is kept."""

from pathlib import Path

import pytest

from kctl.client.cluster import TopicPartition
from kctl.pipeline.job_errors import ExportDataError
from kctl.pipeline.jobs.export import resumed_start
from kctl.pipeline.range_order import interleaved, without_holes
from kctl.pipeline.ranges import OffsetRange
from kctl.pipeline.session import CLUSTER_TASKS, SessionOptions, tasks_at_once

TP = TopicPartition("t", 0)


def ranges(*starts: tuple[int, int]) -> list[OffsetRange]:
    """Return ranges of ten offsets: (partition, start)."""
    return [OffsetRange("t", partition, start, start + 10) for partition, start in starts]


def test_nothing_behind_a_hole_is_kept() -> None:
    """The next run begins at the last end: what lies before a range that is kept would never be exported."""
    planned = ranges((0, 0), (1, 0), (0, 10), (1, 10), (0, 20), (1, 20))
    assert without_holes(planned, {0, 1, 3, 4}) == [0, 1, 3]
    assert without_holes(planned, {}) == []


def test_neighbours_are_of_different_partitions_and_each_keeps_its_order() -> None:
    planned = ranges((0, 0), (0, 10), (0, 20), (1, 0), (2, 0), (2, 10))
    order = [(each.partition, each.start_offset) for each in interleaved(planned)]
    assert order == [(0, 0), (1, 0), (2, 0), (0, 10), (2, 10), (0, 20)]


def test_where_a_partition_goes_on() -> None:
    assert resumed_start(TP, 50, 0, allow_loss=False) == 50
    assert resumed_start(TP, 50, 60, allow_loss=True) == 50
    with pytest.raises(ExportDataError, match=r"cannot export offsets 50 to 59 of .*: they were deleted"):
        resumed_start(TP, 50, 60, allow_loss=False)


@pytest.mark.parametrize(
    ("master", "tasks"), [("local", 1), ("local[3]", 3), ("local[2,4]", 2), ("spark://a:7077", CLUSTER_TASKS)]
)
def test_how_many_tasks_run_at_once(master: str, tasks: int) -> None:
    assert tasks_at_once(None, SessionOptions(master, log_path=Path("x"))) == tasks
