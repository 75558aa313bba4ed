"""Spark's daemon of Python workers, with all that kctl's tasks import: workers are forked from it, and import nothing.

Spark starts another worker for each read that ends early, as with `limit`, and for each one that was idle for a minute.
To be chosen by a session, before it starts: `spark.python.daemon.module=kctl.pipeline.worker_daemon`.
"""

import os
from importlib import import_module
from typing import Final

from kctl.pipeline.spark_archive import keep_spark_archive

_OF_SPARK: Final = (
    "pyspark.worker",
    "pyspark.sql.pandas.serializers",
    "pyspark.sql.worker.plan_data_source_read",
    "pyspark.sql.worker.write_into_data_source",
)
_OF_TASKS: Final = (
    "google_crc32c",
    "kctl.pipeline.client_pool",
    "kctl.pipeline.range_reader",
    "kctl.pipeline.record_columns",
    "kctl.pipeline.record_rows",
    "kctl.pipeline.record_writer",
    "kctl.pipeline.source.data_source",
    "kctl.pipeline.source.batch_reader",
    "kctl.pipeline.source.stream_reader",
    "kctl.pipeline.source.writers",
)


def load() -> None:
    """Import what tasks import; each process that is forked after this keeps Spark's archives."""
    for name in (*_OF_SPARK, *_OF_TASKS):
        import_module(name)
    os.register_at_fork(after_in_child=keep_spark_archive)


def main() -> None:
    """Fork workers until Spark ends it."""
    daemon = import_module("pyspark.daemon")  # which reads sys.argv when it is imported
    load()
    daemon.manager()


if __name__ == "__main__":
    main()
