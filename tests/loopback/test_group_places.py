"""Groups are translated and proved by the committed records of a copy, whatever isolation.level its properties have."""

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TypeVar, cast

import pyarrow as pa
import pytest

from kctl.client.admin import Admin
from kctl.client.cluster import TopicPartition
from kctl.client.events import ignore_events
from kctl.client.producer import Producer
from kctl.pipeline.export_files.cluster_facts import ClusterFacts, TopicFacts
from kctl.pipeline.export_files.manifests import ExportedRange
from kctl.pipeline.fingerprints import COLUMNS, Compared
from kctl.pipeline.group_selection import GroupSelection
from kctl.pipeline.isolation import as_given
from kctl.pipeline.jobs import group_proofs, mirror_groups, offset_translation
from kctl.pipeline.jobs.cluster_facts import GroupImport, restore_groups
from kctl.pipeline.jobs.group_proofs import prove_groups
from kctl.pipeline.jobs.mirror_groups import MirroredTopics, translate_groups
from kctl.pipeline.jobs.mirror_positions import MirrorPosition, MirrorTarget, create_positions_topic
from kctl.pipeline.jobs.mirror_task import choose_positions
from kctl.pipeline.range_reader import read_range
from kctl.pipeline.ranges import OffsetRange
from kctl.pipeline.resume_point import ResumePoint
from kctl.pipeline.running import OnProgress, ignore_progress
from kctl.pipeline.session import Session
from kctl.pipeline.task_rounds import Attempt
from kctl.sandbox.sandbox import Sandbox

Task = TypeVar("Task")
Result = TypeVar("Result")
NO_SESSION = cast(Session, None)
SOURCE, COPY = TopicPartition("source", 0), TopicPartition("copy", 0)
GROUPS = GroupSelection(("app",))
RECORDS, AT = 10, 7
LEVELS = [{}, {"isolation.level": "read_committed"}, {"isolation.level": "read_uncommitted"}]


def run_here(
    _session: Session,
    _job: str,
    _phase: str,
    tasks: Sequence[Task],
    run: Callable[[Task, Attempt], Result],
    _size: Callable[[Task], int],
    _on_progress: OnProgress,
) -> list[Result]:
    """Run tasks in this process."""
    return [run(task, Attempt(0, 0)) for task in tasks]


@pytest.fixture(autouse=True)
def _without_spark(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mirror_groups, "run_counted", run_here)
    monkeypatch.setattr(group_proofs, "run_counted", run_here)


@pytest.fixture
def served() -> Iterator[str]:
    """A topic and its copy, where the copy also has a record of a transaction that was aborted, before the last three.

    The group is at the same record of the source.
    """
    with Sandbox(nodes=1, topics={"source": 1, "copy": 1}).serve() as served:
        properties = {"bootstrap.servers": served.bootstrap}
        with Producer(properties) as producer, Admin(properties) as admin:
            for number in range(RECORDS):
                producer.send("source", b"%d" % number, partition=0)
            producer.flush()
            admin.alter_group_offsets("app", {SOURCE: AT}).raise_first()
        copying = {**properties, "transactional.id": "copying"}
        with Producer(copying) as producer:
            producer.init_transactions()
            for numbers, is_kept in (((0, 1, 2, 3, 4, 5, 6, 7), True), ((8,), False), ((8, 9), True)):
                producer.begin_transaction()
                for number in numbers:
                    producer.send("copy", b"%d" % number, partition=0)
                producer.flush()  # an abort drops what is not sent
                producer.commit_transaction() if is_kept else producer.abort_transaction()
        with Producer(copying) as producer:
            producer.init_transactions()  # waits for the markers
        yield served.bootstrap


def committed(bootstrap: str, group: str, tp: TopicPartition) -> int | None:
    with Admin({"bootstrap.servers": bootstrap}) as admin:
        found = admin.list_group_offsets(group, [tp])[tp]
    return None if found is None else found.offset


def test_group_of_a_partition_without_records_continues_at_the_end_of_its_copy() -> None:
    with Sandbox(nodes=1, topics={"source": 3, "copy": 3}).serve() as served:
        properties: dict[str, object] = {"bootstrap.servers": served.bootstrap}
        sources = [TopicPartition("source", number) for number in range(3)]
        with Admin(properties) as admin, Producer(properties) as producer:
            create_positions_topic(admin)
            producer.send("source", b"not mirrored yet", partition=1)
            producer.send("copy", b"of something else", partition=2)
            producer.flush()
            admin.alter_group_offsets("app", dict.fromkeys(sources, 0)).raise_first()
        target = MirrorTarget("copy", "kctl-mirror.m.source")
        mirrored = MirroredTopics(properties, properties, {"source": target}, ignore_events)
        found = translate_groups(mirrored, GROUPS, NO_SESSION, ignore_progress)
    assert [(each.partition, each.target_offset) for each in found] == [(0, 0), (1, None), (2, None)]
    assert [bool(each.problem) for each in found] == [False, True, True]


@pytest.mark.parametrize(
    ("offset", "mirrored_to", "problem"),
    [
        (RECORDS, RECORDS - 1, f"the records before offset {RECORDS} are not mirrored yet"),
        (RECORDS + 5, RECORDS, f"offset {RECORDS + 5} is after the log end of the source ({RECORDS})"),
    ],
)
def test_offset_that_is_not_mirrored_is_listed_with_its_reason(
    served: str, offset: int, mirrored_to: int, problem: str
) -> None:
    properties: dict[str, object] = {"bootstrap.servers": served}
    target = MirrorTarget("copy", "kctl-mirror.m.source")
    with Admin(properties) as admin:
        admin.alter_group_offsets("app", {SOURCE: offset}).raise_first()
    choose_positions(properties, target, {0: MirrorPosition(ResumePoint(mirrored_to), "")})
    mirrored = MirroredTopics(properties, properties, {"source": target}, ignore_events)
    (found,) = translate_groups(mirrored, GROUPS, NO_SESSION, ignore_progress)
    assert (found.target_offset, found.problem) == (None, problem)


@pytest.mark.parametrize("level", LEVELS)
def test_restored_group_continues_with_its_record_behind_an_aborted_transaction(
    served: str, level: dict[str, object], monkeypatch: pytest.MonkeyPatch
) -> None:
    properties: dict[str, object] = {"bootstrap.servers": served, **level}
    given = as_given(properties)

    def exported_from(_folder: object, _exported: object, start: int, _properties: object) -> Iterator[pa.RecordBatch]:
        yield from read_range(given, OffsetRange("source", 0, start, RECORDS), COLUMNS)

    monkeypatch.setattr(offset_translation, "exported_from", exported_from)
    exported = ExportedRange("source", 0, 0, RECORDS, RECORDS, ())
    facts = ClusterFacts({"source": TopicFacts(1, {})}, {"app": {"source": {0: AT}}})
    importing = GroupImport(Path("/export"), [exported], {"source": "copy"}, properties)
    (found,) = restore_groups(importing, facts, ["app"], NO_SESSION, ignore_progress)
    assert (found.problem, found.target_offset) == ("", AT)
    assert committed(served, "app", COPY) == AT


@pytest.mark.parametrize("level", LEVELS)
def test_group_of_a_mirror_continues_and_is_proved_behind_an_aborted_transaction(
    served: str, level: dict[str, object]
) -> None:
    properties: dict[str, object] = {"bootstrap.servers": served}
    target = MirrorTarget("copy", "kctl-mirror.m.source")
    mirrored = MirroredTopics(properties, {**properties, **level}, {"source": target}, ignore_events)
    choose_positions(properties, target, {0: MirrorPosition(ResumePoint(RECORDS), "")})
    (found,) = translate_groups(mirrored, GROUPS, NO_SESSION, ignore_progress)
    assert (found.problem, found.target_offset) == ("", AT)
    with Admin(properties) as admin:
        admin.alter_group_offsets("app", {COPY: AT}).raise_first()
    compared = Compared(timestamps=False)
    (proof,) = prove_groups(mirrored, GROUPS, compared, NO_SESSION, ignore_progress)
    assert (proof.continues, proof.records) == ("same", 0)
