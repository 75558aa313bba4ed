"""Store the records of a topic in SQLite, and commit offsets after the records are stored.

A crash between the two steps repeats records. The primary key drops repeated records.

python manual_commits.py SERVERS TOPIC GROUP DATABASE
"""

import sqlite3
import sys
from contextlib import closing

from kctl.client import Consumer


def store(servers: str, topic: str, group: str, database: str, idle_s: float = 5.0) -> int:
    """Store records until none arrives for `idle_s`. Return the number of records read."""
    config = {
        "bootstrap.servers": servers,
        "group.id": group,
        "enable.auto.commit": False,
        "auto.offset.reset": "earliest",
    }
    count = 0
    with closing(sqlite3.connect(database)) as tables, Consumer(config) as consumer:
        tables.execute(
            "create table if not exists records "
            "(topic text, partition int, offset int, value blob, primary key (topic, partition, offset))"
        )
        consumer.subscribe([topic])
        while records := consumer.poll(timeout=idle_s):
            rows = [(record.topic, record.partition, record.offset, record.value) for record in records]
            with tables:
                tables.executemany("insert or ignore into records values (?, ?, ?, ?)", rows)
            consumer.commit_sync(timeout=30)
            count += len(records)
    return count


if __name__ == "__main__":
    servers, topic, group, database = sys.argv[1:]
    print(store(servers, topic, group, database), "records stored")
