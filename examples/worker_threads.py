"""Process records in threads, out of order, and commit each partition up to its first unfinished record.

python worker_threads.py SERVERS TOPIC GROUP
"""

import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

from kctl.client import Consumer, ConsumerRecord, OffsetTracker


def process(
    servers: str, topic: str, group: str, work: Callable[[ConsumerRecord], None], count: int, threads: int = 8
) -> None:
    """Process `count` records. If `work` raises, the offset of its record is not committed."""
    config = {
        "bootstrap.servers": servers,
        "group.id": group,
        "enable.auto.offset.store": False,
        "auto.offset.reset": "earliest",
    }
    tracker = OffsetTracker(limit=1000)

    def run(record: ConsumerRecord) -> None:
        work(record)
        tracker.done(record)

    seen = 0
    with Consumer(config) as consumer:  # its close commits the last offsets
        consumer.subscribe([topic], tracker)
        with ThreadPoolExecutor(threads) as pool:
            while seen < count:
                (consumer.pause if tracker.is_full else consumer.resume)(consumer.assignment)
                for record in consumer.poll(timeout=1):
                    tracker.add(record)
                    pool.submit(run, record)
                    seen += 1
                consumer.store_offsets(tracker.offsets())
        consumer.store_offsets(tracker.offsets())


if __name__ == "__main__":
    servers, topic, group = sys.argv[1:]
    process(servers, topic, group, lambda record: print(record.value), count=100)
