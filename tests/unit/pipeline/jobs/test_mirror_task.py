"""A task of `mirror`: where it continues, from what its group has committed, and records that the target rejects."""

from typing import Self

import pyarrow as pa
import pytest

from kctl.client.admin.call import Results
from kctl.client.broker_errors import ErrorCode, broker_error
from kctl.client.cluster import TopicPartition
from kctl.client.requests.group_offsets import OffsetAndMetadata
from kctl.pipeline.jobs import mirror_task
from kctl.pipeline.jobs.mirror_positions import MirrorPosition, MirrorTarget, as_group_offset
from kctl.pipeline.jobs.mirror_task import Mirrored, MirrorTask, _rejected_time, resumed
from kctl.pipeline.ranges import OffsetRange
from kctl.pipeline.resume_point import ResumePoint

TARGET = MirrorTarget("copy", "g", "new")
TASK = MirrorTask("run", OffsetRange("t", 0, 10, 100, "source", 100), TARGET, False, 1, {}, {})
COPY = TopicPartition("copy", 0)


def position(offset: int, target_topic_id: str, run: str = "") -> OffsetAndMetadata:
    counts = (30, 2) if run else None
    return as_group_offset(MirrorPosition(ResumePoint(offset, "source", 100), target_topic_id, run, counts))


@pytest.mark.parametrize(
    ("committed", "start", "done"),
    [
        (None, 10, Mirrored()),
        (position(40, "new", "run"), 40, Mirrored(30, 2)),
        (position(40, "new", "earlier run"), 40, Mirrored()),
        (position(5, "new"), 10, Mirrored()),
        (position(40, "old", "run"), 10, Mirrored()),
        (OffsetAndMetadata(40), 40, Mirrored()),
    ],
    ids=["nothing", "earlier attempt", "earlier run", "before the range", "of a deleted target", "of kctl 0.1"],
)
def test_resumed_ignores_position_of_deleted_target_and_counts_of_earlier_runs(
    monkeypatch: pytest.MonkeyPatch, committed: OffsetAndMetadata | None, start: int, done: Mirrored
) -> None:
    class FakeAdmin:
        def __init__(self, properties: dict[str, object], _runtime: None) -> None:
            assert properties == {}

        def __enter__(self) -> Self:
            return self

        def __exit__(self, *_: object) -> None:
            pass

        def list_group_offsets(
            self, group_id: str, asked: list[TopicPartition], *, require_stable: bool
        ) -> Results[TopicPartition, OffsetAndMetadata | None]:
            assert (group_id, asked, require_stable) == ("g", [COPY], True)
            return Results({COPY: committed}, {})

    monkeypatch.setattr(mirror_task, "Admin", FakeAdmin)
    assert resumed(TASK, {}) == (start, done)


@pytest.mark.parametrize(
    ("times_ms", "words"),
    [
        (
            [5, 9_000_000_000_000_000, 7],
            "Their latest timestamp is 9000000000000000, at offset 11",
        ),
        ([5, 4, -7], "Their earliest timestamp is -7, at offset 12"),
    ],
    ids=["late", "early"],
)
def test_rejected_timestamp_is_named_by_its_offset_in_the_source(times_ms: list[int], words: str) -> None:
    times = [
        pa.RecordBatch.from_pydict({"offset": [10 + n], "timestamp": pa.array([at_ms], pa.timestamp("ms", "UTC"))})
        for n, at_ms in enumerate(times_ms)
    ]
    refusal = broker_error(ErrorCode.INVALID_TIMESTAMP, "produce to copy-0", "out of range")
    error = _rejected_time(TASK, refusal, times)
    reason = f"the target rejected records. {words} of the source: out of range"
    assert str(error) == f"cannot mirror t-0: {reason} (INVALID_TIMESTAMP)"
