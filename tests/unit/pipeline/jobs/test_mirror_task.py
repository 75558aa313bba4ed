"""Where a task of `mirror` continues, from what its group has committed."""

from typing import Self

import pytest

from kctl.client.admin.call import Results
from kctl.client.cluster import TopicPartition
from kctl.client.requests.group_offsets import OffsetAndMetadata
from kctl.pipeline.jobs import mirror_task
from kctl.pipeline.jobs.mirror_positions import MirrorPosition, MirrorTarget, as_group_offset
from kctl.pipeline.jobs.mirror_task import MirrorTask, start_offset
from kctl.pipeline.ranges import OffsetRange
from kctl.pipeline.resume_point import ResumePoint

TARGET = MirrorTarget("copy", "g", "new")
TASK = MirrorTask(OffsetRange("t", 0, 10, 100, "source", 100), TARGET, False, 1, {}, {})
COPY = TopicPartition("copy", 0)


def position(offset: int, target_topic_id: str) -> OffsetAndMetadata:
    return as_group_offset(MirrorPosition(ResumePoint(offset, "source", 100), target_topic_id))


@pytest.mark.parametrize(
    ("committed", "start"),
    [
        (None, 10),
        (position(40, "new"), 40),
        (position(5, "new"), 10),
        (position(40, "old"), 10),
        (OffsetAndMetadata(40), 40),
    ],
    ids=["nothing", "earlier attempt", "before the range", "of a deleted target", "of kctl 0.1"],
)
def test_start_offset_ignores_position_of_deleted_target(
    monkeypatch: pytest.MonkeyPatch, committed: OffsetAndMetadata | None, start: int
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
    assert start_offset(TASK, {}) == start
