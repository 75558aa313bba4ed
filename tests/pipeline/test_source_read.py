"""A batch read of `format("kctl")` gives what Spark's own connector gives, row for row, from the same topics."""

import json
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest
from pyspark.sql.datasource import DataSource, DataSourceReader, Filter, InputPartition

from kctl.pipeline import reason, register
from tests.pipeline.source_topics import START_MS, read, rows, settled, write_all_kinds
from tests.support.kafka.cluster import KafkaCluster

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from pyspark.sql.types import StructType

PUSHDOWN = "spark.sql.python.filterPushdown.enabled"

pytestmark = pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning")


@pytest.fixture(scope="module")
def topics(kafka: KafkaCluster) -> list[str]:
    """All kinds: mixed, with the times of appending, of all codecs, transactional, compacted."""
    return write_all_kinds(kafka)


@pytest.mark.parametrize("isolation", ["read_uncommitted", "read_committed"])
def test_every_kind_of_record(spark: "SparkSession", kafka: KafkaCluster, topics: list[str], isolation: str) -> None:
    options = {
        "subscribe": ",".join(topics),
        "includeHeaders": "true",
        "kafka.isolation.level": isolation,
    }
    ours, theirs = (read(spark, source, kafka, **options) for source in ("kctl", "kafka"))
    assert ours.schema == theirs.schema
    found = rows(ours)
    assert found == rows(theirs)
    transacted = [row for row in found if row[2] == topics[3]]
    assert len(transacted) == (60 if isolation == "read_committed" else 120)
    offsets = [row[4] for row in found if row[2] == topics[4]]
    assert len(offsets) < offsets[-1] - offsets[0], "the topic has no gaps of compaction"
    assert {row[6] for row in found} == {0, 1}
    assert any(row[7] and len(row[7]) == 4 for row in found)


def test_without_headers_the_schema_is_the_connectors_too(
    spark: "SparkSession", kafka: KafkaCluster, topics: list[str]
) -> None:
    ours, theirs = (read(spark, source, kafka, subscribe=topics[0]) for source in ("kctl", "kafka"))
    assert ours.schema == theirs.schema
    assert rows(ours) == rows(theirs)


def test_ranges_and_places(spark: "SparkSession", kafka: KafkaCluster, topics: list[str]) -> None:
    mixed = topics[0]
    by_time = {mixed: {str(n): START_MS + 30 for n in range(3)}}
    for options in (
        {"subscribe": mixed, "startingOffsets": json.dumps({mixed: {"0": 7, "1": -2, "2": 99}})},
        {"subscribe": mixed, "endingOffsets": json.dumps({mixed: {"0": 7, "1": -1, "2": 0}})},
        {"subscribe": mixed, "startingTimestamp": str(START_MS + 20), "endingTimestamp": str(START_MS + 90)},
        {"subscribe": mixed, "startingOffsetsByTimestamp": json.dumps(by_time)},
        {"assign": json.dumps({mixed: [1], topics[2]: [0]})},
        {"subscribePattern": f"{mixed}|{topics[3]}"},
        {"subscribe": mixed, "minPartitions": "10"},
        {"subscribe": mixed, "maxRecordsPerPartition": "17"},
    ):
        ours, theirs = (read(spark, source, kafka, **options) for source in ("kctl", "kafka"))
        assert rows(ours) == rows(theirs), options
        if "maxRecordsPerPartition" in options:
            assert ours.rdd.getNumPartitions() == 18
        if "minPartitions" in options:
            assert ours.rdd.getNumPartitions() >= 10


def test_nothing_to_read(spark: "SparkSession", kafka: KafkaCluster) -> None:
    assert rows(read(spark, "kctl", kafka, subscribe=kafka.create_topic(partitions=2))) == []


def test_a_schema_of_the_users_prunes(spark: "SparkSession", kafka: KafkaCluster, topics: list[str]) -> None:
    whole = rows(read(spark, "kctl", kafka, subscribe=topics[0], includeHeaders="true"))
    headers = "headers array<struct<key:string,value:binary>>"
    schema = f"offset long, {headers}, value binary, topic string, partition int"
    pruned = read(spark, "kctl", kafka, subscribe=topics[0], schema=schema)
    assert pruned.columns == ["offset", "headers", "value", "topic", "partition"]
    assert rows(pruned) == [(row[4], row[7], row[1], row[2], row[3]) for row in whole]
    assert read(spark, "kctl", kafka, subscribe=topics[0]).count() == len(whole)


def test_filters_unions_and_self_joins_have_the_rows_of_the_connector(
    spark: "SparkSession", kafka: KafkaCluster, topics: list[str]
) -> None:
    """Two scans of one table in one query, each with its own filter, though the session has push-down switched on."""
    spark.conf.set(PUSHDOWN, "true")
    try:
        register(spark)
        assert spark.conf.get(PUSHDOWN) == "true", "registering the source changed a setting of the session"
        found = []
        for source in ("kctl", "kafka"):
            table = read(spark, source, kafka, subscribe=topics[0])
            even, odd = table.where("partition = 0"), table.where("partition = 1")
            joined = even.select("offset").join(odd.select("offset"), "offset")
            narrow = table.where("partition = 1 and offset >= 10 and offset < 60")
            found.append((rows(even.union(odd)), joined.count(), rows(narrow)))
        assert found[0] == found[1]
        assert all(found[0]), "nothing was compared"
    finally:
        spark.conf.unset(PUSHDOWN)


class OtherReader(DataSourceReader):
    """A foreign source that takes filters: the session has to keep the setting that it needs."""

    def pushFilters(self, filters: "list[Filter]") -> "Iterator[Filter]":
        return iter(filters)

    def read(self, _partition: InputPartition) -> "Iterator[tuple[int]]":
        yield (1,)


class OtherSource(DataSource):
    @classmethod
    def name(cls) -> str:
        return "other"

    def schema(self) -> str:
        return "n int"

    def reader(self, schema: "StructType") -> OtherReader:
        return OtherReader()


def test_register_leaves_a_foreign_source_with_filters_working(spark: "SparkSession") -> None:
    spark.conf.set(PUSHDOWN, "true")
    try:
        spark.dataSource.register(OtherSource)
        register(spark)
        assert spark.read.format("other").load().where("n = 1").count() == 1
    finally:
        spark.conf.unset(PUSHDOWN)


@pytest.mark.parametrize(
    ("options", "schema", "said"),
    [
        (
            {"subscribe": "t", "minPartitions": "none"},
            None,
            "invalid option minPartitions 'none': use an integer of 1 or more",
        ),
        ({"subscribe": "t", "startingOffset": "earliest"}, None, "'startingoffset': did you mean startingOffsets"),
        ({"subscribe": "t", "assign": "{}"}, None, "exactly one of the options.*Options found: subscribe and assign"),
        ({"subscribe": "t"}, "value string", "column value has type string in the schema: use binary"),
        ({"subscribe": "t"}, "valu binary", "unknown column 'valu'"),
        ({"subscribe": "no-such-topic"}, None, "UNKNOWN_TOPIC_OR_PARTITION"),
        ({"subscribe": "t", "kafka.fetch.min.byte": "1"}, None, "fetch.min.byte.*did you mean fetch.min.bytes"),
    ],
)
def test_mistakes_are_named_at_planning(
    spark: "SparkSession", kafka: KafkaCluster, options: dict[str, str], schema: str | None, said: str
) -> None:
    from pyspark.errors import AnalysisException

    with pytest.raises(AnalysisException) as caught:
        read(spark, "kctl", kafka, schema=schema, **options).count()
    line = reason(caught.value)
    assert line is not None
    assert re.search(said, line), line


def test_offsets_that_are_not_there(spark: "SparkSession", kafka: KafkaCluster) -> None:
    from pyspark.errors import AnalysisException

    topic = kafka.create_topic()
    assert settled(kafka, topic)
    options = {"subscribe": topic, "startingOffsets": json.dumps({topic: {"0": 5}})}
    with pytest.raises(AnalysisException) as caught:
        read(spark, "kctl", kafka, **options).count()
    assert f"startingOffsets: {topic}-0 is empty, and its next offset is 0, not 5" in (reason(caught.value) or "")
    assert read(spark, "kctl", kafka, failOnDataLoss="false", **options).count() == 0
