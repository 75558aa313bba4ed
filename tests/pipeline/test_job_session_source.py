"""`format("kctl")` in the session of the jobs: it reads the records that it wrote."""

from typing import TYPE_CHECKING

import pytest

import kctl.pipeline
from kctl.pipeline.running import watch
from kctl.pipeline.session import Session
from tests.pipeline.source_topics import START_MS, read, rows
from tests.support.kafka.cluster import KafkaCluster

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# PySpark leaves sockets to the garbage collector.
pytestmark = pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning")

RECORDS = f"""
    select if(id % 5 = 0, null, cast(concat('k', id) as binary)) as key,
           if(id % 7 = 0, null, cast(concat('v', id) as binary)) as value,
           array(named_struct('key', 'h', 'value', cast(cast(id as string) as binary))) as headers,
           cast(id % 4 as int) as partition,
           timestamp_millis({START_MS} + id) as timestamp
    from range(100)
"""


@pytest.mark.smoke
def test_source_reads_the_records_that_it_wrote(kafka_newest: KafkaCluster, session: Session) -> None:
    topic = kafka_newest.create_topic(partitions=4)
    spark = session.spark()
    kctl.pipeline.register(spark)
    writer = spark.sql(RECORDS).write.format("kctl").mode("append")
    options = {"kafka.bootstrap.servers": kafka_newest.bootstrap(), "topic": topic, "keepTimestamps": "true"}
    writer.options(**options).save()
    found = rows(read(spark, "kctl", kafka_newest, subscribe=topic, includeHeaders="true"))
    assert len(found) == 100
    for key, value, _, partition, _, timestamp, _, headers in found:
        number = round(timestamp.timestamp() * 1000) - START_MS
        assert partition == number % 4
        assert key == (None if number % 5 == 0 else b"k%d" % number)
        assert value == (None if number % 7 == 0 else b"v%d" % number)
        assert headers == [("h", b"%d" % number)]


def refuse_write(spark: "SparkSession") -> None:
    """Register the source, and check that it is found by a write, which lacks an option."""
    from pyspark.errors import AnalysisException

    kctl.pipeline.register(spark)
    with pytest.raises(AnalysisException, match=r"option kafka\.bootstrap\.servers is not set"):
        spark.sql("select cast('v' as binary) as value").write.format("kctl").mode("append").save()


def test_source_is_found_in_each_thread_and_session_that_registers_it(session: Session) -> None:
    """Jobs create the session in a thread of their own, so that this thread has no active session."""
    spark = watch(session.spark)
    refuse_write(spark)
    refuse_write(spark.newSession())
    refuse_write(spark)
    watch(lambda: refuse_write(spark))
