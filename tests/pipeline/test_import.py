"""`import` on a local Spark with a real broker: the records come back, in order, and a second run adds nothing."""

import os
import signal
from pathlib import Path
from typing import Any

import pytest

from kctl.client.errors import ApiTimeout, BrokerError, ConfigError, UndeliveredError
from kctl.pipeline.export_files.manifests import ExportedRange
from kctl.pipeline.job_errors import ExportDataError, FolderError
from kctl.pipeline.jobs import file_import
from kctl.pipeline.jobs.export import ExportRequest, export
from kctl.pipeline.jobs.file_import import ImportRequest, import_files, import_ranges, plan_import
from kctl.pipeline.progress_marks import FolderMarks
from kctl.pipeline.ranges import Selection
from kctl.pipeline.session import Session
from kctl.pipeline.task_rounds import Attempt
from tests.pipeline.exports import Row, data_of, on_topic, produce
from tests.support.kafka.cluster import KafkaCluster

# PySpark leaves sockets to the garbage collector.
pytestmark = pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning")

RECORDS = 4_000


@pytest.fixture(scope="module")
def topic(kafka_newest: KafkaCluster) -> str:
    name = kafka_newest.create_topic(partitions=2)
    produce(kafka_newest.bootstrap(), name, RECORDS, partitions=2)
    return name


@pytest.fixture(scope="module")
def exported(
    kafka_newest: KafkaCluster, session: Session, topic: str, tmp_path_factory: pytest.TempPathFactory
) -> Path:
    """An export in which a range has several files."""
    folder = tmp_path_factory.mktemp("export") / "x"
    request = ExportRequest(
        Selection(topics=(topic,)), folder, kafka_newest.client_properties(), layout="hour", range_bytes=60_000
    )
    export(request, session=session)
    return folder


@pytest.mark.smoke
def test_partitions_and_timestamps_are_kept_where_that_is_wanted(
    kafka_newest: KafkaCluster, session: Session, topic: str, exported: Path, tmp_path: Path
) -> None:
    target = kafka_newest.create_topic(partitions=2)
    request = ImportRequest(
        exported,
        kafka_newest.client_properties(),
        topic=target,
        keep_partitions=True,
        keep_timestamps=True,
        progress=tmp_path,
    )
    plan = plan_import(request)
    assert (len(plan.tasks), plan.records, plan.done) == (2, RECORDS, 0)
    assert import_files(request, session=session).records == RECORDS
    source = on_topic(kafka_newest.client_properties(), topic)
    assert on_topic(kafka_newest.client_properties(), target) == [row._replace(topic=target) for row in source]
    again = import_files(request, session=session)
    assert (again.records, again.ranges) == (0, 0)
    assert again.skipped == sum(map(len, plan.tasks))
    assert len(on_topic(kafka_newest.client_properties(), target)) == RECORDS


def test_without_them_the_producer_chooses_and_the_order_of_a_partition_stays(
    kafka_newest: KafkaCluster, session: Session, topic: str, exported: Path, tmp_path: Path
) -> None:
    target = kafka_newest.create_topic(partitions=3)
    request = ImportRequest(exported, kafka_newest.client_properties(), topic=target, progress=tmp_path)
    import_files(request, session=session)
    source = on_topic(kafka_newest.client_properties(), topic)
    found = on_topic(kafka_newest.client_properties(), target)
    assert sorted(map(data_of, found)) == sorted(map(data_of, source))
    assert min(row.timestamp_ms for row in found) > max(row.timestamp_ms for row in source)
    places = {row.key: row.partition for row in found if row.key}
    assert all(places[row.key] == row.partition for row in found if row.key), "a key is in two partitions"
    assert len(set(places.values())) == 3
    for partition in range(2):
        keyed = [row for row in source if row.partition == partition and row.key == b"key 1"]
        values = {row.value for row in keyed}
        assert [row.value for row in found if row.key == b"key 1" and row.value in values] == [
            row.value for row in keyed
        ]


def mark(progress: Path, exported: ExportedRange) -> Path:
    """Return the mark of a range that is done."""
    return next(progress.glob(f"{exported.topic}-{exported.partition}-{exported.start}-{exported.end}-*.done"))


def test_import_repeats_unfinished_files_and_skips_finished_ones(
    kafka_newest: KafkaCluster, session: Session, topic: str, exported: Path, tmp_path: Path
) -> None:
    """As after a kill: one range of each partition has no word that it is done."""
    target = kafka_newest.create_topic(partitions=2)
    request = ImportRequest(
        exported, kafka_newest.client_properties(), topic=target, keep_partitions=True, progress=tmp_path
    )
    import_files(request, session=session)
    last = [task[-1] for task in plan_import(request._replace(progress=tmp_path / "none")).tasks]
    for each in last:
        mark(tmp_path, each).unlink()
    result = import_files(request, session=session)
    assert (result.records, result.ranges) == (sum(each.records for each in last), 2)
    expected = on_topic(kafka_newest.client_properties(), topic)
    twice = [row for each in last for row in expected if row.partition == each.partition and row.offset >= each.start]
    found = on_topic(kafka_newest.client_properties(), target)
    assert sorted(map(data_of, found)) == sorted(map(data_of, expected + twice))


def die_behind_a_mark(task: Any, attempt: Attempt) -> Any:
    """As `import_ranges`, but the first attempt is killed as soon as its first range is marked as done."""
    if attempt.number == 0:
        add = FolderMarks.add

        def killed(self: FolderMarks, name: str) -> None:
            add(self, name)
            os.kill(os.getpid(), signal.SIGKILL)

        FolderMarks.add = killed  # type: ignore[method-assign]  # of a worker that dies of it
    return import_ranges(task, attempt)


def test_import_counts_the_records_of_an_attempt_whose_worker_was_killed(
    kafka_newest: KafkaCluster,
    session: Session,
    topic: str,
    exported: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    target = kafka_newest.create_topic(partitions=2)
    request = ImportRequest(
        exported, kafka_newest.client_properties(), topic=target, keep_partitions=True, progress=tmp_path
    )
    ranges = sum(map(len, plan_import(request).tasks))
    monkeypatch.setattr(file_import, "import_ranges", die_behind_a_mark)
    result = import_files(request, session=session)
    assert (result.records, result.ranges, result.skipped) == (RECORDS, ranges, 0)
    found = on_topic(kafka_newest.client_properties(), target)
    assert sorted(map(data_of, found)) == sorted(map(data_of, on_topic(kafka_newest.client_properties(), topic)))


def test_a_frozen_broker_ends_it_with_an_account_and_the_next_run_goes_on(
    kafka_newest: KafkaCluster, session: Session, topic: str, exported: Path, tmp_path: Path
) -> None:
    target = kafka_newest.create_topic(partitions=2)
    limits = {"delivery.timeout.ms": "3000", "request.timeout.ms": "2000", "max.block.ms": "3000"}
    slow = {"batch.size": "1", "max.in.flight.requests.per.connection": "1"}  # a request a record, one at a time
    properties = {**kafka_newest.client_properties(), **limits, **slow}
    request = ImportRequest(exported, properties, topic=target, keep_partitions=True, progress=tmp_path)
    node = kafka_newest.node(1)
    is_frozen = False

    def freeze(_progress: object) -> None:
        nonlocal is_frozen
        if any(tmp_path.iterdir()) and not is_frozen:
            is_frozen = True
            node.freeze()

    try:
        # A producer that has sent something gives an account; one that was just made has only waited.
        with pytest.raises(
            (UndeliveredError, ApiTimeout), match=f"rows not delivered: {target}-|timed out after .* while"
        ):
            import_files(request, session=session, on_progress=freeze)
    finally:
        node.thaw()
    assert is_frozen
    import_files(request._replace(properties=kafka_newest.client_properties()), session=session)
    found: set[Row] = {row._replace(topic="", offset=0, timestamp_ms=0) for row in _rows(kafka_newest, target)}
    assert found == {row._replace(topic="", offset=0, timestamp_ms=0) for row in _rows(kafka_newest, topic)}


def _rows(kafka: KafkaCluster, topic: str) -> list[Row]:
    return on_topic(kafka.client_properties(), topic)


def test_import_with_invalid_request_fails_before_spark_starts(
    kafka_newest: KafkaCluster, topic: str, exported: Path, tmp_path: Path
) -> None:
    properties = kafka_newest.client_properties()
    with pytest.raises(FolderError, match="is not an export: it has no manifest"):
        import_files(ImportRequest(tmp_path, properties))
    with pytest.raises(ConfigError, match=f"topic other is not in .*. Exported topics: {topic}"):
        import_files(ImportRequest(exported, properties, topics=("other",)))
    with pytest.raises(BrokerError, match="UNKNOWN_TOPIC_OR_PARTITION"):
        import_files(ImportRequest(exported, properties, topic="no-such-topic"))
    narrow = kafka_newest.create_topic(partitions=1)
    with pytest.raises(BrokerError, match="the export has records of partition 1, but the topic has 1 partitions"):
        import_files(ImportRequest(exported, properties, topic=narrow, keep_partitions=True))


def test_a_damaged_file_is_told_and_nothing_of_its_range_is_marked_done(
    kafka_newest: KafkaCluster, session: Session, topic: str, exported: Path, tmp_path: Path
) -> None:
    target = kafka_newest.create_topic(partitions=2)
    request = ImportRequest(exported, kafka_newest.client_properties(), topic=target, progress=tmp_path)
    broken = plan_import(request).tasks[0][0]
    path = exported / broken.files[0].path
    content = path.read_bytes()
    try:
        path.write_bytes(content[:-100] + bytes(100))
        with pytest.raises(ExportDataError, match="has a damaged file"):
            import_files(request, session=session)
        path.write_bytes(content[:-1])
        with pytest.raises(ExportDataError, match=f"has {len(content) - 1} bytes, but its manifest lists"):
            import_files(request, session=session)
    finally:
        path.write_bytes(content)
    with pytest.raises(StopIteration):
        mark(tmp_path, broken)
