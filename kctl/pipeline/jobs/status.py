"""`status`: offsets, age of the newest record, lag and sizes of an export. Does not need Spark."""

import re
from collections.abc import Mapping
from typing import NamedTuple

from kctl.client.admin import LATEST
from kctl.client.clock import Clock, SystemClock
from kctl.client.cluster import TopicPartition
from kctl.client.events import EventSink, ignore_events
from kctl.pipeline import isolation
from kctl.pipeline.export_files.manifests import TargetFacts
from kctl.pipeline.job_errors import FolderError
from kctl.pipeline.locations import Location
from kctl.pipeline.ranges import Offsets, Planner, Selection
from kctl.pipeline.references import resolve
from kctl.pipeline.resume_point import ResumePoint
from kctl.pipeline.targets import open_target

CURRENT, RECREATED, MISSING, UNKNOWN = "current", "recreated", "missing", "unknown"


class StatusRequest(NamedTuple):
    """An export and its cluster.

    Attributes:
        has_cluster: whether the ends of partitions are read from the cluster.
    """

    location: Location
    properties: Mapping[str, object]
    has_cluster: bool = False
    events: EventSink = ignore_events


class PartitionStatus(NamedTuple):
    """A partition of an export.

    Attributes:
        offset: next offset to export.
        end: current end of the partition. None if unknown.
        newest_ms: largest timestamp of the exported records. None if unknown.
        age_ms: time since `newest_ms`. None if unknown.
        state: CURRENT, RECREATED or MISSING in the cluster, or UNKNOWN without a cluster.
    """

    topic: str
    partition: int
    offset: int
    end: int | None
    newest_ms: int | None
    age_ms: int | None
    state: str

    @property
    def lag(self) -> int | None:
        return None if self.end is None else max(0, self.end - self.offset)


class TargetStatus(NamedTuple):
    partitions: tuple[PartitionStatus, ...]
    facts: TargetFacts
    age_ms: int | None


def status(request: StatusRequest, clock: Clock | None = None) -> TargetStatus:
    """Return the state of an export.

    Raises: FolderError: the location is not an export.
    """
    target = open_target(request.location, request.properties)
    facts = target.read_facts()
    points = target.resume_points()
    if not points and not facts.rounds:
        raise FolderError(f"{request.location} is not an export", "create an export with: kctl pipeline export")
    ends, states = _cluster(request, points) if request.has_cluster else ({}, {})
    now_ms = (clock or SystemClock()).wall_ms()
    found = [
        PartitionStatus(
            *(topic, number, point.offset, ends.get(TopicPartition(topic, number)), point.newest_ms),
            None if point.newest_ms is None else now_ms - point.newest_ms,
            states.get(TopicPartition(topic, number), MISSING if request.has_cluster else UNKNOWN),
        )
        for (topic, number), point in sorted(points.items())
    ]
    at_ms = facts.committed_at_ms
    return TargetStatus(tuple(found), facts, None if at_ms is None else now_ms - at_ms)


def _cluster(
    request: StatusRequest, points: Mapping[tuple[str, int], ResumePoint]
) -> tuple[Offsets, dict[TopicPartition, str]]:
    pattern = "|".join(sorted({re.escape(topic) for topic, _ in points}))
    with Planner(isolation.of_source(resolve(request.properties)), events=request.events) as planner:
        there = [tp for tp in planner.partitions(Selection(pattern=pattern)) if tp in points]
        ends = planner.ends(there, LATEST, skip_unknown=True)
        log_ends = planner.log_ends({tp: points[tp] for tp in ends}, ends)
        problems = {tp: points[tp].problem(*tp, planner.topic_ids[tp.topic], log_ends[tp]) for tp in ends}
    states = {tp: RECREATED if problem else CURRENT for tp, problem in problems.items()}
    return {tp: end for tp, end in ends.items() if states[tp] == CURRENT}, states
