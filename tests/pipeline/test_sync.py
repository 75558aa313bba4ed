"""`sync`: a streaming query that copies each record once, continued after kills, and seen as a consumer group."""

import signal
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from kctl.client.admin import Admin
from kctl.client.cluster import TopicPartition
from kctl.client.consumer import Consumer
from kctl.client.errors import ConfigError
from kctl.grammar.properties import write_properties
from kctl.pipeline.export_files.folder import ExportFolder
from kctl.pipeline.export_files.manifests import read_manifests
from kctl.pipeline.jobs.export import ExportRequest, export
from kctl.pipeline.jobs.sync import SyncRequest, plan_sync, sync
from kctl.pipeline.jobs.sync_checkpoint import FACTS, SyncCheckpoint
from kctl.pipeline.jobs.verify import VerifyRequest, verify
from kctl.pipeline.ranges import TO_LATEST, Selection
from kctl.pipeline.session import Session
from tests.pipeline.exports import in_export, on_topic, produce
from tests.pipeline.processes import JobProcess
from tests.support.kafka.cluster import KafkaCluster

# PySpark leaves sockets to the garbage collector.
pytestmark = pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning")

RECORDS = 6_000
RANGE_BYTES = 50_000
"""12 ranges: with six of them in a round two rounds."""


@pytest.fixture
def drive(kafka_newest: KafkaCluster, tmp_path: Path) -> Iterator[Callable[..., JobProcess]]:
    """`kctl pipeline sync` into the folder `out`, as processes."""
    config = tmp_path / "client.properties"
    config.write_text(write_properties(kafka_newest.client_properties("SASL_PLAINTEXT", "PLAIN")))
    jobs: list[JobProcess] = []

    def start(topic: str, *more: str) -> JobProcess:
        arguments = ("sync", topic, "--to", str(tmp_path / "out"), "--command-config", str(config))
        at_once = ("--master", "local[1]", "--range-size", f"{RANGE_BYTES}B")
        jobs.append(JobProcess(tmp_path / "jobs", *arguments, *at_once, *more, takes_small_steps=True))
        return jobs[-1]

    yield start
    for job in jobs:
        job.close()


def request_of(
    kafka: KafkaCluster, topic: str, folder: Path, *, checkpoint: Path | None = None, group: str | None = None
) -> SyncRequest:
    exported = ExportRequest(Selection(topics=(topic,)), folder, kafka.client_properties(), range_bytes=RANGE_BYTES)
    return SyncRequest(exported, checkpoint, trigger_ms=None, max_batch_records=0, group=group)


def committed(kafka: KafkaCluster, topic: str, group: str) -> dict[int, int]:
    with Admin(kafka.client_properties()) as admin:
        found = admin.list_group_offsets(group)
    return {tp.partition: each.offset for tp, each in found.done.items() if tp.topic == topic and each is not None}


def test_sync_copies_each_record_once_over_runs_batches_checkpoints_and_new_partitions(
    kafka_newest: KafkaCluster, session: Session, tmp_path: Path
) -> None:
    topic = kafka_newest.create_topic(partitions=2)
    group, bootstrap = f"{topic}-progress", kafka_newest.bootstrap()
    request = request_of(kafka_newest, topic, tmp_path / "out", checkpoint=tmp_path / "one", group=group)
    assert sync(request, session=session).batches == 0, "there is nothing to copy"
    running = ExportFolder(tmp_path / "out")
    running.claim("running", request.export.settings)
    assert sync(request, session=session).batches == 0
    running.begin_round(1)  # it was not taken over
    produce(bootstrap, topic, 1000, partitions=2)
    assert plan_sync(request).offsets == 1000
    first = sync(request._replace(max_batch_records=600), session=session)
    assert (first.records, first.batches) == (1000, 2)
    assert committed(kafka_newest, topic, group) == {0: 500, 1: 500}
    produce(bootstrap, topic, 300, partitions=2, first=1000)
    assert export(request.export, session=session).records == 300, "an export continues a sync"
    with Admin(kafka_newest.client_properties()) as admin:
        admin.create_partitions({topic: 3}).raise_first()
    produce(bootstrap, topic, 900, partitions=3, first=1300)
    lost = sync(request._replace(checkpoint=tmp_path / "two"), session=session)
    assert lost.records == 900, "the target knows what an export and a sync with a lost checkpoint have copied"
    produce(bootstrap, topic, 300, partitions=3, first=2200)
    assert sync(request, session=session).records == 300, "this checkpoint is older than the target"
    assert committed(kafka_newest, topic, group) == {0: 1050, 1: 1050, 2: 400}
    assert in_export(tmp_path / "out") == on_topic(kafka_newest.client_properties(), topic)
    checked = VerifyRequest(topic, kafka_newest.client_properties(), folder=tmp_path / "out")
    assert verify(checked, session=session).is_equal
    with pytest.raises(ConfigError, match="belongs to a sync with target"):
        sync(request_of(kafka_newest, topic, tmp_path / "elsewhere", checkpoint=tmp_path / "one"), session=session)


@pytest.mark.smoke
def test_start_latest_holds_over_a_run_that_ended_before_its_first_batch(
    kafka_newest: KafkaCluster, session: Session, tmp_path: Path
) -> None:
    topic = kafka_newest.create_topic(partitions=2)
    produce(kafka_newest.bootstrap(), topic, 100, partitions=2)
    request = request_of(kafka_newest, topic, tmp_path / "out")
    request = request._replace(export=request.export._replace(start=TO_LATEST))
    assert sync(request, session=session).records == 0
    facts = SyncCheckpoint(request.checkpoint_folder).read([topic], str(tmp_path / "out"))
    assert facts is not None, FACTS
    assert facts.starts == {TopicPartition(topic, 0): 50, TopicPartition(topic, 1): 50}
    produce(kafka_newest.bootstrap(), topic, 60, partitions=2, first=100)
    assert sync(request, session=session).records == 60
    assert [row.offset for row in in_export(tmp_path / "out")] == [*range(50, 80), *range(50, 80)]


def test_group_with_active_members_is_refused(kafka_newest: KafkaCluster, session: Session, tmp_path: Path) -> None:
    topic = kafka_newest.create_topic()
    produce(kafka_newest.bootstrap(), topic, 10, partitions=1)
    group = f"{topic}-members"
    with Consumer({**kafka_newest.client_properties(), "group.id": group}) as consumer:
        consumer.subscribe([topic])
        while not consumer.assignment:
            consumer.poll(1)
        with pytest.raises(ConfigError, match=rf"to group {group}: the group has active members \(1\)"):
            sync(request_of(kafka_newest, topic, tmp_path / "out", group=group), session=session)
    assert not (tmp_path / "out").exists()


def test_killed_sync_is_continued_with_each_record_once(
    kafka_newest: KafkaCluster, session: Session, drive: Callable[..., JobProcess], tmp_path: Path
) -> None:
    topic = kafka_newest.create_topic(partitions=2)
    produce(kafka_newest.bootstrap(), topic, RECORDS, partitions=2)
    folder = tmp_path / "out"
    killed = drive(topic, "--trigger", "100ms")
    killed.wait_for(lambda: bool(read_manifests(folder)), "the first round")
    killed.signal(signal.SIGKILL)
    killed.ended()
    done = len(in_export(folder))
    assert 0 < done < RECORDS
    assert sync(request_of(kafka_newest, topic, folder), session=session).records == RECORDS - done
    assert in_export(folder) == on_topic(kafka_newest.client_properties(), topic)
    killed.wait_for_children()
