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


def register(spark: "SparkSession") -> None:
    """Make `format("kctl")` known to the session.

    Filters on partition, offset and timestamp are pushed down where Spark can (4.1 and newer).
    """
    from kctl.pipeline.source import register_source

    register_source(spark)
