"""What `format("kctl")` writes is what Java's client and Spark's connector read; what is not written is named."""

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from kctl.client.producer import Producer
from kctl.pipeline import reason
from tests.conformance.foreign.java import JAVA
from tests.pipeline.source_topics import START_MS, read, rows
from tests.support.kafka.cluster import KafkaCluster

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

pytestmark = pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning")

COUNT = 100
RECORDS = f"""
    select if(id % 5 = 0, null, cast(concat('k', id) as binary)) as key,
           if(id % 7 = 0, null, concat('v', id)) as value,
           case id % 3 when 0 then null when 1 then array()
               else array(named_struct('key', 'h', 'value', cast(cast(id as string) as binary)),
                          named_struct('key', 'h', 'value', cast(null as binary))) end as headers,
           cast(id % 4 as int) as partition,
           timestamp_millis({START_MS} + id) as timestamp
    from range({COUNT})
"""


def expected_headers(n: int) -> list[tuple[str, bytes | None]] | None:
    return [("h", b"%d" % n), ("h", None)] if n % 3 == 2 else None


def write(table: "DataFrame", kafka: KafkaCluster, **options: str) -> None:
    writer = table.write.format("kctl").option("kafka.bootstrap.servers", kafka.bootstrap()).options(**options)
    writer.mode("append").save()


def test_rows_become_records(spark: "SparkSession", kafka: KafkaCluster) -> None:
    topic = kafka.create_topic(partitions=4)
    write(spark.sql(RECORDS), kafka, topic=topic, keepTimestamps="true", **{"kafka.compression.type": "lz4"})
    table = read(spark, "kafka", kafka, subscribe=topic, includeHeaders="true")
    found = {(row[3], round(row[5].timestamp() * 1000)): row for row in rows(table)}
    assert len(found) == COUNT
    for n in range(COUNT):
        row = found[n % 4, START_MS + n]
        assert row[0] == (None if n % 5 == 0 else b"k%d" % n)
        assert row[1] == (None if n % 7 == 0 else b"v%d" % n)
        assert row[7] == expected_headers(n)
    by_java = JAVA.consume(kafka.bootstrap(), topic, COUNT)
    assert sorted(each.value or b"" for each in by_java) == sorted(row[1] or b"" for row in found.values())


def test_keys_choose_partitions_as_java_does_and_a_column_the_topic(spark: "SparkSession", kafka: KafkaCluster) -> None:
    first, second = (kafka.create_topic(partitions=3) for _ in range(2))
    topic = f"if(id % 2 = 0, '{first}', '{second}') as topic"
    table = spark.sql(f"select {topic}, cast(id as string) as key, 'v' as value from range(40)")
    write(table, kafka)
    theirs = [kafka.create_topic(partitions=3) for _ in range(2)]
    for mine, other in zip((first, second), theirs, strict=True):
        part = table.filter(f"topic = '{mine}'").drop("topic")
        part.write.format("kafka").option("kafka.bootstrap.servers", kafka.bootstrap()).option("topic", other).save()
        found = [rows(read(spark, "kafka", kafka, subscribe=name)) for name in (mine, other)]
        placed = [{(row[0], row[3]) for row in each} for each in found]
        assert placed[0] == placed[1]
        assert len(placed[0]) == 20


def test_a_stream_is_written_once_after_a_restart(spark: "SparkSession", kafka: KafkaCluster, tmp_path: Path) -> None:
    source, sink = kafka.create_topic(partitions=2), kafka.create_topic(partitions=2)
    for turn in range(2):
        with Producer({"bootstrap.servers": kafka.bootstrap()}) as producer:
            for n in range(50):
                producer.send(source, b"%d" % n, b"%d" % turn, headers=[("n", b"%d" % n)])
        table = (
            spark.readStream.format("kctl")
            .option("kafka.bootstrap.servers", kafka.bootstrap())
            .option("subscribe", source)
            .option("startingOffsets", "earliest")
            .option("includeHeaders", "true")
            .load()
        )
        writer = table.drop("topic").writeStream.format("kctl").option("topic", sink)
        writer = writer.option("kafka.bootstrap.servers", kafka.bootstrap()).option("checkpointLocation", str(tmp_path))
        query = writer.trigger(availableNow=True).start()
        assert query.awaitTermination(120)
    kinds = [rows(read(spark, "kafka", kafka, subscribe=topic, includeHeaders="true")) for topic in (source, sink)]
    mine, written = ([(row[0], row[1], row[3], row[7]) for row in kind] for kind in kinds)
    assert sorted(mine) == sorted(written)
    assert len(written) == 100


def test_a_failed_task_names_what_is_not_delivered(spark: "SparkSession", kafka: KafkaCluster) -> None:
    topic = kafka.create_topic(partitions=2, configs={"max.message.bytes": "20000"})
    table = spark.sql(
        "select repeat('x', if(id = 7, 50000, 10)) as value, cast(id % 2 as int) as partition from range(10)"
    ).coalesce(1)
    with pytest.raises(Exception, match="KCTL: PartialWriteError") as caught:
        write(table, kafka, topic=topic)
    line = reason(caught.value) or ""
    assert "rows not delivered" in line
    assert f"{topic}-1: " in line
    assert "MESSAGE_TOO_LARGE" in line


@pytest.mark.parametrize(
    ("table", "options", "said"),
    [
        ("select 1 as id", {"topic": "t"}, "the rows need a column named 'value'"),
        ("select 'v' as value", {}, "no topic: set the option 'topic'"),
        ("select 1 as value", {"topic": "t"}, "column value has type int, expected binary or string"),
        ("select 'v' as value", {"topic": "t", "kafka.acks": "two"}, "invalid acks 'two': use"),
        ("select 'v' as value", {"topic": "t", "subscribe": "t"}, "unknown option 'subscribe'"),
    ],
)
def test_mistakes_are_named_at_planning(
    spark: "SparkSession", kafka: KafkaCluster, table: str, options: dict[str, str], said: str
) -> None:
    with pytest.raises(Exception, match="KCTL: ConfigError") as caught:
        write(spark.sql(table), kafka, **options)
    assert said in (reason(caught.value) or "")


def test_a_topic_is_not_overwritten(spark: "SparkSession", kafka: KafkaCluster) -> None:
    writer = spark.sql("select 'v' as value").write.format("kctl").option("topic", "t").mode("overwrite")
    with pytest.raises(Exception, match="records of a topic cannot be replaced"):
        writer.option("kafka.bootstrap.servers", kafka.bootstrap()).save()
