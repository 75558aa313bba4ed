"""Kafka and Spark through kctl's own client: the data source `kctl`, and jobs.

`register(spark)` is all that a session needs::

    import kctl.pipeline
    kctl.pipeline.register(spark)
    spark.read.format("kctl").option("kafka.bootstrap.servers", "localhost:9092").option("subscribe", "t").load()

Needs the extra `spark` (PySpark and pyarrow). docs/pipeline-source.md has the options.
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def register(spark: "SparkSession", *, push_filters: bool = False) -> None:
    """Make `format("kctl")` known to the session.

    Args:
        push_filters: let Spark 4.1 and newer hand filters on topic, partition, offset and timestamp over; sets
            spark.sql.python.filterPushdown.enabled in this session. Then make a table anew (`load()`) for each query:
            Spark keeps what a filter left with the table, and reads only that in a later query that has no filter.
    """
    from kctl.pipeline.source import register_source

    register_source(spark, push_filters=push_filters)


def reason(error: BaseException) -> str | None:
    """Return kctl's one line in an error that Spark raised, or None where it says nothing of kctl."""
    from kctl.pipeline.source.failures import reason as find

    return find(error)
