"""What every version of Spark has to do, as a program of that version's own environment: write, read, stream, restart.

    python whole_way.py BOOTSTRAP PREFIX FOLDER

The topics PREFIX-a (two partitions) and PREFIX-b (two) are there and empty. Prints one line of JSON: what it found.
"""

import json
import sys
from pathlib import Path
from typing import Any

from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame, SparkSession

import kctl.pipeline

ROWS = """
    select cast(id as string) as key, concat('v', id) as value, cast(id % 2 as int) as partition,
           array(named_struct('key', 'h', 'value', cast(cast(id as string) as binary))) as headers
    from range({}, {})
"""


def main(bootstrap: str, prefix: str, folder: Path) -> None:
    """Go the whole way and print what was found."""
    spark = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false").getOrCreate()
    spark.sparkContext.setLogLevel("OFF")
    kctl.pipeline.register(spark)
    broker = {"kafka.bootstrap.servers": bootstrap}
    found: dict[str, Any] = {"version": spark.version}

    def table(topic: str, **options: str) -> DataFrame:
        return spark.read.format("kctl").options(**broker, **options).option("subscribe", topic).load()

    def write(start: int, end: int) -> None:
        rows = spark.sql(ROWS.format(start, end)).write.format("kctl").options(**broker)
        rows.option("topic", f"{prefix}-a").mode("append").save()

    def copy(**options: str) -> list[int]:
        """Copy what came since, as one query; returns the rows of its batches."""
        stream = spark.readStream.format("kctl").options(**broker, **options)
        stream = stream.option("subscribe", f"{prefix}-a").option("startingOffsets", "earliest")
        rows = stream.option("includeHeaders", "true").load().drop("topic")
        query = rows.writeStream.format("kctl").options(**broker).option("topic", f"{prefix}-b")
        running = query.option("checkpointLocation", str(folder)).trigger(availableNow=True).start()
        running.awaitTermination()
        return [progress["numInputRows"] for progress in running.recentProgress if progress["numInputRows"]]

    write(0, 100)
    rows = table(f"{prefix}-a", includeHeaders="true").collect()
    found["read"] = sorted((int(row.key), row.value.decode(), row.headers[0].key) for row in rows)
    found["filtered"] = table(f"{prefix}-a").filter("partition = 1 and offset < 10").count()
    found["pruned"] = table(f"{prefix}-a").select("offset").distinct().count()
    found["batches"] = [copy()]
    write(100, 150)
    found["batches"].append(copy(maxOffsetsPerTrigger="1000"))
    write(150, 200)
    found["limited"] = []
    while not found["limited"] or found["limited"][-1]:  # until a query finds nothing left
        found["limited"].append(copy(maxOffsetsPerTrigger="20"))
    copied = table(f"{prefix}-b", includeHeaders="true").collect()
    found["copied"] = sorted((int(row.key), row.partition, row.headers[0].value.decode()) for row in copied)
    try:
        table("no-such-topic").count()
    except AnalysisException as error:
        found["said"] = kctl.pipeline.reason(error)
    sys.stdout.write(json.dumps(found) + "\n")
    sys.stdout.flush()
    spark.stop()


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], Path(sys.argv[3]))
