"""Jobs whose broker is killed in the middle of a task: another replica is read and written, each record once.

Brokers slow the reader down, so that the task is still in its middle when the broker that it reads from is killed;
from then on they do so no more.
"""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from kctl.pipeline.jobs import mirror as mirror_module
from kctl.pipeline.jobs.export import ExportRequest, export
from kctl.pipeline.jobs.mirror import MirrorRequest, mirror
from kctl.pipeline.ranges import Selection
from kctl.pipeline.running import JobProgress
from kctl.pipeline.session import Session
from tests.pipeline.copies import committed_rows, content
from tests.pipeline.exports import in_export, on_topic
from tests.pipeline.striking import (
    ANONYMOUS,
    FETCH_BYTES,
    QUOTA_BYTES,
    SLOW_RECORDS,
    Strike,
    byte_quota,
    replicate_positions,
    slow_topic,
)
from tests.support.kafka.cluster import KafkaCluster, KafkaNode

# PySpark leaves sockets to the garbage collector.
pytestmark = pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning")


@pytest.fixture
def revived(kafka_three: KafkaCluster) -> Iterator[list[KafkaNode]]:
    """Nodes that were killed, which are started again in the end."""
    killed: list[KafkaNode] = []
    yield killed
    for node in killed:
        if not node.process.is_running:
            node.start()


def reading(kafka: KafkaCluster) -> dict[str, object]:
    return {**kafka.client_properties(), "max.partition.fetch.bytes": FETCH_BYTES}


def killing(
    kafka: KafkaCluster, topic: str, killed: list[KafkaNode], lift_quota: Callable[[], None]
) -> Callable[[], None]:
    """Return what kills the leader, and then has the others serve at full speed."""

    def act() -> None:
        killed.append(kafka.leader(topic))
        killed[-1].kill()
        lift_quota()

    return act


def has_draft(folder: Path) -> bool:
    """Whether a task has begun to write a file: drafts lie in the folder of their round."""
    return any(folder.glob("_tmp/*/round-*/*"))


def test_export_whose_broker_is_killed_in_mid_task_has_each_record_once(
    kafka_three: KafkaCluster, revived: list[KafkaNode], session: Session, tmp_path: Path
) -> None:
    topic = slow_topic(kafka_three)
    folder = tmp_path / "x"
    request = ExportRequest(Selection(topics=(topic,)), folder, reading(kafka_three))
    with byte_quota(kafka_three, ANONYMOUS, QUOTA_BYTES) as lift_quota:
        kill = Strike(lambda _: has_draft(folder), killing(kafka_three, topic, revived, lift_quota))
        result = export(request, session=session, on_progress=kill)
    assert kill.struck_at is not None
    assert kill.struck_at.tasks_done < kill.struck_at.tasks
    assert kill.struck_at.lost_tasks == 0
    assert result.records == SLOW_RECORDS
    assert in_export(tmp_path / "x") == on_topic(kafka_three.client_properties(), topic)


def test_mirror_whose_broker_is_killed_in_mid_task_writes_each_record_once(
    kafka_three: KafkaCluster, revived: list[KafkaNode], session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The broker leads the partition that is read, and the one that is written to."""
    monkeypatch.setattr(mirror_module, "COMMIT_ROWS", 100)
    monkeypatch.setattr(mirror_module, "LOOK_EVERY_MS", 0)
    kafka = kafka_three
    topic, target = slow_topic(kafka), kafka.create_topic(partitions=1, replication=3)
    replicate_positions(kafka)
    kafka.move_leader(target, 0, kafka.leader(topic))
    request = MirrorRequest((topic,), reading(kafka), kafka.client_properties(), target)

    def is_copying(progress: JobProgress) -> bool:
        return progress.phase == "mirroring" and progress.records > 0

    with byte_quota(kafka, ANONYMOUS, QUOTA_BYTES) as lift_quota:
        kill = Strike(is_copying, killing(kafka, topic, revived, lift_quota))
        result = mirror(request, session=session, on_progress=kill)
    assert kill.struck_at is not None
    assert 0 < kill.struck_at.records < SLOW_RECORDS
    assert (result.records, result.offsets) == (SLOW_RECORDS, SLOW_RECORDS)
    assert content(committed_rows(kafka, target)) == content(on_topic(kafka.client_properties(), topic))
