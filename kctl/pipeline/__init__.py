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
    """Register the data source `kctl` in the session; no setting of the session is changed."""
    from kctl.pipeline.source.data_source import KctlDataSource

    spark.dataSource.register(KctlDataSource)


def reason(error: BaseException) -> str | None:
    """Return kctl's one line in an error that Spark raised, or None where it says nothing of kctl."""
    from kctl.pipeline.source.failures import reason as find

    return find(error)
