"""Spark data source `kctl` and pipeline jobs, built on kctl's own Kafka client.

Register the data source once in a session::

    import kctl.pipeline

    kctl.pipeline.register(spark)
    spark.read.format("kctl").option("kafka.bootstrap.servers", "localhost:9092").option("subscribe", "t").load()

docs/pipeline-source.md has the options.
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def register(spark: "SparkSession") -> None:
    """Register the data source `kctl` in a session without changing its settings.

    Call it in each thread that writes: Spark looks up the sources of writes in the thread's active session, and this
    function sets that session.
    """
    from kctl.pipeline.source.data_source import KctlDataSource

    if hasattr(spark, "_jsparkSession"):  # not with Spark Connect
        spark._get_j_spark_session_class(spark._jvm).setActiveSession(spark._jsparkSession)
    spark.dataSource.register(KctlDataSource)


def reason(error: BaseException) -> str | None:
    """Return the one-line message of kctl in an error that Spark raised, or None if the error has none."""
    from kctl.pipeline.source.failures import reason as find

    return find(error)
