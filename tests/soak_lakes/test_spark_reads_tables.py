"""Spark itself, with the libraries of Iceberg and Delta, reads each record once from tables that `sync` wrote."""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyiceberg.catalog
import pytest
from pyiceberg.utils.config import Config

from kctl.pipeline.jobs.export import ExportRequest
from kctl.pipeline.jobs.sync import SyncRequest, sync
from kctl.pipeline.locations import parse_location
from kctl.pipeline.ranges import Selection
from kctl.pipeline.running import open_session
from kctl.pipeline.session import SessionOptions
from tests.pipeline.connector import lake_jars
from tests.pipeline.exports import Row, on_topic, produce
from tests.support.kafka.cluster import KafkaCluster
from tests.support.kafka.requirements import have

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

# PySpark leaves sockets to the garbage collector.
pytestmark = pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning")
RECORDS = 3_000
CATALOG = "spark.sql.catalog.lake"


@pytest.fixture(scope="module")
def tables(kafka_newest: KafkaCluster, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, Path]]:
    """A topic, and the folder below which `sync` wrote it to tables in two runs."""
    folder = tmp_path_factory.mktemp("lake")
    topic = kafka_newest.create_topic(partitions=2)
    with pytest.MonkeyPatch.context() as patched:
        patched.setenv("PYICEBERG_CATALOG__LAKE__URI", f"sqlite:///{folder}/catalog.db")
        patched.setenv("PYICEBERG_CATALOG__LAKE__WAREHOUSE", f"file://{folder}/warehouse")
        patched.setattr(pyiceberg.catalog, "_ENV_CONFIG", Config())
        with open_session(SessionOptions("local[2]"), "kctl tests") as session:
            for run in range(2):
                produce(kafka_newest.bootstrap(), topic, RECORDS, partitions=2, first=run * RECORDS)
                for to in ("iceberg:lake.db.t", f"delta:{folder}/delta"):
                    properties = kafka_newest.client_properties()
                    request = ExportRequest(
                        Selection(topics=(topic,)), parse_location(to), properties, layout="date", range_bytes=50_000
                    )
                    sync(SyncRequest(request, folder / f"state-{to[:5]}", None, 2000), session=session)
        yield topic, folder


@pytest.fixture(scope="module")
def lake_spark(tables: tuple[str, Path]) -> "Iterator[SparkSession]":
    """A plain Spark with both libraries, and with the catalog that pyiceberg wrote."""
    from pyspark.sql import SparkSession

    _, folder = tables
    properties: dict[str, bool | float | int | str | None] = {
        "spark.driver.extraClassPath": ":".join(map(str, have(lake_jars))),
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.ui.enabled": "false",
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
        "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
        CATALOG: "org.apache.iceberg.spark.SparkCatalog",
        f"{CATALOG}.catalog-impl": "org.apache.iceberg.jdbc.JdbcCatalog",
        f"{CATALOG}.uri": f"jdbc:sqlite:{folder}/catalog.db",
        f"{CATALOG}.warehouse": f"file://{folder}/warehouse",
    }
    session = SparkSession.builder.master("local[2]").config(map=properties).getOrCreate()
    session.sparkContext.setLogLevel("ERROR")
    yield session
    session.stop()


def rows(table: "DataFrame") -> list[Row]:
    found = table.selectExpr(
        "topic", "partition", "offset", "unix_millis(timestamp) as timestamp_ms", "key", "value", "headers"
    ).collect()
    return sorted((_row(each) for each in found), key=lambda row: row[:3])


def _row(each: Any) -> Row:
    def data(value: bytearray | None) -> bytes | None:
        return None if value is None else bytes(value)

    headers = tuple((header["key"], data(header["value"])) for header in each["headers"] or ())
    key, value = data(each["key"]), data(each["value"])
    return Row(each["topic"], each["partition"], each["offset"], each["timestamp_ms"], key, value, headers)


def test_spark_reads_each_record_of_an_iceberg_table_once(
    kafka_newest: KafkaCluster, tables: tuple[str, Path], lake_spark: "SparkSession"
) -> None:
    topic, _ = tables
    found = rows(lake_spark.table("lake.db.t"))
    assert len(found) == 2 * RECORDS
    assert found == on_topic(kafka_newest.client_properties(), topic)


def test_facts_of_files_in_an_iceberg_table_are_those_that_spark_finds_in_them(
    tables: tuple[str, Path], lake_spark: "SparkSession"
) -> None:
    """A wrong bound hides rows from a query, a wrong partition or count makes it wrong."""
    del tables
    recorded = lake_spark.sql(
        "SELECT file_path, partition.day, readable_metrics.partition.lower_bound AS partition, record_count, "
        "readable_metrics.offset.lower_bound AS first, readable_metrics.offset.upper_bound AS last "
        "FROM lake.db.t.files ORDER BY file_path"
    ).collect()
    found = lake_spark.sql(
        "SELECT _file, to_date(max(timestamp)), max(partition), count(*), min(offset), max(offset) "
        "FROM lake.db.t GROUP BY _file ORDER BY _file"
    ).collect()
    assert len(recorded) > 2
    assert [tuple(each) for each in recorded] == [tuple(each) for each in found]
    table = lake_spark.table("lake.db.t")
    for each in recorded:
        for offset in (each["first"], each["last"]):
            where = f"partition = {each['partition']} AND offset = {offset} AND timestamp >= '{each['day']}'"
            assert [row["offset"] for row in table.where(where).collect()] == [offset]


def test_spark_reads_each_record_of_a_delta_table_once(
    kafka_newest: KafkaCluster, tables: tuple[str, Path], lake_spark: "SparkSession"
) -> None:
    topic, folder = tables
    found = rows(lake_spark.read.format("delta").load(str(folder / "delta")))
    assert len(found) == 2 * RECORDS
    assert found == on_topic(kafka_newest.client_properties(), topic)
