"""The data source `kctl`: Spark's classes around ranges, readers and writers.

data_source.py is what Spark is given, options.py what users write, filters.py what Spark hands over, failures.py what
users see of errors; one file each reads and writes, batch and stream. All but the first lines here need pyspark.
"""

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

PUSHDOWN: Final = "spark.sql.python.filterPushdown.enabled"


def register_source(spark: "SparkSession", *, push_filters: bool) -> None:
    """Make the source known; with `push_filters` let Spark hand filters over, where it can.

    A reader that can take filters fails every query of a session whose configuration forbids it, so the class that is
    registered and the configuration are chosen together.
    """
    from kctl.pipeline.source.data_source import FilteringDataSource, KctlDataSource

    can_push = push_filters and tuple(int(part) for part in spark.version.split(".")[:2]) >= (4, 1)
    if can_push:
        spark.conf.set(PUSHDOWN, "true")
    else:
        spark.conf.unset(PUSHDOWN)
    spark.dataSource.register(FilteringDataSource if can_push else KctlDataSource)
