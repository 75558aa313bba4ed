"""`mirror` and `verify` on a local Spark with a real broker: each record once, in order, and what differs is told."""

import os
import signal
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from kctl.client.admin import Admin
from kctl.client.cluster import TopicPartition
from kctl.client.consumer.consumer import Consumer
from kctl.client.errors import (
    ApiTimeout,
    BrokerError,
    ConfigError,
    InvalidOffsetError,
    KafkaError,
    MaxBlockTimeout,
)
from kctl.client.producer import Producer
from kctl.pipeline.export_files.cluster_facts import TopicFacts
from kctl.pipeline.fingerprints import Compared
from kctl.pipeline.jobs import mirror as mirror_module
from kctl.pipeline.jobs import verify as verify_module
from kctl.pipeline.jobs.export import ExportRequest, export
from kctl.pipeline.jobs.mirror import MirrorRequest, mirror, plan_mirror
from kctl.pipeline.jobs.mirror_positions import MirrorTarget, committed_offsets
from kctl.pipeline.jobs.mirror_task import Mirrored, mirror_ranges
from kctl.pipeline.jobs.verify import PartitionComparison, VerifyRequest, plan_verify, tally_pieces, verify
from kctl.pipeline.ranges import Selection
from kctl.pipeline.record_diff import KINDS, Sample
from kctl.pipeline.running import JobProgress
from kctl.pipeline.session import Session
from kctl.pipeline.task_rounds import Attempt
from tests.pipeline.copies import committed_rows, content, delete_records
from tests.pipeline.exports import produce
from tests.pipeline.processes import JobProcess
from tests.support.bounds import bound
from tests.support.kafka.cluster import KafkaCluster
from tests.support.kafka.waiting import wait_for_markers, wait_until

# PySpark leaves sockets to the garbage collector.
pytestmark = pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning")


def properties(kafka: KafkaCluster, **more: object) -> dict[str, object]:
    given = {name.replace("_", "."): value for name, value in more.items()}
    return {"bootstrap.servers": kafka.bootstrap(), "default.api.timeout.ms": "30000", "max.block.ms": "30000", **given}


def mirroring(kafka: KafkaCluster, topic: str, target: str, **more: Any) -> MirrorRequest:
    return MirrorRequest((topic,), properties(kafka), properties(kafka), target, create=True, **more)


def verifying(kafka: KafkaCluster, topic: str, target: str = "", **more: Any) -> VerifyRequest:
    return VerifyRequest(topic, properties(kafka), target, properties(kafka), **more)


def counts(one: PartitionComparison) -> dict[str, int]:
    return {kind: getattr(one.differences, kind) for kind in KINDS if getattr(one.differences, kind)}


# --- mirror ---------------------------------------------------------------------------------------------------------


@pytest.mark.smoke
def test_everything_arrives_once_and_the_next_run_goes_on(kafka_newest: KafkaCluster, session: Session) -> None:
    topic = kafka_newest.create_topic(partitions=3)
    produce(kafka_newest.bootstrap(), topic, 3_000, partitions=3)
    request = mirroring(kafka_newest, topic, f"{topic}-copy")
    plan = plan_mirror(request)
    assert (plan.offsets, plan.resumed, plan.missing) == (3_000, 0, {f"{topic}-copy": TopicFacts(3, {})})
    assert plan.size_bytes > 3_000 * 50
    seen: list[JobProgress] = []
    first = mirror(request, session=session, on_progress=seen.append)
    assert (first.records, first.offsets, first.transactions, first.partitions) == (3_000, 3_000, 3, 3)
    assert content(committed_rows(kafka_newest, f"{topic}-copy")) == content(committed_rows(kafka_newest, topic))
    assert seen[0].phase == "planning"
    assert any(each.phase == "mirroring" and each.tasks == 3 for each in seen)
    assert mirror(request, session=session) == first._replace(
        records=0, offsets=0, transactions=0, partitions=0, resumed=3, rounds=0
    )
    produce(kafka_newest.bootstrap(), topic, 700, partitions=2, first=3_000)
    again = mirror(request, session=session)
    assert (again.records, again.partitions, again.resumed) == (700, 2, 3)
    assert content(committed_rows(kafka_newest, f"{topic}-copy")) == content(committed_rows(kafka_newest, topic))


def die_in_the_middle(tasks: Any, attempt: Attempt, *, folder: Path) -> Iterator[Mirrored]:
    """As `mirror_ranges`, but one attempt is killed where records of an open transaction are in the target.

    The file `flush` in the folder says whether the records have arrived there. The first attempt may have failed before
    that, if Spark could not connect to its worker.
    """
    if not (folder / "flush").exists():
        commit, done = Producer.commit_transaction, []

        def killed(self: Producer, timeout: float | None = None) -> None:
            done.append(1)
            if len(done) == 2:  # transactions have 16,384 to 32,767 records, by how many a fetch brings
                outcome = folder / "flush"
                try:
                    self.flush(30)
                    outcome.write_text("complete")
                except KafkaError as error:
                    outcome.write_text(repr(error))
                finally:  # the worker dies in any case: Spark would use it for the second attempt
                    os.kill(os.getpid(), signal.SIGKILL)
            commit(self, timeout)

        Producer.commit_transaction = killed  # type: ignore[method-assign,assignment]  # of a worker that dies of it
    return mirror_ranges(tasks, attempt)


def test_a_worker_that_is_killed_loses_nothing_and_writes_nothing_twice(
    kafka_newest: KafkaCluster, session: Session, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    topic = kafka_newest.create_topic(partitions=1)
    produce(kafka_newest.bootstrap(), topic, 70_000, partitions=1)
    monkeypatch.setattr(mirror_module, "mirror_ranges", partial(die_in_the_middle, folder=tmp_path))
    monkeypatch.setattr(mirror_module, "COMMIT_ROWS", 16_384)
    result = mirror(mirroring(kafka_newest, topic, f"{topic}-copy"), session=session)
    assert (tmp_path / "flush").read_text() == "complete"
    assert (result.records, result.offsets) == (70_000, 70_000), "with what the killed attempt had committed"
    assert content(committed_rows(kafka_newest, f"{topic}-copy")) == content(committed_rows(kafka_newest, topic))
    tp = TopicPartition(f"{topic}-copy", 0)
    with Consumer(properties(kafka_newest)) as consumer:
        end = consumer.end_offsets([tp])[tp]
    assert end > 70_000 + 16_000  # records of the transaction that was under way are in the log, and nobody sees them


def test_mirror_skips_aborted_records_and_gaps_of_offsets(kafka_newest: KafkaCluster, session: Session) -> None:
    topic = kafka_newest.create_topic(partitions=1)
    with Producer(properties(kafka_newest, transactional_id=f"{topic}-writer")) as producer:
        producer.init_transactions()
        for number, is_kept in enumerate((True, False, True, False)):
            producer.begin_transaction()
            producer.send(topic, b"%d" % number)
            producer.flush(30)
            if is_kept:
                producer.commit_transaction()
            else:
                producer.abort_transaction()
    wait_for_markers(kafka_newest.bootstrap(), topic)
    request = mirroring(kafka_newest, topic, f"{topic}-copy")
    first, again = mirror(request, session=session), mirror(request, session=session)
    assert (first.records, first.offsets, again.offsets) == (2, 8, 0)
    assert [row.value for row in committed_rows(kafka_newest, f"{topic}-copy")] == [b"0", b"2"]


def test_a_driver_that_is_killed_is_gone_on_with(kafka_newest: KafkaCluster, session: Session, tmp_path: Path) -> None:
    topic, count = kafka_newest.create_topic(partitions=2), 12_000
    produce(kafka_newest.bootstrap(), topic, count, partitions=2)
    request = mirroring(kafka_newest, topic, f"{topic}-copy", name="killed")
    arguments = ("--to-topic", f"{topic}-copy", "--create", "--name", "killed", "--master", "local[1]")
    job = JobProcess(tmp_path, "mirror", topic, "-b", kafka_newest.bootstrap(), *arguments, takes_small_steps=True)
    with Admin(properties(kafka_newest)) as admin:

        def copied() -> int:
            target = MirrorTarget(f"{topic}-copy", f"kctl-mirror.killed.{topic}")
            return sum(each.offset for each in committed_offsets(admin, target, range(2)).values() if each is not None)

        try:
            job.wait_for(lambda: copied() > 0, "the first transaction")
            job.signal(signal.SIGKILL)
            job.ended()
            job.wait_for_children()
        finally:
            job.close()
        kept = copied()
    assert 0 < kept < count
    assert mirror(request, session=session).offsets == count - kept
    assert content(committed_rows(kafka_newest, f"{topic}-copy")) == content(committed_rows(kafka_newest, topic))


def when_frozen(task: Any, attempt: Attempt, *, folder: Path, work: Callable[[Any, Attempt], Any]) -> Any:
    """As a task does its work, once a broker stands still."""
    wait_until((folder / "frozen").exists, bound(60_000), "a broker to be frozen")
    return work(task, attempt)


def test_a_frozen_target_ends_it_by_its_limit_and_after_thawing_it_goes_on(
    kafka_newest: KafkaCluster,
    kafka_3_9: KafkaCluster,
    session: Session,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    topic = kafka_newest.create_topic(partitions=1)
    produce(kafka_newest.bootstrap(), topic, 2_000, partitions=1)
    kafka_3_9.create_topic(topic, partitions=1)
    limits = {"default_api_timeout_ms": "2000", "max_block_ms": "2000", "request_timeout_ms": "1500"}
    request = MirrorRequest((topic,), properties(kafka_newest), properties(kafka_3_9, **limits))

    def freeze(progress: JobProgress) -> None:
        if progress.phase == "mirroring":
            kafka_3_9.node(1).freeze()
            (tmp_path / "frozen").touch()

    monkeypatch.setattr(mirror_module, "mirror_ranges", partial(when_frozen, folder=tmp_path, work=mirror_ranges))
    try:
        with pytest.raises(MaxBlockTimeout) as raised:
            mirror(request, session=session, on_progress=freeze)
    finally:
        kafka_3_9.node(1).thaw()
    assert raised.value.timeout_ms == 2_000
    monkeypatch.undo()
    request = request._replace(target_properties=properties(kafka_3_9))
    mirror(request, session=session)
    assert content(committed_rows(kafka_3_9, topic)) == content(committed_rows(kafka_newest, topic))


def test_a_frozen_source_ends_mirror_and_verify_by_their_limit_and_after_thawing_they_go_on(
    kafka_newest: KafkaCluster,
    kafka_3_9: KafkaCluster,
    session: Session,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    topic = kafka_3_9.create_topic(partitions=1)
    kafka_newest.create_topic(topic, partitions=1, configs={"message.timestamp.after.max.ms": str(2**63 - 1)})
    produce(kafka_3_9.bootstrap(), topic, 2_000, partitions=1)
    source, target = properties(kafka_3_9), properties(kafka_newest)
    limited = properties(kafka_3_9, default_api_timeout_ms="2000", request_timeout_ms="1500")
    mirrors, compares = MirrorRequest((topic,), source, target), VerifyRequest(topic, source, topic, target)

    def freeze(progress: JobProgress) -> None:
        if progress.tasks:
            kafka_3_9.node(1).freeze()
            (tmp_path / "frozen").touch()

    monkeypatch.setattr(mirror_module, "mirror_ranges", partial(when_frozen, folder=tmp_path, work=mirror_ranges))
    monkeypatch.setattr(verify_module, "tally_pieces", partial(when_frozen, folder=tmp_path, work=tally_pieces))
    for job in (
        lambda: mirror(mirrors._replace(properties=limited), session=session, on_progress=freeze),
        lambda: verify(compares._replace(properties=limited), session=session, on_progress=freeze),
    ):
        (tmp_path / "frozen").unlink(missing_ok=True)
        try:
            with pytest.raises(ApiTimeout, match=r"timed out after \S+ \(default.api.timeout.ms.*\) while") as raised:
                job()
        finally:
            kafka_3_9.node(1).thaw()
        assert raised.value.timeout_ms == 2_000
    monkeypatch.undo()
    assert mirror(mirrors, session=session).records == 2_000
    assert verify(compares, session=session).is_equal


def test_records_that_are_gone_are_an_error_unless_loss_is_allowed(
    kafka_newest: KafkaCluster, session: Session, tmp_path: Path
) -> None:
    topic = kafka_newest.create_topic(partitions=1)
    produce(kafka_newest.bootstrap(), topic, 100, partitions=1)
    request = mirroring(kafka_newest, topic, f"{topic}-copy")
    mirror(request, session=session)
    produce(kafka_newest.bootstrap(), topic, 100, partitions=1, first=100)
    delete_records(kafka_newest, tmp_path, topic, 0, 150)
    with pytest.raises(
        InvalidOffsetError, match=r"cannot mirror offset 100 of .*: it was deleted, and the first offset is 150"
    ):
        mirror(request, session=session)
    assert mirror(request._replace(allow_loss=True), session=session).records == 50


def test_mirror_with_invalid_request_fails_before_spark_starts(kafka_newest: KafkaCluster) -> None:
    topic, narrow = kafka_newest.create_topic(partitions=2), kafka_newest.create_topic("narrow", partitions=1)
    into_itself = MirrorRequest((topic,), properties(kafka_newest), properties(kafka_newest))
    for request, words in (
        (into_itself, "cannot mirror topic .* to itself"),
        (into_itself._replace(topics=(topic, narrow), target_topic="one"), "topics to one target topic"),
        (
            into_itself._replace(target_topic=narrow),
            "it has 2 partitions, but target topic narrow.* has 1.*To add the missing partitions, use --create",
        ),
        (into_itself._replace(properties={**properties(kafka_newest), "sasl.jaas.config": "x"}), "in plain text"),
    ):
        with pytest.raises(ConfigError, match=words):
            mirror(request)
    with pytest.raises(BrokerError, match=r"add --create \(partitions: 2\)"):
        mirror(into_itself._replace(target_topic="not-there"))


# --- verify ---------------------------------------------------------------------------------------------------------


def test_a_copy_is_found_to_be_one(kafka_newest: KafkaCluster, session: Session) -> None:
    topic, copy = kafka_newest.create_topic(partitions=2), kafka_newest.create_topic(partitions=2)
    for name in (topic, copy):
        produce(kafka_newest.bootstrap(), name, 4_000, partitions=2)
    request = verifying(kafka_newest, topic, copy, range_bytes=50_000)
    plan = plan_verify(request)
    assert (plan.offsets, plan.partitions) == (8_000, (0, 1))
    assert len(plan.pieces) > 8
    result = verify(request, session=session)
    assert result.is_equal
    assert [(each.source_records, each.target_records) for each in result.partitions] == [(2_000, 2_000)] * 2


def test_every_difference_is_found_counted_and_named(kafka_newest: KafkaCluster, session: Session) -> None:
    topic, copy = kafka_newest.create_topic(partitions=6), kafka_newest.create_topic(partitions=5)
    rows = [(b"key %d" % number, b"value %d" % number, 1_700_000_000_000 + number) for number in range(1_000)]
    copies = [list(rows) for _ in range(5)]
    del copies[0][300]  # missing
    copies[1][400] = (b"key 400", b"other", rows[400][2])  # changed
    copies[2].insert(500, rows[499])  # duplicate
    copies[3].insert(600, copies[3].pop(590))  # reordered
    del copies[4][990:]  # behind
    with Producer(properties(kafka_newest)) as producer:
        for name, contents in ((topic, [rows] * 6), (copy, copies)):
            for partition, records in enumerate(contents):
                for key, value, timestamp_ms in records:
                    producer.send(name, value, key, partition, (), timestamp_ms)
        producer.flush(60)
    result = verify(verifying(kafka_newest, topic, copy), session=session)
    assert not result.is_equal
    assert [counts(each) for each in result.partitions] == [
        {"missing": 1},
        {"changed": 1},
        {"duplicate": 1},
        {"reordered": 1},
        {"behind": 10},
        {"behind": 1_000},  # the target has no such partition
    ]
    samples = [each.differences.samples[0] for each in result.partitions]
    assert samples == [
        Sample("missing", 300, None),
        Sample("changed", 400, 400),
        Sample("duplicate", None, 500),
        Sample("reordered", 590, 600),
        Sample("behind", 990, None),
        Sample("behind", 0, None),
    ]
    assert [each.is_behind_only for each in result.partitions] == [False] * 4 + [True] * 2


def test_timestamps_count_unless_they_should_not(kafka_newest: KafkaCluster, session: Session) -> None:
    topic, copy = kafka_newest.create_topic(partitions=1), kafka_newest.create_topic(partitions=1)
    with Producer(properties(kafka_newest)) as producer:
        for name, at_ms in ((topic, 1_000), (copy, 2_000)):
            for number in range(10):
                producer.send(name, b"%d" % number, b"k%d" % number, timestamp_ms=at_ms)
        producer.flush(60)
    request = verifying(kafka_newest, topic, copy)
    assert counts(verify(request, session=session).partitions[0]) == {"changed": 10}
    assert verify(request._replace(compared=Compared(timestamps=False)), session=session).is_equal


def test_an_export_is_compared_by_offsets(kafka_newest: KafkaCluster, session: Session, tmp_path: Path) -> None:
    topic = kafka_newest.create_topic(partitions=2)
    produce(kafka_newest.bootstrap(), topic, 2_000, partitions=2)
    asked = ExportRequest(Selection(topics=(topic,)), tmp_path / "x", properties(kafka_newest), range_bytes=30_000)
    export(asked, session=session)
    request = verifying(kafka_newest, topic, folder=tmp_path / "x")
    assert verify(request, session=session).is_equal
    produce(kafka_newest.bootstrap(), topic, 10, partitions=1, first=2_000)
    delete_records(kafka_newest, tmp_path, topic, 1, 500)
    result = verify(request, session=session)
    assert [counts(each) for each in result.partitions] == [{"behind": 10}, {}]
    assert [each.source_records for each in result.partitions] == [1_010, 500]
    with pytest.raises(ConfigError, match="topic other is not in"):
        plan_verify(request._replace(topic="other"))
