"""Write the records of a topic to Parquet files, and commit offsets after each file is complete.

The first offset is part of the file name. After a crash the same records replace the file.

python parquet_batches.py SERVERS TOPIC GROUP DIRECTORY
"""

# pyarrow has no types:
# pyright: reportUnknownArgumentType=false, reportUnknownMemberType=false, reportUnknownVariableType=false

import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from kctl.client import Consumer, ConsumerRecord, TopicPartition


def write(records: list[ConsumerRecord], directory: Path) -> Path:
    """Write records of one partition to a file."""
    first = records[0]
    table = pa.table(
        {
            "offset": pa.array([record.offset for record in records], pa.int64()),
            "timestamp": pa.array([record.timestamp_ms for record in records], pa.timestamp("ms", "UTC")),
            "key": pa.array([record.key for record in records], pa.binary()),
            "value": pa.array([record.value for record in records], pa.binary()),
        }
    )
    path = directory / f"{first.topic}-{first.partition}-{first.offset:020}.parquet"
    partial = path.with_suffix(".partial")
    pq.write_table(table, partial)
    partial.rename(path)
    return path


def export(servers: str, topic: str, group: str, directory: Path, idle_s: float = 5.0) -> list[Path]:
    """Export records until none arrives for `idle_s`. Return the files."""
    config = {
        "bootstrap.servers": servers,
        "group.id": group,
        "enable.auto.commit": False,
        "auto.offset.reset": "earliest",
        "max.poll.records": 10_000,
    }
    files: list[Path] = []
    with Consumer(config) as consumer:
        consumer.subscribe([topic])
        while records := consumer.poll(timeout=idle_s):
            by_partition: dict[TopicPartition, list[ConsumerRecord]] = {}
            for record in records:
                by_partition.setdefault(TopicPartition(record.topic, record.partition), []).append(record)
            files += [write(batch, directory) for batch in by_partition.values()]
            consumer.commit_sync(timeout=30)
    return files


if __name__ == "__main__":
    servers, topic, group, directory = sys.argv[1:]
    for file in export(servers, topic, group, Path(directory)):
        print(file)
