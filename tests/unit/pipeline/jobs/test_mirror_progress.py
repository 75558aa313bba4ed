"""Progress of a mirror, read from the groups of its topics."""

from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from kctl.client.admin.call import Results
from kctl.client.cluster import TopicPartition
from kctl.client.errors import KafkaError
from kctl.client.requests.group_offsets import OffsetAndMetadata
from kctl.pipeline.jobs.mirror import MirrorPlan, _Watch
from kctl.pipeline.jobs.mirror_positions import MirrorTarget
from kctl.pipeline.ranges import OffsetRange
from kctl.pipeline.running import JobProgress, TaskCounts

TOPICS = ("a", "b", "idle")
PLAN = MirrorPlan(
    tasks=((OffsetRange("a", 0, 10, 100), OffsetRange("a", 1, 0, 20)), (OffsetRange("b", 0, 0, 50),)),
    targets={topic: MirrorTarget(f"{topic}-copy", f"group-{topic}") for topic in TOPICS},
    chosen={},
    resumed=0,
    missing={},
    size_bytes=0,
    grown={},
    rules={},
    problems=(),
    limits_ms={},
    reached={},
)

Committed = Results[TopicPartition, OffsetAndMetadata]


class FakeAdmin:
    """Returns the offsets of groups, each call the next ones."""

    def __init__(self, *responses: Results[str, Committed] | KafkaError) -> None:
        self._responses = list(responses)
        self.asked: list[Sequence[str]] = []

    def list_offsets_of_groups(self, groups: Sequence[str], *, timeout: float) -> Results[str, Committed]:
        assert timeout == 1
        self.asked.append(groups)
        response = self._responses.pop(0)
        if isinstance(response, KafkaError):
            raise response
        return response


def committed(offsets: Mapping[tuple[str, int], int]) -> Committed:
    return Results({TopicPartition(*tp): OffsetAndMetadata(offset) for tp, offset in offsets.items()}, {})


def done_after(monkeypatch: pytest.MonkeyPatch, *responses: Results[str, Committed] | KafkaError) -> list[int | None]:
    """Return the records after each look, each of which makes one call."""
    admin: Any = FakeAdmin(*responses)
    seen: list[JobProgress] = []
    watch = _Watch(PLAN, admin, 1_000, seen.append)
    for _ in responses:
        monkeypatch.setattr(watch, "_look_at_ms", 0)
        watch.tick(TaskCounts(0, 2, 0, 2))
    assert admin.asked == [["group-a", "group-b"]] * len(responses)
    assert [each.lag for each in seen] == [1_160 - (each.records or 0) for each in seen]
    return [each.records for each in seen]


def test_progress_of_many_topics_is_read_in_one_call_without_idle_topics(monkeypatch: pytest.MonkeyPatch) -> None:
    of_a = committed({("a-copy", 0): 40, ("a-copy", 1): 30, ("a-copy", 2): 7, ("earlier target", 0): 90})
    of_b = committed({("b-copy", 0): 5})
    assert done_after(monkeypatch, Results({"group-a": of_a, "group-b": of_b}, {})) == [1_000 + 30 + 20 + 5]


def test_progress_stays_for_groups_that_cannot_be_read(monkeypatch: pytest.MonkeyPatch) -> None:
    late = KafkaError("late")
    first = Results({"group-a": committed({("a-copy", 0): 40})}, {"group-b": late})
    second = Results({"group-b": committed({("b-copy", 0): 5})}, {"group-a": late})
    assert done_after(monkeypatch, first, late, second) == [1_030, 1_030, 1_035]
