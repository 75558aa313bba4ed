"""Daemon from which Spark forks its Python workers, with the modules of kctl's tasks already imported.

Set `spark.python.daemon.module=kctl.pipeline.worker_daemon` before the session starts. Spark starts a new worker after
each read that stops early, as with `limit`, and after an idle minute.
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
    for name in (*_OF_SPARK, *_OF_TASKS):
        import_module(name)
    os.register_at_fork(after_in_child=keep_spark_archive)


def main() -> None:
    daemon = import_module("pyspark.daemon")  # reads sys.argv at import
    load()
    daemon.manager()


if __name__ == "__main__":
    main()
