"""Print the records of a period.

python replay_by_time.py SERVERS TOPIC 2026-11-30T08:00:00Z 2026-11-30T09:00:00Z
"""

import sys
from collections.abc import Iterator
from datetime import datetime

from kctl.client import Consumer, ConsumerRecord, TopicPartition


def records_between(servers: str, topic: str, start: datetime, end: datetime) -> Iterator[ConsumerRecord]:
    """Yield the records from `start` to before `end`, by partition."""
    with Consumer({"bootstrap.servers": servers}) as consumer:
        partitions = [TopicPartition(topic, info.partition) for info in consumer.partitions_for(topic)]
        firsts = consumer.offsets_for_times(dict.fromkeys(partitions, start))
        afters = consumer.offsets_for_times(dict.fromkeys(partitions, end))
        log_ends = consumer.end_offsets(partitions)
        for tp in partitions:
            first, after = firsts[tp], afters[tp]
            stop = log_ends[tp] if after is None else after.offset
            if first is None or first.offset >= stop:
                continue
            consumer.assign([tp])
            consumer.seek(tp, first.offset, end_offset=stop)  # the last batch may have later records
            while consumer.position(tp) < stop:
                yield from (record for record in consumer.poll(timeout=1) if record.offset < stop)


if __name__ == "__main__":
    servers, topic, start, end = sys.argv[1:]
    for found in records_between(servers, topic, datetime.fromisoformat(start), datetime.fromisoformat(end)):
        print(found.timestamp_ms, found.value)
