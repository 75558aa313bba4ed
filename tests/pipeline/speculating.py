"""A user's program on a cluster that speculates: the first attempt at one task stands still until Spark ends it.

Run by tests/pipeline/test_cluster.py with a master, a broker, the topics to read and to write, and a folder in which
each attempt that reads leaves its name.
"""

import json
import sys
import threading
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

STANDS_STILL_S = 90
PROPERTIES = {
    "spark.speculation": "true",
    "spark.speculation.interval": "100ms",
    "spark.speculation.quantile": "0.5",
    "spark.speculation.multiplier": "1.1",
    "spark.speculation.minTaskRuntime": "100ms",
    "spark.driver.host": "127.0.0.1",
    "spark.executor.memory": "512m",
    "spark.ui.enabled": "false",
    "spark.task.maxFailures": "1",
    "spark.python.task.killTimeout": "100ms",
}


def main(master: str, bootstrap: str, source: str, target: str, folder: str) -> None:
    """Print the values that are read; then write them."""
    from pyspark.sql import SparkSession

    import kctl.pipeline

    def hold_first(rows: Iterable[Any]) -> Iterator[tuple[bytes]]:
        from pyspark import TaskContext

        context = TaskContext.get()
        assert context is not None
        for row in rows:
            yield (bytes(row.value),)
        Path(folder, f"{context.stageId()}-{context.partitionId()}-{context.attemptNumber()}").touch()
        if context.partitionId() == 0 and context.attemptNumber() == 0:
            threading.Event().wait(STANDS_STILL_S)
            raise AssertionError("Spark has not speculated")

    spark = SparkSession.builder.master(master).config(map=dict(PROPERTIES)).getOrCreate()
    kctl.pipeline.register(spark)
    spark.sparkContext.setLogLevel("OFF")
    reader = spark.read.format("kctl").option("kafka.bootstrap.servers", bootstrap).option("minPartitions", "6")
    values = reader.option("subscribe", source).load().select("value").rdd.mapPartitions(hold_first)
    sys.stdout.write(json.dumps([row[0].decode() for row in values.collect()]))
    table = spark.createDataFrame(values, "value binary")
    writer = table.write.format("kctl").option("kafka.bootstrap.servers", bootstrap).option("topic", target)
    writer.mode("append").save()
    spark.stop()


if __name__ == "__main__":
    main(*sys.argv[1:])
