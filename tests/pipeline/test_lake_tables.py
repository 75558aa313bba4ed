"""Exports into tables of Iceberg and Delta in S3: each record once after kills, read by the formats' own libraries."""

import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyiceberg.catalog
import pytest
from pyiceberg.utils.config import Config

from kctl.client.admin import Admin, ConfigResource, ResourceType
from kctl.client.cluster import TopicPartition
from kctl.client.errors import ConfigError
from kctl.grammar.properties import write_properties
from kctl.pipeline.group_selection import GroupSelection
from kctl.pipeline.jobs.export import ExportRequest, export, plan_export
from kctl.pipeline.jobs.file_import import ImportRequest, import_files
from kctl.pipeline.jobs.replay import ReplayRequest, replay
from kctl.pipeline.jobs.verify import VerifyRequest, verify
from kctl.pipeline.locations import DeltaTable, IcebergTable
from kctl.pipeline.ranges import Selection
from kctl.pipeline.session import Session
from tests.pipeline.conftest import LocalSpark
from tests.pipeline.exports import Row, on_topic, produce, rows_of
from tests.pipeline.processes import JobProcess
from tests.support.kafka.cluster import KafkaCluster
from tests.support.s3.server import SECRET_KEY, S3Server

# PySpark leaves sockets to the garbage collector.
pytestmark = pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning")

RECORDS = 12_000
RANGE_BYTES = 50_000
"""24 ranges: with six of them in a round four rounds."""
Table = IcebergTable | DeltaTable


@pytest.fixture(scope="module", autouse=True)
def _environment(s3: S3Server, local_spark: LocalSpark, tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """What a shell would have exported; tasks of a Spark that starts with it inherit it."""
    local_spark.close()
    catalog = tmp_path_factory.mktemp("catalog") / "catalog.db"
    with pytest.MonkeyPatch.context() as patched:
        for name, value in s3.environment.items():
            patched.setenv(name, value)
        patched.setenv("PYICEBERG_CATALOG__LAKE__URI", f"sqlite:///{catalog}")
        patched.setenv("PYICEBERG_CATALOG__LAKE__WAREHOUSE", "s3://kafka/warehouse")
        patched.setenv("PYICEBERG_CATALOG__LAKE__S3__ENDPOINT", s3.endpoint)
        patched.setattr(pyiceberg.catalog, "_ENV_CONFIG", Config())
        yield


@pytest.fixture(scope="module")
def topic(kafka_newest: KafkaCluster) -> str:
    name = kafka_newest.create_topic(partitions=2)
    with Admin(kafka_newest.client_properties()) as admin:
        admin.alter_configs({ConfigResource(ResourceType.TOPIC, name): {"retention.ms": "-1"}}).raise_first()
    produce(kafka_newest.bootstrap(), name, RECORDS, partitions=2)
    return name


@pytest.fixture(params=["iceberg", "delta"])
def table(request: pytest.FixtureRequest) -> Table:
    name = request.node.originalname
    return DeltaTable(f"s3://kafka/{name}") if request.param == "delta" else IcebergTable(f"lake.db.{name}")


def text_of(table: Table) -> str:
    return f"iceberg:{table}" if isinstance(table, IcebergTable) else f"delta:{table}"


def in_table(table: Table) -> list[Row]:
    """Return what the format's own library reads, by partition and offset."""
    found: Any
    if isinstance(table, IcebergTable):
        found = pyiceberg.catalog.load_catalog(table.catalog).load_table(table.identifier).scan().to_arrow()
    else:
        import deltalake

        found = deltalake.DeltaTable(table, storage_options={"allow_http": "true"}).to_pyarrow_table()
    return sorted((row for batch in found.to_batches() for row in rows_of(batch)), key=lambda row: row[:3])


@pytest.fixture
def drive(kafka_newest: KafkaCluster, topic: str, tmp_path: Path) -> Iterator[Callable[..., JobProcess]]:
    """`kctl pipeline export` as processes."""
    config = tmp_path / "client.properties"
    config.write_text(write_properties(kafka_newest.client_properties("SASL_PLAINTEXT", "PLAIN")))
    jobs: list[JobProcess] = []

    def start(to: str, *more: str) -> JobProcess:
        arguments = ("export", topic, "--to", to, "--command-config", str(config))
        at_once = ("--master", "local[1]", "--range-size", f"{RANGE_BYTES}B")
        jobs.append(JobProcess(tmp_path / "jobs", *arguments, *at_once, *more, takes_small_steps=True))
        return jobs[-1]

    yield start
    for job in jobs:
        job.close()


def test_export_has_each_record_once_and_verify_agrees(
    kafka_newest: KafkaCluster, topic: str, session: Session, table: Table, tmp_path: Path
) -> None:
    properties = {"bootstrap.servers": kafka_newest.bootstrap()}
    group, place = f"{topic}-group", {TopicPartition(topic, 1): 70}
    with Admin(properties) as admin:
        admin.alter_group_offsets(group, place).raise_first()
    request = ExportRequest(
        *(Selection(topics=(topic,)), table, properties),
        range_bytes=RANGE_BYTES,
        layout="date",
        groups=GroupSelection((group,)),
    )
    assert export(request, session=session).records == RECORDS
    assert in_table(table) == on_topic(kafka_newest.client_properties(), topic)
    assert plan_export(request).ranges == ()
    with Admin(properties) as admin:
        admin.alter_group_offsets(group, {TopicPartition(topic, 1): 71}).raise_first()
    assert export(request, session=session).records == 0
    verified = verify(VerifyRequest(topic, properties, folder=table, groups=GroupSelection((group,))), session=session)
    assert verified.is_equal
    assert [(each.target_offset, each.continues) for each in verified.groups] == [(71, "same")]
    copy = kafka_newest.create_topic(partitions=2)
    back = ReplayRequest(topic, properties, properties, table, copy, keep_partitions=True, keep_timestamps=True)
    assert replay(back, session=session).records == RECORDS
    assert replay(back, session=session).records == 0
    committed = {**kafka_newest.client_properties(), "isolation.level": "read_committed"}
    assert [row[3:6] for row in on_topic(committed, copy)] == [row[3:6] for row in in_table(table)]
    restored = f"{copy}-restored"
    restoring = ImportRequest(
        *(table, properties),
        topic=restored,
        keep_partitions=True,
        keep_timestamps=True,
        create=True,
        groups=GroupSelection((group,)),
        progress=tmp_path / "progress",
    )
    done = import_files(restoring, session=session)
    assert (done.records, list(done.created)) == (RECORDS, [restored])
    assert [(each.target_offset, each.problem) for each in done.group_offsets] == [(71, "")]
    with Admin(properties) as admin:
        resource = ConfigResource(ResourceType.TOPIC, restored)
        assert admin.describe_configs([resource])[resource]["retention.ms"].value == "-1"
    assert import_files(restoring, session=session).records == 0
    with pytest.raises(ConfigError, match="an import from a table needs a location for its progress"):
        import_files(restoring._replace(progress=None), session=session)


def test_driver_that_is_killed_after_a_round_is_continued(
    kafka_newest: KafkaCluster, topic: str, drive: Callable[..., JobProcess], table: Table
) -> None:
    first = drive(text_of(table))
    first.wait_for(lambda: bool(committed(table)), "the first round")
    first.signal(signal.SIGKILL)
    first.ended()
    kept = in_table(table)
    assert 0 < len(kept) < RECORDS
    last = drive(text_of(table), "--output", "json")
    code, out = last.ended()
    assert code == 0, last.said()
    assert f'"records": {RECORDS - len(kept)}' in out
    assert in_table(table) == on_topic(kafka_newest.client_properties(), topic)
    assert SECRET_KEY not in first.said() + last.said()


def committed(table: Table) -> list[Row]:
    """Return what is in a table that may not exist yet."""
    try:
        return in_table(table)
    except Exception:  # noqa: BLE001 - each library has its own error for a table that is not there
        return []
