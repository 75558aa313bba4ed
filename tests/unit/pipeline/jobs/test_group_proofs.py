"""Group proofs: the ends up to which records are counted are read by the isolation level of the records."""

from collections.abc import Iterable, Iterator, Mapping

import pyarrow as pa
import pytest

from kctl.client.admin import EARLIEST
from kctl.client.cluster import TopicPartition
from kctl.pipeline.jobs import group_proofs
from kctl.pipeline.jobs.group_proofs import count_between
from kctl.pipeline.ranges import OffsetRange
from kctl.pipeline.task_rounds import Attempt

STABLE_END, END = 5, 9


class FakePlanner:
    """Knows one partition with an open transaction."""

    def __init__(self, properties: Mapping[str, object]) -> None:
        self._end = STABLE_END if properties["isolation.level"] == "read_committed" else END

    def __enter__(self) -> "FakePlanner":
        return self

    def __exit__(self, *_error: object) -> None:
        pass

    def ends(self, partitions: Iterable[TopicPartition], place: object) -> dict[TopicPartition, int]:
        return dict.fromkeys(partitions, 0 if place == EARLIEST else self._end)


def read_every_offset(_properties: object, side: OffsetRange, _columns: object) -> Iterator[pa.RecordBatch]:
    yield pa.record_batch({"offset": pa.array(range(side.start_offset, side.end_offset), pa.int64())})


@pytest.mark.parametrize(
    ("given", "records"),
    [
        ({}, STABLE_END),
        ({"isolation.level": "read_committed"}, STABLE_END),
        ({"isolation.level": "read_uncommitted"}, END),
    ],
)
def test_records_are_counted_to_the_end_that_the_given_isolation_level_has(
    monkeypatch: pytest.MonkeyPatch, given: dict[str, object], records: int
) -> None:
    monkeypatch.setattr(group_proofs, "Planner", FakePlanner)
    monkeypatch.setattr(group_proofs, "read_side", read_every_offset)
    task = group_proofs._CountTask(OffsetRange("orders", 0, 0, 20), given)
    assert count_between(task, Attempt(0, 0)) == records
