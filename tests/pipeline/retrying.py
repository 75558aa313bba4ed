"""A user's program on a cluster whose executor is lost while a read waits for a broker that is stopped.

Run by tests/pipeline/test_cluster.py with a master, a broker, a topic, a timeout and a folder for Spark's events. It
says what it has planned, waits for a line on stdin, reads, says `running` when the task runs, and at last what the
driver raised.
"""

import json
import sys
import threading
from typing import Any

PROPERTIES = {
    "spark.cores.max": "1",
    "spark.driver.host": "127.0.0.1",
    "spark.eventLog.compress": "false",
    "spark.eventLog.enabled": "true",
    "spark.eventLog.rolling.enabled": "false",
    "spark.executor.memory": "512m",
    "spark.python.daemon.module": "kctl.pipeline.worker_daemon",
    "spark.task.maxFailures": "4",
    "spark.ui.enabled": "false",
}
LOOK_EVERY_S = 0.1
LOADED = ("kctl.pipeline.range_reader", "kctl.pipeline.record_writer", "pyspark.sql.worker.plan_data_source_read")


def say(found: Any) -> None:
    sys.stdout.write(json.dumps(found) + "\n")
    sys.stdout.flush()


def loaded(_item: int) -> bool:
    """Return whether the worker has what tasks import before any task of kctl's ran in it."""
    return all(name in sys.modules for name in LOADED)


def main(master: str, bootstrap: str, topic: str, timeout: str, events: str) -> None:
    """Say what became of a read."""
    from pyspark.sql import SparkSession

    import kctl.pipeline

    spark = SparkSession.builder.master(master).config(map={**PROPERTIES, "spark.eventLog.dir": events}).getOrCreate()
    spark.sparkContext.setLogLevel("OFF")
    kctl.pipeline.register(spark)
    has_loaded = spark.sparkContext.parallelize([0], 1).map(loaded).collect()
    reader = spark.read.format("kctl").option("kafka.bootstrap.servers", bootstrap).option("apiTimeout", timeout)
    rows = reader.option("subscribe", topic).load().select("offset").rdd
    say({"planned": rows.getNumPartitions(), "loaded": has_loaded})
    sys.stdin.readline()
    raised: list[Exception] = []

    def count() -> None:
        try:
            rows.count()
        except Exception as error:  # noqa: BLE001 - Spark's errors have no common base
            raised.append(error)

    counting = threading.Thread(target=count)
    counting.start()
    tracker, ticks = spark.sparkContext.statusTracker(), threading.Event()
    while counting.is_alive():
        stages = [tracker.getStageInfo(stage) for stage in tracker.getActiveStageIds()]
        if any(stage is not None and stage.numActiveTasks for stage in stages):
            break
        ticks.wait(LOOK_EVERY_S)
    say("running")
    counting.join()
    spark.stop()
    say(kctl.pipeline.reason(raised[0]) if raised else None)


if __name__ == "__main__":
    main(*sys.argv[1:])
