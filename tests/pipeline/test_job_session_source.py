"""`format("kctl")` in the session of the jobs: it reads the records that it wrote."""

import pytest

import kctl.pipeline
from kctl.pipeline.session import Session
from tests.pipeline.source_topics import START_MS, read, rows
from tests.support.kafka.cluster import KafkaCluster

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
