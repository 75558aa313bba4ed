"""`mirror` and `sync` with a pattern: topics that match, and topics that appear between and during runs."""

from pathlib import Path

import pytest

from kctl.client.cluster import TopicPartition
from kctl.client.errors import BrokerError, ConfigError
from kctl.pipeline.export_files.manifests import read_manifests
from kctl.pipeline.jobs.export import ExportRequest
from kctl.pipeline.jobs.mirror import MirrorRequest, mirror, plan_mirror
from kctl.pipeline.jobs.sync import SyncRequest, plan_sync, sync
from kctl.pipeline.ranges import TO_LATEST, Selection
from kctl.pipeline.running import JobProgress
from kctl.pipeline.session import Session
from kctl.pipeline.targets import facts_in
from tests.pipeline.copies import committed_rows, content
from tests.pipeline.exports import in_export
from tests.support.kafka.cluster import KafkaCluster
from tests.support.topic_patterns import Ended, Steps, Topics

# PySpark leaves sockets to the garbage collector.
pytestmark = pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning")

RETENTION = {"retention.ms": "-1"}


def test_mirror_with_a_pattern_copies_topics_that_appear_during_the_run(
    kafka_newest: KafkaCluster, kafka_3_9: KafkaCluster, session: Session
) -> None:
    topics = Topics(kafka_newest.bootstrap())
    topics.add("a", 100)
    target = {"bootstrap.servers": kafka_3_9.bootstrap()}
    request = MirrorRequest((), topics.properties, target, pattern=topics.pattern, create=True, interval_ms=1)

    def grow() -> None:
        topics.grow("a", 4)
        topics.produce("a", 40, first=100, partitions=4)

    steps = Steps(lambda: topics.add("b", 60, RETENTION), grow, lambda: None)
    with pytest.raises(Ended):
        mirror(request, session=session, on_progress=steps)
    for name in map(topics.name, "ab"):
        assert content(committed_rows(kafka_3_9, name)) == content(committed_rows(kafka_newest, name))
    plan = plan_mirror(request._replace(interval_ms=None))
    assert (plan.offsets, plan.resumed, plan.missing, plan.grown, plan.problems) == (0, 6, {}, {}, ())
    topics.delete("a")
    assert set(plan_mirror(request).targets) == {topics.name("b")}


def syncing(topics: Topics, folder: Path, checkpoint: Path | None = None) -> SyncRequest:
    exported = ExportRequest(Selection(pattern=topics.pattern), folder, topics.properties)
    return SyncRequest(exported, checkpoint, trigger_ms=None, max_batch_records=0)


def test_sync_with_a_pattern_copies_topics_that_appear_between_and_during_runs(
    kafka_newest: KafkaCluster, session: Session, tmp_path: Path
) -> None:
    topics, folder = Topics(kafka_newest.bootstrap()), tmp_path / "out"
    request = syncing(topics, folder)
    with pytest.raises(BrokerError, match="no topic matches"):
        plan_sync(request)
    topics.add("a", 100)
    assert sync(request, session=session).records == 100
    topics.add("b", 60)
    assert plan_sync(request).offsets == 60
    assert sync(request, session=session).records == 60
    topics.produce("a", 20, first=100)

    def on_progress(progress: JobProgress) -> None:
        if progress.phase != "waiting for records":
            return
        if "c" not in added:
            topics.add("c", 40, RETENTION)
            added.append("c")
        elif any(each.topic == topics.name("c") for each in ranges_in(folder)):
            raise Ended

    added: list[str] = []
    with pytest.raises(Ended):
        sync(request._replace(trigger_ms=100), session=session, on_progress=on_progress)
    sync(request, session=session)
    assert in_export(folder) == topics.rows("a", "b", "c")
    assert facts_in(folder, {}).topics[topics.name("c")].configs == RETENTION
    other = syncing(topics, folder, request.checkpoint_folder)
    other = other._replace(export=other.export._replace(selection=Selection(("t",))))
    with pytest.raises(ConfigError, match=f"belongs to a sync with topics /{topics.pattern[:12]}"):
        plan_sync(other)


def ranges_in(folder: Path) -> list[TopicPartition]:
    return [TopicPartition(each.topic, each.partition) for one in read_manifests(folder) for each in one.ranges]


def test_sync_with_a_pattern_and_start_latest_reads_new_topics_from_their_beginning(
    kafka_newest: KafkaCluster, session: Session, tmp_path: Path
) -> None:
    topics, folder = Topics(kafka_newest.bootstrap()), tmp_path / "out"
    topics.add("a", 100)
    request = syncing(topics, folder, tmp_path / "checkpoint")
    request = request._replace(export=request.export._replace(start=TO_LATEST))
    assert sync(request, session=session).records == 0
    topics.add("b", 30)
    topics.produce("a", 10, first=100)
    assert sync(request, session=session).records == 40
    assert in_export(folder) == [
        row for row in topics.rows("a", "b") if row.topic != topics.name("a") or row.offset >= 50
    ]
